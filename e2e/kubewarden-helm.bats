# Tests the chart with Kubewarden's own chart and controller: install, upgrade, both modes, rollback and uninstall. Symlinks to this file run it with other
# releases of Kubernetes and Kubewarden.
load lib
load controllers
load kubewarden
load pages

API_SERVER=kube-apiserver ARGUMENTS=() MANAGER=() KUBERNETES=1.36.3
case $BATS_TEST_FILENAME in
*-1.30.bats)
  KUBERNETES=1.30.14 API_SERVER=kube-apiserver-1.30.14 KUBEWARDEN_VERSION=1.35.0 MANAGER=("${EMULATE_OLD_RELEASE[@]}")
  ARGUMENTS=(--feature-gates=JobManagedBy=true)
  ;;
*-1.37.bats) KUBERNETES=1.37.1 API_SERVER=kube-apiserver-1.37.1 ;;
esac

setup_file() {
  require_programs helm "kubewarden-controller${KUBEWARDEN_VERSION:+-$KUBEWARDEN_VERSION}" "policy-server${KUBEWARDEN_VERSION:+-$KUBEWARDEN_VERSION}" kwctl "$API_SERVER" kube-controller-manager kubectl etcd docker-registry \
    ip mount curl jq openssl python3
  install_kubewarden "${ARGUMENTS[@]}"
  kubectl create namespace team-a
  # The module for the upgrade test.
  push_module managed-by-policy "$MODULE" v9.9.9
}
teardown_file() { stop_all; }
setup() { mkdir -p "$RUN/tests" && cd "$RUN/tests"; }

policies() { kubectl get clusteradmissionpolicies -o jsonpath='{range .items[*]}{.metadata.name} {.spec.mode}{"\n"}{end}'; }
webhooks() { kubectl get validatingwebhookconfigurations -o name | sed -nE 's,.*/(clusterwide-|kw[.]cap[.]),,p'; }
setting() { kubectl get clusteradmissionpolicies -o json | jq -c ".items[0].spec.settings.$1"; }
selected() { kubectl get clusteradmissionpolicies -o json | jq -r '.items[0].spec.rules[].resources[]' | xargs; }
# Succeeds if the policy denies a typo.
denied() { assert_prints '[managed-by/allowed]' dry_run_job team-a ana typo "$TYPO" && [ "$status" -ne 0 ]; }
accepted() { assert_prints created dry_run_job team-a ana typo "$TYPO"; }

# `make test` renders SEED-NUMBER.yml, before anything is installed: tests/policy/values.rs
@test "the API server accepts what Helm renders from random values" {
  refusals() { kubectl apply --dry-run=server "${@/#/--filename=}" 2>&1 | grep -v ' (server dry run)$\|^Warning: \|namespaces ".*" not found$\|no matches for kind "PrometheusRule"\|^ensure CRDs'; }
  local files=("$ROOT"/target/values/*.yml) i
  for ((i = 0; i < ${#files[@]}; i += 20)); do assert_fails refusals "${files[@]:i:20}"; done
}

@test "docs/tutorials/first-policy.md: every command prints what the page shows" {
  [ "$KUBERNETES" = 1.36.3 ] || skip "the page shows the output of 1.36"
  assert_page "$ROOT/docs/tutorials/first-policy.md"
  retry prints_exactly "" policies
}

# docs/tasks/roll-out.md
@test "helm template renders the policy for this cluster before it is installed" {
  echo "{role: management}" >my-values.yaml
  eval "$(page_command roll-out 'helm template managed-by ')"
  yaml_to_json my-policy.yml | jq -e --arg version "$KUBERNETES" '.kind == "ClusterAdmissionPolicy" and .spec.settings.kubernetes_version == $version'
}

@test "install: without projects, only Jobs and CronJobs" {
  # Without an allow-list, the notes warn.
  helm install managed-by "$CHART" --dry-run=server --values my-values.yaml | grep "Workloads may be delegated to any controller"
  sed -n '/^   role: management$/,/^   ```$/ { /```/d; s/^   //; p }' "$ROOT/docs/tasks/install.md" >my-values.yaml
  eval "$(page_command install 'helm install managed-by ')" >notes
  wait_active
  prints_exactly "managed-by-monitor monitor" policies
  prints_exactly "jobs jobs/status cronjobs" selected
  prints_exactly "\"$KUBERNETES\"" setting kubernetes_version
  prints_exactly "{\"Job\":[\"$JOB_CONTROLLER\"]}" setting builtin_status_writers
  # The page shows an excerpt of the notes.
  sed -n '/^   Kubernetes: /,/^   ```$/ { /```/d; s/^   //; p }' "$ROOT/docs/tasks/install.md" >shown
  [ "$(wc -l <shown)" -eq 5 ]
  [ "$KUBERNETES" = 1.36.3 ] || sed -i "/^Kubernetes: /d" shown
  assert_fails grep -vxFf notes shown
  # The notes contain the correct name.
  grep -A1 "kubectl wait" notes | grep clusteradmissionpolicy/managed-by-monitor
}

@test "upgrade: after JobSet, Kueue and KubeRay are installed, helm upgrade selects their kinds" {
  apply_test_crds JobSet Workload RayCluster
  echo "{role: management}" >my-values.yaml
  eval "$(page_command install 'helm upgrade managed-by ')" >notes
  wait_active
  prints_exactly "jobs jobs/status cronjobs jobsets jobsets/status rayclusters rayclusters/status" selected
  prints_exactly "{\"Job\":[\"$JOB_CONTROLLER\",\"$KUEUE\",\"$JOBSET\"],\"JobSet\":[\"$JOBSET\"],\"RayCluster\":[\"system:serviceaccount:ray-system:kuberay-operator\"]}" setting builtin_status_writers
  prints_exactly "{\"kueue.x-k8s.io/multikueue\":{\"status_writers\":[\"$KUEUE\"]}}" setting controllers
  grep "JobSet: $JOBSET" notes
  accepted
}

@test "upgrade: from monitor to protect, the protect policy replaces the monitor policy" {
  helm upgrade managed-by "$CHART" --reset-then-reuse-values --set mode=protect
  wait_active
  prints_exactly "managed-by protect" policies
  retry denied
  retry prints_exactly managed-by webhooks
}

# Runs the script of `helm test` as its service account would, because there is no node: helm_test
helm_test() {
  local account=$RUN/tests/account
  mkdir -p "$account"
  cp "$RUN/ca.crt" "$account/ca.crt"
  helm get hooks managed-by | yaml_to_json >hooks.json
  jq 'select(.kind != "Pod")' hooks.json | kubectl apply -f -
  jq -r 'select(.kind == "ServiceAccount") | "kubectl create token -n \(.metadata.namespace) \(.metadata.name)"' hooks.json | sh >"$account/token"
  local server
  server=$(<"$RUN/cluster/server")
  jq -r 'select(.kind == "Pod") | .spec.containers[0].args[0]' hooks.json | sed "s|^account=.*|account=$account|" |
    KUBERNETES_SERVICE_HOST=127.0.0.1 KUBERNETES_SERVICE_PORT=${server##*:} sh
}
@test "helm test: in mode protect, the API server denies its Job; it fails if the Job is accepted" {
  retry assert_prints 'enforced: the API server denied the Job' helm_test
  [ "$status" -eq 0 ]
  # The API server accepts the pod.
  jq 'select(.kind == "Pod")' hooks.json | kubectl apply --dry-run=server -f -
  kubectl label namespace default e2e=excluded
  kubectl patch clusteradmissionpolicy managed-by --type=json -p '[{"op": "add", "path": "/spec/namespaceSelector/matchExpressions/-", "value": {"key": "e2e", "operator": "DoesNotExist"}}]'
  LIMIT=20 retry assert_prints 'NOT ENFORCED: the policy did not deny a Job in namespace default' helm_test
  [ "$status" -eq 1 ]
  # Helm deletes them after the test.
  jq 'select(.kind != "Pod")' hooks.json | kubectl delete -f -
}
# docs/tasks/upgrade.md
@test "a change made with kubectl survives an upgrade, and is found and undone" {
  helm upgrade managed-by "$CHART" --reset-then-reuse-values
  assert_prints DoesNotExist kubectl get clusteradmissionpolicy managed-by -o yaml
  assert_prints DoesNotExist eval "$(page_command upgrade 'helm get manifest managed-by .* kubectl diff ')"
  eval "$(page_command upgrade 'helm get manifest managed-by .* kubectl apply ')"
  [ -z "$(eval "$(page_command upgrade 'helm get manifest managed-by .* kubectl diff ')")" ]
  wait_active
  retry denied
  # docs/tasks/monitor.md
  query=$(sed -n "s/^   jq -r '\(.*policies.kubewarden.io.*\)' audit.log$/\1/p" "$ROOT/docs/tasks/monitor.md")
  jq -r "$query" "$RUN/cluster/audit.log" | grep ' admin patch clusteradmissionpolicies managed-by$'
}

@test "upgrade: to another module" {
  helm upgrade managed-by "$CHART" --reset-then-reuse-values --set module.tag=v9.9.9
  wait_rollout
  wait_active
  grep -q v9.9.9 "$RUN/cluster/pods/$(ready_pods)/config/policies.yml" || kubectl get configmap policy-server-default -n kubewarden -o yaml | grep v9.9.9
  retry denied
}

@test "rollback: to the previous module" {
  eval "$(page_command upgrade 'helm rollback ')"
  wait_rollout
  wait_active
  kubectl get clusteradmissionpolicy managed-by -o jsonpath='{.spec.module}' | grep "v$VERSION$"
  retry denied
}

@test "upgrade: from protect to monitor, which Kubewarden rejects for an existing policy" {
  assert_fails_with "field cannot transition from protect to monitor" kubectl patch clusteradmissionpolicy managed-by --type=merge -p 'spec: {mode: monitor}'
  echo "{role: management, mode: monitor}" >my-values.yaml
  eval "$(page_command upgrade 'helm upgrade managed-by ')"
  wait_active
  prints_exactly "managed-by-monitor monitor" policies
  retry accepted
  retry prints_exactly managed-by-monitor webhooks
}

@test "rollback: from monitor to protect, and back" {
  helm rollback managed-by
  wait_active
  prints_exactly "managed-by protect" policies
  retry denied
  helm rollback managed-by
  wait_active
  prints_exactly "managed-by-monitor monitor" policies
  retry accepted
}

@test "a dedicated PolicyServer, with two replicas and a PodDisruptionBudget" {
  helm upgrade managed-by "$CHART" --reset-then-reuse-values --set mode=protect
  # Kubewarden also rejects changes of policyServer.
  assert_fails_with "the field is immutable" kubectl patch clusteradmissionpolicy managed-by --type=merge -p 'spec: {policyServer: other}'
  # Until the new policy is active, only CEL enforces the settings.
  assert_fails_with 'policyServer.name: must stay "default", because Helm deletes the policy there' helm upgrade managed-by "$CHART" --reset-then-reuse-values --set policyServer.create=true
  helm upgrade managed-by "$CHART" --reset-then-reuse-values --set policyServer.create=true,cel.enabled=true --set-json "policyServer.spec.sourceAuthorities={\"ghcr.io\": [$(jq -Rs . "$RUN/ca.crt")]}"
  retry kubectl get deployment/policy-server-managed-by -n kubewarden
  kubectl rollout status deployment/policy-server-managed-by -n kubewarden --timeout=1m
  wait_active
  prints_exactly "managed-by-own protect" policies
  kubectl get deployment/policy-server-managed-by -n kubewarden -o json >deployment.json
  helm upgrade managed-by "$CHART" --reset-then-reuse-values --set cel.enabled=false
  jq -e '.spec.replicas == 2 and .spec.template.spec.containers[0].resources == {requests: {memory: "512Mi"}, limits: {memory: "1Gi"}}
    and (.spec.template.spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution | length == 2)' deployment.json
  kubectl get poddisruptionbudget -n kubewarden -o json | jq -e '.items | any(.spec.minAvailable == 1)'
  retry denied
}

# docs/tasks/upgrade.md
@test "GitOps: without pruning, both policies stay active after a change of the mode; with pruning, one does; the emergency exit deletes all" {
  helm uninstall managed-by --ignore-not-found
  sync() {
    helm template managed-by "$CHART" --validate --dry-run=server --is-upgrade --skip-tests --values my-values.yaml --set cel.enabled=true "${@:2}" >"$1.yaml"
    assert_fails grep 'helm.sh/hook: test' "$1.yaml"
    kubectl apply -f "$1.yaml" "${PRUNE[@]}"
  }
  echo "{role: management, controllers: {kueue.x-k8s.io/multikueue: any}}" >my-values.yaml
  PRUNE=()
  sync protect --set mode=protect
  wait_active
  retry denied
  sync monitor
  wait_active
  prints_exactly $'managed-by protect\nmanaged-by-monitor monitor' policies
  denied
  eval "$(page_command upgrade 'kubectl delete clusteradmissionpolicy ')"
  retry accepted
  sync protect --set mode=protect
  PRUNE=(--prune --selector=app.kubernetes.io/instance=managed-by --prune-allowlist=policies.kubewarden.io/v1/ClusterAdmissionPolicy)
  sync monitor
  # Kubewarden's controller removes a finalizer before the pruned policy is gone.
  retry prints_exactly "managed-by-monitor monitor" policies
  retry accepted
  sync protect --set mode=protect
  retry prints_exactly "managed-by protect" policies
  wait_active
  retry denied
  eval "$(page_command upgrade 'kubectl delete clusteradmissionpolicies,')"
  retry accepted
  retry prints_exactly "" webhooks
  kubectl delete -f protect.yaml --ignore-not-found
}
# docs/tasks/install.md
@test "Helm takes over what kubectl applied from manifests" {
  kubectl apply -f "$ROOT/deploy/pods.yml" -f "$ROOT/deploy/management.yml" -f "$ROOT/deploy/audit-scanner.yml"
  echo "{role: management, pods: {enabled: true}}" >my-values.yaml
  command=$(page_command install 'helm install managed-by .* --take-ownership')
  assert_fails_with 'cannot be imported' eval "${command/--take-ownership/}"
  eval "$command"
  wait_active
  helm uninstall managed-by
  retry prints_exactly "" policies
}

@test "uninstall: removes all objects of the chart and nothing else" {
  helm install managed-by "$CHART" --set mode=protect,policyServer.create=true,role=management --set-json "policyServer.spec.sourceAuthorities={\"ghcr.io\": [$(jq -Rs . "$RUN/ca.crt")]}"
  wait_active
  job kept "$DELEGATED" | kubectl create -n team-a -f -
  # Objects that the chart does not own.
  kubectl create clusterrole mine --verb=get --resource=pods
  sed 's/name: managed-by-monitor/name: other/; s/team-a-admins/others/' "$ROOT/deploy/worker.yml" | kubectl apply -f -
  helm upgrade managed-by "$CHART" --reset-then-reuse-values --set 'pods.enabled=true,networkPolicy.enabled=true,networkPolicy.apiServers={10.244.0.1/32},dashboard.enabled=true' \
    --set 'flowSchema.enabled=true,flowSchema.groups={tenants},namespaceAdmins.groups={team-a-admins}'
  kubectl rollout status deployment/policy-server-managed-by -n kubewarden --timeout=1m
  retry prints_exactly "managed-by" eval "kubectl get flowschemas,networkpolicies -A -o json | jq -r '.items[].metadata.name' | grep managed | uniq"
  eval "$(page_command upgrade 'helm uninstall ')"
  owned() { kubectl get clusteradmissionpolicies,policyservers,clusterroles,clusterrolebindings,roles,rolebindings,configmaps,networkpolicies,flowschemas,prioritylevelconfigurations,secrets,poddisruptionbudgets,deployments \
    -A -l app.kubernetes.io/instance=managed-by -o name; }
  retry prints_exactly "" owned
  retry prints_exactly other webhooks
  kubectl get clusterrole mine
  kubectl get job kept -n team-a
  kubectl get policyserver default
  kubectl delete clusteradmissionpolicy other
  retry accepted
  retry prints_exactly "" eval "$(page_command upgrade 'kubectl get validatingwebhookconfigurations ')"
}
