# Suspends running JobSets and MPIJobs and resumes them. Their controllers then write the status of Jobs that the Job controller reconciles, so
# the shipped lists of status writers must include them. Symlinks to this file run it with Job controllers that keep `startTime`.
#
# JobSet and mpi-operator clear `startTime` of a suspended Job before they resume it. Since 1.36, the Job controller also clears it when it
# suspends the Job (MutableSchedulingDirectivesForSuspendedJobs), so they race. With the gate off, and in older releases, only JobSet
# and mpi-operator do.
load lib
load controllers

API_SERVER=kube-apiserver ARGUMENTS=(--authorization-mode=AlwaysAllow) CONTROLLER_MANAGER_ARGUMENTS=() CRD_FILTER=. KEEPS_START_TIME=
GATE=--feature-gates=MutableSchedulingDirectivesForSuspendedJobs=false
case $BATS_TEST_FILENAME in
*-gate-off.bats) ARGUMENTS+=("$GATE") CONTROLLER_MANAGER_ARGUMENTS=("$GATE") KEEPS_START_TIME=true ;;
*-1.30.bats)
  API_SERVER=kube-apiserver-1.30.14 ARGUMENTS+=(--feature-gates=JobManagedBy=true) CONTROLLER_MANAGER_ARGUMENTS=("${EMULATE_OLD_RELEASE[@]}") KEEPS_START_TIME=true
  # A validation rule of JobSet's CRD uses metadata.namespace, which CEL can't access in 1.30.
  CRD_FILTER='del(.spec.versions[].schema.openAPIV3Schema.properties.spec.properties.volumeClaimPolicies.items["x-kubernetes-validations"])'
  ;;
esac

setup_file() {
  require_programs helm etcd "$API_SERVER" kube-controller-manager jobset go policy-server kubectl jq openssl curl python3
  start_cluster cluster "${ARGUMENTS[@]}"
  export KUBECONFIG=$RUN/cluster/kubeconfig
  kubectl create namespace team-a
  start_controller_manager cluster "${CONTROLLER_MANAGER_ARGUMENTS[@]}"
  run_jobset cluster "$CRD_FILTER"
  ! command -v mpi-operator || run_mpi_operator cluster
  serve_settings worker
  apply_webhook cluster
  start_kubelet cluster
}
teardown_file() { stop_all; }

# Run time of each pod in ms: longer than it takes to suspend the workloads on a slow machine.
RUNS="e2e/run: '5000'"
# Prints a JobSet: jobset_manifest NAME
jobset_manifest() { workload jobset.x-k8s.io/v1alpha2 JobSet "$1" "replicatedJobs: [{name: a, replicas: 2, template: {spec: {backoffLimit: 0, completions: 1, parallelism: 1, template: $(template "$RUNS")}}}]"; }
# Prints an MPIJob: mpijob_manifest NAME
# Its workers run until mpi-operator deletes them, after the launcher exits.
mpijob_manifest() {
  workload kubeflow.org/v2beta1 MPIJob "$1" "slotsPerWorker: 1, runPolicy: {cleanPodPolicy: Running}, mpiReplicaSpecs: {
    Launcher: {replicas: 1, restartPolicy: Never, template: $(template "$RUNS")}, Worker: {replicas: 1, restartPolicy: Never, template: $(template 'e2e/run: forever')}}"
}

# Creates four workloads, and suspends and resumes each: suspend_and_resume KIND NAMESPACE NAME
suspend_and_resume() {
  local number pid suspend='{suspend: %s}' children=(a-0 a-1)
  [ "$1" = jobset ] || suspend='{runPolicy: {suspend: %s}}' children=(launcher)
  for number in 0 1 2 3; do "$1_manifest" "$3-$number"; done | as_ana create -n "$2" -f -
  for number in 0 1 2 3; do retry kubectl wait -n "$2" $(printf "job/$3-$number-%s " "${children[@]}") --for=jsonpath='{.status.ready}'=1 --timeout=1m; done
  # Resume each workload as soon as its Jobs are suspended. A Job controller that clears `startTime` may still be doing so.
  local pids=()
  for number in 0 1 2 3; do
    {
      as_ana patch "$1" -n "$2" "$3-$number" --type=merge -p "spec: $(printf "$suspend" true)" &&
        kubectl wait -n "$2" $(printf "job/$3-$number-%s " "${children[@]}") --for=jsonpath='{.spec.suspend}'=true --timeout=1m &&
        as_ana patch "$1" -n "$2" "$3-$number" --type=merge -p "spec: $(printf "$suspend" false)"
    } 3>&- &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid"; done
}

# Passes if all workloads finish, no write is denied, and the controller wrote the status of Jobs if `startTime` is kept:
# assert_resumed KIND NAMESPACE NAME CONTROLLER
assert_resumed() {
  local from number writes end=Completed
  [ "$1" = jobset ] || { command -v mpi-operator || skip "no mpi-operator"; end=Succeeded; }
  from=$(count_audit_lines)
  suspend_and_resume "$1" "$2" "$3"
  for number in 0 1 2 3; do retry has_condition "$end" "$1" "$3-$number" -n "$2"; done
  assert_no_denials cluster "$from" '' "$JOB_CONTROLLER"
  writes=$(audit_events cluster "$(written_by "$4") | $EVALUATED | $STATUS" "$from" | wc -l)
  echo "# $writes Job status writes by $4" >&3
  [ -z "$KEEPS_START_TIME" ] || [ "$writes" -gt 0 ]
}

@test "role worker: suspended JobSets resume and finish" { assert_resumed jobset team-a worker-jobset "$JOBSET"; }
@test "role worker: suspended MPIJobs resume and finish" { assert_resumed mpijob team-a worker-mpijob "$MPI_OPERATOR"; }

@test "control: JobSets do not finish if builtin_status_writers.Job lacks JobSet's service account" {
  # Only in setups where JobSet always writes the status.
  [ -n "$KEEPS_START_TIME" ] || skip "the Job controller removes startTime itself"
  settings=$(chart_settings cluster worker)
  fewer=$(jq --arg jobset "$JOBSET" '.builtin_status_writers.Job -= [$jobset]' <<<"$settings")
  [ "$fewer" != "$settings" ]
  policy_in_protect_mode "$fewer" | jq '{"managed-by": .}' | start_policy_server cluster/policy-server
  from=$(count_audit_lines)
  suspend_and_resume jobset team-a control
  # Longer than the pods run.
  sleep 10
  [ "$(audit_events cluster "$(written_by "$JOBSET") | $DENIED" "$from" | wc -l)" -gt 0 ]
  for number in 0 1 2 3; do run ! has_condition Completed jobset "control-$number"; done
  as_ana delete jobset control-{0,1,2,3}
}

# In a management cluster, controllers create no Jobs for delegated workloads. Only workloads in namespaces whose settings forbid delegation run
# in this cluster.
@test "role management: suspended local JobSets resume and finish" {
  serve_settings management
  assert_resumed jobset kueue-system management-jobset "$JOBSET"
}
@test "role management: suspended local MPIJobs resume and finish" { assert_resumed mpijob kueue-system management-mpijob "$MPI_OPERATOR"; }

# JobSet's service account is listed for Jobs if JobSet is installed.
@test "role worker, without the kind JobSet: suspended JobSets resume and finish" {
  VALUES=(--set projects.jobset.enabled=false)
  chart_settings cluster worker | jq -e '.builtin_status_writers | has("JobSet") | not'
  serve_settings worker
  apply_webhook cluster
  assert_resumed jobset team-a worker-unselected "$JOBSET"
}
