//! What the policy says to each file of `examples/`, word for word, on every front end.

use crate::support::{everywhere, root};
use managed_by_engine::examples;

struct Expected {
    name: &'static str,
    denied: &'static [&'static str],
    warned: &'static [&'static str],
    message: &'static str,
    warnings: &'static [&'static str],
}

const QUIET: Expected = Expected {
    name: "",
    denied: &[],
    warned: &[],
    message: "",
    warnings: &[],
};

const EXPECTED: &[Expected] = &[
    Expected {
        name: "01-created-for-multikueue",
        ..QUIET
    },
    Expected {
        name: "02-created-with-the-reserved-value",
        ..QUIET
    },
    Expected {
        name: "03-reserved-value-where-the-settings-deny-it",
        denied: &["managed-by/reserved spec.managedBy"],
        message: r#"Job.batch "pi" is invalid: spec.managedBy: Invalid value: "kubernetes.io/job-controller": leave the field out: that means the built-in controller too [managed-by/reserved]"#,
        ..QUIET
    },
    Expected {
        name: "04-typo-in-the-reserved-value",
        warned: &["managed-by/reserved-domain spec.managedBy"],
        warnings: &[
            r#"spec.managedBy: "kubernetes.io/job-controler": no known controller has this name, did you mean "kubernetes.io/job-controller"? [managed-by/reserved-domain]"#,
        ],
        ..QUIET
    },
    Expected {
        name: "05-typo-in-the-reserved-value-where-the-settings-deny-it",
        denied: &["managed-by/reserved-domain spec.managedBy"],
        message: r#"Job.batch "pi" is invalid: spec.managedBy: Invalid value: "kubernetes.io/job-controler": no known controller has this name, did you mean "kubernetes.io/job-controller"? [managed-by/reserved-domain]"#,
        ..QUIET
    },
    Expected {
        name: "06-reserved-value-of-another-kind",
        warned: &["managed-by/wrong-kind spec.managedBy"],
        warnings: &[
            r#"spec.managedBy: "jobset.sigs.k8s.io/jobset-controller": it runs JobSets only, so nobody would run this [managed-by/wrong-kind]"#,
        ],
        ..QUIET
    },
    Expected {
        name: "07-invalid-format",
        denied: &["managed-by/format spec.managedBy"],
        message: r#"Job.batch "pi" is invalid: [spec.managedBy: Invalid value: "Acme.io": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'), spec.managedBy: Invalid value: "job runner": Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')]"#,
        ..QUIET
    },
    Expected {
        name: "08-invalid-format-in-the-words-of-1.31",
        denied: &["managed-by/format spec.managedBy"],
        message: r#"Job.batch "pi" is invalid: spec.managedBy: Too long: may not be longer than 63"#,
        ..QUIET
    },
    Expected {
        name: "09-field-added-after-creation",
        denied: &["managed-by/immutable spec.managedBy"],
        message: r#"Job.batch "pi" is invalid: spec.managedBy: Invalid value: "kueue.x-k8s.io/multikueue": field is immutable"#,
        ..QUIET
    },
    Expected {
        name: "10-field-changed-after-creation",
        denied: &["managed-by/immutable spec.managedBy"],
        message: r#"Job.batch "pi" is invalid: spec.managedBy: Invalid value: "acme.io/runner": field is immutable"#,
        ..QUIET
    },
    Expected {
        name: "11-field-removed-after-creation",
        denied: &["managed-by/immutable spec.managedBy"],
        message: r#"Job.batch "pi" is invalid: spec.managedBy: Invalid value: null: field is immutable"#,
        ..QUIET
    },
    Expected {
        name: "12-finalizer-removed-from-an-object-that-breaks-a-rule-already",
        ..QUIET
    },
    Expected {
        name: "13-cronjob-with-a-bad-template",
        denied: &["managed-by/format spec.jobTemplate.spec.managedBy"],
        message: r#"CronJob.batch "nightly" is invalid: spec.jobTemplate.spec.managedBy: Invalid value: "multikueue": must be a domain-prefixed path (such as "acme.io/foo")"#,
        ..QUIET
    },
    Expected {
        name: "14-cronjob-whose-template-changes",
        ..QUIET
    },
];

#[test]
fn each_example_gets_its_answer() {
    let examples = examples::read(&root("examples")).unwrap();
    let names: Vec<_> = examples.iter().map(|e| &*e.name).collect();
    assert_eq!(names, EXPECTED.iter().map(|e| e.name).collect::<Vec<_>>());
    for (example, expected) in examples.iter().zip(EXPECTED) {
        let answer = everywhere(&example.request, &example.settings);
        let name = expected.name;
        assert_eq!(answer.denied(), expected.denied, "{name}");
        assert_eq!(answer.warned(), expected.warned, "{name}");
        assert_eq!(answer.message(), expected.message, "{name}");
        assert_eq!(answer.warnings, expected.warnings, "{name}");
        assert_eq!(answer.allowed, expected.denied.is_empty(), "{name}");
        assert_eq!(answer.code, (!answer.allowed).then_some(422), "{name}");
    }
}
