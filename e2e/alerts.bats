# Tests the chart's Prometheus rules with promtool: e2e/alerts.yml has the cases. The series of the API server come from a real one, under the names that
# Kubewarden gives the webhooks. server.bats compares PolicyServer's series.
load lib

NAME=clusterwide-managed-by.kubewarden.admission
RULES=$ROOT/charts/managed-by-policy/files/prometheus-rules.yaml

setup_file() { require_programs promtool helm python3; }
teardown_file() { stop_all; }

# Runs the cases against the rules on stdin, with the names replaced as in sed, and the cases changed by jq: test_rules SED-SCRIPT [FILTER]
# An alert without expected annotations has those of its rule.
test_rules() {
  cat >"$BATS_TEST_TMPDIR/rules.yaml"
  sed "$1; s,^rule_files: .*,rule_files: [rules.yaml]," "$ROOT/e2e/alerts.yml" | yaml_to_json |
    jq --slurpfile rules <(yaml_to_json "$BATS_TEST_TMPDIR/rules.yaml") "${2-.}"' | (.tests[].alert_rule_test[]? | select(.exp_alerts)) |= (.alertname as $name |
      ($rules[0].groups[].rules[] | select(.alert == $name).annotations) as $annotations | .exp_alerts[] |= (.exp_labels as $labels |
      .exp_annotations //= ($annotations | map_values(gsub("\\{\\{ \\$labels.(?<label>[a-z]+) \\}\\}"; $labels[.label])))))' >"$BATS_TEST_TMPDIR/alerts.yml"
  (cd "$BATS_TEST_TMPDIR" && promtool test rules alerts.yml)
}
# Prints the rules in the rendered chart: rendered_rules [ARGUMENT...]
rendered_rules() {
  helm template managed-by "$CHART" --namespace team-a --kube-version 1.37.1 --values "$CHART/ci/offline-values.yaml" --values "$CHART/ci/management-values.yaml" \
    --set prometheusRule.enabled=true,mode=protect,statusReports.enabled=true,statusReports.pushMetrics=http://pushgateway:9091/metrics/job/managed-by "$@" --show-only templates/prometheus-rule.yaml | yaml_to_json | jq .spec
}

@test "every alert fires when it should, and not before" {
  promtool check rules "$RULES"
  test_rules '' <"$RULES"
  # Each alert has a case in which it fires.
  for alert in $(sed -n 's/.*- alert: //p' "$RULES"); do grep --quiet "alertname: $alert$" "$ROOT/e2e/alerts.yml"; done
}

@test "the rules know the names of Kubewarden 1.37, other names of the policy, and the webhook of webhook.enabled" {
  test_rules "s/clusterwide-managed-by/kw.cap.managed-by/" <"$RULES"
  rendered_rules | test_rules ''
  rendered_rules | test_rules "s/clusterwide-managed-by/kw.cap.managed-by/"
  rendered_rules --set policyServer.name=own | test_rules "s/clusterwide-managed-by-pods/&-own/; t; s/clusterwide-managed-by/&-own/"
  rendered_rules --set webhook.enabled=true | test_rules "s/$NAME/managed-by.managed-by-policy.github.io/; s/clusterwide-managed-by\([^-]\)/managed-by\1/"
  # Other schedules: a Job every minute, and a reading every hour.
  schedule() { rendered_rules --set-json "statusReports.schedule=\"$1\"" | test_rules "$2" "(.tests |= map(select(.name | test(\"idle|outdated\"))))"; }
  schedule '* * * * *' "s/values: '0x4 1x4 .*/values: 0+1x120/"
  schedule '1 * * * *' "s/values: '0x60'/values: '0x120'/; s/\([24]x\|5x\)60/\1120/; s/eval_time: 50m/eval_time: 95m/; s/eval_time: 40m/eval_time: 85m/"
  # A policy in a namespace is not enforced if kube-state-metrics counts Jobs there. Kubewarden's Jobs are not there.
  local jobs='s/apiserver_request_total.code="201".*}/kube_job_created{namespace="team-a"}/; s/values: 0+9x/values: 0+60x/' idle='del(.tests[] | select(.name | startswith("in an idle")))'
  namespaced() { rendered_rules --set namespaced=true,statusReports.enabled=false "$@" | test_rules "$jobs; $sed" "$idle"' | del(.tests[].alert_rule_test[]? | select(.alertname == "ManagedByStatusOutdated"))'; }
  sed="s/clusterwide-managed-by\([^-]\)/namespaced-team-a-managed-by\1/" namespaced --set-json 'excludedNamespaces=[]'
  sed="s/clusterwide-managed-by-pods/kw.cap.managed-by-pods/; s/clusterwide-managed-by\([^-]\)/kw.ap.team-a.managed-by-jobset\1/" namespaced
}

@test "kube-apiserver has the series of the cases" {
  require_programs etcd kube-apiserver policy-server kubectl jq openssl curl
  start_cluster cluster --authorization-mode=AlwaysAllow
  export KUBECONFIG=$RUN/cluster/kubeconfig
  kubectl create namespace team-a
  serve_settings management
  apply_cel_policies cluster management
  named() { apply_webhook cluster ".name = \"$NAME\" | .failurePolicy = \"$1\""; }
  delegated='managedBy: kueue.x-k8s.io/multikueue, suspend: true'
  dry_run() { as_ana create --dry-run=server -f -; }
  named Fail
  wait_for_policy cluster
  job pi "$delegated" | as_ana create -f -
  assert_fails_with 'the server rejected our request' dry_run <<<"$(nested_job deep 121 "$delegated")"
  assert_fails_with 'must name an external controller' dry_run <<<"$(job pi)"
  # CEL accepts this Job, and PolicyServer denies it with code 400.
  named Ignore
  LIMIT=20 retry eval 'nested_job deep 121 "$delegated" | dry_run'
  stop cluster/policy-server
  LIMIT=20 retry eval 'job away "$delegated" | dry_run'
  named Fail
  LIMIT=20 retry assert_fails_with 'failed calling webhook' dry_run <<<"$(job away "$delegated")"
  kubectl get --raw /metrics >"$RUN/metrics"
  # The cases also contain the pods policy, another webhook and PolicyServer, and a denial with code 400.
  sed -n "s/^ *- series: '\(apiserver_.*\)'$/\1/p" "$ROOT/e2e/alerts.yml" | grep -v '"other\|managed-by-pods\|code="400",.*rejected="true"\|subresource="status"' | sort -u >"$RUN/series"
  [ "$(wc -l <"$RUN/series")" -ge 8 ]
  while read -r series; do grep --quiet --fixed-strings "$series " "$RUN/metrics" || { echo "not in the metrics: $series" && false; }; done <"$RUN/series"
}
