# Soak test with fault injection, with and without the policy: MINUTES=60 RATE=2 SEED=29 make e2e ONLY=soak. soak.py generates the schedule and
# analyzes the logs. The results are in target/soak.json.
load lib
load controllers
load fleet

setup_file() { require_programs "${FLEET_PROGRAMS[@]}"; }
teardown_file() { RUN=$BATS_FILE_TMPDIR stop_all; }
RESULTS=$BATS_FILE_TMPDIR/soak.json

# Injects a fault, and sets RECOVER to the command that ends it: inject_fault CLUSTER PROGRAM KIND
inject_fault() {
  case $2-$3 in
  policy-server-killed) stop "$1/$2" && RECOVER="start_fleet_policy_server $1" ;;
  policy-server-settings) start_fleet_policy_server "$1" '.rules = {"managed-by/reserved-domain": "deny", "managed-by/template": "deny"}' && RECOVER="start_fleet_policy_server $1" ;;
  # Replace the certificate and its CA, and update the webhook's caBundle.
  policy-server-certificate)
    rm -rf "$RUN/authority" && mkdir "$RUN/authority"
    RUN=$RUN/authority create_certificate "$RUN/$1/policy-server"
    apply_webhook "$1" . && RECOVER=true
    ;;
  # PolicyServer is paused for 10 s three times, and runs for 1 s after each pause. The webhook's timeout is 5 s.
  policy-server-slow) for _ in 1 2 3; do signal STOP "$1/$2" && sleep 10 && signal CONT "$1/$2" && sleep 1; done && RECOVER=true ;;
  *-paused) signal STOP "$1/$2" && RECOVER="signal CONT $1/$2" ;;
  *-restarted) restart "$1/$2" && RECOVER=true ;;
  *-killed) stop "$1/$2" && RECOVER="restart $1/$2" ;;
  esac
}
# Sends a signal to a program: signal SIGNAL NAME
signal() { kill "-$1" "$(<"$RUN/$2.pid")"; }

# Runs the schedule once, in its own directory: soak with|without
soak() {
  RUN=$BATS_FILE_TMPDIR/$1
  mkdir "$RUN"
  start_fleet
  kubeconfig management ana
  kubeconfig worker ana
  # Jobs whose status only their controllers may write.
  job idle 'suspend: true, managedBy: kueue.x-k8s.io/multikueue' | kubectl create -f -
  job idle 'suspend: true, managedBy: kubernetes.io/job-controller' | kubectl --kubeconfig "$RUN/worker/kubeconfig" create -f -
  if [ "$1" = without ]; then
    for cluster in management worker; do
      kubectl --kubeconfig "$RUN/$cluster/kubeconfig" delete validatingwebhookconfiguration managed-by
      stop $cluster/policy-server
    done
  fi
  touch "$RUN/faults"
  start soak python3 "$ROOT/e2e/soak.py" run "$RUN"
  SECONDS=0
  while read -r at cluster program kind duration; do
    [ "$1-$program" != without-policy-server ] || continue
    [ "$at" -le $SECONDS ] || sleep $((at - SECONDS))
    began=$(date +%s.%N)
    inject_fault "$cluster" "$program" "$kind"
    sleep "$duration"
    $RECOVER
    echo "$began $(date +%s.%N) $cluster $program $kind" | tee -a "$RUN/faults"
  done < <(python3 "$ROOT/e2e/soak.py" faults)
  while running soak; do sleep 1; done
  [ -s "$RUN/observations.json" ] || { cat "$RUN/soak.log" && return 1; }
  stop_all
}

@test "a run with the policy" { soak with; }
@test "a run without the policy" { soak without; }

assert_no_violations() { jq -e --arg check "$1" '.violations[$check] == [] or (.violations[$check][:20], false)' "$RESULTS"; }

@test "all workloads reach the expected terminal condition" {
  python3 "$ROOT/e2e/soak.py" report "$BATS_FILE_TMPDIR/with" "$BATS_FILE_TMPDIR/without" "$RESULTS"
  cp "$RESULTS" "$ROOT/target/soak.json"
  jq -c '.with, .without | {workloads, invalid_writes, faults: (.faults | length), audit: (.audit | map_values({evaluated, denials, webhook_failures}))}' "$RESULTS" | sed 's/^/# /' >&3
  assert_no_violations ended
}
@test "outcomes are the same with and without the policy" { assert_no_violations "same outcomes"; }
@test "the test had to update only Workloads that reserved quota while no worker was connected" { assert_no_violations touched; }
@test "every rejected write is explained by a rule or a fault" { assert_no_violations "rejected writes"; }
@test "no invalid write is allowed" { assert_no_violations "invalid writes"; }
