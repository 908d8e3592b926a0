# Tests `failurePolicy` and `matchConditions` while PolicyServer is down. Symlinks to this file run it with other releases.
load lib

DELEGATED='managedBy: kueue.x-k8s.io/multikueue, suspend: true'
API_SERVER=kube-apiserver ARGUMENTS=(--authorization-mode=AlwaysAllow)
case $BATS_TEST_FILENAME in
*-1.30.bats) API_SERVER=kube-apiserver-1.30.14 ARGUMENTS+=(--feature-gates=JobManagedBy=true) ;;
*-1.37.bats) API_SERVER=kube-apiserver-1.37.1 ;;
esac

setup_file() {
  require_programs helm etcd "$API_SERVER" policy-server kubectl jq openssl curl python3
  start_cluster cluster "${ARGUMENTS[@]}"
  export KUBECONFIG=$RUN/cluster/kubeconfig
  kubectl create namespace team-a
  apply_test_crds AppWrapper PyTorchJob
  serve_settings hybrid
  apply_webhook cluster
}
teardown_file() { stop_all; }

# Runs a command that must fail because the API server calls the webhook: assert_unavailable COMMAND...
assert_unavailable() { assert_fails_with 'failed calling webhook' "$@"; }
cannot_create() { assert_unavailable as_ana create --dry-run=server -f - <<<"$(job refused)"; }

@test "Fail: nothing is created, and Jobs can be deleted" {
  job kept "$DELEGATED" | as_ana create -f -
  job deleted "$DELEGATED" | as_ana create -f -
  stop cluster/policy-server
  assert_unavailable as_ana create -f - <<<"$(job refused)"
  as_ana delete job deleted
}

@test "after PolicyServer restarts, the policy denies writes" {
  serve_settings hybrid
  apply_webhook cluster
  assert_fails_with reserved-domain as_ana create -f - <<<"$(job denied 'managedBy: kubernetes.io/job-controler')"
  kubectl get job kept
}

# Prints the matchConditions of a policy: conditions POLICY
conditions() {
  if [ "$1" = pods ]; then pods_spec | jq -c .matchConditions; else chart_webhook cluster "$1" | jq -c '.webhooks[0].matchConditions'; fi
}
@test "the matchConditions of every policy compile" {
  for manifest in management worker namespace pods hybrid; do
    conditions=$(conditions "$manifest")
    [ "$(jq length <<<"$conditions")" -gt 0 ]
    apply_webhook cluster ".matchConditions = $conditions"
  done
}

@test "matchConditions of a hybrid cluster: workloads are created, and PolicyServer is stopped" {
  apply_webhook cluster ".matchConditions = $(conditions hybrid)"
  {
    job own 'suspend: true'
    job delegated "$DELEGATED"
    job reserved 'managedBy: kubernetes.io/job-controller, suspend: true'
    components='components: [{template: {apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {}}}]'
    appwrapper own "$components"
    appwrapper delegated "managedBy: kueue.x-k8s.io/multikueue, $components"
    appwrapper reserved "managedBy: workload.codeflare.dev/appwrapper-controller, $components"
    # The schema doesn't require a spec.
    printf -- '---\n{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, metadata: {name: bare}}\n'
    workload kubeflow.org/v1 PyTorchJob own 'runPolicy: {}'
    workload kubeflow.org/v1 PyTorchJob delegated 'runPolicy: {managedBy: kueue.x-k8s.io/multikueue}'
  } | as_ana create -f -
  stop cluster/policy-server
  # Until the API server applies the new conditions, it calls the webhook for all writes, or for none.
  LIMIT=20 retry kubectl label job own --dry-run=server b=c
  LIMIT=20 retry cannot_create
}

@test "matchConditions: writes to objects that are not delegated do not call the webhook" {
  assert_no_warning as_ana label job own a=b
  assert_no_warning update_status ana own 'active: 0, ready: 0, terminating: 0'
  assert_no_warning update_status ana reserved 'active: 0, ready: 0, terminating: 0'
  assert_no_warning update_status ana appwrapper/own 'phase: Running'
  assert_no_warning update_status ana appwrapper/reserved 'phase: Running'
  assert_no_warning update_status ana appwrapper/bare 'phase: Running'
  assert_no_warning as_ana label appwrapper bare a=b
  assert_no_warning update_status ana pytorchjob/own 'replicas: 1'
}

@test "matchConditions: label changes and resuming delegated objects do not call the webhook" {
  assert_no_warning as_ana label appwrapper delegated a=b
  # Kueue resumes Jobs this way.
  assert_no_warning as_ana patch job delegated -p 'spec: {suspend: false}'
}

@test "matchConditions: status updates of delegated objects call the webhook" {
  assert_unavailable update_status ana delegated 'active: 0, ready: 0, terminating: 0'
  assert_unavailable update_status ana appwrapper/delegated 'phase: Running'
  assert_unavailable update_status ana pytorchjob/delegated 'replicas: 1'
}

@test "matchConditions: changes of managedBy call the webhook, including in templates" {
  assert_unavailable as_ana patch appwrapper own --type=merge -p 'spec: {managedBy: kueue.x-k8s.io/multikueue}'
  assert_unavailable as_ana patch appwrapper delegated --type=merge -p 'spec: {managedBy: null}'
  assert_unavailable as_ana patch appwrapper own --type=merge -p 'spec: {components: [{template: {apiVersion: batch/v1, kind: Job, spec: {managedBy: acme.io/x}}}]}'
  assert_unavailable as_ana patch pytorchjob own --type=merge -p 'spec: {runPolicy: {managedBy: kueue.x-k8s.io/multikueue}}'
}
