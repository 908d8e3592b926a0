# Tests an outage of PolicyServer with failurePolicy Ignore and the chart's ValidatingAdmissionPolicies, on the clusters of multikueue.bats: no valid write is
# rejected, and no write that breaks a rule covered by CEL is accepted.
load lib
load controllers
load fleet

setup_file() {
  require_programs "${FLEET_PROGRAMS[@]}"
  start_fleet
  for cluster in management worker; do
    apply_cel_policies $cluster "$(role_of $cluster)"
    apply_webhook $cluster '.failurePolicy = "Ignore"'
  done
  kubectl create -f - <<<"$(job victim "$DELEGATED")"
}
# Ends the attack of a failed test. Otherwise it would continue during the next tests.
teardown() {
  touch "$RUN/attacks-end"
  wait
}
teardown_file() { stop_all; }

BY_CEL="select(.responseStatus.message // \"\" | contains(\"ValidatingAdmissionPolicy 'managed-by-deny'\"))"
# Repeats writes that break rules until the file `attacks-end` exists, and stores their number in `attacks`, and the number of accepted
# writes in `accepted`.
attack() {
  local number=0 accepted=0
  while [ ! -e "$RUN/attacks-end" ]; do
    number=$((number + 1))
    for object in "$(job "typo-$number" 'managedBy: kueue.x-k8s.io/multikueu, suspend: true')" "$(job "plain-$number" 'suspend: true')"; do
      if as_ana create -f - <<<"$object"; then accepted=$((accepted + 1)); fi
    done
    if as_ana -n kueue-system create -f - <<<"$(job "foreign-$number" "$DELEGATED")"; then accepted=$((accepted + 1)); fi
    if update_status ana victim "active: $number"; then accepted=$((accepted + 1)); fi
    if on_worker --as=ana -n team-a create -f - <<<"$(job "delegated-$number" "$DELEGATED")"; then accepted=$((accepted + 1)); fi
    echo $((5 * number)) >"$RUN/attacks"
    echo $accepted >"$RUN/accepted"
  done
}
# Runs run_fault with both PolicyServers stopped, and attacks during the fault: outage FAULT RECOVER
outage() {
  local management_events worker_events
  management_events=$(count_audit_lines management) worker_events=$(count_audit_lines worker)
  begin() {
    stop management/policy-server
    stop worker/policy-server
    rm -f "$RUN/attacks-end"
    attack &>"$RUN/attack.log" 3>&- &
  }
  run_fault "$1" begin "$2"
  touch "$RUN/attacks-end"
  wait
  # CEL denied only ana's attacks, and no write of a controller.
  others=$({ audit_events management "$BY_CEL" "$management_events"; audit_events worker "$BY_CEL" "$worker_events"; } | jq -c 'select(.impersonatedUser.username != "ana")' | wc -l)
  echo "# attacks: $(<"$RUN/attacks"), accepted: $(<"$RUN/accepted"), other writes denied: $others" >&3
  [ "$(<"$RUN/accepted")" = 0 ] && [ "$others" = 0 ] && [ "$(<"$RUN/attacks")" -gt 20 ]
}

@test "both PolicyServers are down for 30 s, and all workloads finish" {
  recover() { start_fleet_policy_server management && start_fleet_policy_server worker; }
  outage away recover
}

@test "both PolicyServers stay down, and all workloads finish" {
  outage gone true
}

@test "PolicyServer down: valid writes of users are accepted without warnings" {
  assert_no_warning as_ana create -f - <<<"$(delegated_job daily)"
  assert_no_warning as_ana label job daily a=b
  assert_no_warning as_ana create -f - <<<"$(delegated_jobset daily)"
  assert_no_warning as_ana -n kueue-system create -f - <<<"$(job backup)"
  assert_no_warning on_worker --as=ana -n team-a create -f - <<<"$(job local 'suspend: true')"
  assert_no_warning on_worker --as=ana -n team-a patch job local -p 'spec: {suspend: false}'
  wait_condition Complete job daily
  wait_condition Completed jobset daily
  assert_no_warning as_ana delete job daily
}

# Posts a review of a stored object like the audit scanner, as a CREATE request: post_audit_review RESOURCE NAME KIND
post_audit_review() {
  kubectl get "$1" "$2" -o json | jq --arg kind "$3" --arg resource "$1s" '{request: {uid: "1", operation: "CREATE", namespace: "team-a", name: .metadata.name, object: .,
    kind: {group: (.apiVersion | split("/")[0]), version: (.apiVersion | split("/")[1]), $kind}, resource: {group: (.apiVersion | split("/")[0]), version: (.apiVersion | split("/")[1]), $resource}, userInfo: {username: "scanner"}}}' |
    curl --silent --cacert "$RUN/management/policy-server/ca.crt" --json @- "$(<"$RUN/management/policy-server/url")/audit/managed-by"
}
@test "writes that CEL does not cover are accepted, and the audit reports them after PolicyServer restarts" {
  stop management/policy-server
  bad="replicatedJobs: [{name: a, template: {spec: {managedBy: acme.io/x, suspend: true, template: $(template)}}}]"
  as_ana create -f - <<<"$(workload jobset.x-k8s.io/v1alpha2 JobSet nested "$DELEGATED, $bad")"
  start_fleet_policy_server management
  assert_prints managed-by/template post_audit_review jobset nested JobSet
}
