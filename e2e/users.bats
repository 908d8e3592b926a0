# Tests requests from users and controllers with the chart's settings and webhook for a hybrid cluster.
load lib

DELEGATED='managedBy: kueue.x-k8s.io/multikueue, suspend: true'
TYPO='managedBy: kubernetes.io/job-controler, suspend: true'
NOW=$(date --utc +%FT%TZ)

setup_file() {
  require_programs helm etcd kube-apiserver policy-server kubectl jq openssl curl python3
  start_cluster cluster --authorization-mode=AlwaysAllow
  export KUBECONFIG=$RUN/cluster/kubeconfig
  # Delegation is optional in team-a, and required in team-example.
  kubectl create namespace team-a
  kubectl create namespace team-example
  apply_test_crds AppWrapper PyTorchJob
  job old "$TYPO" | as_ana create -f -
  job 'old-held, finalizers: [acme.io/hold]' "$TYPO" | as_ana create -f -
  pytorchjob scaled 'replicas: 1, runPolicy: {managedBy: kubernetes.io/job-controler}' | as_ana create -f -
  serve_settings hybrid
  apply_webhook cluster
}
teardown_file() { stop_all; }

pytorchjob() { workload kubeflow.org/v1 PyTorchJob "$@"; }

@test "create: a Job that is not delegated" {
  assert_no_warning as_ana create -f - <<<"$(job plain)"
  [ "$(audit_annotation plain mode)" = BuiltIn ]
}

@test "create: a delegated Job, and the audit log names the controller" {
  assert_no_warning as_ana create -f - <<<"$(job "delegated, $QUEUED" "$DELEGATED")"
  [ "$(audit_annotation delegated mode)" = Delegated ]
  [ "$(audit_annotation delegated controller)" = '"kueue.x-k8s.io/multikueue"' ]
}

@test "create: a typo is denied, and the message suggests the right name" {
  assert_fails_with 'admission webhook "managed-by.managed-by-policy.github.io" denied the request: Job.batch "typo" is invalid: ' as_ana create -f - <<<"$(job typo "$TYPO")"
  [[ $output == *'did you mean "kubernetes.io/job-controller"?'* ]]
  [[ $(audit_annotation typo denied) == *'managed-by/reserved-domain spec.managedBy'* ]]
}

@test "create: a controller that is allowed only in other namespaces is denied" {
  assert_fails_with '[managed-by/allowed]' as_ana create -f - <<<"$(job elsewhere 'managedBy: example.com/runner, suspend: true')"
}

@test "update: managedBy of an AppWrapper may not be changed, which API servers do not enforce" {
  appwrapper wrapped 'managedBy: kueue.x-k8s.io/multikueue, components: []' | as_ana create -f -
  appwrapper bare 'components: []' | as_ana create -f -
  assert_fails_with 'field is immutable' as_ana patch appwrapper wrapped --type=merge -p 'spec: {managedBy: workload.codeflare.dev/appwrapper}'
  assert_fails_with 'field is immutable' as_ana patch appwrapper wrapped --type=merge -p 'spec: {managedBy: null}'
  assert_fails_with 'field is immutable' as_ana patch appwrapper bare --type=merge -p 'spec: {managedBy: kueue.x-k8s.io/multikueue}'
  [[ $output == *'denied the request'* ]]
}

@test "update: an invalid Job that was created before the policy can be changed, finalized and deleted" {
  as_ana patch job old -p $'metadata: {labels: {a: b}}\nspec: {parallelism: 2}'
  as_ana delete job old-held --wait=false
  as_ana patch job old-held -p 'metadata: {finalizers: null}'
  assert_fails_with NotFound kubectl get job old-held
  as_ana delete job old
}

@test "delete: allowed in every state" {
  deleted() { # NAME STATUS [SPEC]
    job "$1" "${3:-}" | as_ana create -f -
    [ -z "$2" ] || update_status admin "$1" "$2"
    as_ana delete job "$1"
  }
  condition() { echo "{type: $1, status: \"True\", lastProbeTime: \"$NOW\", lastTransitionTime: \"$NOW\"}"; }
  deleted deleted-new ''
  deleted deleted-delegated '' "$DELEGATED"
  deleted deleted-suspended "conditions: [$(condition Suspended)]" 'suspend: true'
  deleted deleted-active "startTime: \"$NOW\", active: 1, ready: 1"
  deleted deleted-complete "startTime: \"$NOW\", completionTime: \"$NOW\", succeeded: 1, conditions: [$(condition SuccessCriteriaMet), $(condition Complete)]"
  deleted deleted-failed "startTime: \"$NOW\", failed: 1, conditions: [$(condition FailureTarget), $(condition Failed)]"
}

@test "break-glass: allowed, with a warning and an audit annotation" {
  run kubectl create --as=example-break-glass -n team-example -f - <<<"$(job exempt)"
  [ "$status" -eq 0 ]
  [[ $output == *Warning:*managed-by/delegation*'is exempt'* ]]
  [ "$(audit_annotation exempt exempted)" = 'managed-by/delegation spec.managedBy' ]
}

@test "scale: allowed even if managedBy is invalid" {
  as_ana scale pytorchjob scaled --replicas=3
  [ "$(kubectl get pytorchjob scaled -o jsonpath='{.spec.replicas}')" -eq 3 ]
}

@test "another served version of the kind is evaluated too (matchPolicy: Equivalent)" {
  assert_fails_with 'AppWrapper.workload.codeflare.dev "equivalent" is invalid' as_ana create -f - \
    <<<"$(workload workload.codeflare.dev/v1beta3 AppWrapper equivalent 'managedBy: kubernetes.io/job-controler, components: []')"
}

@test "the selector excludes kube-system" {
  assert_no_warning as_ana create -n kube-system -f - <<<"$(job excluded "$TYPO")"
  [ "$(audit_annotation excluded mode)" = none ]
}

# kubectl writes the status like an external controller.
@test "external controller: a Job that completes" {
  job good 'managedBy: kueue.x-k8s.io/multikueue' | as_ana create -f -
  criteria="{type: SuccessCriteriaMet, status: \"True\"}"
  assert_no_warning update_status "$KUEUE" good "startTime: \"$NOW\", active: 1, ready: 0"
  assert_no_warning update_status "$KUEUE" good 'ready: 1'
  assert_no_warning update_status "$KUEUE" good "active: 0, ready: 0, succeeded: 1, conditions: [$criteria]"
  assert_no_warning update_status "$KUEUE" good "completionTime: \"$NOW\", conditions: [$criteria, {type: Complete, status: \"True\"}]"
}

@test "external controller: a Job that fails" {
  job failing 'managedBy: kueue.x-k8s.io/multikueue' | as_ana create -f -
  target="{type: FailureTarget, status: \"True\"}"
  assert_no_warning update_status "$KUEUE" failing "startTime: \"$NOW\", active: 1"
  assert_no_warning update_status "$KUEUE" failing "active: 0, failed: 1, conditions: [$target]"
  assert_no_warning update_status "$KUEUE" failing "conditions: [$target, {type: Failed, status: \"True\"}]"
}

@test "external controller: an AppWrapper, whose outcome is final" {
  appwrapper good 'managedBy: kueue.x-k8s.io/multikueue, components: []' | as_ana create -f -
  for phase in Suspended Resuming Running Succeeded; do assert_no_warning update_status "$KUEUE" appwrapper/good "phase: $phase"; done
  for phase in Running Failed; do assert_fails_with status.phase update_status "$KUEUE" appwrapper/good "phase: $phase"; done
}

