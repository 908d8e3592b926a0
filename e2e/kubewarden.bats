# The chart and deploy/ with Kubewarden's own controller and audit scanner: what the README, docs/tasks/operations.md and the comments of the manifests
# say about that. The tests of one word before the colon build on one another; the first of them begins without a policy.
load lib
load controllers
load kubewarden

setup_file() {
  needs helm kubewarden-controller audit-scanner policy-server kwctl kube-apiserver kube-controller-manager kubectl etcd docker-registry ip mount curl jq openssl python3
  install_kubewarden
  # Kueue, as it is on a management cluster.
  crds Workload
}
readme_command() { grep --max-count=1 "^helm $1 managed-by " "$ROOT/README.md"; }
teardown_file() { stop_all; }
setup() { mkdir -p "$RUN/tests" && cd "$RUN/tests"; }
teardown() { [ -z "${CURL:-}" ] || kill "$CURL"; }

@test "readme: without the policy, no controller ever runs the Job with the typo" {
  clean
  kubectl create namespace team-a
  sed -n '/^cat > pi.yaml <<EOF$/,/^EOF$/p' "$ROOT/README.md" | bash
  transcript without
  # The Job controller takes up a Job that came later, and leaves this one alone.
  kubectl create job later --image=e2e -n default
  soon is 1 kubectl get job later -n default -o 'jsonpath={.status.active}'
  is '{}' kubectl get job pi -n team-a -o 'jsonpath={.status}'
  kubectl delete job pi -n team-a
}
@test "readme: in mode monitor, the Job is created" {
  eval "$(readme_command install)"
  active
  transcript monitor
}
@test "readme: in mode protect, the Job is denied" {
  eval "$(readme_command upgrade)"
  active
  settled
  transcript protect
}
@test "readme: the error suggests the right name" {
  KUBECONFIG=$(kubeconfig cluster ana) transcript with
}
# docs/tasks/operations.md
@test "readme: the policy is uninstalled, and nothing is checked" {
  eval "$(sed -n 's/.*`\(helm uninstall [^`]*\)`.*/\1/p' "$ROOT/README.md" | head -1)"
  soon prints created create team-a ana typo "$TYPO"
}

@test "manifests: management, worker and hybrid are active, and their webhooks have every field" {
  clean
  for manifest in management worker hybrid; do carried $manifest clusterwide-managed-by-monitor '*'; done
}
@test "manifests: so is pods" { carried pods clusterwide-managed-by-pods-monitor '*'; }
@test "manifests: so is namespace, for one namespace" { carried namespace namespaced-team-a-managed-by-monitor Namespaced; }
# deploy/namespace-admins.yml and deploy/namespace.yml
@test "manifests: ClusterRole admin does not include policies; namespace-admins.yml lets admins of a namespace apply theirs" {
  kubectl create rolebinding bob --clusterrole=admin --user=bob -n team-a
  prints 'cannot get resource "admissionpolicies"' kubectl apply -f "$ROOT/deploy/namespace.yml" "${BOB[@]}"
  kubectl apply -f "$ROOT/deploy/namespace-admins.yml"
  # With Helm, too.
  bob=(--namespace team-a --kube-as-user=bob --kube-as-group=team-a-admins)
  helm install managed-by "$CHART" --values "$CHART/ci/namespace-values.yaml" "${bob[@]}"
  waited admissionpolicies -n team-a
  helm uninstall managed-by "${bob[@]}"
  kubectl apply -f "$ROOT/deploy/namespace.yml" "${BOB[@]}"
  waited admissionpolicies -n team-a
  kubectl delete -f "$ROOT/deploy/namespace.yml" "${BOB[@]}"
}
# docs/tasks/operations.md
@test "teams: with a PolicyServer for teams, the mistake of a team stops no change of the cluster's policy" {
  # As a release of its own, with the authority of the registry.
  helm install teams "$CHART" --set policy.enabled=false,policyServer.create=true,policyServer.name=teams \
    --set-json "policyServer.spec.sourceAuthorities={\"ghcr.io\": [$(jq -Rs . "$RUN/ca.crt")]}"
  helm install managed-by "$CHART" --namespace team-a --values "$CHART/ci/namespace-values.yaml" --set policyServer.name=teams
  waited admissionpolicies -n team-a
  # The schema would not let it pass.
  kubectl patch admissionpolicy managed-by-teams-monitor -n team-a --type=merge -p 'spec: {settings: {role: mangement}}'
  soon grep -r --include='policy-server-teams-*.log' '"mangement"' "$RUN/pods"
  put management
  helm uninstall managed-by
  helm uninstall managed-by --namespace team-a
  helm uninstall teams
}
@test "manifests: deploy/webhook.yml is what the controller makes of management.yml" {
  kubectl apply -f "$ROOT/deploy/management.yml"
  waited
  # The name, the address, Kubewarden's own namespace, and defaults of the API server differ.
  webhook_of clusterwide-managed-by-monitor 'del(.clientConfig) | .rules[].scope = "*"' >made
  sed 's/REPLACE_ME/""/' "$ROOT/deploy/webhook.yml" >webhook.yml
  objects webhook.yml | jq --sort-keys "select(.webhooks) | .webhooks[0] | $OWN | .rules[].scope = \"*\" | .name = \"clusterwide-managed-by-monitor.kubewarden.admission\" | .objectSelector = {} | del(.clientConfig)" >expected
  diff expected made
}

# docs/reference/settings.md and docs/reference/responses.md
@test "writers: who is not listed may not write the status of a delegated Job" {
  clean
  kubectl create clusterrole job-status --verb=get,patch --resource=jobs,jobs/status
  kubectl create clusterrolebinding job-status --clusterrole=job-status --user=mallory --user="$KUEUE"
  kubectl create namespace team-writers
  job good "$DELEGATED" | kubectl create -n team-writers -f -
  job plain 'suspend: true' | kubectl create -n team-writers -f -
  put management "${PROTECT[@]}"
  prints "[status-writer/delegated]" terminating good 1 --as=mallory
  prints 'is forbidden: User "mallory" cannot update resource "jobs/status"' terminating good 1 --as=mallory
  terminating good 2 --as="$KUEUE"
}
@test "writers: nor that of a Job that is not delegated" {
  prints "[status-writer/builtin]" terminating plain 1 --as=mallory
  terminating plain 2 --as="$KUEUE"
}
@test "writers: for exempt users, a warning and the audit annotation name the skipped rules" {
  prints 'status-writer/delegated would have denied this, but group "system:masters" is exempt' terminating good 0
  prints status-writer/delegated annotations exempted
}

# deploy/worker.yml and docs/reference/settings.md
@test "worker: the Job controller is never denied" {
  clean
  kubectl create namespace team-jobs
  put worker "${PROTECT[@]}"
  for n in $(seq 20); do job "run$n"; done | kubectl create -n team-jobs -f -
  active_jobs() { kubectl get jobs -n team-jobs -o json | jq -e "[.items[] | select(.status.active == 1)] | length == $1"; }
  soon active_jobs 20
  kubectl patch job run1 -n team-jobs -p 'spec: {suspend: true}'
  soon active_jobs 19
  # Another writer may have been faster: 409. The policy responds with 403 and 422.
  audit cluster "$(by "$JOB_CONTROLLER") | $STATUS | select(.objectRef.namespace == \"team-jobs\") | .responseStatus.code" >codes
  [ "$(grep -c 200 codes)" -gt 20 ]
  fails grep -vE '200|409' codes
}
@test "worker: it delegates none" {
  prints "[managed-by/delegation]" create team-jobs ana other "$DELEGATED"
}

# docs/reference/responses.md
@test "pods: without its role, the policy cannot look up the Job, and allows the pod with a warning" {
  clean
  kubectl create namespace team-pods
  job good "$DELEGATED" | kubectl create -n team-pods -f -
  job plain 'suspend: true' | kubectl create -n team-pods -f -
  yaml "$ROOT/deploy/pods.yml" | jq 'if .spec then .spec.mode = "protect" else . end' >pods.json
  jq 'select(.spec)' pods.json | kubectl apply -f -
  waited
  prints 'could not look up Job "good", which controls this pod' pod_of good
  prints created pod_of good
}
pod_of() {
  kubectl create -f - -n team-pods --dry-run=server <<EOF
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod", "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "$1",
 "uid": "$(kubectl get job "$1" -n team-pods -o jsonpath='{.metadata.uid}')", "controller": true}]}, "spec": {"containers": [{"name": "main", "image": "e2e"}]}}
EOF
}
@test "pods: with it, the policy denies pods of delegated Jobs" {
  kubectl apply -f pods.json
  kubectl rollout restart deployment/policy-server-default -n kubewarden
  settled
  prints "[pods/delegated-owner]" pod_of good
  prints created pod_of plain
  kubectl delete -f pods.json
}

# What the chart does not find wrong.
WRONG='settings.custom_kinds=[{"group": "acme.io", "versions": ["v1"], "kind": "Render", "plural": "renders", "reserved_value": "acme.io/a", "format": ["acme.io/b"]}]'
# docs/tasks/operations.md
@test "settings: PolicyServer does not start with wrong ones; the condition does not come" {
  clean
  kubectl create namespace team-settings
  job stored "$DELEGATED" | kubectl create -n team-settings -f -
  kubectl apply -f "$ROOT/deploy/pods.yml"
  waited
  put management "${PROTECT[@]}"
  settled
  ready_pods >old
  release management "${PROTECT[@]}" --set-json "$WRONG"
  prints "timed out waiting for the condition" active 6s
  soon restarted
  is "$(<old)" ready_pods
}
@test "settings: the log of the new pod names the reason, but not the status" {
  grep --quiet -- '--selector=kubewarden/policy-server=default --tail=-1 | grep Error$' "$ROOT/docs/tasks/operations.md"
  new=$(unready_pods)
  prints "$new" kubectl get pods -n kubewarden --selector=kubewarden/policy-server=default
  grep Error "$RUN/pods/$new.log" | grep 'must be one of the values that `format` accepts'
  is active kubectl get clusteradmissionpolicy managed-by -o jsonpath='{.status.policyStatus}'
  is False kubectl get clusteradmissionpolicy managed-by -o jsonpath='{.status.conditions[?(@.type=="PolicyActive")].status}'
}
@test "settings: the old pod continues with the old ones, and changes of all other policies wait too" {
  prints "[managed-by/allowed]" create team-settings ana typo "$TYPO"
  changed pods "on_lookup_failure: allow" "on_lookup_failure: deny" | kubectl apply -f -
  prints "timed out waiting for the condition" kubectl wait --for=condition=PolicyActive --timeout=6s clusteradmissionpolicy/managed-by-pods-monitor
  is "$(<old)" ready_pods
}
@test "settings: if the old pod restarts, no policy answers any more; helm upgrade with the last good values restores it" {
  old=$(<old)
  kill_pod "$old"
  soon grep 'must be one of the values' "$RUN/pods/$old.log"
  soon is "" ready_pods
  prints "failed calling webhook" create team-settings ana typo "$TYPO"
  # A write that needs no check.
  kubectl label job stored -n team-settings e2e=label
  put management "${PROTECT[@]}"
  prints "[managed-by/allowed]" create team-settings ana typo "$TYPO"
  kubectl delete -f "$ROOT/deploy/pods.yml"
}

@test "module: one that is not in the registry leaves the policy pending, and the new pod restarts, until it is uninstalled" {
  clean
  release management --set module.tag=v0.1.9
  prints "timed out waiting for the condition" active 5s
  is pending kubectl get clusteradmissionpolicy managed-by-monitor -o jsonpath='{.status.policyStatus}'
  soon restarted
  grep "manifest unknown" "$RUN/pods/$(unready_pods).log"
  prints NotFound kubectl get validatingwebhookconfiguration clusterwide-managed-by-monitor
  helm uninstall managed-by
  settled
}

@test "rollout: with two replicas, at 20 writes a second and over four changes, fewer than one write in 50 fails" {
  clean
  kubectl create namespace team-rollout
  put management "${PROTECT[@]}"
  kubectl patch policyserver default --type=merge -p 'spec: {replicas: 2}'
  settled $'true\ntrue'
  job write "$DELEGATED" | kubectl create --dry-run=client -o json -f - | jq 'del(.metadata.namespace)' >write.json
  # In a cluster it is 30: so long the old pods answer those who still have a connection.
  echo 5 >"$RUN/pods/grace"
  curl --silent --insecure --rate 20/s -H "Authorization: Bearer admin" -H "Impersonate-User: ana" -H "Content-Type: application/json" --data @write.json \
    --create-dirs --output "answers/#1.json" "$(<"$RUN/cluster/server")/apis/batch/v1/namespaces/team-rollout/jobs?dryRun=All&fieldManager=e2e[1-9999]" 3>&- &
  CURL=$!
  for rule in warn deny warn deny; do
    SECONDS=0
    release management "${PROTECT[@]}" --set "settings.rules.managed-by/allowed=$rule"
    # Until the controller has seen the change, the condition is that of the old settings.
    sleep 1
    active
    echo "$SECONDS" >>took
    settled $'true\ntrue'
  done
  kill "$CURL"
  CURL=
  rm "$RUN/pods/grace"
  find answers -size 0 -delete
  cat answers/*.json | jq -r '.message // "written"' | tee writes | sort | uniq -c
  # The API server has several messages for a broken connection.
  fails grep -v 'written\|connection reset by peer$\|broken pipe$\|EOF$\|use of closed network connection$\|client connection lost$' writes
  [ "$(grep -c written writes)" -gt 400 ]
  [ $(($(grep -vc written writes) * 50)) -lt "$(wc -l <writes)" ]
  # The condition comes when the old pods have ended.
  [ "$(sort -n took | head -1)" -ge 5 ]
}

@test "audit: in mode monitor, the severity of each result is info" {
  clean
  kubectl create namespace team-audit
  job typo "$TYPO" | kubectl create -n team-audit -f -
  put management
  scan team-audit
  prints 'fail | info | Best practices | Job.batch "typo" is invalid: spec.managedBy: Unsupported value' report team-audit Job typo
}
@test "audit: in mode monitor, the annotation denied means would have been denied; clients get only the warnings of rules that warn" {
  prints created create team-audit ana watched "$TYPO"
  audit cluster 'select(.objectRef.name == "watched") | .responseStatus.code == 201 and (.annotations["clusterwide-managed-by-monitor.kubewarden.admission/denied"] | contains("managed-by/allowed"))' | grep true
  run create team-audit ana watched "$TYPO"
  [[ $output == *managed-by/reserved-domain* && $output != *managed-by/allowed* ]]
}
@test "audit: the reports show pass for what a rule warns about, and the annotation warned names the rules" {
  sed -n '/^## Warn$/,/^```$/p' "$ROOT/docs/tasks/operations.md" | sed -n '/^```yaml$/,/^```$/p' | grep -v '^```' >warn.yaml
  put management --values warn.yaml
  create team-audit ana warned "$TYPO"
  scan team-audit
  prints 'pass | medium' report team-audit Job typo
  [[ $output != *fail* ]]
  prints managed-by/allowed annotations warned
}
# A rule for a kind that is not served, which the chart does not select: add_rule RESOURCES OPERATIONS
add_rule() {
  kubectl patch clusteradmissionpolicy managed-by --type=json \
    -p "[{\"op\": \"add\", \"path\": \"/spec/rules/-\", \"value\": {\"apiGroups\": [\"jobset.x-k8s.io\"], \"apiVersions\": [\"v1alpha2\"], \"resources\": $1, \"operations\": $2}}]"
}
# docs/reference/kinds.md
@test "audit: the scanner ignores rules for status, which have only UPDATE" {
  put management "${PROTECT[@]}"
  add_rule '["jobsets/status"]' '["UPDATE"]'
  scan team-audit
  prints 'fail | medium' report team-audit Job typo
}
@test "audit: if one kind is not served, the scanner skips the whole policy, deletes its reports, and still succeeds" {
  add_rule '["jobsets"]' '["CREATE", "UPDATE"]'
  prints "skipping as error" scan team-audit
  [ "$status" -eq 0 ]
  is "" report team-audit Job typo
}
# docs/explanation/outages.md
@test "audit: without a role of its own, the scanner leaves custom kinds out" {
  crds JobSet
  put management "${PROTECT[@]}" --set auditScanner.rbac=false
  workload jobset.x-k8s.io/v1alpha2 JobSet set 'managedBy: kueue.x-k8s.io/multikeue' | kubectl create -n team-audit -f -
  prints "Failed to list resources" scan team-audit
  prints 'fail | medium' report team-audit Job typo
  is "" report team-audit JobSet set
}
@test "audit: with it, custom kinds are in the reports" {
  put management "${PROTECT[@]}"
  soon kubectl auth can-i list jobsets.jobset.x-k8s.io -n team-audit --as=system:serviceaccount:kubewarden:audit-scanner
  scan team-audit >log
  fails grep "Failed to list resources" log
  prints 'fail | medium' report team-audit JobSet set
}
@test "audit: error means that PolicyServer did not answer" {
  kill_pod "$(ready_pods)"
  scan team-audit
  prints 'error | medium' report team-audit Job typo
}
# docs/explanation/parity.md
@test "audit: Jobs that failed before 1.31 without FailureTarget fail" {
  settled
  kubectl create namespace team-old
  job old 'suspend: true' | kubectl create -n team-old -f -
  # Today's API server does not accept such a status any more, but reads it.
  kubectl get job old -n team-old -o json | jq '.spec.suspend = false | .status = {startTime: "2026-11-22T10:00:00Z", failed: 7, conditions: [
    {type: "Failed", status: "True", reason: "BackoffLimitExceeded", lastProbeTime: "2026-11-22T10:00:00Z", lastTransitionTime: "2026-11-22T10:00:00Z"}]}' |
    jq --arg key "$(printf /registry/jobs/team-old/old | base64)" '{key: $key, value: (tojson | @base64)}' |
    curl --silent --fail "$(<"$RUN/cluster/etcd-url")/v3/kv/put" --data @-
  put worker "${PROTECT[@]}"
  scan team-old
  prints "cannot set Failed=True condition without the FailureTarget=true condition" report team-old Job old
}
