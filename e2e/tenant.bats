# Tests a hostile tenant: a user with ClusterRole `edit` in one namespace who may also write the custom kinds there. The policies are the chart's for a
# management cluster, with the pods policy, and RBAC is enabled. "regression" marks bypasses that have been fixed. The symlink tenant-cel.bats runs the tests
# without PolicyServer: the webhook's failurePolicy is Ignore, and ValidatingAdmissionPolicies enforce the settings.
load lib

ENDS='{"success": {"path": "status.phase", "values": ["Succeeded"]}, "failure": {"path": "status.phase", "values": ["Failed"]}}'
VALUES=(--set-json "settings.custom_kinds=[{\"group\": \"argoproj.io\", \"kind\": \"Workflow\", \"plural\": \"workflows\", \"status\": $ENDS},
  {\"group\": \"studio.example.com\", \"kind\": \"Render\", \"plural\": \"renders\", \"status\": $ENDS}]")
CUSTOM=(jobset appwrapper raycluster)
KINDS=(job "${CUSTOM[@]}")
NOW=$(date --utc +%FT%TZ)

setup_file() {
  require_programs helm etcd kube-apiserver policy-server kubectl jq openssl curl python3
  start_cluster cluster --authorization-mode=RBAC
  export KUBECONFIG=$RUN/cluster/kubeconfig
  kubectl create namespace team-a
  apply_test_crds AppWrapper JobSet Workflow Render RayCluster
  # In a real cluster, kube-controller-manager aggregates `edit` from these two ClusterRoles. The service account has the name of JobSet's controller.
  tenants=(--user=tenant --serviceaccount=team-a:jobset-controller-manager)
  kubectl create role custom --verb=get,list,create,update,patch,delete \
    --resource="$(echo {jobsets.jobset.x-k8s.io,appwrappers.workload.codeflare.dev,rayclusters.ray.io,workflows.argoproj.io,renders.studio.example.com}{,/status} | tr ' ' ,)"
  kubectl create rolebinding custom --role=custom "${tenants[@]}"
  kubectl create rolebinding edit --clusterrole=system:aggregate-to-edit "${tenants[@]}"
  kubectl create rolebinding view --clusterrole=system:aggregate-to-view "${tenants[@]}"
  # Grant more than the projects' own roles do, so that the policy is tested and not RBAC.
  kubectl apply -f - <<EOF
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: controllers}
rules: [{apiGroups: [batch, jobset.x-k8s.io, workload.codeflare.dev, ray.io, argoproj.io, studio.example.com], resources: ["*"], verbs: ["*"]}]
EOF
  kubectl create clusterrolebinding controllers --clusterrole=controllers --user="$JOBSET" --user="$KUEUE" --user="$CRON_JOBS"
  yaml_to_json "$ROOT/deploy/pods.yml" | jq 'select(.kind | startswith("ClusterRole"))' | kubectl apply -f -

  if is_cel; then without_policy_server; else with_policy_server; fi
  # Also wait until the policy evaluates the kind that the settings declare.
  for kind in job jobset; do tenant_can "$kind"; done
  retry evaluated
}
teardown_file() { stop_all; }
is_cel() { [[ $BATS_TEST_FILENAME == *-cel.bats ]]; }
# Skips a test that the ValidatingAdmissionPolicies do not cover.
module_only() { if is_cel; then skip 'CEL does not cover it'; fi; }
with_policy_server() {
  jq -n --argjson policy "$(policy_in_protect_mode "$(chart_settings cluster management)")" --argjson pods "$(pods_policy)" '{"managed-by": $policy, $pods}' |
    KUBECONFIG=$(kubeconfig cluster "$POLICY_SERVER") start_policy_server cluster/policy-server
  apply_webhook cluster .
  # The webhook that Kubewarden's controller creates for deploy/pods.yml.
  kubectl get validatingwebhookconfiguration managed-by -o json | jq --argjson spec "$(pods_spec)" '{apiVersion, kind, metadata: {name: "managed-by-pods"},
    webhooks: [.webhooks[0] + ($spec | {rules, matchConditions, namespaceSelector, matchPolicy, failurePolicy, timeoutSeconds})
      | .name = "managed-by-pods.managed-by-policy.github.io" | .clientConfig.url |= sub("managed-by$"; "pods")]}' | kubectl create -f -
  wait_for_policy cluster
}
without_policy_server() {
  apply_unreachable_webhook cluster
  apply_cel_policies cluster management
}
evaluated() { assert_fails_with managed-by/delegation tenant create --dry-run=server -f - <<<"$(workflow probe)"; }
tenant_can() { retry eval "object $1 probe | tenant create --dry-run=server -f -"; }

CRON_JOBS=system:serviceaccount:kube-system:cronjob-controller
tenant() { kubectl --token=tenant "$@"; }
# Runs kubectl as the tenant's service account, which has the name of JobSet's controller: as_lookalike ARGUMENT...
as_lookalike() { tenant --as=system:serviceaccount:team-a:jobset-controller-manager "$@"; }

# Prints a delegated object, or an object with SPEC instead of `managedBy`: object KIND NAME [SPEC]
object() {
  local spec=${3-managedBy: kueue.x-k8s.io/multikueue}
  spec+=${spec:+, }
  case $1 in
  job) job "$2" "${spec}suspend: true" ;;
  jobset) workload jobset.x-k8s.io/v1alpha2 JobSet "$2" "${spec}replicatedJobs: []" ;;
  appwrapper) appwrapper "$2" "${spec}components: []" ;;
  raycluster) workload ray.io/v1 RayCluster "$2" "${spec}rayVersion: \"2.9\"" ;;
  esac
}
workflow() { workload argoproj.io/v1alpha1 Workflow "$1" "${2:-}"; }
owner() { echo "ownerReferences: [{apiVersion: $1, kind: $2, name: \"$3\", uid: $4, controller: true}]"; }
uid() { kubectl get "$1" "$2" -o jsonpath='{.metadata.uid}'; }
NO_UID=0e6f1f6d-5d5c-4f0e-9a3b-2c3d4e5f6a7c

# Succeeds if an object is still delegated: still_delegated KIND NAME
still_delegated() { [ "$(kubectl get "$1" "$2" -o jsonpath='{.spec.managedBy}')" = kueue.x-k8s.io/multikueue ]; }

@test "regression: an owner reference does not replace delegation, whether its kind is installed or not" {
  for _ in 1 2; do
    assert_fails_with '[managed-by/delegation]' tenant create -f - <<<"$(job "forged, $(owner kubeflow.org/v1 PyTorchJob x $NO_UID)" 'suspend: true')"
    # The message contains the setting to change.
    [[ $output == *builtin_status_writers*PyTorchJob* ]]
    apply_test_crds PyTorchJob
  done
}

@test "regression: only JobSet's service account may create Jobs with a delegated JobSet as owner" {
  object jobset own | tenant create -f -
  owned=$(job "own-a-0, $(owner jobset.x-k8s.io/v1alpha2 JobSet own "$(uid jobset own)")" 'suspend: true')
  assert_fails_with '[managed-by/delegation]' tenant create -f - <<<"$owned"
  [[ $output == *builtin_status_writers*JobSet* ]]
  # A service account with the same name in another namespace is denied too.
  assert_fails_with '[managed-by/delegation]' as_lookalike create -f - <<<"$owned"
  kubectl create --as="$JOBSET" -f - <<<"$owned"
}

@test "regression: a write in a version that drops managedBy is denied" {
  object raycluster pruned | tenant create -f -
  # Users who may not write the status get no further details, but the audit log has them.
  assert_fails_with 'denied' tenant patch rayclusters.v1alpha1.ray.io pruned --type=merge -p 'metadata: {labels: {a: b}}'
  is_cel || [[ $(audit_annotation pruned denied) == *managed-by/pruned-version* ]]
  assert_fails_with 'denied' tenant patch rayclusters.v1alpha1.ray.io pruned --subresource=status --type=merge -p 'status: {state: ready}'
  is_cel || [[ $(audit_annotation pruned denied) == *managed-by/pruned-version* ]]
  still_delegated raycluster pruned
}

@test "a write in a version that drops managedBy is denied during deletion, until no finalizer is left" {
  object raycluster finalized | tenant create -f -
  tenant patch raycluster finalized --type=merge -p 'metadata: {finalizers: [ray.io/gcs-ft-redis-cleanup-finalizer]}'
  tenant delete raycluster finalized --wait=false
  assert_fails_with 'denied' tenant patch rayclusters.v1alpha1.ray.io finalized --type=merge -p 'metadata: {labels: {a: b}}'
  still_delegated raycluster finalized
  tenant patch rayclusters.v1alpha1.ray.io finalized --type=merge -p 'metadata: {finalizers: []}'
  kubectl wait --for=delete raycluster/finalized --timeout=30s
}

@test "regression: an AppWrapper with 12,000 components gets a warning that not all of it was evaluated" {
  module_only
  python3 -c 'import json; print(json.dumps({"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": {"name": "many"}, "spec": {
    "managedBy": "kueue.x-k8s.io/multikueue", "components": [{"template": {"apiVersion": "batch/v1", "kind": "Job", "spec": {"managedBy": ""}}}] * 12000}}))' >"$BATS_TEST_TMPDIR/many.json"
  run tenant create -f "$BATS_TEST_TMPDIR/many.json"
  [ "$status" -eq 0 ]
  [[ $output == *'not validated'* ]]
}

# Prints a delegated Job with an argument of COUNT letters: large NAME LETTER COUNT
large() {
  tenant create --dry-run=client -o json -f - <<<"$(object job "$1")" |
    python3 -c 'import json, sys; job = json.load(sys.stdin); job["metadata"]["annotations"] = {}; job["spec"]["template"]["spec"]["containers"][0]["args"] = [sys.argv[1] * int(sys.argv[2])]; json.dump(job, sys.stdout)' "$2" "$3"
}
@test "regression: a Job whose updates would exceed PolicyServer's limit is denied" {
  module_only
  large large a 1100000 >"$BATS_TEST_TMPDIR/large.json"
  assert_fails_with '[managed-by/object-too-large]' tenant create -f "$BATS_TEST_TMPDIR/large.json"
  # JSON encodes each of these letters in six bytes.
  large escaped '<' 190000 >"$BATS_TEST_TMPDIR/large.json"
  assert_fails_with '[managed-by/object-too-large]' tenant create -f "$BATS_TEST_TMPDIR/large.json"
  large small a 400000 | tenant create -f -
  update_status "$KUEUE" small "startTime: \"$NOW\", active: 1"
}

# Creates a pod, optionally with an owner: create_pod [OWNER]
create_pod() {
  tenant create -f - <<<"$(printf -- '---\n{apiVersion: v1, kind: Pod, metadata: {generateName: pod-, %s}, spec: {containers: [{name: main, image: e2e}]}}' "${1:-}")"
}
# Prints how often PolicyServer looked up a Job.
lookups() { jq -c --arg user "$POLICY_SERVER" 'select(.user.username == $user and .verb == "get")' "$RUN/cluster/audit.log" | wc -l; }

@test "pods: a pod of a delegated Job is denied after a lookup, and other pods are created" {
  module_only
  object job delegated | tenant create -f -
  before=$(lookups)
  assert_fails_with '[pods/delegated-owner]' create_pod "$(owner batch/v1 Job delegated "$(uid job delegated)")"
  [ "$(lookups)" -gt "$before" ]
  # An admin is exempt in these settings.
  object job standard '' | kubectl create -f -
  assert_no_warning create_pod "$(owner batch/v1 Job standard "$(uid job standard)")"
  assert_no_warning create_pod "$(owner batch/v1 Job missing $NO_UID)"
}

@test "regression: a pod of a Job with an invalid name needs no lookup" {
  module_only
  before=$(lookups)
  assert_no_warning create_pod
  for name in 'b1?x=1' b1/status 'b 1'; do assert_no_warning create_pod "$(owner batch/v1 Job "$name" $NO_UID)"; done
  [ "$(lookups)" -eq "$before" ]
}

# The response does not contain PolicyServer's reason.
REFUSED='failed to call webhook: the server rejected our request for an unknown reason'
# docs/tasks/troubleshooting.md
@test "objects that are nested too deeply for PolicyServer are refused with Fail, and checked by CEL" {
  assert_fails_with '[managed-by/delegation]' tenant create -f - <<<"$(nested_job nested 120)"
  for levels in 121 240; do
    if is_cel; then
      assert_fails_with '[managed-by/delegation]' tenant create -f - <<<"$(nested_job nested $levels)"
    else
      assert_fails_with "$REFUSED" tenant create -f - <<<"$(nested_job nested $levels)"
    fi
  done
}

nest() { tenant patch job "$1" --type=merge -p "$(nested_job "$1" "$2" '' '{metadata: (.metadata | {managedFields})}')"; }
deep_objects() { eval "$(sed -n 's/^ *\(kubectl get jobs .*managed-fields.*\)/\1/p' "$ROOT/docs/tasks/troubleshooting.md")"; }
repair() { eval "$(sed -n 's/^ *\(kubectl patch .*managedFields.*\)/\1/p' "$ROOT/docs/tasks/troubleshooting.md" | sed "s/KIND NAME --namespace NAMESPACE/job $1/")"; }
@test "a patch of managedFields that calls no webhook blocks status updates until the object is found and repaired" {
  module_only
  [ -z "$(deep_objects)" ]
  for levels in 121 240; do
    object job "blocked-$levels" | tenant create -f -
    assert_no_warning update_status "$KUEUE" "blocked-$levels" 'active: 1, ready: 0, terminating: 0'
    nest "blocked-$levels" $levels
    assert_fails_with "$REFUSED" update_status "$KUEUE" "blocked-$levels" 'active: 2, ready: 0, terminating: 0'
    [ "$(deep_objects)" = "\"team-a\", \"blocked-$levels\"," ]
    repair "blocked-$levels"
    [ -z "$(deep_objects)" ]
    assert_no_warning update_status "$KUEUE" "blocked-$levels" 'active: 2, ready: 0, terminating: 0'
  done
}

@test "regression: a pod of a delegated Job is denied if PolicyServer cannot read the Job" {
  module_only
  object job unreadable | tenant create -f -
  nest unreadable 130
  assert_fails_with 'could not look up Job "unreadable", which controls this pod' create_pod "$(owner batch/v1 Job unreadable "$(uid job unreadable)")"
  repair unreadable
}

@test "regression: an AppWrapper whose components are a string can be labeled, and deleted with its finalizer" {
  # The real CRD's schema rejects this value; the test CRD has no schema for components.
  appwrapper 'odd, finalizers: [acme.io/hold]' 'managedBy: kueue.x-k8s.io/multikueue, components: x' | tenant create -f -
  tenant label appwrapper odd a=b
  tenant delete appwrapper odd --wait=false
  tenant patch appwrapper odd --type=merge -p 'metadata: {finalizers: null}'
  assert_fails_with NotFound kubectl get appwrapper odd
}

@test "regression: a declared kind may use the paths of other kinds for other purposes" {
  assert_fails_with '[managed-by/delegation]' tenant create -f - <<<"$(workflow plain)"
  workflow odd 'managedBy: kueue.x-k8s.io/multikueue, components: x, replicatedJobs: 5, runPolicy: x' | tenant create -f -
  tenant label workflow odd a=b
}

# docs/tasks/declare-a-kind.md
@test "a declared kind without a status subresource: its field is checked, and its status is not" {
  workflow argo 'managedBy: kueue.x-k8s.io/multikueue' | tenant create -f -
  assert_fails_with '[managed-by/immutable]' tenant patch workflow argo --type=merge -p 'spec: {managedBy: acme.io/x}'
  for phase in Succeeded Failed; do assert_no_warning tenant patch workflow argo --type=merge -p "status: {phase: $phase}"; done
}
@test "a declared kind with a status subresource: an outcome is final, and only listed writers may write it" {
  workload studio.example.com/v1 Render nightly 'managedBy: kueue.x-k8s.io/multikueue' | tenant create -f -
  assert_fails_with '[status-writer/delegated]' tenant patch render nightly --subresource=status --type=merge -p 'status: {phase: Succeeded}'
  update_status "$KUEUE" render/nightly 'phase: Succeeded'
  module_only
  assert_fails_with '[status/outcome-changed]' update_status "$KUEUE" render/nightly 'phase: Failed'
}

# To compare with a run without the FlowSchema: FLOOD=20 make e2e ONLY=tenant FILTER=FlowSchema
# Prints the name of the FlowSchema of a request by the tenant, or with an argument by its service account: flow_schema PATH [ACCOUNT]
flow_schema() {
  local id
  id=$(curl --silent --cacert "$RUN/ca.crt" --oauth2-bearer tenant ${2:+--header "Impersonate-User: $2"} --dump-header - --output /dev/null --json '{}' \
    "$(<"$RUN/cluster/server")/$1?dryRun=All" | tr -d '\r' | sed -n 's/^x-kubernetes-pf-flowschema-uid: //Ip')
  kubectl get flowschemas -o json | jq -r --arg id "$id" '.items[] | select(.metadata.uid == $id) | .metadata.name'
}
@test "with the chart's FlowSchema, 40 concurrent large writes of a tenant do not block other users" {
  module_only
  account=system:serviceaccount:team-a:jobset-controller-manager
  flood() { python3 "$ROOT/e2e/flood.py" "$(<"$RUN/cluster/server")" "${FLOOD:-5}" "$(<"$RUN/cluster/policy-server.pid")" "$@" >&3; }
  flood_all() { flood appwrappers && flood appwrappers $account && flood pods $account; }
  [ -z "${FLOOD:-}" ] || flood_all || true
  helm template managed-by "$CHART" --kube-version 1.36.3 --values "$CHART/ci/all-projects-values.yaml" --show-only templates/flow-schema.yaml \
    --set 'flowSchema.enabled=true,flowSchema.groups={developers},flowSchema.namespaces={team-a},pods.enabled=true' | kubectl apply -f -
  limited() { kubectl get --raw /metrics | grep 'apiserver_flowcontrol_nominal_limit_seats{priority_level="managed-by"} 3$'; }
  retry limited
  for path in apis/batch/v1/namespaces/team-a/jobs api/v1/namespaces/team-a/pods; do
    for user in '' $account; do retry eval '[ "$(flow_schema $path $user)" = managed-by ]'; done
  done
  flood_all
}

@test "values: homoglyphs, spaces, NUL, uppercase letters and the empty string are denied in every kind" {
  # The last letter of the first value is Cyrillic.
  values=('kueue.x-k8s.io/multikueu\u0435' 'kueue.x-k8s.io/multikueue\u200b' ' kueue.x-k8s.io/multikueue' 'kueue.x-k8s.io/multikueue '
    'kueue.x-k8s.io/multikueue\n' 'kueue.x-k8s.io/multikueue\0' 'kueue.x-k8s.io\0/multikueue' 'Kueue.x-k8s.io/multikueue' 'kueue.x-k8s.io//multikueue' '')
  for kind in "${KINDS[@]}"; do
    run tenant create -f - <<<"$(for value in "${values[@]}"; do object "$kind" value "managedBy: \"$value\""; done)"
    # For some values of a Job, the API server's own validation fails before it calls the webhook.
    [ "$(grep -cE 'denied (the )?request.*\[managed-by/|^The Job "value" is invalid: |Job.batch "value" is invalid' <<<"$output")" -eq ${#values[@]} ] || { echo "$output" && return 1; }
    assert_fails_with NotFound kubectl get "$kind" value
  done
}

# Fails unless each patch is denied: assert_kept KIND TYPE PATCH...
assert_kept() {
  for patch in "${@:3}"; do assert_fails_with managedBy tenant patch "$1" kept "--type=$2" -p "---"$'\n'"$patch"; done
  still_delegated "$1" kept
}
@test "no patch, replacement or server-side apply changes managedBy, even by the field manager and with force" {
  for kind in "${KINDS[@]}"; do
    object "$kind" kept | tenant apply --server-side -f -
    kubectl get "$kind" kept -o json >"$BATS_TEST_TMPDIR/kept.json"
    without=$(jq -c '.spec | del(.managedBy)' "$BATS_TEST_TMPDIR/kept.json")
    assert_kept "$kind" json '[{op: remove, path: /spec/managedBy}]' '[{op: replace, path: /spec/managedBy, value: acme.io/x}]' '[{op: replace, path: /spec/managedBy, value: null}]' \
      '[{op: add, path: /spec/managedBy, value: ""}]' '[{op: move, from: /spec/managedBy, path: /spec/other}]' "[{op: replace, path: /spec, value: $without}]" \
      '[{op: test, path: /spec/managedBy, value: kueue.x-k8s.io/multikueue}, {op: remove, path: /spec/managedBy}]'
    assert_kept "$kind" merge 'spec: {managedBy: null}' 'spec: {managedBy: ""}' 'spec: {managedBy: acme.io/x}'
    # For some kinds, the error is about another required field.
    assert_fails_with '' tenant patch "$kind" kept --type=merge -p 'spec: null'
    for change in 'del(.spec.managedBy)' '.spec.managedBy = null'; do
      assert_fails_with managedBy tenant replace -f - <<<"$(jq "$change" "$BATS_TEST_TMPDIR/kept.json")"
    done
    for spec in 'managedBy: acme.io/x' ''; do
      assert_fails_with managedBy tenant apply --server-side --force-conflicts -f - <<<"$(object "$kind" kept "$spec")"
    done
    still_delegated "$kind" kept
  done
  jobs=$(kubectl get job kept -o json | jq -c '.spec | del(.managedBy)')
  assert_kept job strategic 'spec: {managedBy: null}' 'spec: {managedBy: acme.io/x}' "spec: $(jq -c '. + {"$patch": "replace"}' <<<"$jobs")" \
    "spec: $(jq -c '{"$retainKeys": keys, suspend: true}' <<<"$jobs")"
  assert_fails_with '' tenant patch job kept --type=strategic -p 'spec: {$patch: delete}'
  still_delegated job kept
}

@test "dry runs, null and generateName are evaluated like other requests" {
  for kind in "${KINDS[@]}"; do
    assert_fails_with '[managed-by/delegation]' tenant create --dry-run=server -f - <<<"$(object "$kind" dry '')"
    assert_fails_with '[managed-by/delegation]' tenant create --validate=ignore -f - <<<"$(object "$kind" dry 'managedBy: null')"
  done
  generated() { object job x "$1" | sed 's/name: x/generateName: generated-/'; }
  assert_fails_with '[managed-by/delegation]' tenant create -f - <<<"$(generated '')"
  assert_fails_with '[managed-by/allowed]' tenant create -f - <<<"$(generated 'managedBy: acme.io/x')"
}

@test "objects that a controller creates from a template are evaluated" {
  workload batch/v1 CronJob cron "schedule: 0 0 1 1 *, jobTemplate: {spec: {suspend: true, template: $(template)}}" | tenant create -f -
  assert_fails_with '[managed-by/delegation]' kubectl create --as="$CRON_JOBS" -f - <<<"$(job "cron-1, $(owner batch/v1 CronJob cron "$(uid cronjob cron)")" 'suspend: true')"
  workload jobset.x-k8s.io/v1alpha2 JobSet evil "managedBy: kueue.x-k8s.io/multikueue, replicatedJobs: [{name: a, template: {spec: {managedBy: acme.io/x, suspend: true, template: $(template)}}}]" |
    tenant create -f -
  child="evil-a-0, $(owner jobset.x-k8s.io/v1alpha2 JobSet evil "$(uid jobset evil)")"
  assert_fails_with '[managed-by/allowed]' kubectl create --as="$JOBSET" -f - <<<"$(object job "$child" 'managedBy: acme.io/x')"
  # Control: the same child with an allowed managedBy is created.
  object job "$child" | kubectl create --as="$JOBSET" -f -
}

@test "a main-resource write does not change the status, and a status write does not change managedBy" {
  for kind in "${KINDS[@]}"; do
    object "$kind" through | tenant create -f -
    before=$(kubectl get "$kind" through -o json | jq .status)
    tenant patch "$kind" through --type=merge -p 'status: {phase: Succeeded, state: ready, active: 3, succeeded: 1}'
    kubectl get "$kind" through -o json | jq '.status = {phase: "Succeeded", state: "ready", active: 3}' | tenant replace --validate=ignore -f -
    [ "$(kubectl get "$kind" through -o json | jq .status)" = "$before" ]
    kubectl patch "$kind" through --as="$KUEUE" --subresource=status --type=merge -p 'spec: {managedBy: acme.io/x}'
    [ "$(kubectl get "$kind" through -o jsonpath='{.spec.managedBy}')" = kueue.x-k8s.io/multikueue ]
  done
}

@test "a tenant may not write the status of delegated objects" {
  object job status | tenant create -f -
  # ClusterRole `edit` does not grant writes to the status of Jobs.
  assert_fails_with 'cannot patch resource "jobs/status"' tenant patch job status --subresource=status --type=merge -p 'status: {succeeded: 1}'
  for kind in "${CUSTOM[@]}"; do
    object "$kind" status | tenant create -f -
    assert_fails_with '[status-writer/delegated]' tenant patch "$kind" status --subresource=status --type=merge -p 'status: {phase: Succeeded, state: ready}'
  done
}

@test "RBAC denies namespace labels and impersonation, and a tenant's service account is evaluated like the tenant" {
  assert_fails_with 'is forbidden: User "tenant" cannot' tenant label namespace team-a kubernetes.io/metadata.name=kube-system --overwrite
  another=$(object job another '')
  for user in "$JOBSET" "$KUEUE" system:admin; do assert_fails_with 'is forbidden: User "tenant" cannot' tenant create --validate=false --as="$user" -f - <<<"$another"; done
  for group in system:masters kubeadm:cluster-admins; do
    assert_fails_with 'is forbidden: User "tenant" cannot' tenant create --validate=false --as=tenant --as-group="$group" -f - <<<"$another"
    assert_fails_with 'is forbidden: User "tenant" cannot' as_lookalike create --validate=false --as-group="$group" -f - <<<"$another"
  done
  assert_fails_with 'is forbidden: User "tenant" cannot' as_lookalike create --validate=false --as-uid=$NO_UID -f - <<<"$another"
  assert_fails_with '[managed-by/delegation]' as_lookalike create --validate=false -f - <<<"$another"
}

@test "control characters are quoted in the response and in the audit log" {
  value='kueue.x-k8s.io/\a\e[31m\n\r\0\x85\x9bx'
  {
    for kind in "${KINDS[@]}"; do object "$kind" control-value "managedBy: \"$value\""; done
    appwrapper control-field '"managed\e[31mBy": x, "managedBy\n": x'
    appwrapper control-type 'managedBy: {"a\e[31m\n": 1}'
    appwrapper control-kind 'components: [{template: {apiVersion: "batch/v1\e[31m", kind: "Job\n\a", spec: {managedBy: "acme.io/x\e", "a\e\n": 1}}}]'
    appwrapper control-child 'components: [{template: {apiVersion: batch/v1, kind: Job, metadata: {name: "a\e[31m\n"}, spec: {managedBy: "acme.io/x\e\n"}}}]'
  } >"$BATS_TEST_TMPDIR/control.yml"
  run tenant create -f "$BATS_TEST_TMPDIR/control.yml"
  [ "$(grep -c '^Error\|^The' <<<"$output")" -eq 8 ]
  run ! grep -P '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' <<<"$output"
  jq -c 'select((.objectRef.name // "") | startswith("control-")) | [.annotations, .responseStatus.message]' "$RUN/cluster/audit.log" >"$BATS_TEST_TMPDIR/audit"
  [ "$(wc -l <"$BATS_TEST_TMPDIR/audit")" -eq 8 ]
  jq -se '[.. | strings, (objects | keys[]) | select(test("[\\p{Cc}]"))] == []' "$BATS_TEST_TMPDIR/audit"
}
