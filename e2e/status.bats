# Tests `managed-by status` without the policy: on a management cluster and a worker with MultiKueue, JobSet and the Job controller, while programs are
# killed, and on a cluster of Kubernetes 1.30 without Kueue, as a user who may only read one namespace. A symlink to this file runs it with Kueue 0.19.
load lib
load controllers
load fleet
if [[ $BATS_TEST_FILENAME == *-0.19.bats ]]; then KUEUE_PROGRAM=kueue-0.19.2 KUEUE_MODULE=sigs.k8s.io/kueue@v0.19.2; fi

setup_file() {
  require_programs "$KUEUE_ETCD" etcd kube-apiserver kube-apiserver-1.30.14 kube-controller-manager jobset "$KUEUE_PROGRAM" go unshare kubectl jq openssl curl python3 cargo
  cargo build --quiet --manifest-path "$ROOT/Cargo.toml" --package managed-by-cli
  for cluster in management worker; do
    ETCD=$KUEUE_ETCD start_cluster $cluster --authorization-mode=AlwaysAllow
    kubectl --kubeconfig "$RUN/$cluster/kubeconfig" create namespace team-a
    start_controller_manager $cluster
    start_kubelet $cluster
    run_jobset $cluster
    run_kueue $cluster
  done
  apply_queues worker
  kubectl --kubeconfig "$RUN/management/kubeconfig" create secret generic worker -n kueue-system --from-file=kubeconfig="$(kubeconfig worker "$MULTIKUEUE")"
  apply_queues management
  export KUBECONFIG=$RUN/management/kubeconfig
  create_queue local
  create_queue selective '{"namespaceSelector": null, "admissionChecksStrategy": {"admissionChecks": [{"name": "multikueue"}]}}'
  workload kueue.x-k8s.io/v1beta2 ResourceFlavor spot '' | kubectl create -f -
  create_queue per-flavor '{"admissionChecksStrategy": {"admissionChecks": [{"name": "multikueue", "onFlavors": ["default"]}]},
    "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "default", "resources": [{"name": "cpu", "nominalQuota": 1}]}, {"name": "spot", "resources": [{"name": "cpu", "nominalQuota": 1}]}]}]}'
}
# Creates a LocalQueue and its ClusterQueue with quota for one Job, changed by a merge patch: create_queue NAME [SPEC]
create_queue() {
  jq -nc --arg name "$1" --argjson spec "${2:-{\}}" '{apiVersion: "kueue.x-k8s.io/v1beta2", metadata: {$name, namespace: "team-a"}} | (.kind = "LocalQueue" | .spec.clusterQueue = $name),
    (.kind = "ClusterQueue" | del(.metadata.namespace) | .spec = {namespaceSelector: {}, resourceGroups: [{coveredResources: ["cpu"], flavors: [{name: "default", resources: [{name: "cpu", nominalQuota: 1}]}]}]} * $spec)' |
    kubectl create -f -
}
setup() { export KUBECONFIG=$RUN/management/kubeconfig; }
teardown_file() { stop_all; }

# Judges all workloads of the context's namespace with evidence of at least 10 s, and prints JSON: status [ARGUMENT...]
status() { "$ROOT/target/debug/managed-by" status --no-config --after 10s -o json "$@" || [ $? -le 2 ]; }
# Prints a table, or the tree of one workload: show [ARGUMENT...]
show() { "$ROOT/target/debug/managed-by" status --no-config --after 10s "$@" || [ $? -eq 1 ]; }
# Prints the verdict on a workload: verdict NAME
verdict() { status -A | jq -r --arg name "$1" '.objects[] | select(.object.name == $name) | .verdict'; }
has_verdict() { [ "$(verdict "$1")" = "$2" ]; }
# Waits for the verdict on a workload, and prints how long that took: assert_verdict NAME VERDICT
assert_verdict() {
  local begin=$SECONDS
  LIMIT=${LIMIT:-60} retry has_verdict "$1" "$2" || { status -A | jq --arg name "$1" '.objects[] | select(.object.name == $name)' && return 1; }
  echo "# $1 is $2 after $((SECONDS - begin)) s" >&3
}
# Fails if a workload other than NAME... is a problem: assert_no_problems [NAME...]
assert_no_problems() {
  status -A | jq -e --arg names " $* " '[.objects[] | select(.verdict | IN("healthy", "finished") | not) | select(.object.name as $name | $names | contains(" \($name) ") | not)]
    | if . == [] then true else ., false end'
}
# Does what the output says about a workload: do_as_printed NAME
do_as_printed() { eval "$(status -A | jq -er --arg name "$1" '.objects[] | select(.object.name == $name).action | select(startswith("kubectl "))' | tee /dev/fd/3)"; }
# Prints what the output says about a workload: todo NAME
todo() { status -A | jq -er --arg name "$1" '.objects[] | select(.object.name == $name).action'; }
# Fails unless kubectl shows a Job as in a row of docs/tasks/troubleshooting.md: assert_shown JOB STATUS DURATION EVENT
assert_shown() {
  grep --quiet "^| .*\`$2\`.* | $3 | \`*$4\`* |" "$ROOT/docs/tasks/troubleshooting.md" &&
    [ "$(kubectl get job "$1" --no-headers | awk '{print $2, (NF > 4 ? "set" : "empty")}')" = "$2 $3" ] &&
    [ "$(kubectl get events --field-selector="involvedObject.kind=Job,involvedObject.name=$1" -o json | jq -r '[.items[].reason] | last // "none"')" = "$4" ]
}
ORPHANS='no-queue local-queue no-such-queue typo nobody no-requests no-prebuilt'
STALLED='too-large no-such-resource not-selected on-flavors rejected late-label'

@test "built-in, suspended, queued and delegated workloads are healthy or finished" {
  {
    job plain
    job suspended 'suspend: true'
    job long '' 'e2e/run: forever'
    job waits-a 'suspend: true' 'e2e/run: forever' | sed 's/name: waits-a/&, labels: {kueue.x-k8s.io\/queue-name: local}/'
    job waits-b 'suspend: true' 'e2e/run: forever' | sed 's/name: waits-b/&, labels: {kueue.x-k8s.io\/queue-name: local}/'
    jobset_manifest set ''
    jobset_manifest set-suspended 'suspend: true, '
    delegated_job delegated
    delegated_job delegated-long '' 'e2e/run: forever'
    delegated_job narrow-a '' 'e2e/run: forever' narrow
    delegated_job narrow-b '' 'e2e/run: forever' narrow
    delegated_jobset delegated-set
    job 'elastic, labels: {kueue.x-k8s.io/queue-name: queue}, annotations: {kueue.x-k8s.io/elastic-job: "true"}' "$DELEGATED, parallelism: 1, completions: 2000" 'e2e/run: forever'
    delegated_job has-prebuilt '' 'e2e/run: forever' 'queue, kueue.x-k8s.io/prebuilt-workload-name: prebuilt'
  } | kubectl create -f -
  # Kueue rejects it without its Job as the controller, and with other pods.
  kubectl get job plain has-prebuilt -o json | jq '[.items[] | {apiVersion, kind, name: .metadata.name, uid: .metadata.uid}] as $owners | .items[1] |
    {apiVersion: "kueue.x-k8s.io/v1beta2", kind: "Workload", metadata: {name: "prebuilt", namespace: "team-a", ownerReferences: [$owners[0], $owners[1] + {controller: true}]},
      spec: {queueName: "queue", podSets: [{name: "main", count: 1, template: (.spec.template | del(.metadata.labels))}]}}' | kubectl create -f -
  for _ in {1..25}; do
    assert_no_problems
    sleep 1
  done
  # Kueue replaces its Workload, and keeps the finished one. It has no quota for the last one.
  for parallelism in 2 2000; do
    kubectl patch job elastic --type=merge -p "spec: {parallelism: $parallelism}"
    for _ in {1..15}; do
      assert_no_problems
      sleep 1
    done
  done
  kubectl delete job elastic
  run show job/has-prebuilt
  [[ $output == *"Workload prebuilt   Admitted"*"healthy: on worker"* ]]
  for name in plain delegated set delegated-set; do assert_verdict $name finished; done
  run show job/delegated-long
  [[ $output == *"MultiKueueCluster worker   active"*"healthy: on worker"* ]]
  assert_shown delegated Complete set FinishedWorkload
  assert_shown delegated-long Running set Started
  assert_shown narrow-b Running empty CreatedWorkload
}

@test "delegation/no-requests: Kueue selects the check for exactly the Jobs that lint accepts" {
  local name pod forms='[.items[] | select(.metadata.ownerReferences[0].name | startswith("form-"))]'
  echo '{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: heavy}, handler: heavy, overhead: {podFixed: {cpu: 1m}}}' | yaml_to_json | kubectl create -f -
  while read -r name pod; do delegated_job "form-$name" | sed "s|, resources: {requests: {cpu: 1}}}|$pod|"; done >"$BATS_TEST_TMPDIR/jobs.yml" <<'EOF'
none }
none-of-two }, {name: other, image: e2e}
limits , resources: {limits: {cpu: 1}}}
zero , resources: {requests: {cpu: 0}}}
one-of-two }, {name: other, image: e2e, resources: {requests: {cpu: 1}}}
init }], initContainers: [{name: init, image: e2e, resources: {requests: {cpu: 1}}}
overhead }], runtimeClassName: heavy, tolerations: [{operator: Exists}
pod-level }], resources: {requests: {cpu: 1}}, tolerations: [{operator: Exists}
EOF
  kubectl create -f "$BATS_TEST_TMPDIR/jobs.yml"
  retry eval 'kubectl get workloads -o json | jq -e "$forms"'"' | length == 8 and all(.status.conditions | any(.type == \"QuotaReserved\"))'"
  diff <(kubectl get workloads -o json | jq -r "$forms"'[] | select(.status.admissionChecks | not) | .metadata.ownerReferences[0].name' | sort) \
    <("$ROOT/target/debug/managed-by" lint --no-config "$BATS_TEST_TMPDIR/jobs.yml" | sed -n 's,.*CREATE of Job.batch default/,,p')
  kubectl delete -f "$BATS_TEST_TMPDIR/jobs.yml"
}

@test "Jobs that never run, with a reason" {
  {
    job no-queue 'managedBy: kueue.x-k8s.io/multikueue'
    delegated_job local-queue '' '' local
    delegated_job no-such-queue '' '' absent
    job typo 'managedBy: kueue.x-k8s.io/multikeue'
    jobset_manifest nobody 'managedBy: acme.io/nobody, '
    delegated_job no-requests | sed 's/requests: {cpu: 1}//'
    delegated_job no-prebuilt '' '' 'queue, kueue.x-k8s.io/prebuilt-workload-name: absent'
    delegated_job too-large 'parallelism: 2' '' narrow
    delegated_job no-such-resource | sed 's/cpu: 1/memory: 1Gi/'
    delegated_job not-selected '' '' selective
    delegated_job on-flavors '' '' per-flavor
    job 'rejected, labels: {kueue.x-k8s.io/queue-name: queue}' 'managedBy: acme.io/runner, suspend: true'
    job late-label 'suspend: true'
  } | kubectl create -f -
  kubectl label job late-label kueue.x-k8s.io/queue-name=queue
  # Before, `waits-a` has the quota.
  kubectl delete job waits-a waits-b
  for name in $ORPHANS; do assert_verdict "$name" orphaned; done
  for name in $STALLED; do assert_verdict "$name" stalled; done
  # shellcheck disable=SC2086
  assert_no_problems $ORPHANS $STALLED
  assert_shown typo Running empty none
  assert_shown local-queue Running empty Started
  show -A --problems -o wide >&3
}

@test "each problem ends when the user does what the output says" {
  do_as_printed no-queue
  assert_verdict no-queue finished
  kubectl patch "$(kubectl get workloads -l "kueue.x-k8s.io/job-uid=$(kubectl get job delegated-long -o jsonpath='{.metadata.uid}')" -o name)" --type=merge -p 'spec: {active: false}'
  assert_verdict delegated-long stalled
  retry assert_shown delegated-long Suspended empty Stopped
  do_as_printed delegated-long
  assert_verdict delegated-long healthy
  do_as_printed on-flavors | grep 'Cannot specify MultiKueue AdmissionCheck per flavor'

  [[ $(todo local-queue) == 'add a MultiKueue check to ClusterQueue local, '* ]]
  kubectl patch clusterqueue local --type=merge -p 'spec: {admissionChecksStrategy: {admissionChecks: [{name: multikueue}]}}'
  assert_verdict local-queue healthy
  [[ $(todo too-large) == 'add quota to ClusterQueue narrow, '* ]]
  kubectl patch clusterqueue narrow --type=json -p '[{op: replace, path: /spec/resourceGroups/0/flavors/0/resources/0/nominalQuota, value: 4}]'
  assert_verdict too-large healthy
  [[ $(todo not-selected) == 'correct the namespaceSelector of ClusterQueue selective, '* ]]
  kubectl patch clusterqueue selective --type=merge -p 'spec: {namespaceSelector: {}}'
  assert_verdict not-selected healthy
  [[ $(todo no-such-queue) == 'create LocalQueue absent in team-a, '* ]]
  workload kueue.x-k8s.io/v1beta2 LocalQueue absent 'clusterQueue: queue' | kubectl create -f -
  assert_verdict no-such-queue healthy
  local recreated='no-requests no-such-resource rejected late-label' name
  for name in $recreated; do
    [[ $(todo "$name") == *"recreate jobs.batch/$name "* ]]
    kubectl delete job "$name"
    delegated_job "$name" | kubectl create -f -
  done
  for name in $recreated; do assert_verdict "$name" finished; done
}

@test "a status that a user wrote is reported" {
  job forged 'managedBy: acme.io/runner' | kubectl create -f -
  update_status tenant forged 'active: 1'
  assert_verdict forged foreign-writer
  kubectl delete job forged
}

@test "Kueue is killed: new workloads get no Workload, until it restarts" {
  stop management/kueue
  # Its webhook would reject new Jobs with a queue, so create one that Kueue has not seen.
  kubectl get mutatingwebhookconfiguration,validatingwebhookconfiguration kueue -o yaml >"$RUN/webhooks.yml"
  kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration kueue
  delegated_job unseen | kubectl create -f -
  assert_verdict unseen orphaned
  yaml_to_json "$RUN/webhooks.yml" | jq -c '.items[] | del(.metadata.resourceVersion, .metadata.uid)' | kubectl create -f -
  restart management/kueue
  assert_verdict unseen finished
}

@test "kube-controller-manager and JobSet are killed: new workloads get no status, until they restart" {
  stop management/kube-controller-manager
  stop management/jobset
  job unseen-job | kubectl create -f -
  kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration jobset
  jobset_manifest unseen-set '' | kubectl create -f -
  assert_verdict unseen-job orphaned
  assert_verdict unseen-set orphaned
  restart management/kube-controller-manager
  restart management/jobset
  assert_verdict unseen-job finished
}

@test "the worker is cut off: its workloads are stalled, until it is back" {
  stop worker/kube-apiserver
  LIMIT=150 assert_verdict delegated-long stalled
  show job/delegated-long >&3
  restart worker/kube-apiserver
  LIMIT=150 assert_verdict delegated-long healthy
}

@test "the management cluster restarts: no verdict changes" {
  # Kueue needs a while to activate the ClusterQueues again.
  # Earlier tests leave these problems behind.
  LIMIT=90 retry assert_no_problems $ORPHANS $STALLED forged unseen-job unseen-set unseen
  restart management/kube-apiserver
  wait_ready management/kube-apiserver kubectl get --raw /readyz
  for _ in {1..20}; do
    assert_no_problems $ORPHANS $STALLED forged unseen-job unseen-set unseen
    sleep 1
  done
}

@test "--watch prints what changes, until a signal ends it" {
  "$ROOT/target/debug/managed-by" status --no-config -A --watch --problems --after 5s >"$BATS_TEST_TMPDIR/rows" 2>&1 &
  local watch=$! exit=0
  LIMIT=20 retry grep ' workloads: ' "$BATS_TEST_TMPDIR/rows"
  job late 'managedBy: kueue.x-k8s.io/multikeue' | kubectl create -f -
  run ! grep job/late "$BATS_TEST_TMPDIR/rows"
  LIMIT=60 retry grep 'job/late .* orphaned' "$BATS_TEST_TMPDIR/rows"
  kill -INT $watch
  wait $watch || exit=$?
  [ $exit -eq 1 ]
  [ "$(grep --count job/late "$BATS_TEST_TMPDIR/rows")" -eq 1 ]
}

@test "Kubernetes 1.30 without Kueue: a user who may only read one namespace" {
  API_SERVER=kube-apiserver-1.30.14 start_cluster plain --authorization-mode=RBAC
  export KUBECONFIG=$RUN/plain/kubeconfig
  kubectl create namespace team-a
  start_controller_manager plain "${EMULATE_OLD_RELEASE[@]}"
  kubectl create role reader -n team-a --verb=get,list --resource=jobs.batch
  kubectl create rolebinding reader -n team-a --role=reader --user=ana
  { job plain 'suspend: true'; job dropped 'managedBy: acme.io/runner'; } | kubectl create -f - -n team-a
  sleep 11
  KUBECONFIG=$(kubeconfig plain ana)
  # The API server drops managedBy, so the Job controller runs both.
  # Ana may not read the Lease of the controller.
  status -n team-a | jq -e '[.objects[].verdict] == ["unchecked", "unchecked"]'
  status job/plain -n team-a | jq -e '.objects[0].state == "Suspended"'
  run "$ROOT/target/debug/managed-by" status -A
  [ "$status" -eq 2 ] && [[ $output == *"unchecked: jobs.batch: forbidden"* ]]
}

# Runs what the chart's CronJob runs, with the token of its service account, on a cluster with RBAC: run_reports
run_reports() {
  local token arguments kubeconfig=$RUN/reports/reports.kubeconfig
  token=$(kubectl create token managed-by-status --namespace kubewarden)
  jq --arg token "$token" '.users[0].user.token = $token' "$RUN/reports/kubeconfig" >"$kubeconfig"
  jq -r 'select(.kind == "ConfigMap" and .metadata.name == "managed-by-status") | .data["settings.yaml"]' rendered.json >settings.yaml
  jq -r 'select(.kind == "CronJob") | .spec.jobTemplate.spec.template.spec.containers[0].args[] | sub("/etc/managed-by/"; "") | sub("--after=.*"; "--after=1s")' rendered.json >arguments
  mapfile -t arguments <arguments
  KUBECONFIG=$kubeconfig run --separate-stderr "$ROOT/target/debug/managed-by" "${arguments[@]}"
}
report_rules() { kubectl get "${1:-reports}" -A -o json | jq -c '[.items[] | [.scope.name, .results[0].rule]] | sort'; }

@test "the chart's CronJob writes reports and pushes metrics, with no other permission than its own" {
  require_programs helm prometheus-pushgateway
  [ -n "${KUBEWARDEN_CHART:-}" ] || skip "KUBEWARDEN_CHART is not set"
  start_cluster reports --authorization-mode=RBAC
  export KUBECONFIG=$RUN/reports/kubeconfig
  cd "$BATS_TEST_TMPDIR"
  apply_crds reports 'del(.spec.conversion) | .spec.versions |= map(select(.storage))' "$(module_dir "$KUEUE_MODULE")/config/components/crd/bases"
  helm template reports "$KUBEWARDEN_CHART"/charts/openreports-*.tgz --set openreports.enabled=true,enabled=true | yaml_to_json | jq -c 'select(.kind == "CustomResourceDefinition")' | kubectl create -f -
  kubectl create namespace team-a
  kubectl get namespace kubewarden || kubectl create namespace kubewarden
  local gateway
  gateway=127.0.0.1:$(free_port)
  start reports/pushgateway prometheus-pushgateway --web.listen-address="$gateway"
  render_chart reports hybrid --namespace kubewarden --set statusReports.enabled=true --set statusReports.pushMetrics="http://$gateway/metrics/job/managed-by" >rendered.json
  jq 'select(.metadata.name == "managed-by-status")' rendered.json | kubectl apply -f -

  { job typo 'managedBy: kueue.x-k8s.io/multikeue' && job no-queue 'managedBy: kueue.x-k8s.io/multikueue' && job suspended 'suspend: true'; } | kubectl create --namespace team-a -f -
  sleep 2
  run_reports
  [ "$status" -eq 0 ]
  # No controller of this cluster has a Lease.
  run ! grep 'unchecked: [^l]' <<<"$stderr"
  [ "$(report_rules)" = '[["no-queue","orphaned"],["typo","orphaned"]]' ]
  curl --silent --fail "http://$gateway/metrics" | grep -F 'managed_by_objects{controller="other",instance="",job="managed-by",kind="Job.batch",verdict="orphaned"} 1'
  # An unchanged report is not written again, and another program's report stays.
  kubectl get reports -n team-a -o json | jq -c '.items[] | select(.scope.name == "no-queue") | .metadata |= {name: "other", namespace}' | kubectl create -f -
  before=$(kubectl get reports -A -o jsonpath='{.items[*].metadata.resourceVersion}')
  run_reports
  [ "$(kubectl get reports -A -o jsonpath='{.items[*].metadata.resourceVersion}')" = "$before" ]
  kubectl delete job typo -n team-a --cascade=background
  run_reports
  [ "$status" -eq 0 ]
  [ "$(report_rules)" = '[["no-queue","orphaned"],["no-queue","orphaned"]]' ]
  run ! grep -F 'controller="other"' <<<"$(curl --silent --fail "http://$gateway/metrics")"

  # Without a permission, it fails, and deletes nothing.
  kubectl patch clusterrole managed-by-status --type=json --patch '[{"op": "replace", "path": "/rules/0/verbs", "value": ["get"]}]'
  sleep 1
  run_reports
  [ "$status" -eq 2 ]
  [ "$(report_rules)" = '[["no-queue","orphaned"],["no-queue","orphaned"]]' ]
  stop reports/pushgateway
  run_reports
  [ "$status" -eq 2 ] && [[ $stderr == *"error: 127.0.0.1/metrics/job/managed-by: "* ]]
}

@test "reports are PolicyReports on a cluster without OpenReports" {
  [ -e "$RUN/reports/kubeconfig" ] || skip "it needs the cluster of the test before"
  export KUBECONFIG=$RUN/reports/kubeconfig
  cd "$BATS_TEST_TMPDIR"
  kubectl patch crd reports.openreports.io clusterreports.openreports.io --type=json --patch '[{"op": "replace", "path": "/spec/versions/0/served", "value": false}]'
  helm template kubewarden "$KUBEWARDEN_CHART" --set installPolicyReportCRDs=true | yaml_to_json | jq -c 'select(.kind == "CustomResourceDefinition" and .spec.group == "wgpolicyk8s.io")' | kubectl create -f -
  kubectl patch clusterrole managed-by-status --type=json --patch '[{"op": "replace", "path": "/rules/0/verbs", "value": ["list"]}]'
  render_chart reports hybrid --namespace kubewarden --set statusReports.enabled=true >rendered.json
  sleep 2
  run_reports
  [ "$status" -eq 0 ]
  [ "$(report_rules policyreports)" = '[["no-queue","orphaned"]]' ]
}
