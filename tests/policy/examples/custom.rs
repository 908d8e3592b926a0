use super::{Expected, QUIET};

pub(super) const EXPECTED: &[Expected] = &[
    Expected {
        name: "custom/01-workflow-for-multikueue",
        ..QUIET
    },
    Expected {
        name: "custom/02-workflow-with-a-typo-in-the-controller",
        denied: &["managed-by/allowed spec.managedBy"],
        warned: &["managed-by/reserved-domain spec.managedBy"],
        message: r#"Workflow.argoproj.io "nightly" is invalid: spec.managedBy: Unsupported value: "kueue.x-k8s.io/multi-kueue": did you mean "kueue.x-k8s.io/multikueue"? allowed for Workflows in namespace "team-a": "kueue.x-k8s.io/multikueue" [managed-by/allowed]"#,
        warnings: &[
            r#"spec.managedBy: "kueue.x-k8s.io/multi-kueue": no known controller has this name, did you mean "kueue.x-k8s.io/multikueue"? [managed-by/reserved-domain]"#,
        ],
    },
    Expected {
        name: "custom/03-workflow-with-a-typo-in-its-own-controller",
        denied: &["managed-by/allowed spec.managedBy"],
        warned: &["managed-by/reserved-domain spec.managedBy"],
        message: r#"Workflow.argoproj.io "nightly" is invalid: spec.managedBy: Unsupported value: "argoproj.io/workflow-controler": allowed for Workflows in namespace "team-a": "kueue.x-k8s.io/multikueue" [managed-by/allowed]"#,
        warnings: &[
            r#"spec.managedBy: "argoproj.io/workflow-controler": no known controller has this name, did you mean "argoproj.io/workflow-controller"? [managed-by/reserved-domain]"#,
        ],
    },
    Expected {
        name: "custom/04-workflow-handed-over-after-creation",
        denied: &["managed-by/immutable spec.managedBy"],
        message: r#"Workflow.argoproj.io "nightly" is invalid: spec.managedBy: Invalid value: "kueue.x-k8s.io/multikueue": field is immutable [managed-by/immutable]"#,
        ..QUIET
    },
    Expected {
        name: "custom/05-workflow-with-an-outcome-taken-back",
        denied: &["status/outcome-changed status.phase"],
        message: r#"Workflow.argoproj.io "nightly" is invalid: status.phase: Invalid value: cannot take back the outcome Succeeded [status/outcome-changed]"#,
        ..QUIET
    },
    Expected {
        name: "custom/06-workflow-status-written-by-a-person",
        denied: &["status-writer/delegated status"],
        message: r#"workflows.argoproj.io "nightly" is forbidden: User "ana" cannot update resource "workflows/status" in API group "argoproj.io" in the namespace "team-a": only system:serviceaccount:kueue-system:kueue-controller-manager may write the status of what is delegated to "kueue.x-k8s.io/multikueue" [status-writer/delegated]"#,
        ..QUIET
    },
    Expected {
        name: "custom/07-workflow-ends-before-it-starts",
        warned: &["status/end-before-start status.finishedAt"],
        warnings: &[
            r#"status.finishedAt: "2026-11-20T09:01:00Z": must be equal to or after `startedAt` [status/end-before-start]"#,
        ],
        ..QUIET
    },
    Expected {
        name: "custom/08-sparkapplication-starts-over-on-another-worker",
        ..QUIET
    },
    Expected {
        name: "custom/09-sparkapplication-with-an-outcome-taken-back",
        denied: &["status/outcome-changed status.applicationState.state"],
        message: r#"SparkApplication.sparkoperator.k8s.io "pi" is invalid: status.applicationState.state: Invalid value: cannot take back the outcome COMPLETED [status/outcome-changed]"#,
        ..QUIET
    },
    Expected {
        name: "custom/10-render-completes",
        ..QUIET
    },
    Expected {
        name: "custom/11-render-done-and-broken",
        warned: &[
            "status/two-outcomes status.conditions",
            "status/negative-counter status.frames.left",
        ],
        warnings: &[
            "status.conditions: Invalid value: cannot be both Done and Broken [status/two-outcomes]",
            "status.frames.left: -1: must be greater than or equal to 0 [status/negative-counter]",
        ],
        ..QUIET
    },
    Expected {
        name: "custom/12-render-handed-back",
        denied: &["managed-by/immutable spec.execution.managedBy"],
        message: r#"Render.studio.example.com "harbour" is invalid: spec.execution.managedBy: Invalid value: null: field is immutable [managed-by/immutable]"#,
        ..QUIET
    },
];
