# Measures the table in docs/explanation/outages.md: how many valid writes are denied, and how many invalid ones are accepted, while PolicyServer is down and while
# kube-apiserver restarts. The symlink outage-table-1.37.bats runs it with another release, which can also load the policies from files.
load lib

API_SERVER=kube-apiserver
case $BATS_TEST_FILENAME in
*-1.37.bats) API_SERVER=kube-apiserver-1.37.1 ;;
esac
# After the API server is ready, the settings in a parameter of a custom kind denied writes for 29 seconds.
RESTART_SECONDS=45

setup_file() {
  require_programs helm etcd "$API_SERVER" policy-server kubectl jq openssl curl python3
  start_protected_cluster management --authorization-mode=AlwaysAllow
  create_workload
}
teardown_file() { stop_all; }
create_workload() {
  retry eval 'job pi "managedBy: kueue.x-k8s.io/multikueue, suspend: true" | as_ana create -f -'
  retry update_status "$KUEUE" pi 'active: 1, ready: 0, terminating: 0'
}

# Writes for SECONDS and prints the counts: measure CLUSTER SECONDS ROW
measure() {
  python3 "$ROOT/e2e/outages.py" "$(<"$RUN/$1/server")" "$RUN/ca.crt" "$2" "$KUEUE" >"$RUN/counts"
  echo "# $3: $(<"$RUN/counts")" >&3
}
# Restarts the API server while measure runs: measure_restart CLUSTER ROW
measure_restart() {
  (sleep 1 && restart "$1/kube-apiserver" && wait_ready "$1/kube-apiserver" kubectl --kubeconfig "$RUN/$1/kubeconfig" get --raw /readyz) 3>&- &
  measure "$1" $RESTART_SECONDS "$2"
  wait $!
}
counted() { jq -e ".valid > 20 and .invalid > 20 and ($1)" "$RUN/counts"; }
NONE='.["valid denied"] == 0 and .["invalid accepted"] == 0'

@test "webhook with Fail: an outage of PolicyServer denies valid writes, and a restart of the API server none" {
  measure cluster 5 'webhook Fail, no fault'
  counted "$NONE"
  measure_restart cluster 'webhook Fail, kube-apiserver restarts'
  counted "$NONE"
  stop cluster/policy-server
  measure cluster 10 'webhook Fail, PolicyServer down'
  jq -e '.["valid denied"] == .valid and .["invalid accepted"] == 0' "$RUN/counts"
  restart cluster/policy-server
  wait_for_policy cluster
}

@test "webhook with Ignore and CEL: neither denies a valid write or accepts an invalid one" {
  apply_cel_policies cluster management
  apply_webhook cluster '.failurePolicy = "Ignore"'
  # The API server applies the change with a delay.
  sleep 5
  measure_restart cluster 'webhook Ignore and CEL, kube-apiserver restarts'
  counted "$NONE"
  stop cluster/policy-server
  measure cluster 10 'webhook Ignore and CEL, PolicyServer down'
  counted "$NONE"
  measure_restart cluster 'webhook Ignore and CEL, PolicyServer down and kube-apiserver restarts'
  counted "$NONE"
}

@test "webhook with Ignore, without CEL: an outage of PolicyServer accepts invalid writes" {
  kubectl delete validatingadmissionpolicies,validatingadmissionpolicybindings --all
  sleep 5
  measure cluster 10 'webhook Ignore, PolicyServer down'
  jq -e '.["valid denied"] == 0 and .["invalid accepted"] == .invalid' "$RUN/counts"
}

@test "CEL alone: a restart of the API server denies no valid write, and accepts no invalid one" {
  kubectl delete validatingwebhookconfiguration managed-by
  apply_cel_policies cluster management
  measure_restart cluster 'CEL alone, kube-apiserver restarts'
  counted "$NONE"
}

@test "policies from files: a restart of the API server denies no valid write, and accepts no invalid one" {
  [[ $API_SERVER == *-1.37.* ]] || skip 'Kubernetes 1.37'
  mkdir "$RUN/policies"
  render_chart cluster management --set webhook.enabled=false,policy.enabled=false,cel.enabled=true,cel.static=true |
    jq -c 'select(.kind | startswith("ValidatingAdmission"))' | sed 's/^/---\n/' >"$RUN/policies/managed-by.yaml"
  sed -n '/^   apiVersion: apiserver.config.k8s.io/,/^   ```/{/```/d; s/^   //; p}' "$ROOT/docs/explanation/outages.md" | sed "s|/etc/kubernetes/admission/|$RUN/|" >"$RUN/admission.yaml"
  start_cluster static --authorization-mode=AlwaysAllow --admission-control-config-file="$RUN/admission.yaml"
  export KUBECONFIG=$RUN/static/kubeconfig
  kubectl create namespace team-a
  create_workload
  measure_restart static 'policies from files, kube-apiserver restarts'
  counted "$NONE"
}
