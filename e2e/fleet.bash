# A management cluster and a worker, with MultiKueue between them and the policies of the chart deployed. Users create workloads on the hub.
# shellcheck shell=bash disable=SC2034
FLEET_PROGRAMS=(helm "$KUEUE_ETCD" kube-apiserver kube-controller-manager jobset "$KUEUE_PROGRAM" policy-server go unshare kubectl jq openssl curl python3)
MULTIKUEUE=system:serviceaccount:kueue-system:multikueue-sa

policy_of() { if [ "$1" = hub ]; then echo management; else echo worker; fi; }
# Starts PolicyServer of the hub or the worker, with a change of its settings: start_policy_server NAME [FILTER]
start_policy_server() {
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
  start_policy_server "$1"
  webhook "$1"
}

# Applies objects of Kueue and waits until those with a condition Active are active: queues CLUSTER
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

DELEGATED='managedBy: kueue.x-k8s.io/multikueue, suspend: true'
worker() { kubectl --kubeconfig "$RUN/worker/kubeconfig" "$@"; }
queued() { job "$1, labels: {kueue.x-k8s.io/queue-name: ${4:-queue}}" "$DELEGATED${2:+, $2}" "${3:-}"; }
set_of_two() { jobset_of_two "$1, labels: {kueue.x-k8s.io/queue-name: queue}" "$DELEGATED, " "${2:-}"; }
ends() { LIMIT=90 soon has "$1" "$2" "$3"; }
worker_has() { [ "$(worker get "$1" -o jsonpath="$2")" = "$3" ]; }

# Faults: a third of 30 workloads is under way when a fault begins, a third is handed in during it, a third after it. All
# must end. They run for a second to ten, so many of them end during the fault.
numbered() { # FAULT NUMBER
  if (($2 % 3 == 2)); then set_of_two "$1-$2" "e2e/run: '$((1000 + $2 % 10 * 1000))'"; else queued "$1-$2" '' "e2e/run: '$((1000 + $2 % 10 * 1000))'"; fi
}
# Retries if the webhook failed, as users do. Fails on any other denial.
try() {
  run ana create -f - <<<"$(numbered "$@")"
  [ "$status" -eq 0 ] || [[ $output == *AlreadyExists* ]] || { [[ $output == *'failed calling webhook'* ]] || echo "$output" >"$RUN/refusal"; return 1; }
}
begun() { [ -n "$(worker get "$1" -o jsonpath='{.status.startTime}{.status.replicatedJobsStatus[?(@.active>0)].active}')" ]; }
all_ended() {
  kubectl get jobs,jobsets -o json | jq -e --arg fault "$1-" '[.items[] | select(.metadata.name | startswith($fault)) |
    select([.status.conditions[]? | select(.status == "True").type] | any(. == "Complete" or . == "Completed"))] | length == 30'
}

# 30 workloads with a fault of 30 s: under_way FAULT BEGIN MEND
under_way() {
  local number running=0 hub_events worker_events
  hub_events=$(events hub) worker_events=$(events worker)
  rm -f "$RUN/refusal"
  for number in {0..9}; do numbered "$1" "$number"; done | ana create -f -
  # The one that runs longest.
  soon begun "job/$1-9"
  for number in 0 1 3 4 6 7 9; do if begun "job/$1-$number" && ! has Complete job "$1-$number"; then running=$((running + 1)); fi; done
  for number in 2 5 8; do if begun "jobset/$1-$number" && ! has Completed jobset "$1-$number"; then running=$((running + 1)); fi; done
  "$2"
  local end=$((SECONDS + 30)) next=10
  while [ $SECONDS -lt $end ]; do
    if [ $next -lt 20 ] && try "$1" $next; then next=$((next + 1)); fi
    sleep 1
  done
  "$3"
  for number in $(seq $next 29); do soon try "$1" "$number"; done
  LIMIT=120 soon all_ended "$1" || { kubectl get jobs,jobsets && return 1; }
  [ ! -e "$RUN/refusal" ] || { cat "$RUN/refusal" && return 1; }
  echo "# $running of 30 were running when it began; refused by management.yml: $(audit hub "$DENIED" "$hub_events" | wc -l), by worker.yml: $(audit worker "$DENIED" "$worker_events" | wc -l)" >&3
}
