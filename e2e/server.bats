# Tests PolicyServer over HTTPS, without a cluster.
load lib

EXPECTED_RESULTS=${EXPECTED_RESULTS:-$ROOT/target/expected.ndjson}
MANIFESTS=(management worker hybrid namespace)
CHANGED=$ROOT/examples/manifests/review.json

setup_file() {
  require_programs policy-server curl jq openssl python3
  # Serve one policy for each settings object in the stored requests, one for each of MANIFESTS in the manifest's mode, and those of deploy/policies.yml.
  jq -c .settings "$EXPECTED_RESULTS" | sort -u | jq -s . >"$RUN/settings.json"
  {
    jq -c --argjson policy "$(policy_in_protect_mode)" 'to_entries[] | {"settings-\(.key)": ($policy + {settings: .value})}' "$RUN/settings.json"
    for manifest in "${MANIFESTS[@]}"; do
      yaml_to_json "$ROOT/deploy/$manifest.yml" | jq "select(.spec.rules) | {\"$manifest\": {\"module\": \"file://$MODULE\", policyMode: .spec.mode, settings: .spec.settings}}"
    done
    yaml_to_json "$ROOT/deploy/policies.yml" | jq "map_values(.[\"module\"] |= if contains(\"pods\") then \"file://$PODS_MODULE\" else \"file://$MODULE\" end)"
  } | jq -s add | start_policy_server server
}
teardown_file() { stop_all; }
setup() { cd "$BATS_TEST_TMPDIR"; }

# Posts a body to PolicyServer: post SERVER/PATH BODY-OR-@FILE [ARGUMENT...]
post() { curl --silent --cacert "$RUN/ca.crt" -H "Content-Type: ${TYPE:-application/json}" --data-binary "$2" "${@:3}" "$(<"$RUN/${1%%/*}/url")/${1#*/}"; }
# Passes if the response to a review satisfies a jq filter: assert_response SERVER/PATH REVIEW-OR-@FILE FILTER
assert_response() { post "$1" "$2" --fail | jq -e ".response | $3"; }

@test "PolicyServer returns the library's responses to all stored requests" {
  split --lines 5000 --additional-suffix .ndjson "$EXPECTED_RESULTS" part-
  for part in part-*.ndjson; do
    # The requests are strings, because jq would change the format of some numbers.
    jq -r '"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":\(.request)}"' "$part" | split --lines 1 --numeric-suffixes --suffix-length 4 - body-
    jq -nr --slurpfile settings "$RUN/settings.json" --arg url "$(<"$RUN/server/url")" --arg ca "$RUN/ca.crt" '
      foreach (inputs | .settings) as $own (-1; . + 1; ("000\(.)" | .[-4:]) as $number |
      "url = \($url)/validate/settings-\([$settings[0][] == $own] | index(true))", "data-binary = @body-\($number)", "output = response-\($number)",
      "header = \"Content-Type: application/json\"", "cacert = \($ca)", "next")' "$part" | sed '$d' >curl.conf
    curl --silent --show-error --parallel --parallel-max 8 --config curl.conf
    jq -Sc '(.request | fromjson.uid) as $uid | .response | {$uid, allowed: .accepted, auditAnnotations: .audit_annotations, warnings} +
      if .accepted then {} else {status: {message, code}} end' "$part" >expected
    # PolicyServer's responses have no newline at the end.
    sed -s '$a\' response-* | jq -Sc .response >actual
    diff expected actual | cut -c1-500 | head -n 20
    cat actual >>all
    rm body-* response-*
  done
  [ "$(wc -l <all)" -eq "$(wc -l <"$EXPECTED_RESULTS")" ]
  echo "# $(wc -l <all) responses" >&3
}

@test "deploy/ as shipped: mode monitor allows and logs requests that /audit denies" {
  for policy in "${MANIFESTS[@]}" managed-by; do
    echo "$policy"
    jq ".request.uid = \"$policy\"" "$CHANGED" >review.json
    assert_response "server/audit/$policy" @review.json '(.allowed | not) and (.auditAnnotations.denied | contains("managed-by/immutable"))'
    assert_response "server/validate/$policy" @review.json '.allowed and .status == null and (.auditAnnotations.denied | contains("managed-by/immutable"))'
    grep "policy evaluation (monitor mode).*uid: ..$policy" "$RUN/server.log" | grep "allowed: false"
  done
}

# docs/tasks/policy-server.md
@test "policy groups: a denial's message is a cause, warnings and annotations are dropped, and the log has the use of an exemption" {
  jq -n --argjson policy "$(policy_in_protect_mode '{"role": "worker", "exempt": {"users": ["ana"]}}')" '
    {single: $policy, group: {policies: {ours: ($policy | del(.policyMode))}, expression: "ours()", message: "rejected by the group"}}' | start_policy_server groups
  cp "$ROOT/target/examples/cluster-specific/09-worker-delegated.json" ana.json
  sed 's/"ana"/"ben"/' ana.json >ben.json
  assert_response groups/validate/single @ben.json '(.allowed | not) and .status.code == 403 and (.status.message | contains("[managed-by/delegation]")) and .auditAnnotations.denied != null'
  assert_response groups/validate/group @ben.json '(.allowed | not) and .status.code == null and .status.message == "rejected by the group" and .auditAnnotations == null and
    (.status.details.causes[0] | .field == "spec.policies.ours" and (.message | contains("[managed-by/delegation]")))'
  assert_response groups/validate/single @ana.json '.allowed and (.warnings[0] | contains("is exempt")) and (.auditAnnotations.exempted | contains("managed-by/delegation"))'
  assert_response groups/validate/group @ana.json '.allowed and .warnings == null and .auditAnnotations == null'
  grep 'managed-by/delegation would have denied this, but user .*ana.* is exempt' "$RUN/groups.log" >used
  grep 'rejected by the group' used
}

@test "hostile bodies: rejected, and the next request gets a response" {
  code() { post server/validate/settings-0 "$1" --output response --write-out '%{http_code}'; }
  repeat() { head -c "$2" /dev/zero | tr '\0' "$1"; }
  # Prints the request with another value of managedBy: with_value JSON
  with_value() { sed -f <(printf 's|"acme.io/runner"|%s|' "$1") "$CHANGED"; }
  [ "$(code '{')" -eq 400 ]
  [ "$(code '')" -eq 400 ]
  TYPE=text/plain
  [ "$(code '{}')" -eq 415 ]
  unset TYPE
  [ "$(code '{"kind":"AdmissionReview"}')" -eq 422 ]
  # Exceeds the nesting limit of PolicyServer's JSON parser.
  with_value "$(repeat '[' 10000)$(repeat ']' 10000)" >deep.json
  [ "$(code @deep.json)" -eq 400 ]
  repeat ' ' $((2 * 1024 * 1024 + 1)) >long.json
  [ "$(code @long.json)" -eq 413 ]
  # The maximum size that PolicyServer accepts.
  with_value "\"$(repeat x $((2 * 1024 * 1024 - $(with_value '""' | wc -c))))\"" >large.json
  [ "$(wc -c <large.json)" -eq $((2 * 1024 * 1024)) ]
  [ "$(code @large.json)" -eq 200 ]
  jq -e '.response.status.code == 422' response
  # The response doesn't contain a value of the wrong type.
  for value in 5 '{"secret": "x"}' '["secret"]' true; do
    [ "$(code "$(with_value "$value")")" -eq 200 ]
    jq -e '.response.status.code == 400' response
    run ! grep secret response
  done
}

@test "the port of the readiness probe serves nothing else" {
  [ "$(curl --silent --output response --write-out '%{http_code}' -d '{}' "$(<"$RUN/server/probe")/validate/settings-0")" -eq 404 ]
}

@test "wrong settings: PolicyServer does not start, and its log contains the field" {
  jq -n --argjson good "$(policy_in_protect_mode)" --argjson bad "$(policy_in_protect_mode '{"controler": {}}')" '{$good, $bad}' | run_policy_server wrong-settings
  LIMIT=30 retry eval '! running wrong-settings'
  grep 'controler' "$RUN/wrong-settings.log" | grep 'unknown field'
}

# pods/README.md. tenant.bats tests successful lookups.
@test "deploy/pods.yml: if a Job cannot be read, its pods are denied; on_lookup_failure applies only if the API server cannot be reached" {
  require_programs etcd kube-apiserver
  start_cluster cluster --authorization-mode=RBAC
  export KUBECONFIG=$RUN/cluster/kubeconfig
  kubectl create namespace team-a
  yaml_to_json "$ROOT/deploy/pods.yml" | jq 'select(.kind | startswith("ClusterRole"))' | kubectl apply -f -
  job missing-permission 'suspend: true' | kubectl create -f -
  nested_job deep 130 | kubectl create -f -
  KUBECONFIG=$(kubeconfig cluster "$POLICY_SERVER")
  jq '{pods: ., strict: (. * {settings: {on_lookup_failure: "deny"}}), ungranted: del(.hostCapabilities)}' <<<"$(pods_policy)" | start_policy_server pods
  # Passes if the response to a pod of a Job satisfies a jq filter: assert_pod POLICY JOB FILTER
  assert_pod() {
    assert_response "pods/validate/$1" '{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
      "uid": "1", "operation": "CREATE", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"},
      "name": "pi-0", "namespace": "team-a", "userInfo": {"username": "system:serviceaccount:kube-system:job-controller"}, "object": {
        "apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}, "metadata": {"name": "pi-0", "namespace": "team-a", "ownerReferences": [
          {"apiVersion": "batch/v1", "kind": "Job", "name": "'"$2"'", "uid": "1", "controller": true}]}}}}' "$3"
  }
  assert_denied() { assert_pod "$1" "$2" "(.allowed | not) and .status.code == 503 and (.auditAnnotations[\"lookup-failed\"] | contains(\"$3\"))"; }
  assert_denied ungranted one "has not been granted access to the 'kubernetes/get_resource' host capability"
  assert_denied pods deep 'recursion limit exceeded'
  # PolicyServer logs the whole Job.
  grep --quiet 'kube_client.*secret-in-env' "$RUN/pods.log"
  kubectl --kubeconfig "$RUN/cluster/kubeconfig" delete -f <(yaml_to_json "$ROOT/deploy/pods.yml" | jq 'select(.kind == "ClusterRoleBinding")')
  retry assert_denied pods missing-permission 'is forbidden'
  stop cluster/kube-apiserver
  # Use another name, because PolicyServer caches lookups.
  assert_pod pods another '.allowed and .status == null and (.warnings[0] | startswith("could not look up Job"))'
  assert_denied strict another ServiceError
  # PolicyServer discovers the API before its first lookup.
  restart pods
  retry curl --silent --fail "$(<"$RUN/pods/probe")/readiness"
  assert_pod pods another '.allowed and .status == null'
}

@test "a module without metadata: PolicyServer does not start" {
  policy_in_protect_mode | jq "{bare: (. + {\"module\": \"file://$ROOT/policy.wasm\"})}" | run_policy_server bare
  LIMIT=30 retry eval '! running bare'
  grep "Policy is missing protocol version" "$RUN/bare.log"
}

@test "--enable-metrics: PolicyServer exports the metrics and labels that docs/tasks/monitor.md queries" {
  port=$(free_port)
  # A collector that sends an empty HTTP/2 SETTINGS frame and records all data. Metric names are plain text in it.
  python3 -c 'import socket, sys
connection = socket.create_server(("127.0.0.1", int(sys.argv[1]))).accept()[0]
connection.sendall(bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
while data := connection.recv(65536): open("metrics", "ab").write(data)' "$port" 3>&- &
  policy_in_protect_mode | jq '{"counted-policy": .}' |
    OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:$port OTEL_METRIC_EXPORT_INTERVAL=1000 start_policy_server metrics --enable-metrics
  post metrics/validate/counted-policy "@$CHANGED" --fail
  for name in kubewarden_policy_evaluations_total kubewarden_policy_evaluation_latency_milliseconds policy_name request_origin accepted \
    policy_mode mutated resource_request_operation resource_namespace resource_kind counted-policy; do
    LIMIT=75 retry grep --text --quiet "$name" metrics
  done
}
