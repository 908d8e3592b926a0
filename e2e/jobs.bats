# Tests that the built-in Job controller is neither denied nor warned, with 20 different Jobs and the chart's settings for a hybrid cluster.
load lib
load controllers

setup_file() {
  require_programs helm etcd kube-apiserver kube-controller-manager policy-server kubectl jq openssl curl python3
  start_protected_cluster hybrid --authorization-mode=AlwaysAllow
  start_controller_manager cluster
  start_kubelet cluster
}
teardown_file() { stop_all; }

INDEXED='completions: 4, parallelism: 4, completionMode: Indexed'
# Name, terminal condition (or Gone, Never), spec, and annotations of the pods.
SHAPES="\
plain|Complete
three|Complete|completions: 3, parallelism: 2
work-queue|Complete|parallelism: 3
no-completions|Complete|completions: 0
indexed|Complete|completions: 5, parallelism: 3, completionMode: Indexed
fails|Failed|backoffLimit: 0|e2e/exit: '1'
replaced-when-failed|Failed|backoffLimit: 0, podReplacementPolicy: Failed|e2e/exit: '1'
per-index|Failed|$INDEXED, backoffLimitPerIndex: 0|e2e/fail-index: '1,3'
max-failed-indexes|Failed|$INDEXED, backoffLimitPerIndex: 0, maxFailedIndexes: 1|e2e/fail-index: '0,1,2'
success-policy|Complete|$INDEXED, successPolicy: {rules: [{succeededIndexes: '0', succeededCount: 1}]}
pod-failure-policy|Failed|completions: 3, parallelism: 3, podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [42]}}]}|e2e/exit: '42'
deadline|Failed|activeDeadlineSeconds: 2|e2e/run: forever
time-to-live|Gone|ttlSecondsAfterFinished: 1
suspended|Complete|suspend: true, completions: 2
suspended-for-good|Never|suspend: true
suspended-midway|Complete|completions: 2, parallelism: 2|e2e/run: '4000'
elastic|Complete|$INDEXED|e2e/run: '2000'
deleted|Gone|completions: 2, parallelism: 2|e2e/run: forever
reserved|Complete|managedBy: kubernetes.io/job-controller
delegated|Never|managedBy: kueue.x-k8s.io/multikueue"

@test "20 different Jobs end in the expected state" {
  local labels='labels: {kueue.x-k8s.io/queue-name: queue}'
  while IFS='|' read -r name _ spec annotations; do job "$name, $labels" "$spec" "$annotations"; done <<<"$SHAPES" >"$BATS_TEST_TMPDIR/jobs.yml"
  assert_no_warning as_ana create -f "$BATS_TEST_TMPDIR/jobs.yml"
  workload batch/v1 CronJob cron "schedule: '* * * * *', jobTemplate: {spec: {template: $(template)}}" | as_ana create -f -

  as_ana patch job suspended -p 'spec: {suspend: false}'
  as_ana patch job elastic -p 'spec: {completions: 2, parallelism: 2}'
  kubectl wait job/suspended-midway job/deleted --for=jsonpath='{.status.ready}'=2 --timeout=30s
  as_ana patch job suspended-midway -p 'spec: {suspend: true}'
  as_ana delete job deleted --wait=false
  retry has_condition Suspended job suspended-midway
  retry eval '[ -z "$(kubectl get job suspended-midway -o jsonpath={.status.active})" ]'
  as_ana patch job suspended-midway -p 'spec: {suspend: false}'
  while IFS='|' read -r name end _; do
    case $end in
    Gone) LIMIT=30 retry assert_fails_with NotFound kubectl get job "$name" ;;
    Never) run ! has_condition Complete job "$name" && run ! has_condition Failed job "$name" && kubectl get job "$name" ;;
    *) LIMIT=30 retry has_condition "$end" job "$name" ;;
    esac || { echo "$name is not $end" && return 1; }
  done <<<"$SHAPES"
}

@test "the Job controller was never denied, and no user was warned" {
  [ "$(audit_events cluster "$(written_by "$JOB_CONTROLLER") | $EVALUATED" | wc -l)" -ge 50 ]
  assert_no_denials cluster 1 ''
}

# docs/explanation/outages.md contains these counts.
@test "the webhook is called for the creation of a Job and, if status writers of Jobs are listed, for each status update" {
  for manifest in management worker hybrid namespace; do
    chart_webhook cluster "$manifest" | jq '.webhooks[0]' >"$BATS_TEST_TMPDIR/webhook.json"
    # The API server applies the change with a delay. It has done so once it no longer calls the webhook for this name.
    apply_webhook cluster ".rules = $(jq -c .rules "$BATS_TEST_TMPDIR/webhook.json") | .matchConditions = $(jq -c .matchConditions "$BATS_TEST_TMPDIR/webhook.json") + [{name: \"in-force\", expression: \"object.metadata.name != 'probe-$manifest'\"}]"
    retry eval 'job probe-$manifest "managedBy: kubernetes.io/job-controler" | assert_no_warning as_ana create --dry-run=server -f -'
    # Long enough for a status update in every state of the pod.
    job "life-$manifest" '' "e2e/run: '4000'" | as_ana create -f -
    as_ana label job "life-$manifest" a=b
    LIMIT=30 retry has_condition Complete job "life-$manifest"
    as_ana delete job "life-$manifest"
    assert_webhook_calls cluster "life-$manifest" "$(chart_settings cluster "$manifest" | jq -r '.builtin_status_writers.Job // [] | .[]')"
  done
}
