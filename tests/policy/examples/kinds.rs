use super::{Expected, QUIET};

pub(super) const EXPECTED: &[Expected] = &[
    Expected {
        name: "kinds/01-jobset-for-multikueue",
        ..QUIET
    },
    Expected {
        name: "kinds/02-jobset-whose-jobs-nobody-runs",
        warned: &["managed-by/nested spec.replicatedJobs[1].template.spec.managedBy"],
        warnings: &[
            r#"spec.replicatedJobs[1].template.spec.managedBy: "acme.io/runner": the JobSet makes the Job here and nobody but this controller would run it [managed-by/nested]"#,
        ],
        ..QUIET
    },
    Expected {
        name: "kinds/03-jobset-whose-copy-has-jobs-that-nobody-runs",
        warned: &["managed-by/nested spec.replicatedJobs[1].template.spec.managedBy"],
        warnings: &[
            r#"spec.replicatedJobs[1].template.spec.managedBy: "kueue.x-k8s.io/multikueue": Kueue keeps this in its copy of the JobSet, so the worker never runs the Job [managed-by/nested]"#,
        ],
        ..QUIET
    },
    Expected {
        name: "kinds/04-jobset-with-an-outcome-taken-back",
        denied: &["status/outcome-changed status.conditions"],
        message: r#"JobSet.jobset.x-k8s.io "train" is invalid: status.conditions: Invalid value: cannot take back the outcome Failed [status/outcome-changed]"#,
        ..QUIET
    },
    Expected {
        name: "kinds/05-jobset-starts-over-on-another-worker",
        ..QUIET
    },
    Expected {
        name: "kinds/06-trainjob-with-a-value-that-its-api-refuses",
        warned: &["managed-by/closed-set spec.managedBy"],
        warnings: &[
            r#"spec.managedBy: "acme.io/runner": TrainJob accepts only "trainer.kubeflow.org/trainjob-controller" or "kueue.x-k8s.io/multikueue" [managed-by/closed-set]"#,
        ],
        ..QUIET
    },
    Expected {
        name: "kinds/07-optimizationjob-for-multikueue",
        ..QUIET
    },
    Expected {
        name: "kinds/08-raycluster-handed-over-while-suspended",
        denied: &["managed-by/immutable spec.managedBy"],
        message: r#"RayCluster.ray.io "train" is invalid: spec.managedBy: Invalid value: "kueue.x-k8s.io/multikueue": field is immutable [managed-by/immutable]"#,
        ..QUIET
    },
    Expected {
        name: "kinds/09-rayjob-whose-cluster-nobody-runs",
        warned: &["managed-by/nested spec.rayClusterSpec.managedBy"],
        warnings: &[
            r#"spec.rayClusterSpec.managedBy: "kueue.x-k8s.io/multikueue": the RayJob makes the RayCluster here and nobody but this controller would run it [managed-by/nested]"#,
        ],
        ..QUIET
    },
    Expected {
        name: "kinds/10-rayjob-tries-again",
        ..QUIET
    },
    Expected {
        name: "kinds/11-rayjob-ends-before-it-starts",
        denied: &["status/end-before-start status.endTime"],
        message: r#"RayJob.ray.io "train" is invalid: status.endTime: Invalid value: "2026-11-20T09:10:00Z": must be equal to or after `startTime` [status/end-before-start]"#,
        ..QUIET
    },
    Expected {
        name: "kinds/12-rayservice-handed-back",
        denied: &["managed-by/immutable spec.managedBy"],
        message: r#"RayService.ray.io "train" is invalid: spec.managedBy: Invalid value: null: field is immutable [managed-by/immutable]"#,
        ..QUIET
    },
    Expected {
        name: "kinds/13-raycronjob-whose-template-changes",
        ..QUIET
    },
    Expected {
        name: "kinds/14-appwrapper-with-a-typo",
        warned: &["managed-by/unchecked-format spec.managedBy"],
        warnings: &[
            r#"spec.managedBy: "multikueue": must be a domain-prefixed path (such as "acme.io/foo") [managed-by/unchecked-format]"#,
        ],
        ..QUIET
    },
    Expected {
        name: "kinds/15-appwrapper-with-a-component-that-nobody-runs",
        warned: &["managed-by/nested spec.components[1].template.spec.managedBy"],
        warnings: &[
            r#"spec.components[1].template.spec.managedBy: "acme.io/runner": the AppWrapper makes the Job here and nobody but this controller would run it [managed-by/nested]"#,
        ],
        ..QUIET
    },
    Expected {
        name: "kinds/16-pipelinerun-handed-over-after-creation",
        denied: &["managed-by/immutable spec.managedBy"],
        message: r#"PipelineRun.tekton.dev "train" is invalid: spec.managedBy: Invalid value: "kueue.x-k8s.io/multikueue": field is immutable [managed-by/immutable]"#,
        ..QUIET
    },
    Expected {
        name: "kinds/17-taskrun-tries-again",
        ..QUIET
    },
    Expected {
        name: "kinds/18-pytorchjob-field-changed-after-creation",
        denied: &["managed-by/immutable spec.runPolicy.managedBy"],
        message: r#"PyTorchJob.kubeflow.org "train" is invalid: spec.runPolicy.managedBy: Invalid value: "kueue.x-k8s.io/multikueue": field is immutable [managed-by/immutable]"#,
        ..QUIET
    },
    Expected {
        name: "kinds/19-tfjob-with-a-negative-counter",
        denied: &["status/negative-counter status.replicaStatuses[Worker].active"],
        message: r#"TFJob.kubeflow.org "train" is invalid: status.replicaStatuses[Worker].active: Invalid value: -1: must be greater than or equal to 0 [status/negative-counter]"#,
        ..QUIET
    },
    Expected {
        name: "kinds/20-xgboostjob-for-multikueue",
        ..QUIET
    },
    Expected {
        name: "kinds/21-paddlejob-with-a-value-that-its-api-refuses",
        warned: &[
            "managed-by/wrong-kind spec.runPolicy.managedBy",
            "managed-by/closed-set spec.runPolicy.managedBy",
        ],
        warnings: &[
            r#"spec.runPolicy.managedBy: "kubeflow.org/mpi-operator": it runs MPIJobs only, so nobody would run this [managed-by/wrong-kind]"#,
            r#"spec.runPolicy.managedBy: "kubeflow.org/mpi-operator": PaddleJob accepts only "kubeflow.org/training-operator" or "kueue.x-k8s.io/multikueue" [managed-by/closed-set]"#,
        ],
        ..QUIET
    },
    Expected {
        name: "kinds/22-jaxjob-whose-controller-does-not-look",
        warned: &["managed-by/wrong-kind spec.runPolicy.managedBy"],
        warnings: &[
            r#"spec.runPolicy.managedBy: "jobset.sigs.k8s.io/jobset-controller": it runs JobSets only, and this kind's own controller does not look here [managed-by/wrong-kind]"#,
        ],
        ..QUIET
    },
    Expected {
        name: "kinds/23-mpijob-with-a-typo",
        warned: &["managed-by/reserved-domain spec.runPolicy.managedBy"],
        warnings: &[
            r#"spec.runPolicy.managedBy: "kubeflow.org/mpi-operatr": no known controller has this name, did you mean "kubeflow.org/mpi-operator"? [managed-by/reserved-domain]"#,
        ],
        ..QUIET
    },
    Expected {
        name: "kinds/24-mpijob-failed-by-an-evicted-worker-succeeds",
        ..QUIET
    },
    Expected {
        name: "kinds/25-mpijob-of-v1-with-the-reserved-value-of-v2beta1",
        warned: &["managed-by/wrong-kind spec.runPolicy.managedBy"],
        warnings: &[
            r#"spec.runPolicy.managedBy: "kubeflow.org/mpi-operator": it runs MPIJobs only, so nobody would run this [managed-by/wrong-kind]"#,
        ],
        ..QUIET
    },
    Expected {
        name: "kinds/26-sparkapplication-which-has-no-such-field",
        warnings: &[
            r#"managed-by-policy knows no "v1beta2" "SparkApplication" of "sparkoperator.k8s.io" and let it pass unread"#,
        ],
        ..QUIET
    },
];
