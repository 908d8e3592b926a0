# Work that is handed on: MultiKueue, JobSet and the Job controller on two clusters, with the settings that the chart renders on its own, for a management cluster
# on the hub and for a worker on the worker, both in mode protect; and what happens to it while PolicyServer is away or has wrong settings.
load lib
load controllers
load fleet

setup_file() {
  needs "${FLEET_PROGRAMS[@]}"
  fleet
}
teardown_file() { stop_all; }

DELEGATED='managedBy: kueue.x-k8s.io/multikueue, suspend: true'
worker() { kubectl --kubeconfig "$RUN/worker/kubeconfig" "$@"; }
queued() { job "$1, labels: {kueue.x-k8s.io/queue-name: ${4:-queue}}" "$DELEGATED${2:+, $2}" "${3:-}"; }
set_of_two() { jobset_of_two "$1, labels: {kueue.x-k8s.io/queue-name: queue}" "$DELEGATED, " "${2:-}"; }
ends() { LIMIT=90 soon has "$1" "$2" "$3"; }
worker_has() { [ "$(worker get "$1" -o jsonpath="$2")" = "$3" ]; }
absent() { refused NotFound "$@"; }

# Stops a running workload through its Workload: deactivate KIND NAME
deactivate() {
  local workload
  workload=$(kubectl get workloads -l "kueue.x-k8s.io/job-uid=$(kubectl get "$1" "$2" -o jsonpath='{.metadata.uid}')" -o name)
  kubectl patch "$workload" --type=merge -p 'spec: {active: false}'
  # Be it true or no more.
  LIMIT=90 soon eval "kubectl get '$workload' -o jsonpath='{.status.conditions[*].type}' | grep Evicted"
  LIMIT=90 soon absent worker get "$1" "$2"
  echo "$workload"
}

@test "Jobs and JobSets of the queue run on the worker, and end on the hub as they should" {
  {
    queued plain
    queued parallel 'completions: 3, parallelism: 2'
    queued fails 'backoffLimit: 0' "e2e/exit: '1'"
    queued indexed 'completions: 4, parallelism: 2, completionMode: Indexed'
    set_of_two set
    set_of_two set-fails "e2e/exit: '1'"
  } | ana create -f -
  ends Complete job plain
  ends Complete job parallel
  ends Failed job fails
  ends Complete job indexed
  ends Completed jobset set
  ends Failed jobset set-fails
}

@test "a Job is deleted while it runs" {
  queued deleted '' 'e2e/run: forever' | ana create -f -
  LIMIT=90 soon worker_has job/deleted '{.status.ready}' 1
  ana delete job deleted
  LIMIT=90 soon absent worker get job deleted
}

@test "a JobSet is deactivated while it runs, activated again, and ends" {
  set_of_two set-stopped "e2e/run: '5000'" | ana create -f -
  LIMIT=90 soon worker_has jobset/set-stopped '{.status.replicatedJobsStatus[0].active}' 2
  workload=$(deactivate jobset set-stopped | tail -n 1)
  kubectl patch "$workload" --type=merge -p 'spec: {active: true}'
  ends Completed jobset set-stopped
}

@test "a running Job is preempted for a more important one, and both end" {
  queued preempted '' "e2e/run: '5000'" narrow | ana create -f -
  LIMIT=60 soon eval '[ -n "$(kubectl get job preempted -o jsonpath={.status.startTime})" ]'
  queued important '' "e2e/run: '5000'" 'narrow, kueue.x-k8s.io/priority-class: important' | ana create -f -
  LIMIT=90 soon eval 'kubectl get workloads -l "kueue.x-k8s.io/job-uid=$(kubectl get job preempted -o jsonpath={.metadata.uid})" -o jsonpath="{.items[0].status.conditions[*].type}" | grep Preempted'
  ends Complete job important
  ends Complete job preempted
}

# Kueue then suspends the Job and restores its template at once, which the API server refuses while the copied status has active pods, with
# the policy and without.
@test "a Job is deactivated while it runs: the API server refuses a write of Kueue's, the policy does not" {
  queued stopped '' "e2e/run: '5000'" | ana create -f -
  LIMIT=90 soon eval '[ "$(kubectl get job stopped -o jsonpath={.status.ready})" = 1 ]'
  deactivate job stopped
  refusal() { audit hub "$(by "$KUEUE") | select(.objectRef.name == \"stopped\" and .responseStatus.code == 422) | .responseStatus.message" | grep 'spec.template: Invalid value'; }
  LIMIT=90 soon refusal
}

@test "who does not delegate, and who writes a status, is denied" {
  refused '[managed-by/delegation]' ana create -f - <<<"$(job undelegated)"
  job idle "$DELEGATED" | ana create -f -
  refused status-writer/delegated status ana idle 'conditions: [{type: Mine, status: "True"}]'
}

@test "no controller was denied, and no user was warned" {
  quiet hub 1 ana "$KUEUE"
  # On the worker, Kueue only lets workloads start, and the API server does not call the webhook for that.
  quiet worker 1 ana "$JOB_CONTROLLER" "$JOBSET" "$MULTIKUEUE"
}

# Counted for docs/outages.md.
@test "on both clusters, a Job costs a call for its creation and one for each update of its status" {
  cost hub important statuses
  cost worker important statuses
}

# The rest is about faults: a third of 30 workloads is under way when a fault begins, a third is handed in during it, a third after it. All
# must end. They run for a second to ten, so many of them end during the fault.
numbered() { # FAULT NUMBER
  if (($2 % 3 == 2)); then set_of_two "$1-$2" "e2e/run: '$((1000 + $2 % 10 * 1000))'"; else queued "$1-$2" '' "e2e/run: '$((1000 + $2 % 10 * 1000))'"; fi
}
# Those who are told that the webhook failed try again, as people do. It fails on another refusal.
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

@test "faults: PolicyServer of the hub is gone for 30 s, and all workloads end" {
  begin() { stop hub/policy-server; }
  mend() { serve_member hub; }
  under_way hub begin mend
}

@test "faults: PolicyServer of the worker is gone for 30 s, and all workloads end" {
  begin() { stop worker/policy-server; }
  mend() { serve_member worker; }
  under_way worker begin mend
}

@test "faults: both are restarted with other settings, and all workloads end" {
  begin() { for member in hub worker; do serve_member $member '.rules = {"managed-by/reserved-domain": "deny", "managed-by/template": "deny"}'; done; }
  mend() { serve_member hub && serve_member worker; }
  under_way restart begin mend
}

@test "faults: settings with wrong writers for 30 s on both, and all workloads end" {
  unknown='["system:serviceaccount:kueue-system:nobody"]'
  begin() { for member in hub worker; do serve_member $member ".builtin_status_writers = {Job: $unknown} | .controllers[]?.status_writers = $unknown"; done; }
  mend() { serve_member hub && serve_member worker; }
  under_way writers begin mend
}

# Shows what the matchConditions of the manifests are for: work is lost without them.
@test "control: PolicyServer of the hub is gone for 30 s, and its webhook has no matchConditions" {
  [ -n "${CONTROL:-}" ] || skip "work is lost; CONTROL=1 runs it"
  begin() { webhook hub '.matchConditions = []' && stop hub/policy-server && soon refused 'failed calling webhook' ana label job unconditional-0 --dry-run=server a=b; }
  mend() { serve_member hub && webhook hub; }
  run under_way unconditional begin mend
  [ "$status" -ne 0 ]
  echo "$output" >&3
}
