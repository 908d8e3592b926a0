# Kubewarden as its charts install it, in a cluster without nodes. It runs in a network namespace with nothing but loopback (e2e/run), where a
# registry of this machine answers as ghcr.io.
# shellcheck shell=bash disable=SC2034
POLICY=clusteradmissionpolicy/managed-by
BOB=(--as=bob --as-group=team-a-admins)
PROTECT=("  mode: monitor" "  mode: protect")
TYPO='suspend: true, managedBy: kueue.x-k8s.io/multikeue'
DELEGATED='suspend: true, managedBy: kueue.x-k8s.io/multikueue'

# The network, the registry, the API server with its controllers, and Kubewarden.
install_kubewarden() {
  local service=kubewarden-controller-webhook-service serving=$RUN/controller/k8s-webhook-server/serving-certs
  cd "$RUN"
  ip link set lo up && ip address add 10.244.0.1/16 dev lo
  echo "127.0.0.1 localhost ghcr.io" >hosts
  mount --bind hosts /etc/hosts
  certificate scanner audit-scanner-client
  certificate "$serving" "$service.kubewarden.svc"
  # The registry has the modules under the names that the manifests give them.
  certificate registry-tls ghcr.io
  registry '{addr: "127.0.0.1:443", tls: {certificate: "registry-tls/tls.crt", key: "registry-tls/tls.key"}}'
  jq -n --rawfile ca ca.crt '{insecure_sources: [], source_authorities: {"ghcr.io": [{type: "Data", data: $ca}]}}' >sources.yml
  kwctl push --sources-path sources.yml "$MODULE" "$(sed -n 's/^  module: //p' "$ROOT/deploy/management.yml")"
  kwctl push --sources-path sources.yml "$PODS_MODULE" "$(sed -n 's/^  module: //p' "$ROOT/deploy/pods.yml")"

  # With the routing, the API server finds the pods behind the Service of a webhook by itself, without kube-proxy.
  cluster cluster --authorization-mode=RBAC --enable-aggregator-routing=true --advertise-address=10.244.0.1
  controller_manager cluster --controllers=deployment-controller,replicaset-controller,serviceaccount-controller,endpointslice-controller,disruption-controller,clusterrole-aggregation-controller
  export KUBECONFIG=$RUN/cluster/kubeconfig
  kubectl config set-context e2e --namespace=default
  kubectl create namespace kubewarden
  mkdir pods
  start kubelet python3 "$ROOT/e2e/kubelet.py" "$(kubeconfig cluster admin)" "$RUN/pods" "$(kubeconfig cluster "$POLICY_SERVER")"

  # What the charts make, but for the Deployment of Kubewarden's controller.
  kubectl apply --server-side -f "$KUBEWARDEN_MANIFESTS/crds.yaml"
  soon kubectl wait --for=condition=Established --timeout=1m crd --all
  # The controller reads its key as ParseECPrivateKey does.
  openssl ec -in ca.key -out ca.ec
  kubectl create secret generic kubewarden-ca -n kubewarden --from-file=ca.crt --from-file=ca.key=ca.ec
  kubectl create secret tls kubewarden-webhook-server-cert -n kubewarden --cert="$serving/tls.crt" --key="$serving/tls.key"
  kubectl create secret tls kubewarden-audit-scanner-client-cert -n kubewarden --cert=scanner/tls.crt --key=scanner/tls.key
  kubectl apply --server-side -f "$ROOT/e2e/kubewarden.yml"
  sed "s,caBundle: CA$,caBundle: $(base64 --wrap=0 ca.crt)," "$KUBEWARDEN_MANIFESTS/controller.yaml" | kubectl apply --server-side -f -
  start kubewarden-controller env TMPDIR="$RUN/controller" kubewarden-controller --kubeconfig="$(kubeconfig cluster system:serviceaccount:kubewarden:kubewarden-controller)" \
    --deployments-namespace=kubewarden --webhook-service-name="$service" --webhook-server-port=9443 --metrics-bind-address=0 --health-probe-bind-address=127.0.0.1:8091
  ready kubewarden-controller curl --silent --fail http://127.0.0.1:8091/readyz
  soon kubectl apply --server-side -f "$KUBEWARDEN_MANIFESTS/defaults.yaml"
  kubectl patch policyserver default --type=merge -p "$(jq -n --rawfile ca ca.crt '{spec: {sourceAuthorities: {"ghcr.io": [$ca]}}}')"
  soon kubectl get deployment/policy-server-default -n kubewarden
  settled
}

# deploy/NAME.yml with changes, each of which must have something to change: changed NAME [FROM TO]...
changed() {
  local text
  text=$(<"$ROOT/deploy/$1.yml")
  shift
  while [ $# -gt 0 ]; do
    [[ $text == *"$1"* ]] || { echo "no \"$1\" to change" >&2 && return 1; }
    text=${text//"$1"/$2}
    shift 2
  done
  printf '%s\n' "$text"
}
# Waits with the command of the README until a policy is active: active [POLICY [LIMIT]]
active() {
  local command
  command=$(grep --max-count=1 '^kubectl wait --for=condition=PolicyActive' "$ROOT/README.md")
  command=${command/5m/${2:-1m}}
  ${command/$POLICY/${1:-$POLICY}}
}
# Applies a manifest, and waits until its policy is active: put NAME [FROM TO]...
put() { changed "$@" | kubectl apply -f - && active; }

is() { [ "$("${@:2}")" = "$1" ]; }
# A command must fail: fails COMMAND...
fails() { if "$@"; then echo "$* succeeded" && return 1; fi; }

# Creates a Job as a dry run: create NAMESPACE USER NAME [SPEC]
create() { kubectl create -f - -n "$1" "--as=$2" --dry-run=server <<<"$(job "$3" "${4:-suspend: true}")"; }
# Writes the number of terminating pods of a Job: terminating JOB NUMBER [--as=USER]
terminating() { kubectl patch job "$1" -n team-writers --subresource=status --type=merge -p "status: {terminating: $2}" "${@:3}"; }

# Columns of PolicyServer's pods, without those that end: pods FILTER
pods() { kubectl get pods -n kubewarden -o json | jq -r ".items[] | select(.metadata.deletionTimestamp | not) | . + .status.containerStatuses[0] | $1"; }
ready_pods() { pods 'select(.ready) | .metadata.name'; }
unready_pods() { pods 'select(.ready | not) | .metadata.name'; }
restarted() { is true pods 'select(.ready | not) | .restartCount > 0'; }
# As a node that lacks memory: kill_pod POD
kill_pod() { kill -KILL "$(<"$RUN/pods/$1.pid")"; }
settled() { kubectl rollout status deployment/policy-server-default -n kubewarden --timeout=1m && soon is "${1:-true}" pods .ready; }
# Deletes every policy, and waits for one PolicyServer without any.
clean() {
  kubectl delete clusteradmissionpolicies,admissionpolicies --all -A
  kubectl patch policyserver default --type=merge -p '{"spec": {"replicas": 1}}'
  settled
}

# Runs the audit scanner as the chart's CronJob does: scan NAMESPACE
scan() {
  printf '127.0.0.1 localhost ghcr.io\n%s policy-server-default.kubewarden.svc\n' "$(pods .status.podIP)" >"$RUN/hosts"
  KUBECONFIG=$(kubeconfig cluster system:serviceaccount:kubewarden:audit-scanner) audit-scanner --kubewarden-namespace kubewarden --report-kind openreports \
    --loglevel info --namespace "$1" --policy-server-url https://policy-server-default.kubewarden.svc:8443 --extra-ca "$RUN/ca.crt" \
    --client-cert "$RUN/scanner/tls.crt" --client-key "$RUN/scanner/tls.key" 2>&1
}
# What the reports say of an object, a policy in each line: report NAMESPACE KIND NAME
report() {
  kubectl get reports.openreports.io -n "$1" -o json |
    jq -r --arg kind "$2" --arg name "$3" '.items[] | select(.scope.kind == $kind and .scope.name == $name) | .results[] | [.result, .severity, .category, .message // ""] | join(" | ")'
}

# The commands of a page between two marks print what stands there, ages aside: transcript MARK
# With RECORD=1 what they print is written down instead, and in the picture when, and with which programs (`make record`).
transcript() {
  sed -n "/<!-- $1 -->/,/<!-- \/$1 -->/p" "$ROOT/README.md" "$ROOT/docs/operations.md" | grep -vE '^(<!--.*|```.*|)$' >expected
  grep '^\$ ' expected | while read -r _ command; do
    echo "\$ $command"
    # The page's commands run after the wait.
    if [[ ${RECORD:-} && $command == "kubectl get jobs"* ]]; then sleep 15; fi
    eval "$command" 2>&1 </dev/null || true
  done >printed
  if [[ ${RECORD:-} ]]; then record "$1"; else diff <(ageless expected) <(ageless printed); fi
}
record() {
  { printf '\n```text\n'; cat printed; printf '```\n\n'; } >block
  sed -i -e "/<!-- $1 -->/r block" -e "/<!-- $1 -->/,/<!-- \/$1 -->/{/<!-- /!d}" "$ROOT/README.md" "$ROOT/docs/operations.md"
  local versions
  versions="kube-apiserver Kubernetes $(kubectl version -o json | jq -r .serverVersion.gitVersion) and $(policy-server --version | sed -n 1p)"
  sed -i "s/>Recorded on .*</>Recorded on $(date +%F) with $versions.</" "$ROOT/docs/pictures/first-screen.svg"
}
ageless() { sed -E 's/[0-9]+s$//; s/ +/ /g; s/ $//' "$1"; }

# Fields of a webhook that Kubewarden's controller made: webhook_of NAME FILTER
webhook_of() { kubectl get validatingwebhookconfiguration "$1" -o json | jq --sort-keys ".webhooks[0] | $2"; }
objects() { kubectl create --dry-run=client -o json -f "$1"; }
# The controller adds the namespace in which it runs.
OWN='.namespaceSelector.matchExpressions |= [{key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kubewarden"]}] + .'
# Deploys a manifest as it is, and compares its fields with the webhook's: carried NAME POLICY WEBHOOK SCOPE
carried() {
  local fields='{failurePolicy, timeoutSeconds, matchPolicy, matchConditions, namespaceSelector, rules}' selector=$OWN
  [ "$4" = '*' ] || selector='.namespaceSelector = {matchLabels: {"kubernetes.io/metadata.name": "team-a"}}'
  kubectl apply -f "$ROOT/deploy/$1.yml"
  active "$2"
  webhook_of "$3" "$fields" >made
  objects "$ROOT/deploy/$1.yml" | jq --sort-keys "select(.kind | endswith(\"AdmissionPolicy\")) | .spec | .rules[].scope = \"$4\" | $selector | $fields" >expected
  diff expected made
  kubectl delete -f "$ROOT/deploy/$1.yml"
}

# Counts an audit annotation with the query of the docs: annotations KEY
annotations() {
  local query
  query=$(grep '^jq .*/warned"' "$ROOT/docs/operations.md")
  (cd "$RUN/cluster" && eval "${query/\/warned/\/$1}")
}
