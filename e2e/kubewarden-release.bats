# `make release-rehearsal`: pushes the artifacts of release.yml to a local registry that serves as ghcr.io, and signs them with a new key. The suite `kwctl`
# runs the workflow's own commands (e2e/signatures.sh).
load lib
load controllers
load kubewarden

setup_file() {
  require_programs helm cosign kubewarden-controller policy-server kwctl kube-apiserver kube-controller-manager kubectl etcd docker-registry ip mount curl jq openssl python3
  install_kubewarden
  apply_test_crds Workload
  kubectl create namespace team-a
  export COSIGN_PASSWORD=
  mkdir "$RUN/keys" && cd "$RUN/keys"
  cosign generate-key-pair && cosign generate-key-pair --output-key-prefix other
  # Disable the transparency log.
  cosign signing-config create --out nothing.json
}
teardown_file() { stop_all; }
setup() { cd "$RUN/keys"; }

# Prints the digest of an artifact: digest NAME TAG
digest() {
  curl --silent --fail --head --cacert "$RUN/ca.crt" -H "Accept: application/vnd.oci.image.manifest.v1+json" -H "Accept: application/vnd.oci.image.index.v1+json" \
    "https://ghcr.io/v2/${1#ghcr.io/}/manifests/$2" | tr -d "\r" | sed -n "s/^docker-content-digest: //Ip"
}
sign() { cosign sign --yes --key cosign.key --signing-config nothing.json "$1@$(digest "$1" "$2")"; }
verify() { cosign verify --key "${KEY:-cosign.pub}" --insecure-ignore-tlog "$1:$2"; }

@test "both modules and the chart: verification succeeds only with the matching key" {
  for artifact in policies/managed-by-policy:v$VERSION policies/managed-by-pods-policy:v$VERSION charts/managed-by-policy:$VERSION; do
    name=$REPOSITORY/${artifact%:*} tag=${artifact##*:}
    assert_fails_with 'no signatures found' verify "$name" "$tag"
    sign "$name" "$tag"
    verify "$name" "$tag"
    KEY=other.pub assert_fails_with 'no matching' verify "$name" "$tag"
  done
}

@test "the CLI image: verification succeeds, and the binary prints its version" {
  require_programs buildah
  buildah manifest exists localhost/managed-by || skip "make release-rehearsal builds the image"
  buildah manifest push --all --tls-verify=false localhost/managed-by "docker://$REPOSITORY/managed-by:v$VERSION"
  sign "$REPOSITORY/managed-by" "v$VERSION"
  verify "$REPOSITORY/managed-by" "v$VERSION"
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
