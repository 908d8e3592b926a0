# Starts a management cluster and a worker, connected by MultiKueue, with the chart's policies. Users create workloads on the management cluster.
# shellcheck shell=bash disable=SC2034
FLEET_PROGRAMS=(helm "$KUEUE_ETCD" kube-apiserver kube-controller-manager jobset "$KUEUE_PROGRAM" policy-server go unshare kubectl jq openssl curl python3)
MULTIKUEUE=system:serviceaccount:kueue-system:multikueue-sa

role_of() { if [ "$1" = management ]; then echo management; else echo worker; fi; }
# Starts PolicyServer of the management cluster or the worker with the chart's settings, changed by a jq filter: start_fleet_policy_server CLUSTER [FILTER]
start_fleet_policy_server() {
  policy_in_protect_mode "$(chart_settings "$1" "$(role_of "$1")" | jq "${2:-.}")" | jq '{"managed-by": .}' |
    KUBECONFIG=$(kubeconfig "$1" "$POLICY_SERVER") start_policy_server "$1/policy-server"
}

# Starts one of the two clusters: start_fleet_cluster CLUSTER
start_fleet_cluster() {
  local kubectl=(kubectl --kubeconfig "$RUN/$1/kubeconfig")
  ETCD=$KUEUE_ETCD start_cluster "$1" --authorization-mode=AlwaysAllow
  "${kubectl[@]}" create namespace team-a
  start_controller_manager "$1"
  run_jobset "$1"
  run_kueue "$1"
  start_fleet_policy_server "$1"
  apply_webhook "$1"
}

# Applies Kueue's objects and waits until all that have the condition Active are active: apply_queues CLUSTER [KEY [FILE]]
apply_queues() {
  local kubectl=(kubectl --kubeconfig "$RUN/$1/kubeconfig") file=$RUN/$1/kueue.json
  yaml_to_json "${3:-$ROOT/e2e/kueue.yml}" | jq -c ".\"${2:-$1}\"[]" >"$file"
  # Kueue's webhooks are not ready at once.
  LIMIT=20 retry "${kubectl[@]}" apply --server-side -f "$file"
  jq -c 'select(.kind | test("^(MultiKueueCluster|AdmissionCheck|ClusterQueue)$"))' "$file" >"$file.active"
  retry "${kubectl[@]}" wait --for=condition=Active --timeout=1m -f "$file.active"
}

start_fleet() {
  start_fleet_cluster management
  start_fleet_cluster worker
  apply_queues worker
  kubectl --kubeconfig "$RUN/management/kubeconfig" create secret generic worker -n kueue-system --from-file=kubeconfig="$(kubeconfig worker "$MULTIKUEUE")"
  apply_queues management
  start_kubelet worker
  export KUBECONFIG=$RUN/management/kubeconfig
}

# Prints a JobSet with two Jobs: jobset_manifest NAME SPEC [ANNOTATIONS]
jobset_manifest() {
  workload jobset.x-k8s.io/v1alpha2 JobSet "$1" "$2replicatedJobs: [{name: a, replicas: 2, template: {spec: {backoffLimit: 0, completions: 1, parallelism: 1, template: $(template "${3:-}")}}}]"
}

DELEGATED='managedBy: kueue.x-k8s.io/multikueue, suspend: true'
on_worker() { kubectl --kubeconfig "$RUN/worker/kubeconfig" "$@"; }
delegated_job() { job "$1, labels: {kueue.x-k8s.io/queue-name: ${4:-queue}}" "$DELEGATED${2:+, $2}" "${3:-}"; }
delegated_jobset() { jobset_manifest "$1, labels: {kueue.x-k8s.io/queue-name: queue}" "$DELEGATED, " "${2:-}"; }
wait_condition() { LIMIT=90 retry has_condition "$1" "$2" "$3"; }
worker_has() { [ "$(on_worker get "$1" -o jsonpath="$2")" = "$3" ]; }

# Prints a workload for run_fault, with a run time of 1 s to 10 s: fault_workload FAULT NUMBER
fault_workload() {
  if (($2 % 3 == 2)); then delegated_jobset "$1-$2" "e2e/run: '$((1000 + $2 % 10 * 1000))'"; else delegated_job "$1-$2" '' "e2e/run: '$((1000 + $2 % 10 * 1000))'"; fi
}
# Creates a workload for run_fault, and fails if it is rejected. Records the last rejection that is not a webhook failure:
# create_unless_unavailable FAULT NUMBER
create_unless_unavailable() {
  run as_ana create -f - <<<"$(fault_workload "$@")"
  [ "$status" -eq 0 ] || [[ $output == *AlreadyExists* ]] || { [[ $output == *'failed calling webhook'* ]] || echo "$output" >"$RUN/rejection"; return 1; }
}
has_started() { [ -n "$(on_worker get "$1" -o jsonpath='{.status.startTime}{.status.replicatedJobsStatus[?(@.active>0)].active}')" ]; }
all_finished() {
  kubectl get jobs,jobsets -o json | jq -e --arg fault "$1-" '[.items[] | select(.metadata.name | startswith($fault)) |
    select([.status.conditions[]? | select(.status == "True").type] | any(. == "Complete" or . == "Completed"))] | length == 30'
}

# Injects a fault for 30 s with the command BEGIN, and ends it with the command RECOVER: run_fault FAULT BEGIN RECOVER
# Creates 10 workloads before the fault, 10 during it and 10 after it, and passes if all finish. Many finish during the fault.
run_fault() {
  local number running=0 management_events worker_events
  management_events=$(count_audit_lines management) worker_events=$(count_audit_lines worker)
  rm -f "$RUN/rejection"
  for number in {0..9}; do fault_workload "$1" "$number"; done | as_ana create -f -
  # The workload that runs longest.
  retry has_started "job/$1-9"
  for number in 0 1 3 4 6 7 9; do if has_started "job/$1-$number" && ! has_condition Complete job "$1-$number"; then running=$((running + 1)); fi; done
  for number in 2 5 8; do if has_started "jobset/$1-$number" && ! has_condition Completed jobset "$1-$number"; then running=$((running + 1)); fi; done
  "$2"
  local end=$((SECONDS + 30)) next=10
  while [ $SECONDS -lt $end ]; do
    if [ $next -lt 20 ] && create_unless_unavailable "$1" $next; then next=$((next + 1)); fi
    sleep 1
  done
  "$3"
  for number in $(seq $next 29); do retry create_unless_unavailable "$1" "$number"; done
  LIMIT=120 retry all_finished "$1" || { kubectl get jobs,jobsets && return 1; }
  [ ! -e "$RUN/rejection" ] || { cat "$RUN/rejection" && return 1; }
  echo "# $running of 10 were running when the fault began; writes rejected on the management cluster: $(audit_events management "$DENIED" "$management_events" | wc -l), on the worker: $(audit_events worker "$DENIED" "$worker_events" | wc -l)" >&3
}
