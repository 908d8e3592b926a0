use super::{Expected, QUIET};

pub(super) const EXPECTED: &[Expected] = &[
    Expected {
        name: "site/01-management-delegated-to-multikueue",
        ..QUIET
    },
    Expected {
        name: "site/02-management-not-delegated",
        denied: &["managed-by/delegation spec.managedBy"],
        message: r#"jobs.batch "pi" is forbidden: spec.managedBy: Forbidden: a Job in namespace "team-a" must be delegated (role management), to "kueue.x-k8s.io/multikueue" for example [managed-by/delegation]"#,
        ..QUIET
    },
    Expected {
        name: "site/03-management-typo-in-the-controller",
        denied: &["managed-by/allowed spec.managedBy"],
        warned: &["managed-by/reserved-domain spec.managedBy"],
        message: r#"Job.batch "pi" is invalid: spec.managedBy: Unsupported value: "kueue.sigs.k8s.io/multikueue": did you mean "kueue.x-k8s.io/multikueue"? allowed for Jobs in namespace "team-a": "kueue.x-k8s.io/multikueue" [managed-by/allowed]"#,
        warnings: &[
            r#"spec.managedBy: "kueue.sigs.k8s.io/multikueue": no known controller has this name, did you mean "kueue.x-k8s.io/multikueue"? [managed-by/reserved-domain]"#,
        ],
    },
    Expected {
        name: "site/04-management-not-delegated-where-the-cluster-runs-its-own",
        ..QUIET
    },
    Expected {
        name: "site/05-management-status-copied-back-by-kueue",
        ..QUIET
    },
    Expected {
        name: "site/06-management-status-written-by-a-person",
        denied: &["status-writer/delegated status"],
        message: r#"jobs.batch "pi" is forbidden: User "ana" cannot update resource "jobs/status" in API group "batch" in the namespace "team-a": only system:serviceaccount:kueue-system:kueue-controller-manager may write the status of what is delegated to "kueue.x-k8s.io/multikueue" [status-writer/delegated]"#,
        ..QUIET
    },
    Expected {
        name: "site/07-management-break-glass",
        warnings: &[
            r#"managed-by/delegation would have denied this, but group "system:masters" is exempt"#,
        ],
        ..QUIET
    },
    Expected {
        name: "site/08-management-kueue-stops-a-job-that-is-not-delegated",
        ..QUIET
    },
    Expected {
        name: "site/09-worker-delegated-on",
        denied: &["managed-by/delegation spec.managedBy"],
        message: r#"jobs.batch "pi" is forbidden: spec.managedBy: Forbidden: a Job in namespace "team-a" must not be delegated (role worker), leave the field out [managed-by/delegation]"#,
        ..QUIET
    },
    Expected {
        name: "site/10-worker-copy-made-by-multikueue",
        ..QUIET
    },
    Expected {
        name: "site/11-hybrid-controller-of-another-namespace",
        denied: &["managed-by/allowed spec.managedBy"],
        message: r#"Job.batch "pi" is invalid: spec.managedBy: Unsupported value: "acme.io/runner": allowed for Jobs in namespace "team-a": "kueue.x-k8s.io/multikueue" [managed-by/allowed]"#,
        ..QUIET
    },
    Expected {
        name: "site/12-hybrid-required-in-one-namespace",
        denied: &["managed-by/delegation spec.managedBy"],
        message: r#"jobs.batch "pi" is forbidden: spec.managedBy: Forbidden: a Job in namespace "team-batch" must be delegated (namespaces[1] of the settings), to "kueue.x-k8s.io/multikueue" for example [managed-by/delegation]"#,
        ..QUIET
    },
    Expected {
        name: "site/13-hybrid-finalizer-removed-from-an-object-of-old-times",
        ..QUIET
    },
];
