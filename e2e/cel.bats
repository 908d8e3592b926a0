# Tests the chart's ValidatingAdmissionPolicies in a cluster without Kubewarden. Symlinks to this file run it with other releases.
load lib
load controllers

API_SERVER=kube-apiserver ARGUMENTS=(--authorization-mode=AlwaysAllow)
case $BATS_TEST_FILENAME in
*-1.30.bats) API_SERVER=kube-apiserver-1.30.14 ARGUMENTS+=(--feature-gates=JobManagedBy=true) ;;
*-1.37.bats) API_SERVER=kube-apiserver-1.37.1 ;;
esac

setup_file() {
  require_programs helm etcd "$API_SERVER" kube-controller-manager kubectl jq openssl curl python3
  start_cluster cluster "${ARGUMENTS[@]}"
  export KUBECONFIG=$RUN/cluster/kubeconfig
  kubectl create namespace team-a
  apply_test_crds AppWrapper JobSet RayCluster Workflow
  start_controller_manager cluster --controllers=validatingadmissionpolicy-status-controller
  apply_cel_policies cluster management
}
teardown_file() { stop_all; }

DELEGATED='managedBy: kueue.x-k8s.io/multikueue, suspend: true' TYPO='managedBy: kueue.x-k8s.io/multikeue'
# Runs a command that a ValidatingAdmissionPolicy must deny with a message that contains TEXT: denied TEXT COMMAND...
denied() { assert_fails_with "$1" "${@:2}" && [[ $output == *"ValidatingAdmissionPolicy 'managed-by-deny' with binding 'managed-by-deny' denied request"* ]]; }
dry_run() { job worker "$DELEGATED" | as_ana create --dry-run=server -f -; }

@test "a typo is denied, and a valid Job is created" {
  local shown
  shown=$(grep --only-matching 'The jobs "pi" is invalid: .*' "$ROOT/docs/explanation/outages.md")
  denied "$shown" as_ana create --dry-run=server -f - <<<"$(job pi "$TYPO")"
  assert_prints 'no known controller has this name' as_ana create -f - <<<"$(job pi "$TYPO")"
  # The API server evaluates CEL before it calls a webhook: here one without a server, which would reject every Job.
  kubectl apply -f - <<<'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: away}
webhooks:
  - name: away.e2e.io
    clientConfig: {url: "https://127.0.0.1:1/"}
    failurePolicy: Fail
    sideEffects: None
    admissionReviewVersions: [v1]
    rules: [{apiGroups: [batch], apiVersions: [v1], resources: [jobs], operations: [CREATE]}]
'
  retry assert_fails_with 'failed calling webhook "away.e2e.io"' as_ana create --dry-run=server -f - <<<"$(job pi "$DELEGATED")"
  denied "$shown" as_ana create --dry-run=server -f - <<<"$(job pi "$TYPO")"
  kubectl delete validatingwebhookconfiguration away
  LIMIT=5 retry eval 'job pi "$DELEGATED" | as_ana create --dry-run=server -f -'
  assert_no_warning as_ana create -f - <<<"$(job "pi, $QUEUED" "$DELEGATED")"
  assert_no_warning as_ana create -f - <<<"$(appwrapper "pi, $QUEUED" 'managedBy: kueue.x-k8s.io/multikueue, components: []')"
}

@test "a Job that is not delegated is denied, except in Kueue's namespace and for exempt users" {
  denied 'must name an external controller (role management), allowed: kueue.x-k8s.io/multikueue [managed-by/delegation]' as_ana create -f - <<<"$(job plain 'suspend: true')"
  assert_no_warning as_ana create -n kueue-system -f - <<<"$(job plain 'suspend: true')"
  denied 'must not name an external controller (namespaces of the settings)' as_ana create -n kueue-system -f - <<<"$(job delegated "$DELEGATED")"
  run kubectl create -f - <<<"$(job plain 'suspend: true')"
  [ "$status" -eq 0 ] && [[ $output == *Warning:*managed-by/delegation* ]]
}

@test "managedBy is immutable, and labels are not" {
  assert_no_warning as_ana label appwrapper pi a=b
  denied 'field is immutable [managed-by/immutable]' as_ana patch appwrapper pi --type=merge -p 'spec: {managedBy: acme.io/x}'
  denied 'Invalid value: null: field is immutable' as_ana patch appwrapper pi --type=merge -p 'spec: {managedBy: null}'
  workload ray.io/v1 RayCluster pruned 'managedBy: kueue.x-k8s.io/multikueue, rayVersion: "2.9"' | as_ana create -f -
  denied '[managed-by/pruned-version]' as_ana patch rayclusters.v1alpha1.ray.io pruned --type=merge -p 'metadata: {labels: {a: b}}'
}

# Prints the API server's CPU time in milliseconds, the lowest of three, for changing the last of many components: cost NAMESPACE
cost() {
  local before lowest=100000 spent
  for value in 2 3 4; do
    before=$(cpu)
    as_ana patch appwrapper large -n "$1" --type=json -p '[{"op": "add", "path": "/spec/components/59999/a", "value": '$value'}]' >/dev/null
    spent=$((10 * ($(cpu) - before)))
    [ $spent -ge $lowest ] || lowest=$spent
  done
  echo $lowest
}
cpu() { awk '{print $14 + $15}' "/proc/$(<"$RUN/cluster/kube-apiserver.pid")/stat"; }
# Before the conditions limited the number of components that they compare, it took 2.6 s, and was rejected above 40,000 components.
@test "a small change of an object with 60,000 templates costs at most half a second more than without the policies" {
  local large
  large=$(jq -nc '{apiVersion: "workload.codeflare.dev/v1beta2", kind: "AppWrapper", metadata: {name: "large"},
    spec: {managedBy: "kueue.x-k8s.io/multikueue", components: [range(60000) | {a: 1}]}}')
  # kube-system is excluded.
  for namespace in kube-system team-a; do kubectl create -n "$namespace" -f - <<<"$large"; done
  local without=$(cost kube-system) with=$(cost team-a)
  echo "# without: $without ms, with: $with ms" >&3
  [ "$with" -lt 100000 ] && [ "$with" -le $((without + 500)) ]
  kubectl delete appwrapper large -n team-a
}

# docs/explanation/outages.md
@test "a spec that is a scalar counts as one without the field, and a list is denied" {
  for spec in x 5 true; do
    appwrapper scalar | sed "s/spec: {}/spec: $spec/" >"$BATS_TEST_TMPDIR/scalar.yml"
    assert_no_warning as_ana create --dry-run=server -n kueue-system -f "$BATS_TEST_TMPDIR/scalar.yml"
    denied 'must name an external controller' as_ana create --dry-run=server -f "$BATS_TEST_TMPDIR/scalar.yml"
    denied 'field is immutable' as_ana patch appwrapper pi --dry-run=server --type=merge -p "spec: $spec"
  done
  sed "s/spec: true/spec: []/" "$BATS_TEST_TMPDIR/scalar.yml" >"$BATS_TEST_TMPDIR/list.yml"
  assert_fails_with "ValidatingAdmissionPolicy 'managed-by-deny'" as_ana create --dry-run=server -n kueue-system -f "$BATS_TEST_TMPDIR/list.yml"
}

# The queries in docs/tasks/monitor.md, and in the chart's alerts and dashboard.
@test "denials leave an audit annotation and a metric" {
  denied '[managed-by/allowed]' as_ana create -f - <<<"$(job unseen "$TYPO")"
  local query
  query=$(sed -n "s/^   jq -r '\(.*validation_failure.*\)' audit.log .*/\1/p" "$ROOT/docs/tasks/monitor.md")
  [ -n "$query" ]
  retry eval 'jq -r "$query" "$RUN/cluster/audit.log" | grep --line-regexp managed-by/allowed'
  # 1.30 has no error_type, but a state.
  kubectl get --raw /metrics | grep -E '^apiserver_validating_admission_policy_check_total\{enforcement_action="deny",(error_type="invalid_error",)?policy="managed-by-deny",policy_binding="managed-by-deny"(,state="active")?\} [1-9]'
}

@test "only the listed controllers write the status" {
  denied '[status-writer/delegated]' update_status ana pi 'active: 0, ready: 0, terminating: 0'
  assert_no_warning update_status "$KUEUE" pi 'active: 0, ready: 0, terminating: 0'
  denied 'that are not delegated [status-writer/builtin]' update_status ana plain 'active: 1'
  assert_no_warning update_status "$JOB_CONTROLLER" plain 'active: 1'
  denied '[status-writer/delegated]' update_status ana appwrapper/pi 'phase: Succeeded'
  assert_no_warning update_status "$KUEUE" appwrapper/pi 'phase: Running'
}

@test "changed settings take effect immediately" {
  apply_cel_policies cluster management --set role=hybrid --set settings.rules.managed-by/allowed=warn
  LIMIT=5 retry eval 'job hybrid "suspend: true" | as_ana create -f -'
  # The API server reads the two policies one after the other.
  job warned 'managedBy: acme.io/x, suspend: true' >"$BATS_TEST_TMPDIR/warned"
  LIMIT=5 retry assert_prints 'Warning: Validation failed for ValidatingAdmissionPolicy '"'managed-by-warn'" as_ana create --dry-run=server -f "$BATS_TEST_TMPDIR/warned"
  apply_cel_policies cluster management --set role=worker
  LIMIT=5 retry assert_fails_with 'must not name an external controller (role worker)' dry_run
}

@test "mode monitor warns, and denies nothing" {
  apply_cel_policies cluster management --set mode=monitor
  LIMIT=5 retry eval 'job monitored "$TYPO" | as_ana create -f -'
  assert_prints "Warning: Validation failed for ValidatingAdmissionPolicy 'managed-by-deny'" as_ana create --dry-run=server -f - <<<"$(job pi "$TYPO")"
  retry eval 'jq -r ".annotations[\"validation.policy.admission.k8s.io/validation_failure\"] // empty | fromjson[] | .validationActions | join(\",\")" "$RUN/cluster/audit.log" | grep Warn,Audit'
  apply_cel_policies cluster management
  LIMIT=5 retry eval 'job pi "$TYPO" | denied "[managed-by/allowed]" as_ana create --dry-run=server -f -'
}

@test "the API server reports no type errors in the expressions" {
  for name in managed-by-deny managed-by-warn; do
    retry eval "kubectl get validatingadmissionpolicy $name -o json | jq -e '.status.observedGeneration'"
    [ "$(kubectl get validatingadmissionpolicy "$name" -o json | jq -c '.status.typeChecking.expressionWarnings // [] | map(.warning)')" = '[]' ] ||
      { kubectl get validatingadmissionpolicy "$name" -o json | jq -r '.status.typeChecking.expressionWarnings[].warning' && return 1; }
  done
}
