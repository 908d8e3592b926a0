#!/usr/bin/env bash
# Checks that the commands of SECURITY.md accept the signatures of release.yml. Runs commands of both files, with substitutes for
# services that only GitHub provides: a registry at HOST, a new CA that certifies the workflow's identity, no transparency log, and a module
# instead of the CLI image. kwctl ignores certificates without a log entry, and cosign 3.1.3 can't verify a certificate in the new signature
# format if it signed with a key, so both verify with the key. cosign also verifies the certificate of the modules in the old format.
# `make e2e` runs this script in its own directory, with HOST, and with ROOT for the project.
set -euo pipefail
export COSIGN_PASSWORD='' HOST GITHUB_OUTPUT=/dev/null
workflow=$ROOT/.github/workflows/release.yml
GITHUB_REF_NAME=v$(sed -n 's/^version = "\(.*\)"$/\1/p' "$ROOT/Cargo.toml")
export GITHUB_REF_NAME
OCI_TARGET=$(sed -n "s,^ *OCI_TARGET: ghcr.io/[^/]*,$HOST,p" "$workflow")
IMAGE=$(sed -n "s,^ *IMAGE: ghcr.io/[^/]*,$HOST,p" "$workflow")
CHARTS=$(sed -n "s,^ *CHARTS: ghcr.io/[^/]*,$HOST,p" "$workflow")
export OCI_TARGET IMAGE CHARTS
mkdir files && cd files

# Create the CA, and a certificate for the signer like Fulcio's.
repository=$(sed -n 's/^repository = "\(.*\)"$/\1/p' "$ROOT/Cargo.toml")
issuer=$(printf https://token.actions.githubusercontent.com | od -An -v -tx1 | tr -d ' \n')
cat >certificate.cnf <<EOF
basicConstraints=CA:FALSE
keyUsage=critical,digitalSignature
extendedKeyUsage=codeSigning
subjectAltName=critical,URI:$repository/.github/workflows/release.yml@refs/tags/$GITHUB_REF_NAME
1.3.6.1.4.1.57264.1.1=DER:$issuer
EOF
new_key=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
{
  openssl req -x509 "${new_key[@]}" -keyout ca.key -out ca.pem -subj /O=e2e/CN=ca
  openssl req -new "${new_key[@]}" -keyout signer.pem -out request.pem -subj /
  openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -extfile certificate.cnf -out certificate.pem
  cosign import-key-pair --key signer.pem --output-key-prefix signer
  cosign generate-key-pair --output-key-prefix other
  cosign signing-config create --out nothing.json
  cosign trusted-root create --no-default-fulcio --no-default-rekor --no-default-ctfe --no-default-tsa \
    --fulcio=url=https://e2e,certificate-chain=ca.pem --out root.json
} &>made.txt || { cat made.txt; exit 1; }
jq '{mediaType: "application/vnd.dev.sigstore.clienttrustconfig.v0.1+json", trustedRoot: ., signingConfig: {}}' root.json >trust.json
jq -n --arg host "$HOST" '{insecure_sources: [$host]}' >sources.yml

# Run the programs with the substitutes.
cosign() {
  case "${UNSIGNED:+not }$*" in
    "not sign"*) ;;
    "sign "*--new-bundle-format=false*) command cosign "$@" --key signer.key --tlog-upload=false --certificate certificate.pem --certificate-chain ca.pem ;;
    sign*) command cosign "${@/#--use-signing-config=*/--new-bundle-format=true}" --key signer.key --signing-config nothing.json ;;
    verify-blob*) command cosign verify-blob --bundle "$3" --key signer.pub --insecure-ignore-tlog "${!#}" ;;
    verify*)
      command cosign verify --key signer.pub --insecure-ignore-tlog "${!#}"
      # In the new format, the signature is an OCI referrer. The image and the chart are signed only in this format.
      command cosign tree "${!#}" | grep 'via OCI referrer'
      [[ "${!#}" == "$IMAGE:"* || "${!#}" == "$CHARTS/"* ]] || command cosign "$@" --new-bundle-format=false --trusted-root root.json --insecure-ignore-sct --insecure-ignore-tlog
      ;;
  esac
}
kwctl() {
  case "$1" in
    push) command kwctl "$@" --sources-path sources.yml ;;
    verify) command kwctl verify --verification-key "${KEY:-signer.pub}" --sigstore-trust-config trust.json --sources-path sources.yml "${!#}" ;;
  esac
}
helm() { command helm "$@" --plain-http; }
export -f cosign kwctl helm

# Prints the commands of a workflow step: step NAME
step() {
  sed -n "/- name: $1\$/,/^ *- /p" "$workflow" | grep '^          '
}
# Prints the commands below a comment in SECURITY.md: block COMMENT
block() {
  sed -n '/^identity=/,/^$/p; /^# '"$1"'/,/^$/p' "$ROOT/.github/SECURITY.md" | sed "s,ghcr.io/[^/]*,$HOST,"
}
# Runs commands that must succeed: assert_accepted COMMANDS
assert_accepted() { bash -euo pipefail -c "$1" &>output.txt || { echo "rejected: $1"; cat output.txt; exit 1; }; }
# Runs commands that must fail and print TEXT: assert_rejected COMMANDS TEXT
assert_rejected() {
  if bash -euo pipefail -c "$1" &>output.txt; then
    echo "accepted: $1"
    exit 1
  fi
  grep -q "$2" output.txt || { echo "rejected for another reason: $1"; cat output.txt; exit 1; }
}

cp "$ROOT"/annotated-{policy,pods-policy,noop}.wasm .
cp "$ROOT/Cargo.lock" policy-sbom.spdx.json
command helm package "$ROOT/charts/managed-by-policy"
modules=$(block 'Both modules')
chart=$(block 'The chart')
one_with_kwctl=$(block 'A module, with kwctl')
sbom=$(block 'The SBOM')

assert_accepted "UNSIGNED=1; $(step 'Push and sign the modules')"
assert_accepted 'kwctl push -o json annotated-noop.wasm "$IMAGE:$GITHUB_REF_NAME" | jq -r .immutable_ref | cut -d @ -f 2 >../digest'
assert_rejected "$modules" 'no signatures found'
assert_rejected "$one_with_kwctl" 'no signatures found'

assert_accepted "$(step 'Push and sign the modules')"
assert_accepted "$(step 'Push and sign the chart')"
assert_accepted "$(step 'Push and sign the image' | grep 'cosign sign')"
assert_accepted "$(step 'Sign the SBOM')"
assert_accepted "$modules"
assert_accepted "$chart"
assert_accepted "$one_with_kwctl"
assert_accepted "$sbom"

assert_rejected "${modules/tags\/$GITHUB_REF_NAME/tags\/v0.0.0}" 'none of the expected identities matched'
assert_rejected "KEY=other.pub; $one_with_kwctl" 'missing signatures'
echo >>policy-sbom.spdx.json
assert_rejected "$sbom" 'invalid signature'
# Move the tag to another module.
assert_accepted 'kwctl push annotated-noop.wasm "$OCI_TARGET/managed-by-policy:$GITHUB_REF_NAME"'
assert_rejected "$modules" 'no signatures found'
assert_rejected "$one_with_kwctl" 'no signatures found'
