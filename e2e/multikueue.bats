# Tests delegated workloads with MultiKueue, JobSet and the Job controller on two clusters, with the chart's settings for a management cluster and a
# worker, both in mode protect, and while PolicyServer is down or has invalid settings.
load lib
load controllers
load fleet

setup_file() {
  require_programs "${FLEET_PROGRAMS[@]}"
  start_fleet
}
teardown_file() { stop_all; }

absent() { assert_fails_with NotFound "$@"; }

# Stops a running workload by deactivating its Workload, whose name it prints: deactivate KIND NAME
deactivate() {
  local workload
  workload=$(kubectl get workloads -l "kueue.x-k8s.io/job-uid=$(kubectl get "$1" "$2" -o jsonpath='{.metadata.uid}')" -o name)
  kubectl patch "$workload" --type=merge -p 'spec: {active: false}'
  # The condition may already be False again.
  LIMIT=90 retry eval "kubectl get '$workload' -o jsonpath='{.status.conditions[*].type}' | grep Evicted"
  LIMIT=90 retry absent on_worker get "$1" "$2"
  echo "$workload"
}

@test "queued Jobs and JobSets run on the worker, and finish on the management cluster" {
  {
    delegated_job plain
    delegated_job parallel 'completions: 3, parallelism: 2'
    delegated_job fails 'backoffLimit: 0' "e2e/exit: '1'"
    delegated_job indexed 'completions: 4, parallelism: 2, completionMode: Indexed'
    delegated_jobset set
    delegated_jobset set-fails "e2e/exit: '1'"
  } | as_ana create -f -
  wait_condition Complete job plain
  wait_condition Complete job parallel
  wait_condition Failed job fails
  wait_condition Complete job indexed
  wait_condition Completed jobset set
  wait_condition Failed jobset set-fails
}

@test "a Job is deleted while it runs" {
  delegated_job deleted '' 'e2e/run: forever' | as_ana create -f -
  LIMIT=90 retry worker_has job/deleted '{.status.ready}' 1
  as_ana delete job deleted
  LIMIT=90 retry absent on_worker get job deleted
}

@test "a JobSet is deactivated while it runs, activated again, and finishes" {
  delegated_jobset set-stopped "e2e/run: '5000'" | as_ana create -f -
  LIMIT=90 retry worker_has jobset/set-stopped '{.status.replicatedJobsStatus[0].active}' 2
  workload=$(deactivate jobset set-stopped | tail -n 1)
  kubectl patch "$workload" --type=merge -p 'spec: {active: true}'
  wait_condition Completed jobset set-stopped
}

@test "a running Job is preempted for one with a higher priority, and both finish" {
  delegated_job preempted '' "e2e/run: '5000'" narrow | as_ana create -f -
  LIMIT=60 retry eval '[ -n "$(kubectl get job preempted -o jsonpath={.status.startTime})" ]'
  delegated_job important '' "e2e/run: '5000'" 'narrow, kueue.x-k8s.io/priority-class: important' | as_ana create -f -
  LIMIT=90 retry eval 'kubectl get workloads -l "kueue.x-k8s.io/job-uid=$(kubectl get job preempted -o jsonpath={.metadata.uid})" -o jsonpath="{.items[0].status.conditions[*].type}" | grep Preempted'
  wait_condition Complete job important
  wait_condition Complete job preempted
}

# Kueue suspends the Job and restores its template in one write. The API server denies that while the copied status has active pods, with or without the
# policy.
@test "a Job is deactivated while it runs: the API server denies a write by Kueue, the policy does not" {
  delegated_job stopped '' "e2e/run: '5000'" | as_ana create -f -
  LIMIT=90 retry eval '[ "$(kubectl get job stopped -o jsonpath={.status.ready})" = 1 ]'
  deactivate job stopped
  rejection() { audit_events management "$(written_by "$KUEUE") | select(.objectRef.name == \"stopped\" and .responseStatus.code == 422) | .responseStatus.message" | grep 'spec.template: Invalid value'; }
  LIMIT=90 retry rejection
}

@test "Jobs that are not delegated, and status writes by users, are denied" {
  assert_fails_with '[managed-by/delegation]' as_ana create -f - <<<"$(job undelegated)"
  job idle "$DELEGATED" | as_ana create -f -
  assert_fails_with status-writer/delegated update_status ana idle 'conditions: [{type: Mine, status: "True"}]'
}

@test "no controller was denied or warned" {
  assert_no_denials management 1 ana "$KUEUE"
  # On the worker, Kueue only lets workloads start, and the API server does not call the webhook for that.
  assert_no_denials worker 1 ana "$JOB_CONTROLLER" "$JOBSET" "$MULTIKUEUE"
}

# docs/explanation/outages.md contains these counts.
@test "on both clusters, the webhook is called for the creation of a Job and for each status update" {
  assert_webhook_calls management important statuses
  assert_webhook_calls worker important statuses
}

@test "faults: PolicyServer of the management cluster is down for 30 s, and all workloads finish" {
  begin() { stop management/policy-server; }
  recover() { start_fleet_policy_server management; }
  run_fault management begin recover
}

@test "faults: PolicyServer of the worker is down for 30 s, and all workloads finish" {
  begin() { stop worker/policy-server; }
  recover() { start_fleet_policy_server worker; }
  run_fault worker begin recover
}

@test "faults: both PolicyServers restart with other settings, and all workloads finish" {
  begin() { for cluster in management worker; do start_fleet_policy_server $cluster '.rules = {"managed-by/reserved-domain": "deny", "managed-by/template": "deny"}'; done; }
  recover() { start_fleet_policy_server management && start_fleet_policy_server worker; }
  run_fault restart begin recover
}

@test "faults: both PolicyServers have the wrong status writers for 30 s, and all workloads finish" {
  unknown='["system:serviceaccount:kueue-system:unknown"]'
  begin() { for cluster in management worker; do start_fleet_policy_server $cluster ".builtin_status_writers = {Job: $unknown} | .controllers[]?.status_writers = $unknown"; done; }
  recover() { start_fleet_policy_server management && start_fleet_policy_server worker; }
  run_fault writers begin recover
}

# Shows that workloads are lost without the webhook's matchConditions.
@test "control: PolicyServer of the management cluster is down for 30 s, and its webhook has no matchConditions" {
  [ -n "${CONTROL:-}" ] || skip "workloads are lost; CONTROL=1 runs the test"
  begin() { apply_webhook management '.matchConditions = []' && stop management/policy-server && retry assert_fails_with 'failed calling webhook' as_ana label job unconditional-0 --dry-run=server a=b; }
  recover() { start_fleet_policy_server management && apply_webhook management; }
  run run_fault unconditional begin recover
  [ "$status" -ne 0 ]
  echo "$output" >&3
}
