# `make release-rehearsal`: pushes the artifacts of release.yml to a local registry that serves as ghcr.io, and installs them. The suite `kwctl` signs and
# verifies them (e2e/signatures.sh).
load lib
load controllers
load kubewarden

setup_file() {
  require_programs helm kubewarden-controller policy-server kwctl kube-apiserver kube-controller-manager kubectl etcd docker-registry ip mount curl jq openssl python3
  install_kubewarden
  apply_test_crds Workload
  kubectl create namespace team-a
}
teardown_file() { stop_all; }
setup() { cd "$BATS_TEST_TMPDIR"; }

@test "the CLI image: the binary prints its version" {
  require_programs buildah
  buildah manifest exists localhost/managed-by || skip "make release-rehearsal builds the image"
  buildah manifest push --all --tls-verify=false localhost/managed-by "docker://$REPOSITORY/managed-by:v$VERSION"
  container=$(buildah from --tls-verify=false "$REPOSITORY/managed-by:v$VERSION")
  assert_prints "managed-by $VERSION" "$(buildah mount "$container")/managed-by" --version
  buildah rm "$container"
}

@test "the README's commands install and upgrade the pushed artifacts" {
  eval "$(grep --max-count=1 '^helm install managed-by ' "$ROOT/README.md")"
  wait_active
  eval "$(grep --max-count=1 '^helm upgrade managed-by ' "$ROOT/README.md")"
  wait_active
  retry assert_prints '[managed-by/allowed]' dry_run_job team-a ana typo "$TYPO"
  helm uninstall managed-by
  retry assert_prints created dry_run_job team-a ana typo "$TYPO"
}
