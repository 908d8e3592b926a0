# Tests kube-apiserver 1.30 with its default feature gates: it drops managedBy of a Job before it calls any webhook.
load lib
load controllers

TYPO='managedBy: kueue.x-k8s.io/multikeue'
API_SERVER=kube-apiserver-1.30.14

setup_file() {
  require_programs helm etcd "$API_SERVER" kube-controller-manager policy-server kubectl jq openssl curl python3
  start_protected_cluster management --authorization-mode=AlwaysAllow
  start_controller_manager cluster "${EMULATE_OLD_RELEASE[@]}"
}
teardown_file() { stop_all; }

@test "role management: a delegated Job is denied, because the API server drops the field first" {
  assert_fails_with '[managed-by/delegation]' as_ana create -f - <<<"$(job delegated 'managedBy: kueue.x-k8s.io/multikueue')"
}

@test "role hybrid: a typo is stored without the field and without a warning, and runs in this cluster" {
  serve_settings hybrid
  assert_no_warning as_ana create -f - <<<"$(job typo "$TYPO")"
  [ "$(audit_annotation typo mode)" = BuiltIn ]
  [ -z "$(kubectl get job typo -o jsonpath='{.spec.managedBy}')" ]
  kubectl wait job/typo --for=jsonpath='{.status.active}'=1 --timeout=1m
}

@test "role hybrid: a CronJob keeps the field in its template, so that the typo is denied" {
  assert_fails_with '[managed-by/reserved-domain]' as_ana create -f - <<<"$(workload batch/v1 CronJob typo "schedule: '* * * * *', jobTemplate: {spec: {$TYPO, template: $(template)}}")"
}
