# Starts workload controllers as processes for a cluster from lib.bash, and filters audit logs.
# shellcheck shell=bash disable=SC2034
JOBSET_MODULE=sigs.k8s.io/jobset@v0.12.0
KUEUE_MODULE=sigs.k8s.io/kueue@v0.18.4
MPI_OPERATOR_MODULE=github.com/kubeflow/mpi-operator@v0.8.2
KUEUE_PROGRAM=kueue-0.18.4
# Kueue requires watches that etcd before 3.4.25 does not support.
KUEUE_ETCD=etcd-3.6.8
MPI_OPERATOR=system:serviceaccount:mpi-operator:mpi-operator

# Starts kube-controller-manager with the controllers that Jobs depend on, each with its own service account: start_controller_manager CLUSTER [ARGUMENT...]
start_controller_manager() {
  # The default of 20 requests per second would slow down the tests.
  start "$1/kube-controller-manager" kube-controller-manager --kubeconfig="$(kubeconfig "$1" system:kube-controller-manager)" \
    --service-account-private-key-file="$RUN/$1/accounts.key" --use-service-account-credentials --leader-elect=false --secure-port=0 \
    --kube-api-qps=300 --kube-api-burst=600 \
    --controllers=job-controller,cronjob-controller,namespace-controller,garbage-collector-controller,ttl-after-finished-controller "${@:2}"
}
# Makes kube-controller-manager 1.36 finish Jobs and keep `startTime` like 1.30. Otherwise kube-apiserver 1.30 rejects its writes.
EMULATE_OLD_RELEASE=(--emulated-version=kube=1.33 --feature-gates=JobManagedBy=false,JobPodReplacementPolicy=false)

# Simulates the nodes of a cluster: start_kubelet CLUSTER
start_kubelet() { start "$1/kubelet" python3 "$ROOT/e2e/kubelet.py" "$(kubeconfig "$1" system:node:e2e)"; }

# Prints the directory of a Go module, after downloading it if necessary: module_dir MODULE
module_dir() { (cd / && go mod download -json "$1" | jq -er .Dir); }

# Applies CRDs, changed by a jq filter: apply_crds CLUSTER FILTER FILE-OR-DIRECTORY
apply_crds() {
  local kubectl=(kubectl --kubeconfig "$RUN/$1/kubeconfig")
  "${kubectl[@]}" create --dry-run=client -o json -f "$3" | jq -c "(.items[]? // .) | $2" >"$RUN/$1/crds.json"
  "${kubectl[@]}" apply --server-side -f "$RUN/$1/crds.json"
  # Fails for objects without conditions, so retry.
  retry "${kubectl[@]}" wait --for=condition=Established --timeout=1m -f "$RUN/$1/crds.json"
}

# Starts a controller-runtime manager, and applies its module's CRDs and the webhooks whose path matches PATHS:
# start_manager CLUSTER NAME MODULE CRD-FILTER PATHS CONFIG COMMAND...
start_manager() {
  local cluster=$1 name=$2 folder=$RUN/$1/$2 sources webhook probe
  sources=$(module_dir "$3")
  apply_crds "$cluster" "$4" "$sources/config/components/crd/bases"
  create_certificate "$folder"
  webhook=$(free_port) probe=$(free_port)
  jq -n --arg folder "$folder" "$6 + {kind: \"Configuration\", clientConnection: {qps: 300, burst: 600}, health: {healthProbeBindAddress: \"127.0.0.1:$probe\"},
    metrics: {bindAddress: \"0\"}, webhook: {host: \"127.0.0.1\", port: $webhook, certDir: \$folder}, leaderElection: {leaderElect: false},
    internalCertManagement: {enable: false}}" >"$folder/config.yml"
  start "$cluster/$name" "${@:7}" --config="$folder/config.yml"
  wait_ready "$cluster/$name" curl --silent --fail "http://127.0.0.1:$probe/readyz"
  yaml_to_json "$sources/config/components/webhook/manifests.yaml" | jq --arg name "$name" --arg paths "$5" --arg url "https://127.0.0.1:$webhook" --rawfile ca "$RUN/ca.crt" '
    .metadata.name = $name | .webhooks |= map(select(.clientConfig.service.path | test($paths)) | .clientConfig = {url: ($url + .clientConfig.service.path), caBundle: ($ca | @base64)})' |
    kubectl --kubeconfig "$RUN/$cluster/kubeconfig" apply --server-side -f -
}
# Starts JobSet's controller with its CRD, changed by a jq filter: run_jobset CLUSTER [FILTER]
run_jobset() {
  start_manager "$1" jobset "$JOBSET_MODULE" "${2:-.}" 'jobset|pod' '{apiVersion: "config.jobset.x-k8s.io/v1alpha1"}' \
    jobset --kubeconfig="$(kubeconfig "$1" "$JOBSET")" --zap-devel=false
}
# Starts Kueue for Jobs and JobSets: run_kueue CLUSTER
# The CRDs contain only the storage version, so that no conversion webhook is needed.
run_kueue() {
  # Kueue reads this certificate from a fixed path in /etc, so bind-mount its own /etc. Users other than root need a user namespace for that.
  local unshare=(unshare --mount)
  [ "$(id -u)" -eq 0 ] || unshare=(unshare --user --map-root-user --mount)
  create_certificate "$RUN/$1/etc/kueue/metrics/certs"
  start_manager "$1" kueue "$KUEUE_MODULE" 'del(.spec.conversion) | .spec.versions |= map(select(.storage))' 'batch-v1-job|jobset|kueue-x-k8s-io' '{apiVersion: "config.kueue.x-k8s.io/v1beta2",
    integrations: {frameworks: ["batch/job", "jobset.x-k8s.io/jobset"]}, featureGates: {VisibilityOnDemand: false}}' \
    env KUBECONFIG="$(kubeconfig "$1" "$KUEUE")" "${unshare[@]}" -- sh -c 'mount --bind "$0" /etc && exec "$@"' "$RUN/$1/etc" "$(command -v "$KUEUE_PROGRAM")"
}
# Starts mpi-operator: run_mpi_operator CLUSTER
# It listens on a fixed port, so only one instance can run at a time.
run_mpi_operator() {
  apply_crds "$1" . "$(module_dir "$MPI_OPERATOR_MODULE")/manifests/base/kubeflow.org_mpijobs.yaml"
  start "$1/mpi-operator" env KUBECONFIG="$(kubeconfig "$1" "$MPI_OPERATOR")" mpi-operator -kube-api-qps=300 -kube-api-burst=600
  wait_ready "$1/mpi-operator" grep "Leading started" "$RUN/$1/mpi-operator.log"
}

# Prints the audit events of a cluster from line FROM, except probes, through a jq filter: audit_events CLUSTER FILTER [FROM]
audit_events() { tail -n "+${3:-1}" "$RUN/$1/audit.log" | jq -cR "fromjson? | select(.objectRef.namespace != \"probe\") | $2"; }
count_audit_lines() { wc -l <"$RUN/${1:-cluster}/audit.log"; }
EVALUATED='select(.annotations["managed-by.managed-by-policy.github.io/mode"])'
DENIED='select(.responseStatus.message // "" | contains("managed-by.managed-by-policy.github.io"))'
WARNED='select(.annotations["managed-by.managed-by-policy.github.io/warned"])'
STATUS='select(.objectRef.resource == "jobs" and .objectRef.subresource == "status")'
written_by() { echo "select(.user.username == \"$1\")"; }

# Passes if the policy evaluated writes of each USER, and denied or warned no user other than EXCEPT: assert_no_denials CLUSTER FROM EXCEPT USER...
assert_no_denials() {
  local user
  for user in "${@:4}"; do
    [ "$(audit_events "$1" "$(written_by "$user") | $EVALUATED" "$2" | wc -l)" -gt 0 ] || { echo "no write of $user was evaluated" && return 1; }
  done
  audit_events "$1" "$DENIED, $WARNED | select(.user.username != \"$3\" and .impersonatedUser.username != \"$3\")" "$2" >"$RUN/denials"
  [ ! -s "$RUN/denials" ] || { cut -c1-1000 "$RUN/denials" | head && return 1; }
}

# Passes if the webhook was called once for the creation of a Job and, with `statuses`, once for each update of its status:
# assert_webhook_calls CLUSTER JOB [statuses]
assert_webhook_calls() {
  local writes evaluated statuses
  writes=$(audit_events "$1" "select(.objectRef.resource == \"jobs\" and .objectRef.name == \"$2\" and .responseStatus.code < 300)")
  evaluated=$(jq -c "$EVALUATED" <<<"$writes" | wc -l) statuses=$(jq -c "$STATUS" <<<"$writes" | wc -l)
  echo "# $2: $evaluated webhook calls for $statuses status updates" | tee /dev/fd/3
  [ "$statuses" -gt 0 ] && [ "$evaluated" -eq $((1 + (${#3} > 0 ? statuses : 0))) ]
}

# Passes if a condition of an object is True: has_condition CONDITION KIND NAME [ARGUMENT...]
has_condition() { [ "$(kubectl get "${@:2}" -o jsonpath="{.status.conditions[?(@.type==\"$1\")].status}")" = True ]; }
