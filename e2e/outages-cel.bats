# An outage of PolicyServer with the webhook on Ignore and the policies in CEL in force, on the clusters of multikueue: nothing valid is rejected, and no attack
# on a rule that CEL covers is accepted.
load lib
load controllers
load fleet

setup_file() {
  needs "${FLEET_PROGRAMS[@]}"
  fleet
  for member in hub worker; do
    kubewarden_crds $member
    cel $member "$(policy_of $member)"
    webhook $member '.failurePolicy = "Ignore"'
  done
  kubectl create -f - <<<"$(job victim "$DELEGATED")"
}
teardown_file() { stop_all; }

BY_CEL="select(.responseStatus.message // \"\" | contains(\"ValidatingAdmissionPolicy 'managed-by-deny'\"))"
# Repeats attacks until the file `calm` exists, and counts in `attacks` and `accepted`.
attack() {
  local number=0 accepted=0
  while [ ! -e "$RUN/calm" ]; do
    number=$((number + 1))
    for object in "$(job "typo-$number" 'managedBy: kueue.x-k8s.io/multikueu, suspend: true')" "$(job "plain-$number" 'suspend: true')"; do
      if ana create -f - <<<"$object"; then accepted=$((accepted + 1)); fi
    done
    if ana -n kueue-system create -f - <<<"$(job "foreign-$number" "$DELEGATED")"; then accepted=$((accepted + 1)); fi
    if status ana victim "active: $number"; then accepted=$((accepted + 1)); fi
    if worker --as=ana -n team-a create -f - <<<"$(job "delegated-$number" "$DELEGATED")"; then accepted=$((accepted + 1)); fi
    echo $((5 * number)) >"$RUN/attacks"
    echo $accepted >"$RUN/accepted"
  done
}
# Stops both PolicyServers for the workloads of under_way, with attacks: outage FAULT MEND
outage() {
  local hub_events worker_events
  hub_events=$(events hub) worker_events=$(events worker)
  begin() {
    stop hub/policy-server
    stop worker/policy-server
    rm -f "$RUN/calm"
    attack &>"$RUN/attack.log" 3>&- &
  }
  under_way "$1" begin "$2"
  touch "$RUN/calm"
  wait
  # The API server denied the attacks of ana, and nothing of a controller.
  others=$({ audit hub "$BY_CEL" "$hub_events"; audit worker "$BY_CEL" "$worker_events"; } | jq -c 'select(.impersonatedUser.username != "ana")' | wc -l)
  echo "# attacks: $(<"$RUN/attacks"), accepted: $(<"$RUN/accepted"), other writes denied: $others" >&3
  [ "$(<"$RUN/accepted")" = 0 ] && [ "$others" = 0 ] && [ "$(<"$RUN/attacks")" -gt 20 ]
}

@test "both PolicyServers are away for 30 s, and all workloads end" {
  mend() { start_policy_server hub && start_policy_server worker; }
  outage away mend
}

@test "both PolicyServers are away for good, and all workloads end" {
  outage gone true
}

@test "away: ordinary writes of users are neither rejected nor delayed, without warnings" {
  quietly ana create -f - <<<"$(queued daily)"
  quietly ana label job daily a=b
  quietly ana create -f - <<<"$(set_of_two daily)"
  quietly ana -n kueue-system create -f - <<<"$(job backup)"
  quietly worker --as=ana -n team-a create -f - <<<"$(job local 'suspend: true')"
  quietly worker --as=ana -n team-a patch job local -p 'spec: {suspend: false}'
  ends Complete job daily
  ends Completed jobset daily
  quietly ana delete job daily
}

# Its reviews are CREATE requests with the stored object.
audited_by_scanner() {
  kubectl get "$1" "$2" -o json | jq --arg kind "$3" --arg resource "$1s" '{request: {uid: "1", operation: "CREATE", namespace: "team-a", name: .metadata.name, object: .,
    kind: {group: (.apiVersion | split("/")[0]), version: (.apiVersion | split("/")[1]), $kind}, resource: {group: (.apiVersion | split("/")[0]), version: (.apiVersion | split("/")[1]), $resource}, userInfo: {username: "scanner"}}}' |
    curl --silent --cacert "$RUN/hub/policy-server/ca.crt" --json @- "$(<"$RUN/hub/policy-server/url")/audit/managed-by"
}
@test "what CEL does not cover gets through, and the audit finds it when PolicyServer is back" {
  stop hub/policy-server
  bad="replicatedJobs: [{name: a, template: {spec: {managedBy: acme.io/x, suspend: true, template: $(template)}}}]"
  quietly ana create -f - <<<"$(workload jobset.x-k8s.io/v1alpha2 JobSet nested "$DELEGATED, $bad")"
  start_policy_server hub
  prints managed-by/template audited_by_scanner jobset nested JobSet
}
