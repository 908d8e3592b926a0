# Tests the chart and deploy/ with Kubewarden's own controller and audit scanner, as the README, docs/tasks and the manifests' comments describe. Tests
# with the same prefix before the colon depend on each other. In each group except `teams`, the first test removes all policies. `manifests` and `teams` need the namespace that `readme` creates.
load lib
load controllers
load kubewarden

setup_file() {
  require_programs helm kubewarden-controller audit-scanner policy-server kwctl kube-apiserver kube-controller-manager kubectl etcd docker-registry ip mount curl jq openssl python3
  install_kubewarden
  # Marks Kueue as installed.
  apply_test_crds Workload
}
readme_command() { grep --max-count=1 "^helm $1 managed-by " "$ROOT/README.md"; }
teardown_file() { stop_all; }
setup() { mkdir -p "$RUN/tests" && cd "$RUN/tests"; }
teardown() { [ -z "${CURL:-}" ] || kill "$CURL"; }

@test "readme: with its commands, the Job with the typo is denied" {
  remove_policies
  kubectl create namespace team-a
  sed -n '/^ *# pi.yaml$/,/```/{/```/!p}' "$ROOT/docs/tutorials/first-policy.md" | sed 's/namespace: tutorial/namespace: team-a/' >pi.yaml
  eval "$(readme_command install) --set mode=protect"
  wait_active
  wait_rollout
  kubectl create rolebinding ana --clusterrole=edit --user=ana -n team-a
  KUBECONFIG=$(kubeconfig cluster ana) assert_transcript with
}
@test "manifests: management, worker and hybrid become active, and their webhooks have the same fields" {
  remove_policies
  for manifest in management worker hybrid; do assert_deployed $manifest managed-by-monitor '*'; done
}
@test "manifests: pods becomes active, and its webhook has the same fields" { assert_deployed pods managed-by-pods-monitor '*'; }
@test "manifests: queues becomes active, and its webhook has the same fields" { assert_deployed queues managed-by-queues '*'; }
@test "manifests: namespace becomes active, and its webhook selects one namespace" { assert_deployed namespace managed-by-monitor Namespaced; }
# docs/tasks/install.md
@test "manifests: without Helm, from monitor to protect with a policy of another name" {
  ln -sfn "$ROOT/deploy" deploy
  kubectl apply -f deploy/management.yml
  wait_policies
  eval "$(page_command install 'kubectl patch --local ')"
  for command in apply wait delete; do eval "$(sed -n '/^### Switch to protect/,$p' "$ROOT/docs/tasks/install.md" | grep --max-count=1 "^ *kubectl $command ")"; done
  prints_exactly "managed-by protect" kubectl get clusteradmissionpolicies -o 'jsonpath={.items[*].metadata.name} {.items[*].spec.mode}'
  retry assert_prints '[managed-by/allowed]' dry_run_job default ana typo "$TYPO"
  kubectl delete -f managed-by.yml
}
# docs/tasks/policy-server.md
@test "manifests: in a ClusterAdmissionPolicyGroup, the denial's message is a cause, and a warning is lost" {
  manifest_objects "$ROOT/deploy/worker.yml" | jq 'select(.kind == "ClusterAdmissionPolicy") | .spec as $spec | .kind = "ClusterAdmissionPolicyGroup" | .metadata.name = "group" |
    .spec = ($spec | {rules, mode: "protect", expression: "ours()", message: "rejected by the group", policies: {ours: {"module": .module, settings}}})' | kubectl apply -f -
  wait_policies clusteradmissionpolicygroups
  retry assert_prints 'rejected by the group' dry_run_job default ana typo 'managedBy: acme.io/runner'
  run dry_run_job default ana warned 'managedBy: kubernetes.io/job-controler'
  [[ $output != *"did you mean"* ]]
  kubectl delete clusteradmissionpolicygroup group
}
# deploy/namespace-admins.yml and deploy/namespace.yml
@test "manifests: ClusterRole admin does not include policies; namespace-admins.yml lets namespace admins apply them" {
  kubectl create rolebinding bob --clusterrole=admin --user=bob -n team-a
  assert_prints 'cannot get resource "admissionpolicies"' kubectl apply -f "$ROOT/deploy/namespace.yml" "${BOB[@]}"
  kubectl apply -f "$ROOT/deploy/namespace-admins.yml"
  # Namespace admins can use Helm too.
  bob=(--namespace team-a --kube-as-user=bob --kube-as-group=team-a-admins)
  helm install managed-by "$CHART" --values "$CHART/ci/namespace-values.yaml" "${bob[@]}"
  wait_policies admissionpolicies -n team-a
  helm uninstall managed-by "${bob[@]}"
  kubectl apply -f "$ROOT/deploy/namespace.yml" "${BOB[@]}"
  wait_policies admissionpolicies -n team-a
  kubectl delete -f "$ROOT/deploy/namespace.yml" "${BOB[@]}"
}
# docs/tasks/policy-server.md
@test "teams: invalid settings on the PolicyServer for teams do not block changes of the cluster-wide policy" {
  # As a separate release, with the registry's CA certificate.
  helm install teams "$CHART" --set policy.enabled=false,policyServer.create=true,policyServer.name=teams \
    --set-json "policyServer.spec.sourceAuthorities={\"ghcr.io\": [$(jq -Rs . "$RUN/ca.crt")]}"
  helm install managed-by "$CHART" --namespace team-a --values "$CHART/ci/namespace-values.yaml" --set policyServer.name=teams
  wait_policies admissionpolicies -n team-a
  # Patch the policy, because the chart's schema rejects these settings.
  kubectl patch admissionpolicy managed-by-teams-monitor -n team-a --type=merge -p 'spec: {settings: {role: mangement}}'
  retry grep -r --include='policy-server-teams-*.log' '"mangement"' "$RUN/cluster/pods"
  install_and_wait management
  helm uninstall managed-by
  helm uninstall managed-by --namespace team-a
  helm uninstall teams
}
@test "manifests: deploy/webhook.yml equals the webhook that the controller creates for management.yml" {
  kubectl apply -f "$ROOT/deploy/management.yml"
  wait_policies
  # The name, the address, Kubewarden's own namespace, and the API server's defaults differ.
  webhook_field 'del(.clientConfig) | .rules[].scope = "*"' managed-by-monitor >made
  sed 's/REPLACE_ME/""/' "$ROOT/deploy/webhook.yml" >webhook.yml
  manifest_objects webhook.yml | jq --sort-keys "select(.webhooks) | .webhooks[0] | $EXCLUDE_CONTROLLER_NAMESPACE | .rules[].scope = \"*\" | .name = \"$(webhook_name managed-by-monitor).kubewarden.admission\" | .objectSelector = {} | del(.clientConfig)" >expected
  diff expected made
}

# docs/reference/responses.md
@test "pods: without RBAC for Jobs, the policy denies the pod" {
  remove_policies
  kubectl create namespace team-pods
  job good "$DELEGATED" | kubectl create -n team-pods -f -
  job plain 'suspend: true' | kubectl create -n team-pods -f -
  yaml_to_json "$ROOT/deploy/pods.yml" | jq 'if .spec then .spec.mode = "protect" else . end' >pods.json
  jq 'select(.spec)' pods.json | kubectl apply -f -
  wait_policies
  assert_fails_with 'could not look up Job "good", which controls this pod' pod_of good
}
pod_of() {
  kubectl create -f - -n team-pods --dry-run=server <<EOF
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod", "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "$1",
 "uid": "$(kubectl get job "$1" -n team-pods -o jsonpath='{.metadata.uid}')", "controller": true}]}, "spec": {"containers": [{"name": "main", "image": "e2e"}]}}
EOF
}
@test "pods: with RBAC for Jobs, the policy denies pods of delegated Jobs" {
  kubectl apply -f pods.json
  kubectl rollout restart deployment/policy-server-default -n kubewarden
  wait_rollout
  assert_prints "[pods/delegated-owner]" pod_of good
  assert_prints created pod_of plain
  kubectl delete -f pods.json
}

# Invalid settings that the chart does not detect.
# The chart accepts only valid settings, so the tests change the policy.
WRONG='{"spec": {"settings": {"custom_kinds": [{"group": "acme.io", "versions": ["v1"], "kind": "Render", "plural": "renders", "reserved_value": "acme.io/a", "format": ["acme.io/b"]}]}}}'
# docs/tasks/upgrade.md
@test "settings: with invalid settings, PolicyServer does not start and PolicyActive stays False" {
  remove_policies
  kubectl create namespace team-settings
  job stored "$DELEGATED" | kubectl create -n team-settings -f -
  kubectl apply -f "$ROOT/deploy/pods.yml"
  wait_policies
  install_and_wait management "${PROTECT[@]}"
  wait_rollout
  ready_pods >old
  kubectl patch clusteradmissionpolicy managed-by --type=merge -p "$WRONG"
  assert_prints "timed out waiting for the condition" wait_active 6s
  retry pod_restarted
  prints_exactly "$(<old)" ready_pods
}
@test "settings: the log of the new pod contains the reason, and the status does not" {
  grep --quiet -- '--selector=kubewarden/policy-server=default --tail=-1 | grep Error$' "$ROOT/docs/tasks/upgrade.md"
  new=$(unready_pods)
  assert_prints "$new" kubectl get pods -n kubewarden --selector=kubewarden/policy-server=default
  grep Error "$RUN/cluster/pods/$new.log" | grep 'must be one of the values that `format` accepts'
  prints_exactly active kubectl get clusteradmissionpolicy managed-by -o jsonpath='{.status.policyStatus}'
  prints_exactly False kubectl get clusteradmissionpolicy managed-by -o jsonpath='{.status.conditions[?(@.type=="PolicyActive")].status}'
}
@test "settings: the old pod serves the old settings, and changes of other policies do not become active" {
  assert_prints "[managed-by/allowed]" dry_run_job team-settings ana typo "$TYPO"
  patch_manifest pods "on_lookup_failure: allow" "on_lookup_failure: deny" | kubectl apply -f -
  assert_prints "timed out waiting for the condition" kubectl wait --for=condition=PolicyActive --timeout=6s clusteradmissionpolicy/managed-by-pods-monitor
  prints_exactly "$(<old)" ready_pods
}
@test "settings: if the old pod restarts, no policy is served until the settings are valid again" {
  old=$(<old)
  kill_pod "$old"
  retry grep 'must be one of the values' "$RUN/cluster/pods/$old.log"
  retry prints_exactly "" ready_pods
  assert_prints "failed calling webhook" dry_run_job team-settings ana typo "$TYPO"
  # A write for which the API server doesn't call the webhook.
  kubectl label job stored -n team-settings e2e=label
  # docs/tasks/troubleshooting.md: the controller updates a webhook only when all pods are ready.
  kubectl patch clusteradmissionpolicy managed-by --type=merge -p 'spec: {failurePolicy: Ignore}'
  sleep 5
  prints_exactly '"Fail"' webhook_field .failurePolicy managed-by
  assert_prints "failed calling webhook" dry_run_job team-settings ana typo "$TYPO"
  kubectl patch clusteradmissionpolicy managed-by --type=merge -p '{"spec": {"failurePolicy": "Fail", "settings": {"custom_kinds": null}}}'
  wait_active
  assert_prints "[managed-by/allowed]" dry_run_job team-settings ana typo "$TYPO"
  kubectl delete -f "$ROOT/deploy/pods.yml"
}

@test "module: if it is not in the registry, the policy stays pending and the new pod restarts until the policy is uninstalled" {
  remove_policies
  install_chart management --set module.tag=v0.1.9
  assert_prints "timed out waiting for the condition" wait_active 5s
  prints_exactly pending kubectl get clusteradmissionpolicy managed-by-monitor -o jsonpath='{.status.policyStatus}'
  retry pod_restarted
  grep "manifest unknown" "$RUN/cluster/pods/$(unready_pods).log"
  assert_fails webhook_name managed-by-monitor
  helm uninstall managed-by
  wait_rollout
}

@test "rollout: with two replicas, at 20 writes per second and four settings changes, fewer than one write in 50 fails" {
  remove_policies
  kubectl create namespace team-rollout
  install_and_wait management "${PROTECT[@]}"
  kubectl patch policyserver default --type=merge -p 'spec: {replicas: 2}'
  wait_rollout $'true\ntrue'
  job write "$DELEGATED" | kubectl create --dry-run=client -o json -f - | jq 'del(.metadata.namespace)' >write.json
  # Termination grace period in seconds (default: 30). Until it ends, old pods serve requests on open connections.
  echo 5 >"$RUN/cluster/pods/grace"
  curl --silent --insecure --rate 20/s -H "Authorization: Bearer admin" -H "Impersonate-User: ana" -H "Content-Type: application/json" --data @write.json \
    --create-dirs --output "responses/#1.json" "$(<"$RUN/cluster/server")/apis/batch/v1/namespaces/team-rollout/jobs?dryRun=All&fieldManager=e2e[1-9999]" 3>&- &
  CURL=$!
  for rule in warn deny warn deny; do
    SECONDS=0
    install_chart management "${PROTECT[@]}" --set "settings.rules.managed-by/allowed=$rule"
    # Until the controller observes the change, the condition refers to the old settings.
    sleep 1
    wait_active
    echo "$SECONDS" >>took
    wait_rollout $'true\ntrue'
  done
  kill "$CURL"
  CURL=
  rm "$RUN/cluster/pods/grace"
  find responses -size 0 -delete
  cat responses/*.json | jq -r '.message // "written"' | tee writes | sort | uniq -c
  # The API server has several messages for a broken connection.
  assert_fails grep -v 'written\|connection reset by peer$\|broken pipe$\|EOF$\|use of closed network connection$\|client connection lost$' writes
  [ "$(grep -c written writes)" -gt 400 ]
  [ $(($(grep -vc written writes) * 50)) -lt "$(wc -l <writes)" ]
  # The condition becomes True after the old pods have terminated.
  [ "$(sort -n took | head -1)" -ge 5 ]
}

@test "audit: in mode monitor, the severity of each result is info" {
  remove_policies
  kubectl create namespace team-audit
  job typo "$TYPO" | kubectl create -n team-audit -f -
  install_and_wait management
  run_audit_scanner team-audit
  assert_prints 'fail | info | Best practices | Job.batch "typo" is invalid: spec.managedBy: Unsupported value' report_results team-audit Job typo
}
@test "audit: in mode monitor, the annotation denied lists would-be denials, and clients get only warnings" {
  assert_prints created dry_run_job team-audit ana watched "$TYPO"
  audit_events cluster 'select(.objectRef.name == "watched") | .responseStatus.code == 201 and (.annotations["'"$(webhook_name managed-by-monitor)"'.kubewarden.admission/denied"] | contains("managed-by/allowed"))' | grep true
  run dry_run_job team-audit ana watched "$TYPO"
  [[ $output == *managed-by/reserved-domain* && $output != *managed-by/allowed* ]]
}
# docs/tasks/monitor.md
@test "audit: an object that is being deleted is a pass" {
  job 'held, finalizers: [acme.io/hold]' "$TYPO" | kubectl create -n team-audit -f -
  kubectl delete job held -n team-audit --wait=false
  run_audit_scanner team-audit
  assert_prints 'pass | ' report_results team-audit Job held
  kubectl patch job held -n team-audit --type=merge -p 'metadata: {finalizers: null}'
}
@test "audit: a warning is a pass in the reports, and the annotation warned lists the rules" {
  sed -n '/^## Warn$/,/^```$/p' "$ROOT/docs/tasks/roll-out.md" | sed -n '/^```yaml$/,/^```$/p' | grep -v '^```' >warn.yaml
  install_and_wait management --values warn.yaml
  dry_run_job team-audit ana warned "$TYPO"
  run_audit_scanner team-audit
  assert_prints 'pass | medium' report_results team-audit Job typo
  [[ $output != *fail* ]]
  assert_prints managed-by/allowed count_annotation warned
}
# Adds a rule for a kind that the chart doesn't select because it is not served: add_rule RESOURCES OPERATIONS
add_rule() {
  kubectl patch clusteradmissionpolicy managed-by --type=json \
    -p "[{\"op\": \"add\", \"path\": \"/spec/rules/-\", \"value\": {\"apiGroups\": [\"jobset.x-k8s.io\"], \"apiVersions\": [\"v1alpha2\"], \"resources\": $1, \"operations\": $2}}]"
}
# docs/reference/kinds.md
@test "audit: the scanner ignores rules for status, which have only UPDATE" {
  install_and_wait management "${PROTECT[@]}"
  add_rule '["jobsets/status"]' '["UPDATE"]'
  run_audit_scanner team-audit
  assert_prints 'fail | medium' report_results team-audit Job typo
}
@test "audit: if one kind is not served, the scanner skips the policy, deletes its reports, and succeeds" {
  add_rule '["jobsets"]' '["CREATE", "UPDATE"]'
  assert_prints "skipping as error" run_audit_scanner team-audit
  [ "$status" -eq 0 ]
  prints_exactly "" report_results team-audit Job typo
}
# docs/explanation/outages.md
@test "audit: without RBAC for custom kinds, the scanner omits them" {
  apply_test_crds JobSet
  install_and_wait management "${PROTECT[@]}" --set auditScanner.rbac=false
  workload jobset.x-k8s.io/v1alpha2 JobSet set 'managedBy: kueue.x-k8s.io/multikeue' | kubectl create -n team-audit -f -
  assert_prints "Failed to list resources" run_audit_scanner team-audit
  assert_prints 'fail | medium' report_results team-audit Job typo
  prints_exactly "" report_results team-audit JobSet set
}
@test "audit: with RBAC for custom kinds, the reports contain them" {
  install_and_wait management "${PROTECT[@]}"
  retry kubectl auth can-i list jobsets.jobset.x-k8s.io -n team-audit --as=system:serviceaccount:kubewarden:audit-scanner
  run_audit_scanner team-audit >log
  assert_fails grep "Failed to list resources" log
  assert_prints 'fail | medium' report_results team-audit JobSet set
}
@test "audit: the result is error if PolicyServer does not respond" {
  kill_pod "$(ready_pods)"
  run_audit_scanner team-audit
  assert_prints 'error | medium' report_results team-audit Job typo
}
# docs/explanation/how-it-works.md
@test "audit: the result is fail for Jobs that failed before 1.31, without FailureTarget" {
  wait_rollout
  kubectl create namespace team-old
  job old 'suspend: true' | kubectl create -n team-old -f -
  # The current API server rejects writes of such a status, but reads it from etcd.
  kubectl get job old -n team-old -o json | jq '.spec.suspend = false | .status = {startTime: "2026-11-22T10:00:00Z", failed: 7, conditions: [
    {type: "Failed", status: "True", reason: "BackoffLimitExceeded", lastProbeTime: "2026-11-22T10:00:00Z", lastTransitionTime: "2026-11-22T10:00:00Z"}]}' |
    jq --arg key "$(printf /registry/jobs/team-old/old | base64)" '{key: $key, value: (tojson | @base64)}' |
    curl --silent --fail "$(<"$RUN/cluster/etcd-url")/v3/kv/put" --data @-
  install_and_wait worker "${PROTECT[@]}"
  run_audit_scanner team-old
  assert_prints "cannot set Failed=True condition without the FailureTarget=true condition" report_results team-old Job old
}
