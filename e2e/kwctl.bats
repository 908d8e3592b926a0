# Tests the modules with kwctl, and the signature commands in SECURITY.md.
load lib

setup_file() {
  require_programs kwctl jq python3
  # Used by the tests that push.
  ! command -v docker-registry || {
    local port
    port=$(free_port)
    start_registry "{addr: \"127.0.0.1:$port\"}"
    export HOST=127.0.0.1:$port
  }
}
teardown_file() { stop_all; }
setup() { cd "$BATS_TEST_TMPDIR"; }

CHANGED=$ROOT/examples/manifests/review.json

# server.bats evaluates all examples with PolicyServer, which uses the same code as kwctl.
@test "run: the first example in each directory gets the expected response" {
  count=0
  for file in "$ROOT"/target/examples/*/01-*.json; do
    example=${file%.json} settings=()
    [ ! -e "$example.settings.yml" ] || settings=(-s "$example.settings.yml")
    diff <(jq -S .response "$file") <(kwctl run -r "$file" "${settings[@]}" "$MODULE" 2>/dev/null | jq -S .)
    count=$((count + 1))
  done
  [ $count -ge 4 ]
}

@test "run: settings with an unknown field are rejected" {
  assert_fails_with 'managed-by-policy: invalid settings: reserved_valu: ' kwctl run -r "$CHANGED" --settings-json '{"reserved_valu": "deny"}' "$MODULE"
  [ "$status" -eq 1 ]
}

# Passes if the policy of a manifest allows an invalid request only in mode monitor: assert_mode MANIFEST MODE
assert_mode() {
  yaml_to_json "$ROOT/deploy/$1.yml" | jq "select(.spec.rules) | .spec.module = \"file://$MODULE\" | .spec.mode = \"$2\"" >"$1-$2.yml"
  kwctl run -r "$CHANGED" "$1-$2.yml" | grep '^{' | jq -e ".allowed == (\"$2\" == \"monitor\")" || { echo "^ $1 in mode $2" && return 1; }
}
@test "run: every policy in deploy/, in both modes" {
  export -f assert_mode yaml_to_json
  export ROOT MODULE CHANGED
  printf '%s\n' {management,worker,hybrid,namespace}' '{monitor,protect} | xargs -P 8 -I{} bash -o pipefail -c 'assert_mode {}'
}

# Passes if two YAML files have the same value at a jq filter, which must not be null: assert_same A B FILTER [FILTER-OF-B]
assert_same() {
  yaml_to_json "$1" | jq -S "$3" >a.json
  yaml_to_json "$2" | jq -S "${4:-$3}" >b.json
  for file in a.json b.json; do [[ $(<"$file") != @(|null) ]] || { echo "empty $file: $*" && return 1; }; done
  diff a.json b.json
}

# Passes if a module contains the README and all metadata of a file. kwctl adds its own version: assert_metadata MODULE METADATA
assert_metadata() {
  kwctl inspect -o yaml "$1" >inspected
  yaml_to_json inspected | jq -e '.protocolVersion == "v1" and .annotations["io.kubewarden.policy.usage"] != null'
  assert_same "$ROOT/$2" inspected '{contextAwareResources: []} + . | del(.protocolVersion, .annotations["io.kubewarden.policy.usage", "io.kubewarden.kwctl"])'
}

@test "annotate, inspect: the modules contain their metadata" {
  for metadata in policy-metadata.yml pods/metadata.yml; do
    kwctl annotate --metadata-path "$ROOT/$metadata" --usage-path "$ROOT/src/usage.md" --output-path annotated.wasm "$ROOT/policy.wasm"
    assert_metadata annotated.wasm "$metadata"
    grep io.kubewarden.kwctl inspected
  done
  # If kwctl is not installed, `make` annotates these modules with xtask.
  assert_metadata "$MODULE" policy-metadata.yml
  assert_metadata "$PODS_MODULE" pods/metadata.yml
}

@test "scaffold manifest: the rules and the settings" {
  kwctl scaffold manifest -t ClusterAdmissionPolicy -s "$ROOT/examples/settings/management.yml" "$MODULE" >manifest.yml
  assert_same "$ROOT/policy-metadata.yml" manifest.yml .rules .spec.rules
  assert_same "$ROOT/examples/settings/management.yml" manifest.yml . .spec.settings
}

@test "scaffold artifacthub: the packages equal kwctl's" {
  # Except for the time, which a release adds, the installation text, and the module of the pods policy.
  for folder in . pods; do
    metadata=$ROOT/$folder/metadata.yml
    [ $folder = pods ] || metadata=$ROOT/policy-metadata.yml
    kwctl scaffold artifacthub --metadata-path "$metadata" --questions-path "$ROOT/$folder/questions-ui.yml" --output made.yml
    assert_same "$ROOT/$folder/artifacthub-pkg.yml" made.yml 'del(.createdAt, .install, .recommendations) | .links[0].url |= sub("/pods-policy.wasm$"; "/policy.wasm")'
  done
}

@test "bench: both operations can be measured" {
  kwctl bench --num-samples 10 --measurement-time 1 --warm-up-time 1 -r "$CHANGED" "$MODULE" >bench
  grep -F $'validate_settings\e[0m [' bench
  grep -F $'validate\e[0m [' bench
}

@test "push, and pull the same bytes" {
  require_programs docker-registry curl
  repository=$HOST/policies/managed-by-policy
  echo "insecure_sources: [\"$HOST\"]" >sources.yml
  kwctl push -o json --sources-path sources.yml "$MODULE" "$repository:v0.1.0" | jq -e --arg repository "$repository@sha256:" '.immutable_ref | startswith($repository)'
  kwctl pull --sources-path sources.yml -o pulled.wasm "registry://$repository:v0.1.0"
  cmp pulled.wasm "$MODULE"
  curl --silent --fail -H "Accept: application/vnd.oci.image.manifest.v1+json" "http://${repository/\//\/v2/}/manifests/v0.1.0" |
    jq -e '.annotations["io.kubewarden.policy.title"] == "managed-by-policy"'
}

@test "verify: the commands of SECURITY.md accept only the signatures of release.yml" {
  require_programs docker-registry cosign helm openssl
  ROOT=$ROOT bash "$ROOT/e2e/signatures.sh"
}

@test "verify: kwctl, which reads the configuration as PolicyServer does, accepts the one in SECURITY.md" {
  sed -n '/^  verification-config: |$/,/^```$/s/^    //p' "$ROOT/.github/SECURITY.md" >signatures.yml
  grep genericIssuer signatures.yml
  run ! kwctl verify --verification-config-path signatures.yml registry://127.0.0.1:1/a:b
  [[ $output != *"Not a valid configuration file"* ]]
  sed -i s/subject:/subjects:/ signatures.yml
  assert_fails_with "Not a valid configuration file: unknown field" kwctl verify --verification-config-path signatures.yml registry://127.0.0.1:1/a:b
}
