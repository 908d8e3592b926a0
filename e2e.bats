#!/usr/bin/env bats
# Generated from examples/ by `make docs`; `make e2e` runs it. kwctl answers 0 to a request that it could judge, whatever
# the verdict, and 1 to settings that the policy refuses.

setup() {
  command -v kwctl >/dev/null || skip "kwctl is not installed"
}

# Single quotes around the text, none in it.
says() {
  [[ "$output" == *"$1"* ]] || { echo "not said: $1"; echo "$output"; return 1; }
}

@test 'custom/01-workflow-for-multikueue' {
  run kwctl run -r examples/custom/01-workflow-for-multikueue.json -s examples/custom/01-workflow-for-multikueue.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'custom/02-workflow-with-a-typo-in-the-controller' {
  run kwctl run -r examples/custom/02-workflow-with-a-typo-in-the-controller.json -s examples/custom/02-workflow-with-a-typo-in-the-controller.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Workflow.argoproj.io \"nightly\" is invalid: spec.managedBy: Unsupported value: \"kueue.x-k8s.io/multi-kueue\": did you mean \"kueue.x-k8s.io/multikueue\"? allowed for Workflows in namespace \"team-a\": \"kueue.x-k8s.io/multikueue\" [managed-by/allowed]'
  says 'spec.managedBy: \"kueue.x-k8s.io/multi-kueue\": no known controller has this name, did you mean \"kueue.x-k8s.io/multikueue\"? [managed-by/reserved-domain]'
}

@test 'custom/03-workflow-with-a-typo-in-its-own-controller' {
  run kwctl run -r examples/custom/03-workflow-with-a-typo-in-its-own-controller.json -s examples/custom/03-workflow-with-a-typo-in-its-own-controller.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Workflow.argoproj.io \"nightly\" is invalid: spec.managedBy: Unsupported value: \"argoproj.io/workflow-controler\": allowed for Workflows in namespace \"team-a\": \"kueue.x-k8s.io/multikueue\" [managed-by/allowed]'
  says 'spec.managedBy: \"argoproj.io/workflow-controler\": no known controller has this name, did you mean \"argoproj.io/workflow-controller\"? [managed-by/reserved-domain]'
}

@test 'custom/04-workflow-handed-over-after-creation' {
  run kwctl run -r examples/custom/04-workflow-handed-over-after-creation.json -s examples/custom/04-workflow-handed-over-after-creation.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Workflow.argoproj.io \"nightly\" is invalid: spec.managedBy: Invalid value: \"kueue.x-k8s.io/multikueue\": field is immutable [managed-by/immutable]'
}

@test 'custom/05-workflow-with-an-outcome-taken-back' {
  run kwctl run -r examples/custom/05-workflow-with-an-outcome-taken-back.json -s examples/custom/05-workflow-with-an-outcome-taken-back.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Workflow.argoproj.io \"nightly\" is invalid: status.phase: Invalid value: cannot take back the outcome Succeeded [status/outcome-changed]'
}

@test 'custom/06-workflow-status-written-by-a-person' {
  run kwctl run -r examples/custom/06-workflow-status-written-by-a-person.json -s examples/custom/06-workflow-status-written-by-a-person.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":403'
  says 'workflows.argoproj.io \"nightly\" is forbidden: User \"ana\" cannot update resource \"workflows/status\" in API group \"argoproj.io\" in the namespace \"team-a\": only system:serviceaccount:kueue-system:kueue-controller-manager may write the status of what is delegated to \"kueue.x-k8s.io/multikueue\" [status-writer/delegated]'
}

@test 'custom/07-workflow-ends-before-it-starts' {
  run kwctl run -r examples/custom/07-workflow-ends-before-it-starts.json -s examples/custom/07-workflow-ends-before-it-starts.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
  says 'status.finishedAt: \"2026-11-20T09:01:00Z\": must be equal to or after `startedAt` [status/end-before-start]'
}

@test 'custom/08-sparkapplication-starts-over-on-another-worker' {
  run kwctl run -r examples/custom/08-sparkapplication-starts-over-on-another-worker.json -s examples/custom/08-sparkapplication-starts-over-on-another-worker.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'custom/09-sparkapplication-with-an-outcome-taken-back' {
  run kwctl run -r examples/custom/09-sparkapplication-with-an-outcome-taken-back.json -s examples/custom/09-sparkapplication-with-an-outcome-taken-back.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'SparkApplication.sparkoperator.k8s.io \"pi\" is invalid: status.applicationState.state: Invalid value: cannot take back the outcome COMPLETED [status/outcome-changed]'
}

@test 'custom/10-render-completes' {
  run kwctl run -r examples/custom/10-render-completes.json -s examples/custom/10-render-completes.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'custom/11-render-done-and-broken' {
  run kwctl run -r examples/custom/11-render-done-and-broken.json -s examples/custom/11-render-done-and-broken.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
  says 'status.conditions: Invalid value: cannot be both Done and Broken [status/two-outcomes]'
  says 'status.frames.left: -1: must be greater than or equal to 0 [status/negative-counter]'
}

@test 'custom/12-render-handed-back' {
  run kwctl run -r examples/custom/12-render-handed-back.json -s examples/custom/12-render-handed-back.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Render.studio.example.com \"harbour\" is invalid: spec.execution.managedBy: Invalid value: null: field is immutable [managed-by/immutable]'
}

@test 'field/01-created-for-multikueue' {
  run kwctl run -r examples/field/01-created-for-multikueue.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'field/02-created-with-the-reserved-value' {
  run kwctl run -r examples/field/02-created-with-the-reserved-value.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'field/03-reserved-value-where-the-settings-deny-it' {
  run kwctl run -r examples/field/03-reserved-value-where-the-settings-deny-it.json -s examples/field/03-reserved-value-where-the-settings-deny-it.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Job.batch \"pi\" is invalid: spec.managedBy: Invalid value: \"kubernetes.io/job-controller\": leave the field out: that means the built-in controller too [managed-by/reserved]'
}

@test 'field/04-typo-in-the-reserved-value' {
  run kwctl run -r examples/field/04-typo-in-the-reserved-value.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
  says 'spec.managedBy: \"kubernetes.io/job-controler\": no known controller has this name, did you mean \"kubernetes.io/job-controller\"? [managed-by/reserved-domain]'
}

@test 'field/05-typo-in-the-reserved-value-where-the-settings-deny-it' {
  run kwctl run -r examples/field/05-typo-in-the-reserved-value-where-the-settings-deny-it.json -s examples/field/05-typo-in-the-reserved-value-where-the-settings-deny-it.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Job.batch \"pi\" is invalid: spec.managedBy: Invalid value: \"kubernetes.io/job-controler\": no known controller has this name, did you mean \"kubernetes.io/job-controller\"? [managed-by/reserved-domain]'
}

@test 'field/06-reserved-value-of-another-kind' {
  run kwctl run -r examples/field/06-reserved-value-of-another-kind.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
  says 'spec.managedBy: \"jobset.sigs.k8s.io/jobset-controller\": it runs JobSets only, so nobody would run this [managed-by/wrong-kind]'
}

@test 'field/07-invalid-format' {
  run kwctl run -r examples/field/07-invalid-format.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Job.batch \"pi\" is invalid: [spec.managedBy: Invalid value: \"Acme.io\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '\''-'\'' or '\''.'\'', and must start and end with an alphanumeric character (e.g. '\''example.com'\'', regex used for validation is '\''[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'\''), spec.managedBy: Invalid value: \"job runner\": Invalid path (regex used for validation is '\''[A-Za-z0-9/\\-._~%!$&'\''()*+,;=:]+'\'')]'
  says 'managed-by-policy: see rule managed-by/format'
}

@test 'field/08-invalid-format-in-the-words-of-1.31' {
  run kwctl run -r examples/field/08-invalid-format-in-the-words-of-1.31.json -s examples/field/08-invalid-format-in-the-words-of-1.31.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Job.batch \"pi\" is invalid: spec.managedBy: Too long: may not be longer than 63'
  says 'managed-by-policy: see rule managed-by/format'
}

@test 'field/09-field-added-after-creation' {
  run kwctl run -r examples/field/09-field-added-after-creation.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Job.batch \"pi\" is invalid: spec.managedBy: Invalid value: \"kueue.x-k8s.io/multikueue\": field is immutable'
  says 'managed-by-policy: see rule managed-by/immutable'
}

@test 'field/10-field-changed-after-creation' {
  run kwctl run -r examples/field/10-field-changed-after-creation.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Job.batch \"pi\" is invalid: spec.managedBy: Invalid value: \"acme.io/runner\": field is immutable'
  says 'managed-by-policy: see rule managed-by/immutable'
}

@test 'field/11-field-removed-after-creation' {
  run kwctl run -r examples/field/11-field-removed-after-creation.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Job.batch \"pi\" is invalid: spec.managedBy: Invalid value: null: field is immutable'
  says 'managed-by-policy: see rule managed-by/immutable'
}

@test 'field/12-finalizer-removed-from-an-object-that-breaks-a-rule-already' {
  run kwctl run -r examples/field/12-finalizer-removed-from-an-object-that-breaks-a-rule-already.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'field/13-cronjob-with-a-bad-template' {
  run kwctl run -r examples/field/13-cronjob-with-a-bad-template.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'CronJob.batch \"nightly\" is invalid: spec.jobTemplate.spec.managedBy: Invalid value: \"multikueue\": must be a domain-prefixed path (such as \"acme.io/foo\")'
  says 'managed-by-policy: see rule managed-by/format'
}

@test 'field/14-cronjob-whose-template-changes' {
  run kwctl run -r examples/field/14-cronjob-whose-template-changes.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'kinds/01-jobset-for-multikueue' {
  run kwctl run -r examples/kinds/01-jobset-for-multikueue.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'kinds/02-jobset-whose-jobs-nobody-runs' {
  run kwctl run -r examples/kinds/02-jobset-whose-jobs-nobody-runs.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
  says 'spec.replicatedJobs[1].template.spec.managedBy: \"acme.io/runner\": the JobSet makes the Job here and nobody but this controller would run it [managed-by/nested]'
}

@test 'kinds/03-jobset-whose-copy-has-jobs-that-nobody-runs' {
  run kwctl run -r examples/kinds/03-jobset-whose-copy-has-jobs-that-nobody-runs.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
  says 'spec.replicatedJobs[1].template.spec.managedBy: \"kueue.x-k8s.io/multikueue\": Kueue keeps this in its copy of the JobSet, so the worker never runs the Job [managed-by/nested]'
}

@test 'kinds/04-jobset-with-an-outcome-taken-back' {
  run kwctl run -r examples/kinds/04-jobset-with-an-outcome-taken-back.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'JobSet.jobset.x-k8s.io \"train\" is invalid: status.conditions: Invalid value: cannot take back the outcome Failed [status/outcome-changed]'
}

@test 'kinds/05-jobset-starts-over-on-another-worker' {
  run kwctl run -r examples/kinds/05-jobset-starts-over-on-another-worker.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'kinds/06-trainjob-with-a-value-that-its-api-refuses' {
  run kwctl run -r examples/kinds/06-trainjob-with-a-value-that-its-api-refuses.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
  says 'spec.managedBy: \"acme.io/runner\": TrainJob accepts only \"trainer.kubeflow.org/trainjob-controller\" or \"kueue.x-k8s.io/multikueue\" [managed-by/closed-set]'
}

@test 'kinds/07-optimizationjob-for-multikueue' {
  run kwctl run -r examples/kinds/07-optimizationjob-for-multikueue.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'kinds/08-raycluster-handed-over-while-suspended' {
  run kwctl run -r examples/kinds/08-raycluster-handed-over-while-suspended.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'RayCluster.ray.io \"train\" is invalid: spec.managedBy: Invalid value: \"kueue.x-k8s.io/multikueue\": field is immutable [managed-by/immutable]'
}

@test 'kinds/09-rayjob-whose-cluster-nobody-runs' {
  run kwctl run -r examples/kinds/09-rayjob-whose-cluster-nobody-runs.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
  says 'spec.rayClusterSpec.managedBy: \"kueue.x-k8s.io/multikueue\": the RayJob makes the RayCluster here and nobody but this controller would run it [managed-by/nested]'
}

@test 'kinds/10-rayjob-tries-again' {
  run kwctl run -r examples/kinds/10-rayjob-tries-again.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'kinds/11-rayjob-ends-before-it-starts' {
  run kwctl run -r examples/kinds/11-rayjob-ends-before-it-starts.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'RayJob.ray.io \"train\" is invalid: status.endTime: Invalid value: \"2026-11-20T09:10:00Z\": must be equal to or after `startTime` [status/end-before-start]'
}

@test 'kinds/12-rayservice-handed-back' {
  run kwctl run -r examples/kinds/12-rayservice-handed-back.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'RayService.ray.io \"train\" is invalid: spec.managedBy: Invalid value: null: field is immutable [managed-by/immutable]'
}

@test 'kinds/13-raycronjob-whose-template-changes' {
  run kwctl run -r examples/kinds/13-raycronjob-whose-template-changes.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'kinds/14-appwrapper-with-a-typo' {
  run kwctl run -r examples/kinds/14-appwrapper-with-a-typo.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
  says 'spec.managedBy: \"multikueue\": must be a domain-prefixed path (such as \"acme.io/foo\") [managed-by/unchecked-format]'
}

@test 'kinds/15-appwrapper-with-a-component-that-nobody-runs' {
  run kwctl run -r examples/kinds/15-appwrapper-with-a-component-that-nobody-runs.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
  says 'spec.components[1].template.spec.managedBy: \"acme.io/runner\": the AppWrapper makes the Job here and nobody but this controller would run it [managed-by/nested]'
}

@test 'kinds/16-pipelinerun-handed-over-after-creation' {
  run kwctl run -r examples/kinds/16-pipelinerun-handed-over-after-creation.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'PipelineRun.tekton.dev \"train\" is invalid: spec.managedBy: Invalid value: \"kueue.x-k8s.io/multikueue\": field is immutable [managed-by/immutable]'
}

@test 'kinds/17-taskrun-tries-again' {
  run kwctl run -r examples/kinds/17-taskrun-tries-again.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'kinds/18-pytorchjob-field-changed-after-creation' {
  run kwctl run -r examples/kinds/18-pytorchjob-field-changed-after-creation.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'PyTorchJob.kubeflow.org \"train\" is invalid: spec.runPolicy.managedBy: Invalid value: \"kueue.x-k8s.io/multikueue\": field is immutable [managed-by/immutable]'
}

@test 'kinds/19-tfjob-with-a-negative-counter' {
  run kwctl run -r examples/kinds/19-tfjob-with-a-negative-counter.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'TFJob.kubeflow.org \"train\" is invalid: status.replicaStatuses[Worker].active: Invalid value: -1: must be greater than or equal to 0 [status/negative-counter]'
}

@test 'kinds/20-xgboostjob-for-multikueue' {
  run kwctl run -r examples/kinds/20-xgboostjob-for-multikueue.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'kinds/21-paddlejob-with-a-value-that-its-api-refuses' {
  run kwctl run -r examples/kinds/21-paddlejob-with-a-value-that-its-api-refuses.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
  says 'spec.runPolicy.managedBy: \"kubeflow.org/mpi-operator\": it runs MPIJobs only, so nobody would run this [managed-by/wrong-kind]'
  says 'spec.runPolicy.managedBy: \"kubeflow.org/mpi-operator\": PaddleJob accepts only \"kubeflow.org/training-operator\" or \"kueue.x-k8s.io/multikueue\" [managed-by/closed-set]'
}

@test 'kinds/22-jaxjob-whose-controller-does-not-look' {
  run kwctl run -r examples/kinds/22-jaxjob-whose-controller-does-not-look.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
  says 'spec.runPolicy.managedBy: \"jobset.sigs.k8s.io/jobset-controller\": it runs JobSets only, and this kind'\''s own controller does not look here [managed-by/wrong-kind]'
}

@test 'kinds/23-mpijob-with-a-typo' {
  run kwctl run -r examples/kinds/23-mpijob-with-a-typo.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
  says 'spec.runPolicy.managedBy: \"kubeflow.org/mpi-operatr\": no known controller has this name, did you mean \"kubeflow.org/mpi-operator\"? [managed-by/reserved-domain]'
}

@test 'kinds/24-mpijob-failed-by-an-evicted-worker-succeeds' {
  run kwctl run -r examples/kinds/24-mpijob-failed-by-an-evicted-worker-succeeds.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'kinds/25-mpijob-of-v1-with-the-reserved-value-of-v2beta1' {
  run kwctl run -r examples/kinds/25-mpijob-of-v1-with-the-reserved-value-of-v2beta1.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
  says 'spec.runPolicy.managedBy: \"kubeflow.org/mpi-operator\": it runs MPIJobs only, so nobody would run this [managed-by/wrong-kind]'
}

@test 'kinds/26-sparkapplication-which-has-no-such-field' {
  run kwctl run -r examples/kinds/26-sparkapplication-which-has-no-such-field.json annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
  says 'managed-by-policy knows no \"v1beta2\" \"SparkApplication\" of \"sparkoperator.k8s.io\" and let it pass unread'
}

@test 'site/01-management-delegated-to-multikueue' {
  run kwctl run -r examples/site/01-management-delegated-to-multikueue.json -s examples/site/01-management-delegated-to-multikueue.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'site/02-management-not-delegated' {
  run kwctl run -r examples/site/02-management-not-delegated.json -s examples/site/02-management-not-delegated.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":403'
  says 'jobs.batch \"pi\" is forbidden: spec.managedBy: Forbidden: a Job in namespace \"team-a\" must be delegated (role management), to \"kueue.x-k8s.io/multikueue\" for example [managed-by/delegation]'
}

@test 'site/03-management-typo-in-the-controller' {
  run kwctl run -r examples/site/03-management-typo-in-the-controller.json -s examples/site/03-management-typo-in-the-controller.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Job.batch \"pi\" is invalid: spec.managedBy: Unsupported value: \"kueue.sigs.k8s.io/multikueue\": did you mean \"kueue.x-k8s.io/multikueue\"? allowed for Jobs in namespace \"team-a\": \"kueue.x-k8s.io/multikueue\" [managed-by/allowed]'
  says 'spec.managedBy: \"kueue.sigs.k8s.io/multikueue\": no known controller has this name, did you mean \"kueue.x-k8s.io/multikueue\"? [managed-by/reserved-domain]'
}

@test 'site/04-management-not-delegated-where-the-cluster-runs-its-own' {
  run kwctl run -r examples/site/04-management-not-delegated-where-the-cluster-runs-its-own.json -s examples/site/04-management-not-delegated-where-the-cluster-runs-its-own.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'site/05-management-status-copied-back-by-kueue' {
  run kwctl run -r examples/site/05-management-status-copied-back-by-kueue.json -s examples/site/05-management-status-copied-back-by-kueue.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'site/06-management-status-written-by-a-person' {
  run kwctl run -r examples/site/06-management-status-written-by-a-person.json -s examples/site/06-management-status-written-by-a-person.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":403'
  says 'jobs.batch \"pi\" is forbidden: User \"ana\" cannot update resource \"jobs/status\" in API group \"batch\" in the namespace \"team-a\": only system:serviceaccount:kueue-system:kueue-controller-manager may write the status of what is delegated to \"kueue.x-k8s.io/multikueue\" [status-writer/delegated]'
}

@test 'site/07-management-break-glass' {
  run kwctl run -r examples/site/07-management-break-glass.json -s examples/site/07-management-break-glass.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
  says 'managed-by/delegation would have denied this, but group \"system:masters\" is exempt'
}

@test 'site/08-management-kueue-stops-a-job-that-is-not-delegated' {
  run kwctl run -r examples/site/08-management-kueue-stops-a-job-that-is-not-delegated.json -s examples/site/08-management-kueue-stops-a-job-that-is-not-delegated.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'site/09-worker-delegated-on' {
  run kwctl run -r examples/site/09-worker-delegated-on.json -s examples/site/09-worker-delegated-on.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":403'
  says 'jobs.batch \"pi\" is forbidden: spec.managedBy: Forbidden: a Job in namespace \"team-a\" must not be delegated (role worker), leave the field out [managed-by/delegation]'
}

@test 'site/10-worker-copy-made-by-multikueue' {
  run kwctl run -r examples/site/10-worker-copy-made-by-multikueue.json -s examples/site/10-worker-copy-made-by-multikueue.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'site/11-hybrid-controller-of-another-namespace' {
  run kwctl run -r examples/site/11-hybrid-controller-of-another-namespace.json -s examples/site/11-hybrid-controller-of-another-namespace.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Job.batch \"pi\" is invalid: spec.managedBy: Unsupported value: \"acme.io/runner\": allowed for Jobs in namespace \"team-a\": \"kueue.x-k8s.io/multikueue\" [managed-by/allowed]'
}

@test 'site/12-hybrid-required-in-one-namespace' {
  run kwctl run -r examples/site/12-hybrid-required-in-one-namespace.json -s examples/site/12-hybrid-required-in-one-namespace.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":403'
  says 'jobs.batch \"pi\" is forbidden: spec.managedBy: Forbidden: a Job in namespace \"team-batch\" must be delegated (namespaces[1] of the settings), to \"kueue.x-k8s.io/multikueue\" for example [managed-by/delegation]'
}

@test 'site/13-hybrid-finalizer-removed-from-an-object-of-old-times' {
  run kwctl run -r examples/site/13-hybrid-finalizer-removed-from-an-object-of-old-times.json -s examples/site/13-hybrid-finalizer-removed-from-an-object-of-old-times.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'status/01-running-job-completes' {
  run kwctl run -r examples/status/01-running-job-completes.json -s examples/status/01-running-job-completes.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'status/02-marked-complete-too-early' {
  run kwctl run -r examples/status/02-marked-complete-too-early.json -s examples/status/02-marked-complete-too-early.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Job.batch \"pi\" is invalid: [status.completionTime: Required value: completionTime is required for Complete jobs, status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition, status.active: Invalid value: 1: active>0 is invalid for finished job]'
  says 'managed-by-policy: see rules job-status/complete-without-completion-time, job-status/complete-without-success-criteria-met, job-status/finished-with-active-pods'
}

@test 'status/03-terminal-condition-taken-back' {
  run kwctl run -r examples/status/03-terminal-condition-taken-back.json -s examples/status/03-terminal-condition-taken-back.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Job.batch \"pi\" is invalid: status.conditions: Invalid value: cannot disable the terminal Failed=True condition'
  says 'managed-by-policy: see rule job-status/terminal-condition-disabled'
}

@test 'status/04-counter-goes-down' {
  run kwctl run -r examples/status/04-counter-goes-down.json -s examples/status/04-counter-goes-down.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Job.batch \"pi\" is invalid: status.failed: Invalid value: 2: cannot decrease the failed counter'
  says 'managed-by-policy: see rule job-status/failed-decreased'
}

@test 'status/05-indexes-that-overlap' {
  run kwctl run -r examples/status/05-indexes-that-overlap.json -s examples/status/05-indexes-that-overlap.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Job.batch \"pi\" is invalid: status.failedIndexes: Invalid value: \"1,3\": failedIndexes and completedIndexes overlap at index: 3'
  says 'managed-by-policy: see rule job-status/failed-indexes-overlap-completed'
}

@test 'status/06-start-time-changed-while-running' {
  run kwctl run -r examples/status/06-start-time-changed-while-running.json -s examples/status/06-start-time-changed-while-running.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Job.batch \"pi\" is invalid: status.startTime: Invalid value: \"2026-11-20T09:02:00Z\": field is immutable for unsuspended job once set'
  says 'managed-by-policy: see rule job-status/start-time-changed'
}

@test 'status/07-start-time-changed-while-suspended' {
  run kwctl run -r examples/status/07-start-time-changed-while-suspended.json -s examples/status/07-start-time-changed-while-suspended.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":true'
}

@test 'status/08-completion-before-start-in-the-words-of-1.33' {
  run kwctl run -r examples/status/08-completion-before-start-in-the-words-of-1.33.json -s examples/status/08-completion-before-start-in-the-words-of-1.33.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Job.batch \"pi\" is invalid: status.completionTime: Invalid value: 2026-11-20 09:00:00 +0000 UTC: completionTime cannot be set before startTime'
  says 'managed-by-policy: see rule job-status/completion-time-before-start-time'
}

@test 'status/09-completion-before-start-in-the-words-of-1.36' {
  run kwctl run -r examples/status/09-completion-before-start-in-the-words-of-1.36.json -s examples/status/09-completion-before-start-in-the-words-of-1.36.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Job.batch \"pi\" is invalid: status.completionTime: Invalid value: \"2026-11-20T09:00:00Z\": must be equal to or after `startTime`'
  says 'managed-by-policy: see rule job-status/completion-time-before-start-time'
}

@test 'status/10-stored-job-found-by-the-audit' {
  run kwctl run -r examples/status/10-stored-job-found-by-the-audit.json -s examples/status/10-stored-job-found-by-the-audit.settings.yml annotated-policy.wasm
  [ "$status" -eq 0 ]
  says '"allowed":false'
  says '"code":422'
  says 'Job.batch \"pi\" is invalid: [status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions, status.conditions: Invalid value: cannot set Complete=True and FailureTarget=true conditions, status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and Failed=true conditions, status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions]'
  says 'managed-by-policy: see rules job-status/complete-and-failed, job-status/complete-and-failure-target, job-status/success-criteria-met-and-failed, job-status/success-criteria-met-and-failure-target'
}

@test 'settings with an unknown key' {
  run kwctl run -r examples/field/01-created-for-multikueue.json --settings-json '{"reserved_valu":"deny"}' annotated-policy.wasm
  [ "$status" -eq 1 ]
  says 'invalid settings: "reserved_valu": settings has no such key, expected one of kubernetes_version, reserved_value, role, controllers, namespaces, custom_kinds, standard_status_writers, exempt, on_lookup_failure, rules; did you mean "reserved_value"?'
}

@test 'settings with a version that YAML took for a number' {
  run kwctl run -r examples/field/01-created-for-multikueue.json --settings-json '{"kubernetes_version":1.3}' annotated-policy.wasm
  [ "$status" -eq 1 ]
  says 'invalid settings: kubernetes_version: got the number 1.3, expected a string, one of "1.30", "1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37"; write it in quotes, such as "1.30"'
}

@test 'settings with an unknown rule' {
  run kwctl run -r examples/field/01-created-for-multikueue.json --settings-json '{"rules":{"managed-by/formt":"deny"}}' annotated-policy.wasm
  [ "$status" -eq 1 ]
  says 'invalid settings: rules["managed-by/formt"]: rules has no such key, expected one of managed-by/format, job-spec/scheduling-directives, managed-by/immutable, job-status/negative-counter, job-status/uncounted-uids, job-status/complete-and-failed, job-status/complete-and-failure-target, job-status/completion-time-without-complete, job-status/complete-without-completion-time, job-status/completion-time-before-start-time, job-status/failed-without-failure-target, job-status/complete-without-success-criteria-met, job-status/finished-with-active-pods, job-status/finished-without-start-time, job-status/finished-with-uncounted-pods, job-status/invalid-completed-indexes, job-status/invalid-failed-indexes, job-status/completed-indexes-non-indexed, job-status/failed-indexes-without-backoff-limit-per-index, job-status/failed-indexes-overlap-completed, job-status/finished-with-terminating-pods, job-status/ready-exceeds-active, job-status/success-criteria-met-non-indexed, job-status/success-criteria-met-and-failed, job-status/success-criteria-met-and-failure-target, job-status/success-criteria-met-without-success-policy, job-status/success-policy-without-success-criteria-met, job-status/terminal-condition-disabled, job-status/failed-decreased, job-status/succeeded-decreased, job-status/completion-time-changed, job-status/start-time-changed, job-status/success-criteria-met-disabled, job-status/success-criteria-met-after-complete, managed-by/reserved, managed-by/reserved-domain, managed-by/wrong-kind, managed-by/unchecked-format, managed-by/pruned-version, managed-by/updates-too-large, managed-by/closed-set, managed-by/nested, managed-by/allowed, managed-by/delegation, status-writer/delegated, status-writer/standard, status/outcome-changed, status/two-outcomes, status/terminal-state, status/exclusive-conditions, status/negative-counter, status/counter-decreased, status/end-before-start, status/end-without-outcome, status/outcome-without-end, pods/delegated-owner; did you mean "managed-by/format"?'
}
