# Tests ValidatingAdmissionPolicies that kube-apiserver 1.37 loads from files, as in docs/explanation/outages.md.
load lib

API_SERVER=kube-apiserver-1.37.1
PAGE=$ROOT/docs/explanation/outages.md

setup_file() {
  require_programs helm etcd "$API_SERVER" kubectl jq openssl curl python3
  mkdir "$RUN/policies"
  render >"$RUN/policies/managed-by.yaml"
  sed -n '/^   apiVersion: apiserver.config.k8s.io/,/^   ```/{/```/d; s/^   //; p}' "$PAGE" | sed "s|/etc/kubernetes/admission/|$RUN/|" >"$RUN/admission.yaml"
  # The arguments that kubeadm adds. Its volume must have the files under the same path.
  sed -n '/^   apiServer:/,/^   ```/{/```/d; s/^   //; p}' "$PAGE" | yaml_to_json >"$RUN/kubeadm.json"
  jq --exit-status '.apiServer.extraVolumes[] | .mountPath == .hostPath and .hostPath == "/etc/kubernetes/admission"' "$RUN/kubeadm.json"
  mapfile -t arguments < <(jq --raw-output --arg run "$RUN" '.apiServer.extraArgs[] | "--\(.name)=\(.value | sub("/etc/kubernetes/admission"; $run))"' "$RUN/kubeadm.json")
  start_cluster cluster --authorization-mode=AlwaysAllow "${arguments[@]}"
  export KUBECONFIG=$RUN/cluster/kubeconfig
  kubectl create namespace team-a
}
teardown_file() { stop_all; }

# Renders the policies for a management cluster: render [ARGUMENT...]
render() {
  helm template managed-by "$CHART" --kube-version 1.37.1 --values "$CHART/ci/offline-values.yaml" --values "$CHART/ci/management-values.yaml" \
    --set cel.enabled=true,cel.static=true,mode=protect --show-only templates/validating-admission-policy.yaml "$@"
}
# Replaces the file with stdin in one step, as the page does.
replace() {
  cat >"$RUN/new"
  mv "$RUN/new" "$RUN/policies/managed-by.yaml"
}
# Prints the response to a request to create a Job, or nothing: post [SPEC]
post() {
  local body=$RUN/job-${1:+delegated}
  [ -e "$body" ] || job pi "${1:-}" | yaml_to_json >"$body"
  curl --silent --max-time 5 --cacert "$RUN/ca.crt" --oauth2-bearer ana --json "@$body" "$(<"$RUN/cluster/server")/apis/batch/v1/namespaces/team-a/jobs?dryRun=All" |
    jq -r '.message // .kind' || true
}
DELEGATED='managedBy: kueue.x-k8s.io/multikueue, suspend: true'
BY_FILE="ValidatingAdmissionPolicy 'managed-by-deny.static.k8s.io' with binding 'managed-by-deny.static.k8s.io' denied request: "
denied() { [[ $(post "${@:2}") == *"$BY_FILE"*"$1"* ]]; }
created() { [ "$(post "$@")" = Job ]; }

@test "a Job that is not delegated is denied, and a delegated one is created" {
  denied 'must name an external controller'
  created "$DELEGATED"
}

@test "a restarted API server denies from the first request on" {
  restart cluster/kube-apiserver
  for _ in $(seq 2000); do
    post
    if grep --quiet --fixed-strings "$BY_FILE" "$BATS_TEST_TMPDIR/responses"; then break; fi
  done >"$BATS_TEST_TMPDIR/responses"
  for _ in $(seq 50); do post; done >>"$BATS_TEST_TMPDIR/responses"
  echo "# responses: $(cut -c1-120 "$BATS_TEST_TMPDIR/responses" | sort | uniq -c)" >&3
  grep --fixed-strings "$BY_FILE" "$BATS_TEST_TMPDIR/responses"
  run ! grep --line-regexp Job "$BATS_TEST_TMPDIR/responses"
  created "$DELEGATED"
}

@test "nobody can remove the policies through the API, or create one with such a name" {
  [ -z "$(kubectl get validatingadmissionpolicies,validatingadmissionpolicybindings --output name)" ]
  assert_fails_with 'static.k8s.io' kubectl create -f "$RUN/policies/managed-by.yaml"
}

@test "a changed file takes effect without a restart" {
  render --set role=worker | replace
  LIMIT=10 retry denied 'must not name an external controller (role worker)' "$DELEGATED"
  render --set mode=monitor | replace
  LIMIT=10 retry created
  render | replace
  LIMIT=10 retry denied 'must name an external controller'
}

@test "with an invalid file, the last policies stay active, but a restarted API server exits" {
  echo 'kind: Typo' | replace
  retry eval "kubectl get --raw /metrics | grep '^apiserver_manifest_admission_config_controller_automatic_reloads_total{.*plugin=\"ValidatingAdmissionPolicy\",status=\"failure\"} [1-9]'"
  grep 'reloading manifest config' "$RUN/cluster/kube-apiserver.log"
  denied 'must name an external controller'
  restart cluster/kube-apiserver
  exited() { ! running cluster/kube-apiserver; }
  LIMIT=30 retry exited
  grep -F 'failed to load static policy manifests from' "$RUN/cluster/kube-apiserver.log"
  render | replace
  restart cluster/kube-apiserver
  LIMIT=60 retry denied 'must name an external controller'
}
