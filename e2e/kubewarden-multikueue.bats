# Tests the MultiKueue tutorial and the queues policy on a management cluster and two workers, each with Kubewarden, Kueue and JobSet, and the chart installed with Helm. The
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

# docs/rules/delegation/unusable-queue.md
create_delegated() { delegated_job "$1" '' '' "$2" | kubectl create -n team-a -f -; }
# Passes if the creation of a Job succeeds with exactly one warning: assert_warned QUEUE WARNING
assert_warned() {
  run create_delegated "job-$1" "$1"
  [ "$status" -eq 0 ]
  [ "$(grep ^Warning <<<"$output")" = "Warning: $2 [delegation/unusable-queue]" ] || { echo "$output" && return 1; }
}
# Prints the lookups in the management cluster from a line of its audit log: lookups FROM
lookups() { audit_events management 'select(.verb == "get" and .objectRef.apiGroup == "kueue.x-k8s.io") | .objectRef.resource' "$1"; }
is_inactive() { [ "$(kubectl get "$@" -o jsonpath='{.status.conditions[?(@.type=="Active")].status}')" = False ]; }

@test "queues: a Job is warned about if its queue leads to no worker cluster, and the control Job is not" {
  export KUBECONFIG=$RUN/management/kubeconfig
  helm install queues "$CHART" --set policy.enabled=false,queues.enabled=true
  wait_policies
  kubectl create -f - <<'EOF'
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: local}, spec: {namespaceSelector: {},
  resourceGroups: [{coveredResources: [cpu], flavors: [{name: default, resources: [{name: cpu, nominalQuota: 1}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: local, namespace: team-a}, spec: {clusterQueue: local}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: dangling, namespace: team-a}, spec: {clusterQueue: gone}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueConfig, metadata: {name: dead}, spec: {clusters: [unplugged]}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: dead}
spec: {controllerName: kueue.x-k8s.io/multikueue, parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: dead}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: dead}, spec: {namespaceSelector: {}, admissionChecksStrategy: {admissionChecks: [{name: dead}]},
  resourceGroups: [{coveredResources: [cpu], flavors: [{name: default, resources: [{name: cpu, nominalQuota: 1}]}]}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: dead, namespace: team-a}, spec: {clusterQueue: dead}}
EOF
  retry is_inactive clusterqueue dead
  retry has_condition Active clusterqueue local
  local label='metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value:'
  LIMIT=20 retry assert_warned absent "$label LocalQueue absent does not exist in team-a"
  assert_warned dangling "$label ClusterQueue gone of LocalQueue dangling does not exist"
  assert_warned local "$label ClusterQueue local has no MultiKueue check"
  assert_warned dead "$label AdmissionCheck dead is inactive: Missing clusters: [unplugged]"

  # Three lookups, which PolicyServer caches for 5 seconds.
  local from
  from=$(($(count_audit_lines management) + 1))
  run create_delegated control queue
  [ "$status" -eq 0 ] && [[ $output != *Warning* ]]
  create_delegated control-again queue
  lookups "$from" >seen
  printf '"%s"\n' localqueues clusterqueues admissionchecks | diff - seen
  audit_events management 'select(.objectRef.name == "job-local" and .verb == "create") | .annotations' | grep 'warned":"delegation/unusable-queue metadata.labels'

  # Other workloads don't reach the webhook.
  from=$(($(count_audit_lines management) + 1))
  job plain 'suspend: true' | kubectl create -n team-a -f -
  job no-queue 'managedBy: kueue.x-k8s.io/multikueue' | kubectl create -n team-a -f -
  audit_events management 'select(.objectRef.name == "plain" or .objectRef.name == "no-queue") | .annotations' "$from" >annotations
  run ! grep queues annotations
  [ "$(lookups "$from" | wc -l)" -eq 0 ]
}
@test "queues: a CronJob's template is looked up" {
  export KUBECONFIG=$RUN/management/kubeconfig
  run kubectl create -n team-a -f - <<<"$(job nightly "$DELEGATED" | yaml_to_json /dev/stdin | jq '{apiVersion: "batch/v1", kind: "CronJob", metadata: {name: "nightly"},
    spec: {schedule: "0 0 1 1 *", jobTemplate: {metadata: {labels: {"kueue.x-k8s.io/queue-name": "absent"}}, spec}}}')"
  [ "$status" -eq 0 ] && [[ $output == *"spec.jobTemplate.metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: LocalQueue absent does not exist in team-a"* ]]
}
@test "queues: a failed lookup is a warning" {
  export KUBECONFIG=$RUN/management/kubeconfig
  kubectl delete clusterrolebinding queues-managed-by-queues
  # PolicyServer caches no error.
  run create_delegated forbidden unknown
  [ "$status" -eq 0 ] && [[ $output == *'could not look up LocalQueue unknown; the queue was not checked [delegation/unusable-queue]'* ]]
  audit_events management 'select(.objectRef.name == "forbidden" and .verb == "create") | .annotations' | grep 'lookup-failed.*is forbidden'
}
@test "queues: latency" {
  export KUBECONFIG=$RUN/management/kubeconfig
  helm upgrade queues "$CHART" --set policy.enabled=false,queues.enabled=true
  kubectl apply -f <(helm get manifest queues) 
  for n in $(seq 60); do delegated_job "timed-$n"; done >timed.yml
  webhook_time() { kubectl get --raw /metrics | grep '^apiserver_admission_webhook_admission_duration_seconds_\(sum\|count\).*managed-by-queues' | sed 's/.* //' | paste -sd ' '; }
  webhook_time >before
  kubectl create -n team-a --dry-run=server -f timed.yml
  webhook_time >after
  echo "# seconds and calls of the webhook: $(<before) before, $(<after) after 60 creates" >&3
}
