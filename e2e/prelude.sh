# What the checks of kubewarden/checks.yml have in common. ROOT is the repository.
MODULE=$ROOT/annotated-policy.wasm
BOB=(--as=bob --as-group=team-a-admins)
PROTECT=("  mode: monitor" "  mode: protect")
KUEUE=system:serviceaccount:kueue-system:kueue-controller-manager
POLICY=clusteradmissionpolicy/managed-by

# deploy/NAME.yml with changes, each of which must have something to change: manifest NAME [FROM TO]...
manifest() {
  local text
  text=$(cat "$ROOT/deploy/$1.yml")
  shift
  while [ $# -gt 0 ]; do
    [[ $text == *"$1"* ]] || { echo "nothing says $1" >&2 && return 1; }
    text=${text//"$1"/$2}
    shift 2
  done
  printf '%s\n' "$text"
}

# RUN is the folder of the run, and the programs run where only loopback is.

# Waits with the command of the README: active [POLICY [LIMIT]]
active() {
  local command
  command=$(grep --max-count=1 '^kubectl wait --for=condition=PolicyActive' "$ROOT/README.md")
  command=${command/5m/${2:-1m}}
  ${command/$POLICY/${1:-$POLICY}}
}

# Applies a manifest, and waits until its policy is active: put NAME [FROM TO]...
put() { manifest "$@" | kubectl apply -f - && active; }

# A command must print a text, whether it succeeds or not: prints TEXT COMMAND...
prints() {
  local text=$1 printed
  shift
  printed=$("$@" 2>&1) || true
  [[ $printed == *"$text"* ]] || { printf 'no "%s" in:\n%s\n' "$text" "$printed" && return 1; }
}

# A command must print exactly a text: is TEXT COMMAND...
is() { [ "$("${@:2}")" = "$1" ]; }

# A command must fail: fails COMMAND...
fails() { if "$@"; then echo "$* succeeded" && return 1; fi; }

# A command must succeed within a minute: soon COMMAND...
soon() {
  for _ in $(seq 300); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.2
  done
  echo "not within a minute: $*"
  "$@"
}

# A Job that does not run: job NAME [SPEC]
job() {
  printf '{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "%s"}, "spec": {%s"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "e2e"}]}}}}\n' "$1" "${2:-\"suspend\": true, }"
}
TYPO='"suspend": true, "managedBy": "kueue.x-k8s.io/multikeue", '
DELEGATED='"suspend": true, "managedBy": "kueue.x-k8s.io/multikueue", '

# Creates what job prints, as a dry run: create NAMESPACE USER NAME [SPEC]
create() { job "${@:3}" | kubectl create -f - -n "$1" "--as=$2" --dry-run=server; }

# Columns of PolicyServer's pods, without those that end: pods FILTER
pods() { kubectl get pods -n kubewarden -o json | jq -r ".items[] | select(.metadata.deletionTimestamp | not) | . + .status.containerStatuses[0] | $1"; }
ready() { pods 'select(.ready) | .metadata.name'; }
unready() { pods 'select(.ready | not) | .metadata.name'; }

# As a node that lacks memory: stop POD
stop() { kill -KILL "$(cat "$RUN/pods/$1.pid")"; }

settled() { kubectl rollout status deployment/policy-server-default -n kubewarden --timeout=1m && soon is "${1:-true}" pods .ready; }

# What comes before the API server: a network with nothing but loopback, where the registry answers as ghcr.io, and the modules in it.
network() {
  ip link set lo up && ip address add 10.244.0.1/16 dev lo
  echo "127.0.0.1 localhost ghcr.io" >hosts
  mount --bind hosts /etc/hosts
}
pushed() {
  jq -n --rawfile ca ca.crt '{insecure_sources: [], source_authorities: {"ghcr.io": [{type: "Data", data: $ca}]}}' >sources.yml
  kwctl push --sources-path sources.yml "$MODULE" "$(sed -n 's/^  module: //p' "$ROOT/deploy/management.yml")"
  kwctl push --sources-path sources.yml "$ROOT/annotated-pods-policy.wasm" "$(sed -n 's/^  module: //p' "$ROOT/deploy/pods.yml")"
}

# What the charts in CHARTS make, but for the Deployment of Kubewarden's controller.
installed() {
  kubectl apply --server-side -f "$CHARTS/crds.yaml" && kubectl wait --for=condition=Established --timeout=1m crd --all
  # The controller reads its key as ParseECPrivateKey does.
  openssl ec -in ca.pkcs8 -out ca.key
  kubectl create secret generic kubewarden-ca -n kubewarden --from-file=ca.crt --from-file=ca.key
  local serving=controller/k8s-webhook-server/serving-certs
  kubectl create secret tls kubewarden-webhook-server-cert -n kubewarden --cert=$serving/tls.crt --key=$serving/tls.key
  kubectl create secret tls kubewarden-audit-scanner-client-cert -n kubewarden --cert=scanner/tls.crt --key=scanner/tls.key
  kubectl apply --server-side -f "$ROOT/e2e/kubewarden/install.yml"
  sed "s,caBundle: CA$,caBundle: $(base64 --wrap=0 ca.crt)," "$CHARTS/controller.yaml" | kubectl apply --server-side -f -
}
ready_to_serve() {
  kubectl apply --server-side -f "$CHARTS/defaults.yaml"
  kubectl patch policyserver default --type=merge -p "$(jq -n --rawfile ca ca.crt '{spec: {sourceAuthorities: {"ghcr.io": [$ca]}}}')"
  soon kubectl get deployment/policy-server-default -n kubewarden
  settled
}

# Deletes every policy, and waits for one PolicyServer without any.
clean() {
  kubectl delete clusteradmissionpolicies,admissionpolicies --all -A
  kubectl patch policyserver default --type=merge -p '{"spec": {"replicas": 1}}'
  settled
}

# Runs the audit scanner as the chart's CronJob does: scan NAMESPACE
scan() {
  printf '127.0.0.1 localhost ghcr.io\n%s policy-server-default.kubewarden.svc\n' "$(pods .status.podIP)" >"$RUN/hosts"
  KUBECONFIG=$SCANNER audit-scanner --kubewarden-namespace kubewarden --report-kind openreports --loglevel info --namespace "$1" \
    --policy-server-url https://policy-server-default.kubewarden.svc:8443 --extra-ca "$RUN/ca.crt" \
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
    # As somebody looks who has waited.
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

# Fields of a webhook that Kubewarden's controller made: webhook NAME FILTER
webhook() { kubectl get validatingwebhookconfiguration "$1" -o json | jq --sort-keys ".webhooks[0] | $2"; }
objects() { kubectl create --dry-run=client -o json -f "$1"; }
# The controller adds the namespace in which it runs.
OWN='.namespaceSelector.matchExpressions |= [{key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["kubewarden"]}] + .'

# Deploys a manifest as it is, and compares its fields with the webhook's: carried NAME POLICY WEBHOOK SCOPE
carried() {
  local fields='{failurePolicy, timeoutSeconds, matchPolicy, matchConditions, namespaceSelector, rules}'
  local selector=$OWN
  [ "$4" = '*' ] || selector='.namespaceSelector = {matchLabels: {"kubernetes.io/metadata.name": "team-a"}}'
  kubectl apply -f "$ROOT/deploy/$1.yml"
  active "$2"
  webhook "$3" "$fields" >made
  objects "$ROOT/deploy/$1.yml" | jq --sort-keys "select(.kind | endswith(\"AdmissionPolicy\")) | .spec | .rules[].scope = \"$4\" | $selector | $fields" >expected
  diff expected made
  kubectl delete -f "$ROOT/deploy/$1.yml"
}

# Writes the number of pods of a Job that terminate: status JOB NUMBER [--as=USER]
status() { kubectl patch job "$1" -n team-writers --subresource=status --type=merge -p "{\"status\": {\"terminating\": $2}}" "${@:3}"; }

# Creates a pod that a Job controls, as a dry run: pod JOB
pod() {
  printf '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod", "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "%s", "uid": "%s", "controller": true}]}, "spec": {"containers": [{"name": "main", "image": "e2e"}]}}' \
    "$1" "$(kubectl get job "$1" -n team-pods -o jsonpath='{.metadata.uid}')" | kubectl create -f - -n team-pods --dry-run=server
}

# Counts an audit annotation with the query of the docs: annotations KEY
annotations() {
  local query
  query=$(grep '^jq .*/warned"' "$ROOT/docs/operations.md")
  (cd "$RUN/cluster" && eval "${query/\/warned/\/$1}")
}
