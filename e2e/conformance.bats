# Runs the conformance suite go/conformance with the built-in Job controller and with MultiKueue, and compares the reports with go/conformance/reports/.
# UPDATE_REPORTS=1 writes these reports instead.
load lib
load controllers
load fleet

setup_file() {
  require_programs etcd kube-apiserver kube-controller-manager kubectl jq openssl curl python3 go
  cargo build --quiet --package managed-by-cli --manifest-path "$ROOT/Cargo.toml"
  (cd "$ROOT/go/conformance" && go build -o "$RUN/conformance" ./cmd/conformance)
}
teardown_file() { stop_all; }

# Starts a cluster without the policy, which logs all of the writes to Jobs: start_audited_cluster NAME
start_audited_cluster() {
  mkdir -p "$RUN/$1"
  yaml_to_json "$ROOT/go/conformance/audit-policy.yml" >"$RUN/$1/conformance-audit-policy.json"
  start_cluster "$1" --authorization-mode=AlwaysAllow --audit-policy-file="$RUN/$1/conformance-audit-policy.json"
  kubectl --kubeconfig "$RUN/$1/kubeconfig" create namespace team-a
  start_controller_manager "$1"
}

# Runs the suite, and compares its report with a file in reports/: assert_report FILE CLUSTER ARGUMENT...
assert_report() {
  local file=$ROOT/go/conformance/reports/$1 cluster=$2
  "$RUN/conformance" --kubeconfig="$RUN/$cluster/kubeconfig" --namespace=team-a --audit-log="$RUN/$cluster/audit.log" --managed-by="$ROOT/target/debug/managed-by" \
    --report-output="$RUN/report.yaml" --recording-output="$RUN/recording.ndjson" --contact=https://github.com/managed-by-policy/managed-by-policy/issues "${@:3}" || [ $? -eq 1 ]
  # shellcheck disable=SC2015
  [ -z "${UPDATE_REPORTS:-}" ] || { mkdir -p "$(dirname "$file")" && cp "$RUN/report.yaml" "$file"; }
  diff <(comparable "$file") <(comparable "$RUN/report.yaml")
}
# The number of writes depends on the speed, and so does which writes of MultiKueue Kubernetes 1.36.0 and 1.36.1 would deny.
comparable() {
  yaml_to_json "$1" | jq '{implementation, controller, kubernetesVersion, releases, source: .recording.source, rejected: (.rejectedWrites > 0),
    tests: [.tests[] | {name, failed: (.result == "failure"), missing, findings: [.findings[]? | select(.type != "denied") | del(.count)]}]}'
}

@test "the built-in Job controller" {
  start_audited_cluster builtin
  start_kubelet builtin
  assert_report v0.1.0/kubernetes-job-controller/v1.36.3-report.yaml builtin \
    --organization=kubernetes --project=job-controller --supported-features=Suspend,Indexed,BackoffLimitPerIndex,SuccessPolicy,PodFailurePolicy,PodReplacementPolicy,Elastic --url=https://github.com/kubernetes/kubernetes --version=v1.36.3
}

# Tests MultiKueue of a Kueue release with a management cluster and a worker: multikueue VERSION
multikueue() {
  local hub=hub-$1 worker=worker-$1
  KUEUE_PROGRAM=kueue-$1 KUEUE_MODULE=sigs.k8s.io/kueue@v$1 ETCD=$KUEUE_ETCD
  require_programs "$KUEUE_PROGRAM" "$KUEUE_ETCD" jobset unshare
  for cluster in "$hub" "$worker"; do
    ETCD=$KUEUE_ETCD start_audited_cluster "$cluster"
    run_jobset "$cluster"
    run_kueue "$cluster"
  done
  apply_queues "$worker" worker
  kubectl --kubeconfig "$RUN/$hub/kubeconfig" create secret generic worker -n kueue-system --from-file=kubeconfig="$(kubeconfig "$worker" "$MULTIKUEUE")"
  apply_queues "$hub" management
  start_kubelet "$worker"
  assert_report "v0.1.0/kubernetes-sigs-multikueue/v$1-report.yaml" "$hub" \
    --controller=kueue.x-k8s.io/multikueue --labels=kueue.x-k8s.io/queue-name=queue \
    --organization=kubernetes-sigs --project=multikueue --url=https://github.com/kubernetes-sigs/kueue --version="v$1"
  stop_all
}

@test "MultiKueue 0.18.4" { multikueue 0.18.4; }

@test "MultiKueue 0.19.2" { multikueue 0.19.2; }
