# A management cluster and a worker, with MultiKueue between them and the policies of the chart in force. People hand in work on the hub.
# shellcheck shell=bash disable=SC2034
FLEET_PROGRAMS=(helm "$KUEUE_ETCD" kube-apiserver kube-controller-manager jobset "$KUEUE_PROGRAM" policy-server go unshare kubectl jq openssl curl python3)
MULTIKUEUE=system:serviceaccount:kueue-system:multikueue-sa

policy_of() { if [ "$1" = hub ]; then echo management; else echo worker; fi; }
# Starts PolicyServer of the hub or the worker, with a change of its settings: serve_member NAME [FILTER]
serve_member() {
  protect "$(settings "$1" "$(policy_of "$1")" | jq "${2:-.}")" | jq '{"managed-by": .}' |
    KUBECONFIG=$(kubeconfig "$1" "$POLICY_SERVER") policy_server "$1/policy-server"
}

# Starts one of the two clusters.
member() {
  local kubectl=(kubectl --kubeconfig "$RUN/$1/kubeconfig")
  ETCD=$KUEUE_ETCD cluster "$1" --authorization-mode=AlwaysAllow
  "${kubectl[@]}" create namespace team-a
  controller_manager "$1"
  run_jobset "$1"
  run_kueue "$1"
  serve_member "$1"
  webhook "$1"
}

# Applies objects of Kueue and waits until those that say so are active: queues CLUSTER
queues() {
  local kubectl=(kubectl --kubeconfig "$RUN/$1/kubeconfig") file=$RUN/$1/kueue.json
  yaml "$ROOT/e2e/kueue.yml" | jq -c ".$1[]" >"$file"
  # Kueue's webhooks take a moment.
  LIMIT=20 soon "${kubectl[@]}" apply --server-side -f "$file"
  jq -c 'select(.kind | test("^(MultiKueueCluster|AdmissionCheck|ClusterQueue)$"))' "$file" >"$file.active"
  soon "${kubectl[@]}" wait --for=condition=Active --timeout=1m -f "$file.active"
}

fleet() {
  member hub
  member worker
  queues worker
  kubectl --kubeconfig "$RUN/hub/kubeconfig" create secret generic worker -n kueue-system --from-file=kubeconfig="$(kubeconfig worker "$MULTIKUEUE")"
  queues hub
  kubelet worker
  export KUBECONFIG=$RUN/hub/kubeconfig
}

# A JobSet of two Jobs: jobset_of_two NAME SPEC [ANNOTATIONS]
jobset_of_two() {
  workload jobset.x-k8s.io/v1alpha2 JobSet "$1" "$2replicatedJobs: [{name: a, replicas: 2, template: {spec: {backoffLimit: 0, completions: 1, parallelism: 1, template: $(template "${3:-}")}}}]"
}
