# Tests the MultiKueue tutorial on a management cluster and two workers, each with Kubewarden, Kueue and JobSet, and the chart installed with Helm. The
# workers' nodes are simulated.
load lib
load controllers
load fleet
load kubewarden
load pages

setup() { cd "$BATS_TEST_TMPDIR"; }
setup_file() {
  require_programs "${FLEET_PROGRAMS[@]}" kubewarden-controller kwctl docker-registry ip mount
  export ETCD=$KUEUE_ETCD
  start_network
  local number=0 name
  for name in management worker-1 worker-2; do
    number=$((number + 1))
    start_kubewarden_cluster "$name" $number
    KUBECONFIG=$RUN/$name/kubeconfig kubectl create namespace team-a
    for user in "$KUEUE" "$JOBSET" "$MULTIKUEUE" system:node:e2e; do
      KUBECONFIG=$RUN/$name/kubeconfig kubectl create clusterrolebinding "e2e-${user##*:}" --clusterrole=cluster-admin --user="$user"
    done
    run_jobset "$name"
    run_kueue "$name"
  done
  local workers=(worker-1 worker-2)
  yaml_to_json "$ROOT/e2e/kueue.yml" | jq '.management |= map(if .kind == "MultiKueueCluster" then ("worker-1", "worker-2") as $name | .metadata.name = $name | .spec.clusterSource.kubeConfig.location = $name
    elif .kind == "MultiKueueConfig" then .spec.clusters = ["worker-1", "worker-2"] else . end)' >"$RUN/queues.json"
  for name in "${workers[@]}"; do
    apply_queues "$name" worker "$RUN/queues.json"
    kubectl --kubeconfig "$RUN/management/kubeconfig" create secret generic "$name" -n kueue-system --from-file=kubeconfig="$(kubeconfig "$name" "$MULTIKUEUE")"
    start_kubelet "$name"
  done
  apply_queues management management "$RUN/queues.json"
  # Create the kubeconfig contexts that the page uses.
  for name in management "${workers[@]}"; do
    yaml_to_json "$RUN/$name/kubeconfig" | jq --arg name "$name" '.contexts[0].name = $name | .contexts[0].context |= (.cluster = $name | .user = $name) | .clusters[0].name = $name | .users[0].name = $name' \
      >"$RUN/$name.context"
  done
  KUBECONFIG=$RUN/management.context:$RUN/worker-1.context:$RUN/worker-2.context kubectl config view --flatten >"$RUN/contexts"
}
teardown_file() { stop_all; }

@test "docs/tutorials/multikueue.md: every command prints what the page shows" {
  export KUBECONFIG=$RUN/contexts
  ln -s "$RUN/management/audit.log" management-audit.log
  assert_page "$ROOT/docs/tutorials/multikueue.md"
}

@test "the policies evaluated writes of the controllers and denied none" {
  evaluated='select(.annotations // {} | keys | any(endswith(".kubewarden.admission/mode")))'
  [ "$(audit_events management "$(written_by "$KUEUE") | $evaluated" | wc -l)" -gt 0 ]
  [ "$(for name in worker-1 worker-2; do audit_events "$name" "$(written_by "$JOB_CONTROLLER") | $evaluated"; done | wc -l)" -gt 0 ]
  for name in management worker-1 worker-2; do
    audit_events "$name" 'select(.responseStatus.message // "" | contains("kubewarden.admission")) | select(.impersonatedUser.username != "ana")'
  done >denials
  [ ! -s denials ] || { cat denials && return 1; }
}
