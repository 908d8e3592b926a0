# Hours of work with faults, with the policy and without it: MINUTES=60 RATE=2 SEED=29 make e2e ONLY=soak. soak.py has the schedule and reads
# the logs. What was seen goes to target/soak.json.
load lib
load controllers
load fleet

setup_file() { needs "${FLEET_PROGRAMS[@]}"; }
teardown_file() { RUN=$BATS_FILE_TMPDIR stop_all; }
SEEN=$BATS_FILE_TMPDIR/soak.json

# Begins a fault; the command in MEND mends it: begin CLUSTER PROGRAM KIND
begin() {
  case $2-$3 in
  policy-server-killed) stop "$1/$2" && MEND="serve_member $1" ;;
  policy-server-settings) serve_member "$1" '.rules = {"managed-by/reserved-domain": "deny", "managed-by/template": "deny"}' && MEND="serve_member $1" ;;
  # Of another authority, which the API server is told to trust.
  policy-server-certificate)
    rm -rf "$RUN/authority" && mkdir "$RUN/authority"
    RUN=$RUN/authority certificate "$RUN/$1/policy-server"
    webhook "$1" . && MEND=true
    ;;
  # It answers every 10 s. The API server waits for 5 s.
  policy-server-slow) for _ in 1 2 3; do signal STOP "$1/$2" && sleep 10 && signal CONT "$1/$2" && sleep 1; done && MEND=true ;;
  *-paused) signal STOP "$1/$2" && MEND="signal CONT $1/$2" ;;
  *-restarted) restart "$1/$2" && MEND=true ;;
  *-killed) stop "$1/$2" && MEND="restart $1/$2" ;;
  esac
}
signal() { kill "-$1" "$(<"$RUN/$2.pid")"; }

# A run in a folder of its own: soak with|without
soak() {
  RUN=$BATS_FILE_TMPDIR/$1
  mkdir "$RUN"
  fleet
  kubeconfig hub ana
  kubeconfig worker ana
  # Jobs whose status only their controllers may write.
  job idle 'suspend: true, managedBy: kueue.x-k8s.io/multikueue' | kubectl create -f -
  job idle 'suspend: true, managedBy: kubernetes.io/job-controller' | kubectl --kubeconfig "$RUN/worker/kubeconfig" create -f -
  if [ "$1" = without ]; then
    for cluster in hub worker; do
      kubectl --kubeconfig "$RUN/$cluster/kubeconfig" delete validatingwebhookconfiguration managed-by
      stop $cluster/policy-server
    done
  fi
  touch "$RUN/faults"
  start soak python3 "$ROOT/e2e/soak.py" run "$RUN"
  SECONDS=0
  while read -r at cluster program kind lasts; do
    [ "$1-$program" != without-policy-server ] || continue
    [ "$at" -le $SECONDS ] || sleep $((at - SECONDS))
    began=$(date +%s.%N)
    begin "$cluster" "$program" "$kind"
    sleep "$lasts"
    $MEND
    echo "$began $(date +%s.%N) $cluster $program $kind" | tee -a "$RUN/faults"
  done < <(python3 "$ROOT/e2e/soak.py" faults)
  while running soak; do sleep 1; done
  [ -s "$RUN/notes.json" ] || { cat "$RUN/soak.log" && return 1; }
  stop_all
}

@test "a run with the policy" { soak with; }
@test "a run without the policy" { soak without; }

claim() { jq -e --arg claim "$1" '.violations[$claim] == [] or (.violations[$claim][:20], false)' "$SEEN"; }

@test "all workloads end as they should" {
  python3 "$ROOT/e2e/soak.py" report "$BATS_FILE_TMPDIR/with" "$BATS_FILE_TMPDIR/without" "$SEEN"
  cp "$SEEN" "$ROOT/target/soak.json"
  jq -c '.with, .without | {workloads, bad_writes, faults: (.faults | length), audit: (.audit | map_values({evaluated, denials, unanswered}))}' "$SEEN" | sed 's/^/# /' >&3
  claim ended
}
@test "no outcome differs from the run without the policy" { claim "same outcomes"; }
@test "only Workloads that Kueue took while no worker was connected had to be touched" { claim touched; }
@test "rules and faults explain all refused writes" { claim "refused writes"; }
@test "no bad write is let through" { claim "bad writes"; }
