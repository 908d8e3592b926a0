use super::{Expected, QUIET};

pub(super) const EXPECTED: &[Expected] = &[
    Expected {
        name: "field/01-created-for-multikueue",
        ..QUIET
    },
    Expected {
        name: "field/02-created-with-the-reserved-value",
        ..QUIET
    },
    Expected {
        name: "field/03-reserved-value-where-the-settings-deny-it",
        denied: &["managed-by/reserved spec.managedBy"],
        message: r#"Job.batch "pi" is invalid: spec.managedBy: Invalid value: "kubernetes.io/job-controller": leave the field out: that means the built-in controller too [managed-by/reserved]"#,
        ..QUIET
    },
    Expected {
        name: "field/04-typo-in-the-reserved-value",
        warned: &["managed-by/reserved-domain spec.managedBy"],
        warnings: &[
            r#"spec.managedBy: "kubernetes.io/job-controler": no known controller has this name, did you mean "kubernetes.io/job-controller"? [managed-by/reserved-domain]"#,
        ],
        ..QUIET
    },
    Expected {
        name: "field/05-typo-in-the-reserved-value-where-the-settings-deny-it",
        denied: &["managed-by/reserved-domain spec.managedBy"],
        message: r#"Job.batch "pi" is invalid: spec.managedBy: Invalid value: "kubernetes.io/job-controler": no known controller has this name, did you mean "kubernetes.io/job-controller"? [managed-by/reserved-domain]"#,
        ..QUIET
    },
    Expected {
        name: "field/06-reserved-value-of-another-kind",
        warned: &["managed-by/wrong-kind spec.managedBy"],
        warnings: &[
            r#"spec.managedBy: "jobset.sigs.k8s.io/jobset-controller": it runs JobSets only, so nobody would run this [managed-by/wrong-kind]"#,
        ],
        ..QUIET
    },
    Expected {
        name: "field/07-invalid-format",
        denied: &["managed-by/format spec.managedBy"],
        message: r#"Job.batch "pi" is invalid: [spec.managedBy: Invalid value: "Acme.io": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'), spec.managedBy: Invalid value: "job runner": Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')]"#,
        ..QUIET
    },
    Expected {
        name: "field/08-invalid-format-in-the-words-of-1.31",
        denied: &["managed-by/format spec.managedBy"],
        message: r#"Job.batch "pi" is invalid: spec.managedBy: Too long: may not be longer than 63"#,
        ..QUIET
    },
    Expected {
        name: "field/09-field-added-after-creation",
        denied: &["managed-by/immutable spec.managedBy"],
        message: r#"Job.batch "pi" is invalid: spec.managedBy: Invalid value: "kueue.x-k8s.io/multikueue": field is immutable"#,
        ..QUIET
    },
    Expected {
        name: "field/10-field-changed-after-creation",
        denied: &["managed-by/immutable spec.managedBy"],
        message: r#"Job.batch "pi" is invalid: spec.managedBy: Invalid value: "acme.io/runner": field is immutable"#,
        ..QUIET
    },
    Expected {
        name: "field/11-field-removed-after-creation",
        denied: &["managed-by/immutable spec.managedBy"],
        message: r#"Job.batch "pi" is invalid: spec.managedBy: Invalid value: null: field is immutable"#,
        ..QUIET
    },
    Expected {
        name: "field/12-finalizer-removed-from-an-object-that-breaks-a-rule-already",
        ..QUIET
    },
    Expected {
        name: "field/13-cronjob-with-a-bad-template",
        denied: &["managed-by/format spec.jobTemplate.spec.managedBy"],
        message: r#"CronJob.batch "nightly" is invalid: spec.jobTemplate.spec.managedBy: Invalid value: "multikueue": must be a domain-prefixed path (such as "acme.io/foo")"#,
        ..QUIET
    },
    Expected {
        name: "field/14-cronjob-whose-template-changes",
        ..QUIET
    },
];
