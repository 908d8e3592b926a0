use super::{Expected, QUIET};

pub(super) const EXPECTED: &[Expected] = &[
    Expected {
        name: "status/01-running-job-completes",
        ..QUIET
    },
    Expected {
        name: "status/02-marked-complete-too-early",
        denied: &[
            "job-status/complete-without-completion-time status.completionTime",
            "job-status/complete-without-success-criteria-met status.conditions",
            "job-status/finished-with-active-pods status.active",
        ],
        message: r#"Job.batch "pi" is invalid: [status.completionTime: Required value: completionTime is required for Complete jobs, status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition, status.active: Invalid value: 1: active>0 is invalid for finished job]"#,
        ..QUIET
    },
    Expected {
        name: "status/03-terminal-condition-taken-back",
        denied: &["job-status/terminal-condition-disabled status.conditions"],
        message: r#"Job.batch "pi" is invalid: status.conditions: Invalid value: cannot disable the terminal Failed=True condition"#,
        ..QUIET
    },
    Expected {
        name: "status/04-counter-goes-down",
        denied: &["job-status/failed-decreased status.failed"],
        message: r#"Job.batch "pi" is invalid: status.failed: Invalid value: 2: cannot decrease the failed counter"#,
        ..QUIET
    },
    Expected {
        name: "status/05-indexes-that-overlap",
        denied: &["job-status/failed-indexes-overlap-completed status.failedIndexes"],
        message: r#"Job.batch "pi" is invalid: status.failedIndexes: Invalid value: "1,3": failedIndexes and completedIndexes overlap at index: 3"#,
        ..QUIET
    },
    Expected {
        name: "status/06-start-time-changed-while-running",
        denied: &["job-status/start-time-changed status.startTime"],
        message: r#"Job.batch "pi" is invalid: status.startTime: Invalid value: "2026-11-20T09:02:00Z": field is immutable for unsuspended job once set"#,
        ..QUIET
    },
    Expected {
        name: "status/07-start-time-changed-while-suspended",
        ..QUIET
    },
    Expected {
        name: "status/08-completion-before-start-in-the-words-of-1.33",
        denied: &["job-status/completion-time-before-start-time status.completionTime"],
        message: r#"Job.batch "pi" is invalid: status.completionTime: Invalid value: 2026-11-20 09:00:00 +0000 UTC: completionTime cannot be set before startTime"#,
        ..QUIET
    },
    Expected {
        name: "status/09-completion-before-start-in-the-words-of-1.36",
        denied: &["job-status/completion-time-before-start-time status.completionTime"],
        message: r#"Job.batch "pi" is invalid: status.completionTime: Invalid value: "2026-11-20T09:00:00Z": must be equal to or after `startTime`"#,
        ..QUIET
    },
    Expected {
        name: "status/10-stored-job-found-by-the-audit",
        denied: &[
            "job-status/complete-and-failed status.conditions",
            "job-status/complete-and-failure-target status.conditions",
            "job-status/success-criteria-met-and-failed status.conditions",
            "job-status/success-criteria-met-and-failure-target status.conditions",
        ],
        message: r#"Job.batch "pi" is invalid: [status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions, status.conditions: Invalid value: cannot set Complete=True and FailureTarget=true conditions, status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and Failed=true conditions, status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions]"#,
        ..QUIET
    },
];
