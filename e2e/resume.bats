# JobSets and MPIJobs that are suspended while they run, and resumed: their controllers then write the status of Jobs that they do not run
# themselves, and the shipped lists of writers must include them. Links to this file run it where the Job controller keeps `startTime`.
#
# JobSet and the mpi-operator remove `startTime` from a suspended Job before they let it run again. The Job controller does that itself from
# 1.36 on, when it suspends the Job (MutableSchedulingDirectivesForSuspendedJobs); then the two race. In other releases only JobSet does.
load lib
load controllers

API_SERVER=kube-apiserver ARGUMENTS=(--authorization-mode=AlwaysAllow) MANAGER=() CRD=. KEEPS_START=
GATE=--feature-gates=MutableSchedulingDirectivesForSuspendedJobs=false
case $BATS_TEST_FILENAME in
*-gate-off.bats) ARGUMENTS+=("$GATE") MANAGER=("$GATE") KEEPS_START=true ;;
*-1.30.bats)
  API_SERVER=kube-apiserver-1.30.14 ARGUMENTS+=(--feature-gates=JobManagedBy=true) MANAGER=("${AS_OLD[@]}") KEEPS_START=true
  # A rule of JobSet's CRD reads metadata.namespace, which the rules of 1.30 cannot.
  CRD='del(.spec.versions[].schema.openAPIV3Schema.properties.spec.properties.volumeClaimPolicies.items["x-kubernetes-validations"])'
  ;;
esac

setup_file() {
  needs helm etcd "$API_SERVER" kube-controller-manager jobset go policy-server kubectl jq openssl curl python3
  cluster cluster "${ARGUMENTS[@]}"
  export KUBECONFIG=$RUN/cluster/kubeconfig
  kubectl create namespace team-a
  controller_manager cluster "${MANAGER[@]}"
  run_jobset cluster "$CRD"
  ! command -v mpi-operator || run_mpi_operator cluster
  serve worker
  webhook cluster
  kubelet cluster
}
teardown_file() { stop_all; }

# Longer than it takes to suspend them on a slow machine.
RUNS="e2e/run: '5000'"
jobset_spec() { workload jobset.x-k8s.io/v1alpha2 JobSet "$1" "replicatedJobs: [{name: a, replicas: 2, template: {spec: {backoffLimit: 0, completions: 1, parallelism: 1, template: $(template "$RUNS")}}}]"; }
# The workers run until the mpi-operator deletes them, when the launcher ends.
mpijob_spec() {
  workload kubeflow.org/v2beta1 MPIJob "$1" "slotsPerWorker: 1, runPolicy: {cleanPodPolicy: Running}, mpiReplicaSpecs: {
    Launcher: {replicas: 1, restartPolicy: Never, template: $(template "$RUNS")}, Worker: {replicas: 1, restartPolicy: Never, template: $(template 'e2e/run: forever')}}"
}

# Runs four of them, suspends and resumes each: flip KIND NAMESPACE NAME
flip() {
  local number suspend='{suspend: %s}' children=(a-0 a-1)
  [ "$1" = jobset ] || suspend='{runPolicy: {suspend: %s}}' children=(launcher)
  for number in 0 1 2 3; do "$1_spec" "$3-$number"; done | ana create -n "$2" -f -
  for number in 0 1 2 3; do soon kubectl wait -n "$2" $(printf "job/$3-$number-%s " "${children[@]}") --for=jsonpath='{.status.ready}'=1 --timeout=1m; done
  # Each is resumed as soon as its Jobs are suspended: where the Job controller removes `startTime` too, it has just begun with that.
  local flips=()
  for number in 0 1 2 3; do
    {
      ana patch "$1" -n "$2" "$3-$number" --type=merge -p "spec: $(printf "$suspend" true)" &&
        kubectl wait -n "$2" $(printf "job/$3-$number-%s " "${children[@]}") --for=jsonpath='{.spec.suspend}'=true --timeout=1m &&
        ana patch "$1" -n "$2" "$3-$number" --type=merge -p "spec: $(printf "$suspend" false)"
    } 3>&- &
    flips+=($!)
  done
  for number in "${flips[@]}"; do wait "$number"; done
}

# All end, no write is denied, and the controller wrote the status of Jobs where it must: good KIND NAMESPACE NAME CONTROLLER
good() {
  local from number writes end=Completed
  [ "$1" = jobset ] || { command -v mpi-operator || skip "no mpi-operator"; end=Succeeded; }
  from=$(events)
  flip "$1" "$2" "$3"
  for number in 0 1 2 3; do soon has "$end" "$1" "$3-$number" -n "$2"; done
  quiet cluster "$from" '' "$JOB_CONTROLLER"
  writes=$(audit cluster "$(by "$4") | $JUDGED | $STATUS" "$from" | wc -l)
  echo "# $writes writes of $4 to the status of Jobs" >&3
  [ -z "$KEEPS_START" ] || [ "$writes" -gt 0 ]
}

@test "role worker: JobSets are resumed, and all end" { good jobset team-a worker-jobset "$JOBSET"; }
@test "role worker: MPIJobs are resumed, and all end" { good mpijob team-a worker-mpijob "$MPI_OPERATOR"; }

@test "control: without JobSet's account in builtin_status_writers.Job, none ends" {
  # Where the status write is certain to happen.
  [ -n "$KEEPS_START" ] || skip "the Job controller removes startTime itself"
  settings=$(settings cluster worker)
  fewer=$(jq --arg jobset "$JOBSET" '.builtin_status_writers.Job -= [$jobset]' <<<"$settings")
  [ "$fewer" != "$settings" ]
  protect "$fewer" | jq '{"managed-by": .}' | policy_server cluster/policy-server
  from=$(events)
  flip jobset team-a control
  # More than the pods need.
  sleep 10
  [ "$(audit cluster "$(by "$JOBSET") | $DENIED" "$from" | wc -l)" -gt 0 ]
  for number in 0 1 2 3; do run ! has Completed jobset "control-$number"; done
  ana delete jobset control-{0,1,2,3}
}

# A management cluster delegates, and its own controllers make no Jobs of what is delegated, except in namespaces where its settings forbid
# delegation.
@test "role management: JobSets of the cluster's own are resumed, and all end" {
  serve management
  good jobset kueue-system management-jobset "$JOBSET"
}
@test "role management: MPIJobs of the cluster's own are resumed, and all end" { good mpijob kueue-system management-mpijob "$MPI_OPERATOR"; }

# Its account is listed for Jobs wherever it is installed.
@test "role worker, without the kind JobSet: JobSets are resumed, and all end" {
  VALUES=(--set projects.jobset.enabled=false)
  settings cluster worker | jq -e '.builtin_status_writers | has("JobSet") | not'
  serve worker
  webhook cluster
  good jobset team-a worker-unselected "$JOBSET"
}
