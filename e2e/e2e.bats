#!/usr/bin/env bats
# kwctl with the built policy (`make e2e`): each example gets the answer of its file, and bad settings are refused. To update the
# answers: UPDATE_EXAMPLES=1 cargo test --test policy examples::

setup() {
  command -v kwctl >/dev/null || skip "kwctl is not installed"
  cd "$BATS_TEST_DIRNAME/.."
}

# kwctl exits with 0 if it could judge the request, whatever the answer.
judged() {
  local settings=()
  [ ! -e "$1.settings.yml" ] || settings=(-s "$1.settings.yml")
  set -o pipefail
  kwctl run -r "$1.json" "${settings[@]}" annotated-policy.wasm 2>/dev/null | jq -S . | diff "$1.answer.json" -
}

# kwctl exits with 1 if the policy refuses the settings, and says why.
refused() {
  run kwctl run -r examples/field/01-created-for-multikueue.json --settings-json "$1" annotated-policy.wasm
  [ "$status" -eq 1 ]
  [[ "$output" == *"invalid settings: $2"* ]] || { echo "not said: $2"; echo "$output"; return 1; }
}

@test "each example gets its answer" {
  failed=0
  for answer in examples/*/*.answer.json; do
    judged "${answer%.answer.json}" || { echo "^ $answer, and what kwctl said"; failed=1; }
  done
  [ "$failed" -eq 0 ]
}

@test "settings with an unknown key" {
  refused '{"reserved_valu": "deny"}' '"reserved_valu": settings has no such key, expected one of kubernetes_version, reserved_value,'
}

@test "settings with a version that YAML took for a number" {
  refused '{"kubernetes_version": 1.3}' 'kubernetes_version: got the number 1.3, expected a string, one of "1.30", "1.31",'
}

@test "settings with an unknown rule" {
  refused '{"rules": {"managed-by/formt": "deny"}}' 'rules["managed-by/formt"]: rules has no such key, expected one of managed-by/format,'
}
