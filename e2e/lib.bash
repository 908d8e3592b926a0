# Helpers for the tests in e2e/. Programs run in the background; their logs and process ids are in $RUN.
# shellcheck shell=bash disable=SC2034
bats_require_minimum_version 1.5.0
# Without it, bats only checks the last command of a pipe.
set -o pipefail
ROOT=$(cd "${BASH_SOURCE%/*}/.." && pwd)
RUN=${BATS_FILE_TMPDIR:-}
MODULE=$ROOT/annotated-policy.wasm
PODS_MODULE=$ROOT/annotated-pods-policy.wasm
# Never use a proxy for loopback.
export no_proxy=127.0.0.1,localhost PATH="${KUBEBUILDER_ASSETS:+$KUBEBUILDER_ASSETS:}$PATH"

# Skips the test, or in setup_file all tests of the file, if a program is missing. With NO_SKIP=1, fails instead: require_programs PROGRAM...
require_programs() {
  local program missing=
  for program; do command -v "$program" >/dev/null || missing+=" $program"; done
  [ -n "$missing" ] || return 0
  [ -z "${NO_SKIP:-}" ] || { echo "not on the PATH:$missing" && return 1; }
  skip "not on the PATH:$missing (e2e/README.md)"
}

# Starts a program in the background, with its output in $RUN/NAME.log: start NAME COMMAND...
start() {
  local name=$1
  shift
  "$@" >>"$RUN/$name.log" 2>&1 </dev/null 3>&- 4>&- &
  echo $! >"$RUN/$name.pid"
  disown
  printf '%q ' "$@" >"$RUN/$name.command"
}

# Succeeds while a program runs. Its main thread may be a zombie while other threads still hold its ports: running NAME
running() {
  local pid
  pid=$(<"$RUN/$1.pid")
  [[ $(ps -o state= -p "$pid") == [!Z]* ]] || [ "$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)" -gt 1 ]
}

# Kills a program and waits until it exits: stop NAME
stop() {
  kill -KILL "$(<"$RUN/$1.pid")" 2>/dev/null || true
  while running "$1"; do sleep 0.05; done
}

# Kills a program and starts it again with the same command: restart NAME
restart() {
  stop "$1"
  eval "start $1 $(<"$RUN/$1.command")"
}

# Kills all programs that the test file started.
stop_all() {
  local pid
  find "$RUN" -name '*.pid' | while read -r pid; do kill -KILL "$(<"$pid")" 2>/dev/null || true; done
}

# Waits until a program is ready, that is, until COMMAND succeeds. Fails if the program exits first: wait_ready NAME COMMAND...
wait_ready() {
  for _ in $(seq 1200); do
    if "${@:2}" &>/dev/null; then return 0; fi
    running "$1" || break
    sleep 0.05
  done
  echo "$1 exited or was not ready within a minute:" && grep -v '^ ' "$RUN/$1.log" | cut -c1-300 | tail -n 8
  return 1
}

# Repeats a command until it succeeds, for at most LIMIT seconds: retry COMMAND...
retry() {
  local end=$((SECONDS + ${LIMIT:-60}))
  until "$@" &>/dev/null; do
    if [ $SECONDS -ge $end ]; then "$@"; return; fi
    sleep 0.1
  done
}

# Starts a registry with the given `http` section in its configuration: start_registry SECTION
start_registry() {
  jq -n --arg folder "$RUN/registry" "{version: 0.1, log: {level: \"warn\"}, storage: {filesystem: {rootdirectory: \$folder}}, http: $1}" >"$RUN/registry.json"
  start registry docker-registry serve "$RUN/registry.json"
  # An error response is enough.
  wait_ready registry curl --silent --insecure "$(jq -r '(if .http.tls then "https://" else "http://" end) + .http.addr' "$RUN/registry.json")"
}

free_port() { python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# Prints the documents of a YAML file or stdin as JSON, one per line: yaml_to_json [FILE]
yaml_to_json() { python3 -c 'import json, sys, yaml; [print(json.dumps(d, default=str)) for d in yaml.safe_load_all(open(sys.argv[1])) if d is not None]' "${1:-/dev/stdin}"; }

# Runs a command that must fail and print TEXT: assert_fails_with TEXT COMMAND...
assert_fails_with() {
  run "${@:2}"
  [ "$status" -ne 0 ] && [[ $output == *"$1"* ]] || { printf 'exit code %s, expected a failure with "%s":\n%s\n' "$status" "$1" "$output" && return 1; }
}

# Runs a command that must print TEXT: assert_prints TEXT COMMAND...
assert_prints() {
  run "${@:2}"
  [[ $output == *"$1"* ]] || { printf 'no "%s" in the output:\n%s\n' "$1" "$output" && return 1; }
}

# Creates the CA of the test file, in $RUN/ca.crt and ca.key.
create_ca() { openssl req -x509 "${NEW_KEY[@]}" -days 2 -subj /CN=e2e -keyout "$RUN/ca.key" -out "$RUN/ca.crt" 2>/dev/null; }
NEW_KEY=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)

# Writes tls.crt and tls.key for the given names (default: loopback), and the CA's ca.crt: create_certificate DIRECTORY [NAME...]
create_certificate() {
  local folder=$1 names=DNS:localhost,IP:127.0.0.1
  shift
  [ $# -eq 0 ] || names=$(printf ',DNS:%s' "$@") names=${names#,}
  [ -e "$RUN/ca.crt" ] || create_ca
  mkdir -p "$folder"
  cp "$RUN/ca.crt" "$folder/ca.crt"
  openssl req -new "${NEW_KEY[@]}" -subj /CN=e2e -keyout "$folder/tls.key" 2>/dev/null |
    openssl x509 -req -days 2 -CA "$RUN/ca.crt" -CAkey "$RUN/ca.key" -extfile <(echo "subjectAltName=$names") -out "$folder/tls.crt" 2>/dev/null
}

# Prints a policies.yml entry in mode protect with settings as JSON. Fails on empty settings, which a failed `chart_settings` prints:
# policy_in_protect_mode [SETTINGS]
policy_in_protect_mode() { jq -nc --arg file "file://$MODULE" --argjson settings "${1-{\}}" '{"module": $file, policyMode: "protect", settings: $settings}'; }

# Prints the spec of the policy in deploy/pods.yml.
pods_spec() { yaml_to_json "$ROOT/deploy/pods.yml" | jq -c '.spec // empty'; }
# Prints a policies.yml entry for that policy in mode protect. Kubewarden's controller grants the capabilities that the policy metadata requests. A
# standalone PolicyServer grants the capabilities in policies.yml.
pods_policy() {
  pods_spec | jq --arg file "$PODS_MODULE" --argjson capabilities "$(yaml_to_json "$ROOT/pods/metadata.yml" | jq .hostCapabilities)" '
    {"module": "file://\($file)", policyMode: "protect", settings, contextAwareResources, hostCapabilities: $capabilities}'
}

# Starts PolicyServer, or restarts it at the same address, with the policies on stdin, and waits until it is ready:
# start_policy_server NAME [ARGUMENT...]. KUBECONFIG selects the cluster in which it looks up Jobs.
start_policy_server() {
  run_policy_server "$@"
  wait_ready "$1" curl --silent --fail "$(<"$RUN/$1/probe")/readiness"
}
# Like start_policy_server, but doesn't wait: run_policy_server NAME [ARGUMENT...]
run_policy_server() {
  local name=$1 folder=$RUN/$1 offline=()
  shift
  if [ ! -e "$folder/url" ]; then
    [ -e "$folder/tls.crt" ] || create_certificate "$folder"
    echo "https://127.0.0.1:$(free_port)" >"$folder/url"
    echo "http://127.0.0.1:$(free_port)" >"$folder/probe"
  fi
  cat >"$folder/policies.yml"
  [ ! -e "$RUN/$name.pid" ] || stop "$name"
  # Without KUBECONFIG, keep PolicyServer from using the cluster that is configured on this machine.
  [ -n "${KUBECONFIG:-}" ] || offline=(--ignore-kubernetes-connection-failure)
  start "$name" env -u KUBERNETES_SERVICE_HOST KUBECONFIG="${KUBECONFIG:-/nowhere}" policy-server --policies "$folder/policies.yml" \
    --addr 127.0.0.1 --port "$(port_in_file "$folder/url")" --readiness-probe-port "$(port_in_file "$folder/probe")" --workers 2 --log-no-color \
    --policies-download-dir "$folder/modules" --sigstore-cache-dir "$folder/sigstore" --cert-file "$folder/tls.crt" --key-file "$folder/tls.key" \
    "${offline[@]}" "$@"
}
port_in_file() { sed 's/.*://' "$1"; }

JOB_CONTROLLER=system:serviceaccount:kube-system:job-controller
JOBSET=system:serviceaccount:jobset-system:jobset-controller-manager
KUEUE=system:serviceaccount:kueue-system:kueue-controller-manager
POLICY_SERVER=system:serviceaccount:kubewarden:policy-server

# Starts etcd and kube-apiserver, or the programs in ETCD and API_SERVER: start_cluster NAME [ARGUMENT...]
# $RUN/NAME/kubeconfig authenticates as an admin in system:masters. To act as a user, pass `kubectl --as`; for a controller, create a kubeconfig with
# `kubeconfig`.
start_cluster() {
  local name=$1 folder=$RUN/$1 peers server
  shift
  server=https://127.0.0.1:$(free_port)
  peers=http://127.0.0.1:$(free_port)
  create_certificate "$folder"
  echo "http://127.0.0.1:$(free_port)" >"$folder/etcd-url"
  start "$name/etcd" "${ETCD:-etcd}" --name=e2e --data-dir="$folder/etcd" --listen-client-urls="$(<"$folder/etcd-url")" \
    --advertise-client-urls="$(<"$folder/etcd-url")" --listen-peer-urls="$peers" --initial-advertise-peer-urls="$peers" --initial-cluster=e2e="$peers"
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$folder/accounts.key" 2>/dev/null
  openssl pkey -in "$folder/accounts.key" -pubout -out "$folder/accounts.pub"
  # Each controller has its own user name, because the policy checks who writes a status. A user's token is the user's name.
  printf '%s,%s,%s,"%s"\n' admin{,,} system:masters ana{,,} developers tenant{,,} developers system:kube-controller-manager{,,} '' system:node:e2e{,,} system:nodes >"$folder/tokens.csv"
  printf '%s,%s,%s,"system:serviceaccounts"\n' "$KUEUE"{,,} "$JOBSET"{,,} "$POLICY_SERVER"{,,} system:serviceaccount:kueue-system:multikueue-sa{,,} \
    system:serviceaccount:mpi-operator:mpi-operator{,,} system:serviceaccount:kubewarden:{kubewarden-admission-controller,audit-scanner}{,,} >>"$folder/tokens.csv"
  # The rules of docs/tasks/monitor.md, other kinds, and lookups by PolicyServer.
  sed -n '/^   apiVersion: audit/,/^   ```/{/```/d; s/^   //; p}' "$ROOT/docs/tasks/monitor.md" | yaml_to_json | jq --arg server "$POLICY_SERVER" '.rules += [
    {level: "Metadata", verbs: .rules[0].verbs, resources: [{group: ("workload.codeflare.dev", "kubeflow.org", "ray.io", "argoproj.io")}]},
    {level: "Metadata", verbs: ["get"], users: [$server], resources: [{group: ("batch", "kueue.x-k8s.io")}]}, {level: "None"}]' >"$folder/audit-policy.json"
  start "$name/kube-apiserver" "${API_SERVER:-kube-apiserver}" --etcd-servers="$(<"$folder/etcd-url")" --secure-port="${server##*:}" \
    --tls-cert-file="$folder/tls.crt" --tls-private-key-file="$folder/tls.key" --bind-address=127.0.0.1 --endpoint-reconciler-type=none \
    --service-cluster-ip-range=10.0.0.0/24 --token-auth-file="$folder/tokens.csv" --service-account-issuer=https://e2e \
    --service-account-key-file="$folder/accounts.pub" --service-account-signing-key-file="$folder/accounts.key" \
    --disable-admission-plugins=ServiceAccount --audit-policy-file="$folder/audit-policy.json" --audit-log-path="$folder/audit.log" "$@"
  echo "$server" >"$folder/server"
  cp "$(kubeconfig "$name" admin)" "$folder/kubeconfig"
  wait_ready "$name/kube-apiserver" kubectl --kubeconfig "$folder/kubeconfig" get --raw /readyz
  create_service_accounts "$name"
}

# Writes the kubeconfig of a user and prints its path: kubeconfig CLUSTER USER
kubeconfig() {
  # KUBECONFIG is a colon-separated list.
  local file=$RUN/$1/${2//:/-}.kubeconfig
  jq -n --arg server "$(<"$RUN/$1/server")" --arg user "$2" --rawfile ca "$RUN/ca.crt" '{apiVersion: "v1", kind: "Config", "current-context": "e2e",
    clusters: [{name: "e2e", cluster: {$server, "certificate-authority-data": ($ca | @base64)}}], users: [{name: $user, user: {token: $user}}],
    contexts: [{name: "e2e", context: {cluster: "e2e", $user, namespace: "team-a"}}]}' >"$file"
  echo "$file"
}

# Renders the chart in mode protect against a cluster, with the values of a policy in ci/, for a PolicyServer without Kubewarden's controller, and prints JSON:
# render_chart CLUSTER POLICY [ARGUMENT...]
CHART=$ROOT/charts/managed-by-policy
render_chart() {
  # With --validate, helm template reads the cluster as helm upgrade does.
  helm template managed-by "$CHART" --kubeconfig "$RUN/$1/kubeconfig" --validate --dry-run=server --is-upgrade --values "$CHART/ci/$2-values.yaml" \
    --set mode=protect --set webhook.enabled=true --set webhook.caBundle="$(base64 --wrap=0 "$RUN/ca.crt")" "${VALUES[@]}" "${@:3}" | yaml_to_json
}
# Additional Helm arguments, set by a test.
VALUES=()
# Prints the settings in the rendered chart: chart_settings CLUSTER POLICY [ARGUMENT...]
chart_settings() { render_chart "$@" | jq -r 'select(.kind == "ConfigMap") | .data["policies.yml"]' | yaml_to_json | jq '.["managed-by"].settings'; }
# Prints the webhook in the rendered chart: chart_webhook CLUSTER POLICY [ARGUMENT...]
chart_webhook() { render_chart "$@" | jq 'select(.kind == "ValidatingWebhookConfiguration")'; }

# Creates the service accounts of controllers that a test may start, under the names of their default installation: create_service_accounts CLUSTER
create_service_accounts() {
  local kubectl=(kubectl --kubeconfig "$RUN/$1/kubeconfig") account
  "${kubectl[@]}" create namespace kubewarden
  # The resources of the kinds need not be installed.
  "${kubectl[@]}" apply -f - <<EOF
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: status-writers}
rules: [{apiGroups: [batch, jobset.x-k8s.io, workload.codeflare.dev, kubeflow.org, ray.io], verbs: [update, patch],
  resources: [jobs/status, jobsets/status, appwrappers/status, pytorchjobs/status, mpijobs/status, rayclusters/status]}]
EOF
  for account in kube-system/job-controller kueue-system/kueue-controller-manager jobset-system/jobset-controller-manager mpi-operator/mpi-operator \
    appwrapper-system/appwrapper-controller-manager kubeflow/training-operator ray-system/kuberay-operator; do
    if [[ $account == kube-system/* ]]; then retry "${kubectl[@]}" get namespace kube-system; else "${kubectl[@]}" create namespace "${account%/*}"; fi
    "${kubectl[@]}" create serviceaccount "${account#*/}" -n "${account%/*}"
    # The chart only lists service accounts with a ClusterRole that lets them write the status.
    "${kubectl[@]}" create clusterrolebinding "${account#*/}" --clusterrole=status-writers --serviceaccount="${account/\//:}"
  done
}

# Applies the webhook of the policy `management`, changed by a jq filter, with the address of the cluster's PolicyServer:
# apply_webhook CLUSTER [FILTER]. Without a filter, waits until the API server calls the webhook.
apply_webhook() {
  chart_webhook "$1" management |
    jq --arg url "$(<"$RUN/$1/policy-server/url")" --rawfile ca "$RUN/$1/policy-server/ca.crt" "
      .webhooks[0] |= (.clientConfig = {url: (\$url + .clientConfig.service.path), caBundle: (\$ca | @base64)} | ${2:-.})" |
    kubectl --kubeconfig "$RUN/$1/kubeconfig" apply --server-side --force-conflicts -f -
  [ $# -gt 1 ] || wait_for_policy "$1"
}
# Waits until the webhook or the ValidatingAdmissionPolicies evaluate writes: wait_for_policy CLUSTER
wait_for_policy() {
  kubectl --kubeconfig "$RUN/$1/kubeconfig" create namespace probe 2>/dev/null || true
  retry probe "$1"
}
# Succeeds if a write is evaluated. Both a denial and the warning for an exempt admin contain a rule id: probe CLUSTER
probe() {
  run kubectl --kubeconfig "$RUN/$1/kubeconfig" create -n probe --dry-run=server -f - <<<"$(job probe 'managedBy: kubernetes.io/job-controler')"
  [[ $output == *managed-by/* ]]
}

# Applies the webhook with failurePolicy Ignore for a PolicyServer that does not exist: apply_unreachable_webhook CLUSTER
apply_unreachable_webhook() {
  create_certificate "$RUN/$1/policy-server"
  echo "https://127.0.0.1:$(free_port)" >"$RUN/$1/policy-server/url"
  apply_webhook "$1" '.failurePolicy = "Ignore"'
}
# Applies the ValidatingAdmissionPolicies of a policy, and waits until they evaluate writes: apply_cel_policies CLUSTER POLICY [ARGUMENT...]
apply_cel_policies() {
  render_chart "$1" "$2" --set webhook.enabled=false --set policy.enabled=false --set cel.enabled=true --set cel.warnings=true "${@:3}" |
    jq -c 'select(.kind | startswith("ValidatingAdmission"))' | kubectl --kubeconfig "$RUN/$1/kubeconfig" apply --server-side --force-conflicts -f -
  wait_for_policy "$1"
}
# Starts a cluster with namespace team-a, PolicyServer with the settings of a policy in mode protect, and the webhook:
# start_protected_cluster POLICY [ARGUMENT...]
start_protected_cluster() {
  start_cluster cluster "${@:2}"
  export KUBECONFIG=$RUN/cluster/kubeconfig
  kubectl create namespace team-a
  serve_settings "$1"
  apply_webhook cluster
}
# Starts or restarts the cluster's PolicyServer with the settings of a policy: serve_settings POLICY
serve_settings() { policy_in_protect_mode "$(chart_settings cluster "$1")" | jq '{"managed-by": .}' | start_policy_server cluster/policy-server; }

# Applies the CRDs of the given kinds from e2e/crds.yml: apply_test_crds KIND...
apply_test_crds() {
  yaml_to_json "$ROOT/e2e/crds.yml" | jq -c --arg kinds " $* " '.[] | select(.spec.names.kind as $kind | $kinds | contains(" \($kind) "))' >"$BATS_FILE_TMPDIR/crds.json"
  [ "$(wc -l <"$BATS_FILE_TMPDIR/crds.json")" -eq $# ]
  kubectl apply --server-side -f "$BATS_FILE_TMPDIR/crds.json"
  # Fails for objects without conditions, so retry.
  retry kubectl wait --for=condition=Established --timeout=1m -f "$BATS_FILE_TMPDIR/crds.json"
}

# Print an object as one line of YAML: job NAME [SPEC [ANNOTATIONS]], such as job pi 'managedBy: acme.io/runner'. NAME may be followed by more metadata
# fields. The line is preceded by `---`, because kubectl parses input that starts with a brace as JSON.
workload() { printf -- '---\n{apiVersion: %s, kind: %s, metadata: {name: %s}, spec: {%s}}\n' "$@"; }
# Metadata to append to the name of a delegated workload. Without a queue, the policy warns.
QUEUED='labels: {kueue.x-k8s.io/queue-name: team-a}'
job() { workload batch/v1 Job "$1" "${2:+$2, }template: $(template "${3:-}")"; }
# Prints a Job whose metadata is nested by that many levels: nested_job NAME LEVELS [SPEC [FILTER]]
nested_job() {
  job "$1" "${3:-suspend: true}" | yaml_to_json | jq -c --argjson levels "$2" '
    .metadata.managedFields = [{manager: "e2e", operation: "Update", apiVersion: "batch/v1", fieldsType: "FieldsV1", fieldsV1: (reduce range($levels) as $_ ({}; {"f:a": .}))}]
    | .spec.template.spec.containers[0].env = [{name: "PASSWORD", value: "secret-in-env"}] | '"${4:-.}"
}
template() { echo "{metadata: {annotations: {$1}}, spec: {restartPolicy: Never, containers: [{name: main, image: e2e, resources: {requests: {cpu: 1}}}]}}"; }
appwrapper() { workload workload.codeflare.dev/v1beta2 AppWrapper "$@"; }

as_ana() { kubectl --as=ana --as-group=developers "$@"; }
# Patches the status of a Job or another object as a user: update_status USER NAME STATUS, or update_status USER KIND/NAME STATUS
update_status() {
  local name=$2
  [[ $name == */* ]] || name=jobs/$name
  kubectl patch "$name" --as="$1" --subresource=status --type=merge --patch "status: {$3}"
}

# Runs a command that must succeed without a warning: assert_no_warning COMMAND...
assert_no_warning() {
  run "$@"
  [ "$status" -eq 0 ] && [[ $output != *Warning:* ]] || { printf 'exit code %s:\n%s\n' "$status" "$output" && return 1; }
}

# Prints an audit annotation of the last write to an object, or `none`: audit_annotation NAME KEY
audit_annotation() {
  jq -r --arg name "$1" --arg key "managed-by.managed-by-policy.github.io/$2" 'select(.objectRef.name == $name) | .annotations[$key] // "none"' \
    "$RUN/cluster/audit.log" | tail -n 1
}
