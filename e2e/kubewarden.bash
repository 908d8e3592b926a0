# Installs Kubewarden and this project's chart in a cluster without nodes, in a network namespace with only loopback (e2e/run). A local registry serves
# as ghcr.io.
# shellcheck shell=bash disable=SC2034
BOB=(--as=bob --as-group=team-a-admins)
PROTECT=(--set mode=protect)
TYPO='suspend: true, managedBy: kueue.x-k8s.io/multikeue'
DELEGATED='suspend: true, managedBy: kueue.x-k8s.io/multikueue'
REPOSITORY=ghcr.io/managed-by-policy
# As on the pages.
export HELM_NAMESPACE=kubewarden
VERSION=$(sed -n 's/^version: //p' "$ROOT/charts/managed-by-policy/Chart.yaml")
# Version suffix of the Kubewarden programs: 1.35.0, or empty for the default release.
KUBEWARDEN_VERSION=

# Starts a cluster with Kubewarden, and the network and the registry that it uses: install_kubewarden [ARGUMENT...]
install_kubewarden() {
  start_network
  start_kubewarden_cluster cluster 1 "$@"
  export KUBECONFIG=$RUN/cluster/kubeconfig
}

# Sets up the network and a registry that contains the modules and the chart under their release names.
start_network() {
  cd "$RUN"
  ip link set lo up && ip address add 10.244.0.1/16 dev lo
  echo "127.0.0.1 localhost ghcr.io" >hosts
  mount --bind hosts /etc/hosts
  create_certificate registry-tls ghcr.io
  start_registry '{addr: "127.0.0.1:443", tls: {certificate: "registry-tls/tls.crt", key: "registry-tls/tls.key"}}'
  jq -n --rawfile ca ca.crt '{insecure_sources: [], source_authorities: {"ghcr.io": [{type: "Data", data: $ca}]}}' >sources.yml
  push_module managed-by-policy "$MODULE" "v$VERSION"
  push_module managed-by-pods-policy "$PODS_MODULE" "v$VERSION"
  export SSL_CERT_FILE=$RUN/ca.crt HELM_CACHE_HOME=$RUN/helm HELM_CONFIG_HOME=$RUN/helm
  helm package "$CHART"
  helm push "managed-by-policy-$VERSION.tgz" "oci://$REPOSITORY/charts"
}

# Starts the API server, its controllers and Kubewarden. The addresses and ports of a cluster depend on its number:
# start_kubewarden_cluster NAME NUMBER [ARGUMENT...]
start_kubewarden_cluster() {
  local release=kubewarden-admission-controller name=$1 number=$2 folder=$RUN/$1 service serving arguments=() secret KUBECONFIG=$RUN/$1/kubeconfig
  service=$release-webhook-service serving=$folder/controller/k8s-webhook-server/serving-certs
  # With aggregator routing, the API server calls the pods behind a webhook's Service directly, without kube-proxy.
  start_cluster "$name" --authorization-mode=RBAC --enable-aggregator-routing=true --advertise-address=10.244.0.1 "${@:3}"
  start_controller_manager "$name" "${MANAGER[@]}" \
    --controllers=deployment-controller,replicaset-controller,serviceaccount-controller,endpointslice-controller,endpoints-controller,disruption-controller,clusterrole-aggregation-controller
  export KUBECONFIG
  kubectl config set-context e2e --namespace=default
  mkdir "$folder/pods"
  [ "$number" = 1 ] || ip address add "10.244.0.$number/16" dev lo
  start "$name/node" python3 "$ROOT/e2e/kubelet.py" "$(kubeconfig "$name" admin)" "$folder/pods" "$(kubeconfig "$name" "$POLICY_SERVER")" \
    "policy-server${KUBEWARDEN_VERSION:+-$KUBEWARDEN_VERSION}" "$number"

  # Install Kubewarden's chart with the registry's CA certificate. There is no node for the controller's Deployment, so run the controller as a process.
  helm install kubewarden "$KUBEWARDEN_CHART" --namespace kubewarden --set 'policyServer.sourceAuthorities[0].uri=ghcr.io' \
    --set-file "policyServer.sourceAuthorities[0].certs[0]=$RUN/ca.crt" --set "ports.webhook=$((9442 + number))"
  retry kubectl wait --for=condition=Established --timeout=1m crd --all
  kubectl apply --server-side -f "$ROOT/e2e/kubewarden.yml"
  for secret in kubewarden-webhook-server-cert:$serving kubewarden-audit-scanner-client-cert:$folder/scanner; do
    mkdir -p "${secret#*:}"
    for key in crt key; do kubectl get secret "${secret%%:*}" -n kubewarden -o jsonpath="{.data.tls\.$key}" | base64 -d >"${secret#*:}/tls.$key"; done
  done
  kubectl get secret kubewarden-ca -n kubewarden -o jsonpath='{.data.ca\.crt}' | base64 -d >"$folder/kubewarden-ca.crt"
  # 1.35 does not have this flag and always uses port 9443.
  [ "$KUBEWARDEN_VERSION" = 1.35.0 ] || arguments+=("--webhook-server-port=$((9442 + number))")
  start "$name/kubewarden-controller" env TMPDIR="$folder/controller" "kubewarden-controller${KUBEWARDEN_VERSION:+-$KUBEWARDEN_VERSION}" \
    --kubeconfig="$(kubeconfig "$name" "system:serviceaccount:kubewarden:$release")" --deployments-namespace=kubewarden --webhook-service-name="$service" \
    "${arguments[@]}" --metrics-bind-address=0 --health-probe-bind-address="127.0.0.1:$((8090 + number))"
  wait_ready "$name/kubewarden-controller" curl --silent --fail "http://127.0.0.1:$((8090 + number))/readyz"
  # The 1.37 controller creates the default PolicyServer, but the 1.36 controller does not.
  kubectl get configmap kubewarden-defaults -n kubewarden -o jsonpath='{.data.policyserver-default\.yaml}' >"$folder/default.yaml"
  retry kubectl apply --server-side -f "$folder/default.yaml"
  retry kubectl get deployment/policy-server-default -n kubewarden
  wait_rollout
}

# Pushes a module under its release name: push_module POLICY MODULE TAG
push_module() { kwctl push --sources-path "$RUN/sources.yml" "$2" "registry://$REPOSITORY/policies/$1:$3"; }

# Prints deploy/NAME.yml with each FROM replaced by TO. Fails if a FROM does not occur: patch_manifest NAME [FROM TO]...
patch_manifest() {
  local text
  text=$(<"$ROOT/deploy/$1.yml")
  shift
  while [ $# -gt 0 ]; do
    [[ $text == *"$1"* ]] || { echo "\"$1\" does not occur" >&2 && return 1; }
    text=${text//"$1"/$2}
    shift 2
  done
  printf '%s\n' "$text"
}
# Waits until the policies are active, with the command from docs/tasks/upgrade.md: wait_active [LIMIT [ARGUMENT...]]
wait_active() {
  local command
  command=$(page_command upgrade 'kubectl wait --for=condition=PolicyActive')
  ${command/5m/${1:-1m}} "${@:2}"
}
# Installs or upgrades the chart with ci/VALUES-values.yaml: install_chart VALUES [ARGUMENT...]
install_chart() { helm upgrade --install managed-by "$CHART" --values "$CHART/ci/$1-values.yaml" "${@:2}"; }
# Installs or upgrades the chart with ci/VALUES-values.yaml, and waits until its policies are active: install_and_wait VALUES [ARGUMENT...]
install_and_wait() { install_chart "$@" && wait_active; }

# Prints the first command of a task page that begins with PREFIX: page_command PAGE PREFIX
page_command() { grep --max-count=1 "^ *$2" "$ROOT/docs/tasks/$1.md"; }

prints_exactly() { [ "$("${@:2}")" = "$1" ]; }
# Runs a command that must fail: assert_fails COMMAND...
assert_fails() { if "$@"; then echo "$* succeeded" && return 1; fi; }

# Creates a Job as a dry run: dry_run_job NAMESPACE USER NAME [SPEC]
dry_run_job() { kubectl create -f - -n "$1" "--as=$2" --dry-run=server <<<"$(job "$3" "${4:-suspend: true}")"; }

# Prints columns of the pods of the PolicyServer `default`, except terminating pods: pod_columns FILTER
pod_columns() { kubectl get pods -n kubewarden -l kubewarden/policy-server=default -o json | jq -r ".items[] | select(.metadata.deletionTimestamp | not) | . + .status.containerStatuses[0] | $1"; }
ready_pods() { pod_columns 'select(.ready) | .metadata.name'; }
unready_pods() { pod_columns 'select(.ready | not) | .metadata.name'; }
pod_restarted() { prints_exactly true pod_columns 'select(.ready | not) | .restartCount > 0'; }
# Kills the process of a pod, like the kernel when a node runs out of memory: kill_pod POD
kill_pod() { kill -KILL "$(<"$RUN/cluster/pods/$1.pid")"; }
wait_rollout() { kubectl rollout status deployment/policy-server-default -n kubewarden --timeout=1m && retry prints_exactly "${1:-true}" pod_columns .ready; }
# Removes all policies, scales PolicyServer to one replica, and waits for the rollout.
remove_policies() {
  helm uninstall managed-by --ignore-not-found
  kubectl delete clusteradmissionpolicies,admissionpolicies --all -A
  kubectl patch policyserver default --type=merge -p '{"spec": {"replicas": 1}}'
  wait_rollout
}

# Runs the audit scanner like the chart's CronJob: run_audit_scanner NAMESPACE
run_audit_scanner() {
  printf '127.0.0.1 localhost ghcr.io\n%s policy-server-default.kubewarden.svc\n' "$(pod_columns .status.podIP)" >"$RUN/hosts"
  KUBECONFIG=$(kubeconfig cluster system:serviceaccount:kubewarden:audit-scanner) "audit-scanner${KUBEWARDEN_VERSION:+-$KUBEWARDEN_VERSION}" --kubewarden-namespace kubewarden --report-kind openreports \
    --loglevel info --namespace "$1" --policy-server-url https://policy-server-default.kubewarden.svc:8443 --extra-ca "$RUN/cluster/kubewarden-ca.crt" \
    --client-cert "$RUN/cluster/scanner/tls.crt" --client-key "$RUN/cluster/scanner/tls.key" 2>&1
}
# Prints the report results of an object, one policy per line: report_results NAMESPACE KIND NAME
report_results() {
  kubectl get reports.openreports.io -n "$1" -o json |
    jq -r --arg kind "$2" --arg name "$3" '.items[] | select(.scope.kind == $kind and .scope.name == $name) | .results[] | [.result, .severity, .category, .message // ""] | join(" | ")'
}

# Runs the commands between two markers of the README, and compares the output with the README: assert_transcript MARKER
# With RECORD=1 (`make record-demo`), updates it instead.
assert_transcript() {
  sed -n "/<!-- $1 -->/,/<!-- \/$1 -->/p" "$ROOT/README.md" | grep -vE '^(<!--.*|```.*|)$' >expected
  grep '^\$ ' expected | while read -r _ command; do
    echo "\$ $command"
    eval "$command" 2>&1 </dev/null || true
  done >printed
  if [[ ${RECORD:-} ]]; then record_transcript "$1"; else diff expected printed; fi
}
record_transcript() {
  { printf '\n```text\n'; cat printed; printf '```\n\n'; } >block
  sed -i -e "/<!-- $1 -->/r block" -e "/<!-- $1 -->/,/<!-- \/$1 -->/{/<!-- /!d}" "$ROOT/README.md"
}

# Prints the name of a policy's webhook without `.kubewarden.admission`. Kubewarden's prefixes are different since 1.37.2: webhook_name POLICY [NAMESPACE]
webhook_name() {
  kubectl get validatingwebhookconfigurations -o json | jq -er --arg policy "$1" --arg namespace "${2:-}" '.items[].metadata.name |
    select(IN(if $namespace == "" then "clusterwide-\($policy)", "kw.cap.\($policy)" else "namespaced-\($namespace)-\($policy)", "kw.ap.\($namespace).\($policy)" end))'
}
# Prints fields of a webhook that Kubewarden's controller created: webhook_field FILTER POLICY [NAMESPACE]
webhook_field() { kubectl get validatingwebhookconfiguration "$(webhook_name "${@:2}")" -o json | jq --sort-keys ".webhooks[0] | $1"; }
manifest_objects() { kubectl create --dry-run=client -o json -f "$1"; }
# Excludes the namespace in which Kubewarden's controller runs, like the controller does.
EXCLUDE_CONTROLLER_NAMESPACE='.namespaceSelector.matchExpressions |= [{key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kubewarden"]}] + .'
# Deploys an unmodified manifest, and compares its fields with the webhook's: assert_deployed NAME POLICY SCOPE
assert_deployed() {
  local webhook=("$2") fields='{failurePolicy, timeoutSeconds, matchPolicy, matchConditions, namespaceSelector, rules}' selector=$EXCLUDE_CONTROLLER_NAMESPACE policies=()
  if [ "$3" != '*' ]; then
    selector='.namespaceSelector = {matchLabels: {"kubernetes.io/metadata.name": "team-a"}}'
    policies=(admissionpolicies -n team-a)
    webhook+=(team-a)
  fi
  kubectl apply -f "$ROOT/deploy/$1.yml"
  wait_policies "${policies[@]}"
  webhook_field "$fields" "${webhook[@]}" >made
  manifest_objects "$ROOT/deploy/$1.yml" | jq --sort-keys "select(.kind | endswith(\"AdmissionPolicy\")) | .spec | .rules[].scope = \"$3\" | $selector | $fields" >expected
  diff expected made
  kubectl delete -f "$ROOT/deploy/$1.yml"
}
# Waits until all policies of a kind are active: wait_policies [KIND [ARGUMENT...]]
wait_policies() { kubectl wait --for=condition=PolicyActive --timeout=1m "${@:-clusteradmissionpolicies}" --all; }

# Counts an audit annotation with the query from the docs: count_annotation KEY
count_annotation() {
  local query
  query=$(grep '^jq .*/warned"' "$ROOT/docs/tasks/roll-out.md")
  (cd "$RUN/cluster" && eval "${query/\/warned/\/$1}")
}
