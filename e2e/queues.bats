# Tests the queues policy (deploy/queues.yml) with Kueue on a management cluster with RBAC, whose worker cluster runs nothing. The suite
# kubewarden tests that Kubewarden's controller creates the same webhook.
load lib
load controllers
load fleet

queues_spec() { yaml_to_json "$ROOT/deploy/queues.yml" | jq -c '.spec | select(.rules)'; }
setup_file() {
  require_programs policy-server "$KUEUE_ETCD" kube-apiserver "$KUEUE_PROGRAM" go unshare kubectl jq openssl curl python3
  export ETCD=$KUEUE_ETCD
  start_cluster worker --authorization-mode=AlwaysAllow
  # MultiKueue watches its kinds on the worker.
  for module in "$KUEUE_MODULE" "$JOBSET_MODULE"; do
    apply_crds worker 'del(.spec.conversion) | .spec.versions |= map(select(.storage))' "$(module_dir "$module")/config/components/crd/bases"
  done
  start_cluster management --authorization-mode=RBAC
  export KUBECONFIG=$RUN/management/kubeconfig
  kubectl create namespace team-a
  kubectl create clusterrolebinding kueue --clusterrole=cluster-admin --user="$KUEUE"
  run_kueue management
  kubectl create secret generic worker -n kueue-system --from-file=kubeconfig="$(kubeconfig worker "$MULTIKUEUE")"
  apply_queues management
  yaml_to_json <<'END' | jq -c '.[]' | kubectl create -f -
- apiVersion: kueue.x-k8s.io/v1beta2
  kind: ClusterQueue
  metadata: {name: local}
  spec: &spec {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: default, resources: [{name: cpu, nominalQuota: 1}]}]}]}
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: local, namespace: team-a}, spec: {clusterQueue: local}}
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: dangling, namespace: team-a}, spec: {clusterQueue: gone}}
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueConfig, metadata: {name: dead}, spec: {clusters: [unplugged]}}
- apiVersion: kueue.x-k8s.io/v1beta2
  kind: AdmissionCheck
  metadata: {name: dead}
  spec: {controllerName: kueue.x-k8s.io/multikueue, parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: dead}}
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: dead}, spec: {<<: *spec, admissionChecksStrategy: {admissionChecks: [{name: dead}]}}}
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: dead, namespace: team-a}, spec: {clusterQueue: dead}}
END
  # PolicyServer reaches the API server through a proxy, which a test pauses.
  start proxy python3 -c 'import socket, sys, threading
def copy(source, target):
    while data := source.recv(65536): target.sendall(data)
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    client, server = listener.accept()[0], socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    for pair in ((client, server), (server, client)): threading.Thread(target=copy, args=pair, daemon=True).start()' "$(free_port | tee "$RUN/proxy-port")" "$(port_in_file "$RUN/management/server")"
  yaml_to_json "$(kubeconfig management "$POLICY_SERVER")" | jq --arg port "$(<"$RUN/proxy-port")" '.clusters[0].cluster.server = "https://127.0.0.1:\($port)"' >"$RUN/lookups.kubeconfig"
  queues_spec | jq --arg file "$PODS_MODULE" --argjson capabilities "$(yaml_to_json "$ROOT/pods/metadata.yml" | jq .hostCapabilities)" '
    {queues: {"module": "file://\($file)", policyMode: .mode, settings, contextAwareResources, hostCapabilities: $capabilities}}' |
    KUBECONFIG=$RUN/lookups.kubeconfig start_policy_server policy-server
  yaml_to_json "$ROOT/deploy/queues.yml" | jq -c 'select(.kind | startswith("ClusterRole"))' >"$RUN/roles.json"
  kubectl apply -f "$RUN/roles.json"
  # The webhook that Kubewarden's controller creates for deploy/queues.yml.
  queues_spec | jq --arg url "$(<"$RUN/policy-server/url")/validate/queues" --rawfile ca "$RUN/policy-server/ca.crt" '{apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration", metadata: {name: "managed-by-queues"}, webhooks: [{name: "managed-by-queues.managed-by-policy.github.io", admissionReviewVersions: ["v1"],
      sideEffects: "None", clientConfig: {$url, caBundle: ($ca | @base64)}, failurePolicy, matchPolicy, timeoutSeconds, namespaceSelector, rules, matchConditions}]}' | kubectl apply -f -
  retry is_inactive clusterqueue dead
  retry has_condition Active clusterqueue local
  LIMIT=30 retry assert_warned absent 'LocalQueue absent does not exist in team-a'
}
setup() { export KUBECONFIG=$RUN/management/kubeconfig; }
teardown_file() { stop_all; }

is_inactive() { [ "$(kubectl get "$@" -o jsonpath='{.status.conditions[?(@.type=="Active")].status}')" = False ]; }
create_delegated() { delegated_job "$1" '' '' "$2" | kubectl create -n team-a -f -; }
# Passes if a Job is created with this warning only: assert_warned QUEUE PROBLEM
assert_warned() {
  run create_delegated "job-$1-$RANDOM" "$1"
  [ "$status" -eq 0 ] && [ "$(grep ^Warning: <<<"$output")" = "Warning: metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: $2 [delegation/unusable-queue]" ] || { echo "$output" && return 1; }
}
# Prints the objects that PolicyServer looked up, from a line of the audit log: lookups FROM
lookups() { audit_events management 'select(.verb == "get" and .objectRef.apiGroup == "kueue.x-k8s.io") | .objectRef.resource' "$1" | tr -d '"' | paste -sd ' '; }
next_line() { echo $(($(count_audit_lines management) + 1)); }

@test "a Job is warned about if its queue leads to no worker cluster, and the control Job is not" {
  assert_warned absent 'LocalQueue absent does not exist in team-a'
  assert_warned dangling 'ClusterQueue gone of LocalQueue dangling does not exist'
  assert_warned local 'ClusterQueue local has no MultiKueue check'
  assert_warned dead 'AdmissionCheck dead is inactive: Missing clusters: [unplugged]'
  assert_no_warning create_delegated control queue
  audit_events management 'select(.objectRef.resource == "jobs" and (.objectRef.name // "" | startswith("job-local"))) | .annotations' | grep 'warned":"delegation/unusable-queue metadata.labels'
}

@test "three lookups for a Job, none for the next one within 5 seconds, and none for other Jobs" {
  sleep 6
  from=$(next_line)
  assert_no_warning create_delegated first queue
  assert_no_warning create_delegated second queue
  [ "$(lookups "$from")" = "localqueues clusterqueues admissionchecks" ]
  sleep 6
  from=$(next_line)
  { job plain 'suspend: true'; job no-queue 'managedBy: kueue.x-k8s.io/multikueue'; job other 'managedBy: acme.io/runner'; } | kubectl create -n team-a -f -
  [ "$(audit_events management 'select(.objectRef.resource == "jobs" and .verb == "create") | .annotations | keys[] | select(contains("managed-by-queues"))' "$from")" = "" ]
  [ "$(lookups "$from")" = "" ]
}

@test "a CronJob's template is looked up" {
  run kubectl create -n team-a -f - <<<"$(job nightly "$DELEGATED" | yaml_to_json | jq '{apiVersion: "batch/v1", kind: "CronJob", metadata: {name: "nightly"},
    spec: {schedule: "0 0 1 1 *", jobTemplate: {metadata: {labels: {"kueue.x-k8s.io/queue-name": "absent"}}, spec}}}')"
  [ "$status" -eq 0 ] && [[ $output == *"spec.jobTemplate.metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: LocalQueue absent does not exist in team-a"* ]]
}

@test "a lookup that is forbidden is a warning, and one that hangs does not block a creation" {
  kubectl delete clusterrolebinding managed-by-queues
  forbidden() {
    run create_delegated "forbidden-$RANDOM" unknown
    [ "$status" -eq 0 ] && [[ $output == *'could not look up LocalQueue unknown; the queue was not checked [delegation/unusable-queue]'* ]]
  }
  retry forbidden
  audit_events management '.annotations' | grep 'lookup-failed.*LocalQueue unknown: .*is forbidden'
  kubectl apply -f "$RUN/roles.json"
  retry assert_warned absent 'LocalQueue absent does not exist in team-a'
  sleep 6
  kill -STOP "$(<"$RUN/proxy.pid")"
  begin=$EPOCHREALTIME
  run create_delegated hanging queue
  kill -CONT "$(<"$RUN/proxy.pid")"
  echo "# with a lookup that hangs, the creation takes $(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $begin }") s" >&3
  [ "$status" -eq 0 ]
}
