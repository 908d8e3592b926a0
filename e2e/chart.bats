# Tests that the chart detects installed projects. Without a cluster, values provide the same information, and rendering fails with the names of missing
# values. These tests render a webhook, because Kubewarden's CRDs are not installed. `kubewarden-helm` installs the chart with Kubewarden.
load lib

setup_file() {
  require_programs helm etcd kube-apiserver kubectl jq openssl curl python3
  start_cluster cluster --authorization-mode=AlwaysAllow
  export KUBECONFIG=$RUN/cluster/kubeconfig
  kubectl create namespace team-a
}
teardown_file() { stop_all; }
setup() { cd "$BATS_TEST_TMPDIR"; }

# Renders the chart without a cluster, and prints JSON: offline [ARGUMENT...]
offline() { helm template managed-by "$CHART" --kube-version 1.36.3 --set mode=protect --set webhook.enabled=true --set webhook.caBundle="$(base64 --wrap=0 "$RUN/ca.crt")" "$@" | yaml_to_json; }
# Prints the users who may write the status of a kind: writers KIND [ARGUMENT...]
writers() { chart_settings cluster worker "${@:2}" | jq -r --arg kind "$1" '.builtin_status_writers[$kind] // [] | .[]'; }
lists() { writers "$1" | grep --line-regexp --fixed-strings "$2"; }
kinds() { jq -r '.webhooks[0].rules[].resources[] | select(contains("/") | not)' | sort | xargs; }

@test "without a cluster, the error lists each missing value" {
  assert_fails_with 'projects.NAME.enabled: must be true or false for kueue, jobset, trainer' offline --set role=worker
  for value in projects.kubernetes.statusWriters kubernetesVersion; do [[ $output == *"- $value: "* ]]; done
  # ci/offline-values.yaml sets all required values. Without one of them, rendering fails.
  assert_fails_with 'projects.kubernetes.statusWriters: must list the usernames of the controllers of Kubernetes, because service accounts cannot be looked up without a cluster' \
    offline --values "$CHART/ci/offline-values.yaml" --set role=worker,projects.kubernetes.statusWriters=null
}

@test "only Jobs and CronJobs are selected in a cluster without projects, and only the Job controller is a writer" {
  [ "$(chart_webhook cluster worker | kinds)" = "cronjobs jobs" ]
  [ "$(writers Job)" = "$JOB_CONTROLLER" ]
  [ "$(chart_settings cluster worker | jq -r .kubernetes_version)" = 1.36.3 ]
}

@test "served kinds are selected, and their controllers are status writers" {
  apply_test_crds JobSet AppWrapper Workload
  [ "$(chart_webhook cluster worker | kinds)" = "appwrappers cronjobs jobs jobsets" ]
  [ "$(writers Job)" = "$JOB_CONTROLLER"$'\n'"$KUEUE"$'\n'"$JOBSET" ]
  [ "$(writers JobSet)" = "$JOBSET" ]
  chart_webhook cluster worker | jq -r '.webhooks[0].matchConditions[].expression' >conditions
  grep 'replicatedJobs' conditions
  run ! grep -E 'ray.io|kubeflow|tekton' conditions
}

@test "a controller that writes Jobs is listed even if its own kind is not selected" {
  [ "$(chart_webhook cluster worker --set projects.jobset.enabled=false | kinds)" = "appwrappers cronjobs jobs" ]
  [ "$(writers Job --set projects.jobset.enabled=false)" = "$JOB_CONTROLLER"$'\n'"$KUEUE"$'\n'"$JOBSET" ]
}

@test "if Kueue is installed, MultiKueue is allowed, and delegation is forbidden in Kueue's namespace, in addition to the values" {
  found() { chart_settings cluster hybrid --set-json 'controllers={}' --set-json 'namespaces=[]' "$@" | jq -c '[.controllers, .namespaces]'; }
  multikueue='"kueue.x-k8s.io/multikueue":{"status_writers":["'$KUEUE'"]}' kueue='{"delegation":"forbidden","match":["kueue-system"]}'
  prints() { [ "$("${@:2}")" = "$1" ] || { "${@:2}" && return 1; }; }
  prints "[{$multikueue},[$kueue]]" found
  team='{"delegation":"required","match":["team-*"]}'
  prints "[{\"acme.io/runner\":\"any\",$multikueue},[$team,$kueue]]" found --set-json 'controllers={"acme.io/runner": "any"}' --set-json "namespaces=[$team]"
  prints '[{"kueue.x-k8s.io/multikueue":{"kinds":["Job"],"status_writers":["'"$KUEUE"'"]}},['"$kueue]]" found --set 'controllers.kueue\.x-k8s\.io/multikueue.kinds={Job}'
  # An entry for Kueue's namespace replaces the chart's, and so does a pattern: PolicyServer rejects an entry that is never reached.
  for match in kueue-system 'kueue-*'; do
    entry='{"delegation":"allowed","match":["'$match'"]}'
    prints "[{$multikueue},[$entry]]" found --set-json "namespaces=[$entry]"
  done
  # null removes what the chart adds.
  prints "[{\"acme.io/runner\":\"any\"},[$kueue]]" found --set-json 'controllers={"acme.io/runner": "any", "kueue.x-k8s.io/multikueue": null}'
  prints '[null,null]' found --set-json controllers=null --set-json namespaces=null
}

@test "an outage blocks writes only in mode protect without CEL, unless a value says otherwise" {
  policy() { chart_webhook cluster hybrid "$@" | jq -r '.webhooks[0].failurePolicy'; }
  [ "$(policy)" = Fail ]
  [ "$(policy --set mode=monitor)" = Ignore ]
  [ "$(policy --set cel.enabled=true)" = Ignore ]
  [ "$(policy --set cel.enabled=true,failurePolicy=Fail)" = Fail ]
  # CEL does not look up Jobs, so the pods policy fails closed in mode protect.
  pods() { offline --values "$CHART/ci/offline-values.yaml" --set pods.enabled=true "$@" | jq -r 'select(.kind == "ClusterAdmissionPolicy") | .spec.failurePolicy'; }
  [ "$(pods)" = Fail ]
  [ "$(pods --set cel.enabled=true)" = Fail ]
  [ "$(pods --set mode=monitor)" = Ignore ]
  [ "$(pods --set pods.failurePolicy=Ignore)" = Ignore ]
  # The queues policy is off by default, and never blocks a write.
  queues() { offline --values "$CHART/ci/offline-values.yaml" "$@" | jq -c 'select(.kind == "ClusterAdmissionPolicy") | .spec | [.mode, .failurePolicy, .timeoutSeconds]'; }
  [ "$(queues)" = "" ]
  [ "$(queues --set queues.enabled=true,failurePolicy=Fail)" = '["monitor","Ignore",2]' ]
  # In mode monitor, the ValidatingAdmissionPolicies never deny.
  bindings() { render_chart cluster hybrid --set cel.enabled=true,cel.warnings=true "$@" | jq -c 'select(.kind | startswith("ValidatingAdmission")) | .spec.failurePolicy // .spec.validationActions' | xargs; }
  [ "$(bindings)" = "Fail Ignore [Deny,Audit] [Warn]" ]
  [ "$(bindings --set mode=monitor)" = "Ignore Ignore [Warn,Audit] [Warn]" ]
}

@test "with values instead of a cluster, the chart renders the same objects" {
  # In the form that Argo CD passes them.
  for version in $(kubectl api-versions | grep /); do
    kubectl get --raw "/apis/$version" | jq -r --arg version "$version" '.resources[] | "--api-versions=\($version)/\(.kind)"'
  done >versions
  # Kubewarden is not installed; adding its kind makes the chart treat --api-versions as a cluster's list.
  echo --api-versions=policies.kubewarden.io/v1/ClusterAdmissionPolicy >>versions
  for policy in management worker hybrid; do
    render_chart cluster "$policy" >here.json
    mapfile -t versions <versions
    offline --values "$CHART/ci/$policy-values.yaml" "${versions[@]}" --values - >argo.json <<EOF
projects:
  kubernetes: {statusWriters: ["$JOB_CONTROLLER"]}
  kueue: {statusWriters: ["$KUEUE"]}
  jobset: {statusWriters: ["$JOBSET"]}
  appwrapper: {statusWriters: ["system:serviceaccount:appwrapper-system:appwrapper-controller-manager"]}
EOF
    offline --values "$CHART/ci/$policy-values.yaml" --values "$CHART/ci/offline-values.yaml" --values - >plain.json <<EOF
kubernetesVersion: 1.36.3
projects:
  jobset: {enabled: true, statusWriters: ["$JOBSET"]}
  appwrapper: {enabled: true, statusWriters: ["system:serviceaccount:appwrapper-system:appwrapper-controller-manager"]}
EOF
    diff here.json argo.json
    diff here.json plain.json
  done
}

@test "JobSet's service account is found under every name in docs/reference/status-writers.md, if it has a ClusterRole for the status" {
  for account in jobset-system/jobset-controller kubeflow-system/jobset-controller-manager kubeflow-system/jobset-controller; do
    kubectl create namespace "${account%/*}" || true
    kubectl create serviceaccount -n "${account%/*}" "${account#*/}"
    # Users who may create namespaces can create this service account.
    user=system:serviceaccount:${account/\//:}
    run ! lists JobSet "$user"
    # An account with this name may have another purpose.
    kubectl create clusterrolebinding viewer --clusterrole=view --serviceaccount="${account/\//:}"
    run ! lists JobSet "$user"
    kubectl delete clusterrolebinding viewer
    kubectl create clusterrolebinding other --clusterrole=status-writers --serviceaccount="${account/\//:}"
    lists JobSet "$user"
    lists Job "$user"
    kubectl delete clusterrolebinding other
  done
}

@test "rendering fails with the value's name if a project's service account is not found" {
  kubectl delete serviceaccount -n jobset-system jobset-controller-manager
  assert_fails_with 'projects.jobset.statusWriters: must list the usernames of the controllers of JobSet, because none of its usual service accounts exists with a ClusterRole that may write the status' render_chart cluster worker
  [ "$(writers JobSet --set projects.jobset.statusWriters={system:serviceaccount:mine:jobset})" = system:serviceaccount:mine:jobset ]
  # A hybrid cluster lists no writers.
  render_chart cluster hybrid
  kubectl create serviceaccount -n jobset-system jobset-controller-manager
}

@test "KubeRay's service account is found in any namespace" {
  apply_test_crds RayCluster
  kubectl delete clusterrolebinding kuberay-operator
  # Any tenant can create this service account.
  kubectl create serviceaccount -n team-a kuberay-operator
  assert_fails_with 'projects.kuberay.statusWriters: ' render_chart cluster worker
  kubectl create clusterrolebinding tenant-ray --clusterrole=view --serviceaccount=team-a:kuberay-operator
  assert_fails_with 'projects.kuberay.statusWriters: ' render_chart cluster worker
  # A role of RBAC's own format: all resources of a group.
  kubectl create clusterrole ray --verb='*' --resource='*.ray.io'
  kubectl create clusterrolebinding ray --clusterrole=ray --serviceaccount=ray-system:kuberay-operator
  [ "$(writers RayCluster)" = system:serviceaccount:ray-system:kuberay-operator ]
  chart_webhook cluster worker | jq -e '.webhooks[0].rules[] | select(.resources == ["rayclusters"]) | .apiVersions == ["v1", "v1alpha1"]'
}

@test "a kind in custom_kinds is selected in its served versions, and the conditions contain its path" {
  apply_test_crds Workflow
  VALUES=(--set-json 'settings.custom_kinds=[{"group": "argoproj.io", "kind": "Workflow", "plural": "workflows", "managed_by_path": "spec.run-by.name"}]'
    --set-json 'settings.builtin_status_writers={"Workflow": ["ana"]}')
  chart_webhook cluster worker >webhook.json
  jq -e '[.webhooks[0].rules[] | select(.apiGroups == ["argoproj.io"]) | [.apiVersions[], .resources[]]] == [["v1alpha1", "workflows"], ["v1alpha1", "workflows/status"]]' webhook.json
  [ "$(jq '[.webhooks[0].matchConditions[].expression | contains("[\"spec\",\"run-by\",\"name\"]")] | any' webhook.json)" = true ]
  writers Job | grep "$JOBSET"
  [ "$(writers Workflow)" = ana ]
  # kube-apiserver compiles the conditions.
  jq '.webhooks[0].clientConfig = {url: "https://127.0.0.1:1"} | .webhooks[0].failurePolicy = "Ignore"' webhook.json | kubectl apply --server-side -f -
  offline=("${VALUES[@]}" --values "$CHART/ci/offline-values.yaml" --set role=worker)
  assert_fails_with 'settings.custom_kinds[0].versions: must list the versions of workflows.argoproj.io' offline "${offline[@]}"
}

# tests/policy/values.rs compares the schema and the other checks with the library.
@test "Helm rejects settings that are too large for CEL, and a NetworkPolicy without addresses" {
  # cel-go's parser has this limit.
  local names
  names=$(jq -nc '[range(200) | "team-\(.)"] | . as $namespaces | [range(60) | {key: "acme.io/\(.)", value: {$namespaces}}] | from_entries')
  assert_fails_with 'characters as an expression, must be at most 100000' render_chart cluster hybrid --set cel.enabled=true --set-json "controllers=$names"
  assert_fails_with 'networkPolicy.apiServers: must list the addresses of the API servers' render_chart cluster worker --set networkPolicy.enabled=true
}
