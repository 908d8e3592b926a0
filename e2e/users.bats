# Requests of users and controllers, with the settings and the webhook that the chart renders for a hybrid cluster.
load lib

DELEGATED='managedBy: kueue.x-k8s.io/multikueue, suspend: true'
TYPO='managedBy: kubernetes.io/job-controler, suspend: true'
NOW=$(date --utc +%FT%TZ)

setup_file() {
  needs helm etcd kube-apiserver policy-server kubectl jq openssl curl python3
  cluster cluster --authorization-mode=AlwaysAllow
  export KUBECONFIG=$RUN/cluster/kubeconfig
  # Everybody delegates as they like in the first one, and must in the second one.
  kubectl create namespace team-a
  kubectl create namespace team-example
  crds AppWrapper PyTorchJob
  job old "$TYPO" | ana create -f -
  job 'old-held, finalizers: [acme.io/hold]' "$TYPO" | ana create -f -
  pytorchjob scaled 'replicas: 1, runPolicy: {managedBy: kubernetes.io/job-controler}' | ana create -f -
  serve hybrid
  webhook cluster
}
teardown_file() { stop_all; }

pytorchjob() { workload kubeflow.org/v1 PyTorchJob "$@"; }

@test "create: a Job that is not delegated" {
  quietly ana create -f - <<<"$(job plain)"
  [ "$(audited plain mode)" = BuiltIn ]
}

@test "create: a delegated Job, and the audit log names the controller" {
  quietly ana create -f - <<<"$(job delegated "$DELEGATED")"
  [ "$(audited delegated mode)" = Delegated ]
  [ "$(audited delegated controller)" = '"kueue.x-k8s.io/multikueue"' ]
}

@test "create: a typo is denied, and the message suggests the right name" {
  refused 'admission webhook "managed-by.policies.example.com" denied the request: Job.batch "typo" is invalid: ' ana create -f - <<<"$(job typo "$TYPO")"
  [[ $output == *'did you mean "kubernetes.io/job-controller"?'* ]]
  [[ $(audited typo denied) == *'managed-by/reserved-domain spec.managedBy'* ]]
}

@test "create: a controller of another namespace is denied" {
  refused '[managed-by/allowed]' ana create -f - <<<"$(job elsewhere 'managedBy: example.com/runner, suspend: true')"
}

@test "create: a Job that must be delegated and is not is denied" {
  refused 'jobs.batch "required" is forbidden: ' ana create -n team-example -f - <<<"$(job required)"
  [[ $output == *'[managed-by/delegation]'* ]]
  job required "$DELEGATED" | ana create -n team-example -f -
}

@test "create: a CronJob with a typo in its template is denied" {
  refused spec.jobTemplate.spec.managedBy ana create -f - <<<"$(workload batch/v1 CronJob cron "schedule: 0 0 1 1 *, jobTemplate: {spec: {$TYPO, template: $(template)}}")"
  [[ $output == *'[managed-by/reserved-domain]'* ]]
}

@test "update: managedBy of a Job may not be changed, removed or added" {
  job fixed "$DELEGATED" | ana create -f -
  job fixed-plain | ana create -f -
  refused 'field is immutable' ana patch job fixed -p 'spec: {managedBy: acme.io/runner}'
  refused 'field is immutable' ana patch job fixed -p 'spec: {managedBy: null}'
  refused 'field is immutable' ana patch job fixed-plain -p 'spec: {managedBy: kueue.x-k8s.io/multikueue}'
}

@test "update: managedBy of an AppWrapper may not be changed either, which API servers do not enforce" {
  appwrapper wrapped 'managedBy: kueue.x-k8s.io/multikueue, components: []' | ana create -f -
  appwrapper bare 'components: []' | ana create -f -
  refused 'field is immutable' ana patch appwrapper wrapped --type=merge -p 'spec: {managedBy: workload.codeflare.dev/appwrapper}'
  refused 'field is immutable' ana patch appwrapper wrapped --type=merge -p 'spec: {managedBy: null}'
  refused 'field is immutable' ana patch appwrapper bare --type=merge -p 'spec: {managedBy: kueue.x-k8s.io/multikueue}'
  [[ $output == *'denied the request'* ]]
}

@test "update: a Job that broke a rule before can be changed, loses its finalizer and is deleted" {
  ana patch job old -p $'metadata: {labels: {a: b}}\nspec: {parallelism: 2}'
  ana delete job old-held --wait=false
  ana patch job old-held -p 'metadata: {finalizers: null}'
  refused NotFound kubectl get job old-held
  ana delete job old
}

@test "delete: allowed in every state" {
  deleted() { # NAME STATUS [SPEC]
    job "$1" "${3:-}" | ana create -f -
    [ -z "$2" ] || status admin "$1" "$2"
    ana delete job "$1"
  }
  condition() { echo "{type: $1, status: \"True\", lastProbeTime: \"$NOW\", lastTransitionTime: \"$NOW\"}"; }
  deleted deleted-new ''
  deleted deleted-delegated '' "$DELEGATED"
  deleted deleted-suspended "conditions: [$(condition Suspended)]" 'suspend: true'
  deleted deleted-active "startTime: \"$NOW\", active: 1, ready: 1"
  deleted deleted-complete "startTime: \"$NOW\", completionTime: \"$NOW\", succeeded: 1, conditions: [$(condition SuccessCriteriaMet), $(condition Complete)]"
  deleted deleted-failed "startTime: \"$NOW\", failed: 1, conditions: [$(condition FailureTarget), $(condition Failed)]"
}

@test "break-glass: allowed, with a warning and an audit annotation" {
  run kubectl create --as=example-break-glass -n team-example -f - <<<"$(job exempt)"
  [ "$status" -eq 0 ]
  [[ $output == *Warning:*managed-by/delegation*'is exempt'* ]]
  [ "$(audited exempt exempted)" = 'managed-by/delegation spec.managedBy' ]
}

@test "dry run: evaluated, and nothing is stored" {
  refused reserved-domain ana create --dry-run=server -f - <<<"$(job dry "$TYPO")"
  job dry "$DELEGATED" | ana create --dry-run=server -f -
  refused NotFound kubectl get job dry
}

@test "server-side apply: evaluated" {
  apply=(ana apply --server-side --force-conflicts -f -)
  refused reserved-domain "${apply[@]}" <<<"$(job applied "$TYPO")"
  job applied "$DELEGATED" | "${apply[@]}"
  job applied "$DELEGATED" | "${apply[@]}"
  refused 'field is immutable' "${apply[@]}" <<<"$(job applied 'managedBy: acme.io/runner, suspend: true')"
}

@test "scale: allowed for every object" {
  ana scale pytorchjob scaled --replicas=3
  [ "$(kubectl get pytorchjob scaled -o jsonpath='{.spec.replicas}')" -eq 3 ]
}

@test "another served version of the kind is evaluated too (matchPolicy: Equivalent)" {
  refused 'AppWrapper.workload.codeflare.dev "equivalent" is invalid' ana create -f - \
    <<<"$(workload workload.codeflare.dev/v1beta3 AppWrapper equivalent 'managedBy: kubernetes.io/job-controler, components: []')"
}

@test "the selector excludes kube-system" {
  quietly ana create -n kube-system -f - <<<"$(job excluded "$TYPO")"
  [ "$(audited excluded mode)" = none ]
}

# An external controller, played by kubectl.
@test "external controller: a Job that completes" {
  job good 'managedBy: kueue.x-k8s.io/multikueue' | ana create -f -
  criteria="{type: SuccessCriteriaMet, status: \"True\"}"
  quietly status "$KUEUE" good "startTime: \"$NOW\", active: 1, ready: 0"
  quietly status "$KUEUE" good 'ready: 1'
  quietly status "$KUEUE" good "active: 0, ready: 0, succeeded: 1, conditions: [$criteria]"
  quietly status "$KUEUE" good "completionTime: \"$NOW\", conditions: [$criteria, {type: Complete, status: \"True\"}]"
}

@test "external controller: a Job that fails" {
  job failing 'managedBy: kueue.x-k8s.io/multikueue' | ana create -f -
  target="{type: FailureTarget, status: \"True\"}"
  quietly status "$KUEUE" failing "startTime: \"$NOW\", active: 1"
  quietly status "$KUEUE" failing "active: 0, failed: 1, conditions: [$target]"
  quietly status "$KUEUE" failing "conditions: [$target, {type: Failed, status: \"True\"}]"
}

@test "external controller: an AppWrapper, whose outcome is final" {
  appwrapper good 'managedBy: kueue.x-k8s.io/multikueue, components: []' | ana create -f -
  for phase in Suspended Resuming Running Succeeded; do quietly status "$KUEUE" appwrapper/good "phase: $phase"; done
  for phase in Running Failed; do refused status.phase status "$KUEUE" appwrapper/good "phase: $phase"; done
}

@test "only the listed writers write the status of delegated objects" {
  job strange 'managedBy: kueue.x-k8s.io/multikueue' | ana create -f -
  refused 'jobs.batch "strange" is forbidden: User "ana" cannot update resource "jobs/status"' status ana strange "startTime: \"$NOW\", active: 1"
  [[ $output == *status-writer/delegated* ]]
  appwrapper strange 'managedBy: kueue.x-k8s.io/multikueue, components: []' | ana create -f -
  refused status-writer/delegated status ana appwrapper/strange 'phase: Succeeded, retries: 1'
}
