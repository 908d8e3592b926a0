//! States of a Job's status, and the updates between them, for the table in the guide.

use managed_by_testing::releases::status_update;
use serde_json::{Value, json};

/// A state of a Job that is not indexed.
pub(crate) struct State {
    pub(crate) name: &'static str,
    /// Value of `spec.suspend`.
    pub(crate) suspend: bool,
    pub(crate) status: Value,
}

/// Start time of a Job that has started.
pub(super) const START: &str = "2026-01-01T00:00:00Z";
/// Completion time of a finished Job.
pub(crate) const END: &str = "2026-01-01T01:00:00Z";

pub(super) fn conditions(types: &[(&str, &str)]) -> Value {
    let condition = |(name, status): &(&str, &str)| json!({"type": name, "status": status});
    types.iter().map(condition).collect()
}

/// Returns all states, in the order of the table.
pub(crate) fn states() -> [State; 7] {
    [
        State {
            name: "Created",
            suspend: false,
            status: json!({}),
        },
        State {
            name: "Suspended",
            suspend: true,
            status: json!({"conditions": conditions(&[("Suspended", "True")])}),
        },
        State {
            name: "Running",
            suspend: false,
            status: json!({"startTime": START, "active": 2, "ready": 1}),
        },
        State {
            name: "Succeeding",
            suspend: false,
            status: json!({"startTime": START, "succeeded": 2, "terminating": 1,
                "conditions": conditions(&[("SuccessCriteriaMet", "True")])}),
        },
        State {
            name: "Complete",
            suspend: false,
            status: json!({"startTime": START, "completionTime": END, "succeeded": 2,
                "conditions": conditions(&[("SuccessCriteriaMet", "True"), ("Complete", "True")])}),
        },
        State {
            name: "Failing",
            suspend: false,
            status: json!({"startTime": START, "failed": 1, "terminating": 1,
                "conditions": conditions(&[("FailureTarget", "True")])}),
        },
        State {
            name: "Failed",
            suspend: false,
            status: json!({"startTime": START, "failed": 2,
                "conditions": conditions(&[("FailureTarget", "True"), ("Failed", "True")])}),
        },
    ]
}

/// Builds the status update from one state to another.
///
/// The stored spec already has the new value of `suspend`. Counters that are higher in the old state keep their values. If the old
/// state has the condition `Suspended` and the new one does not, the update sets it to False.
pub(crate) fn step(from: &State, to: &State) -> Value {
    let mut status = to.status.clone();
    for counter in ["succeeded", "failed"] {
        let count = |status: &Value| status[counter].as_i64().unwrap_or_default();
        let maximum = count(&from.status).max(count(&status));
        if maximum > 0 {
            status[counter] = maximum.into();
        }
    }
    let has_condition = |status: &Value, name: &str| {
        let entries = status["conditions"].as_array();
        entries.into_iter().flatten().any(|c| c["type"] == name)
    };
    if has_condition(&from.status, "Suspended") && !has_condition(&to.status, "Suspended") {
        let entries = status["conditions"].as_array().cloned().unwrap_or_default();
        let resumed = json!({"type": "Suspended", "status": "False"});
        status["conditions"] = [vec![resumed], entries].concat().into();
    }
    status_update(&spec(to), &from.status, &status)
}

fn spec(state: &State) -> Value {
    json!({"managedBy": "acme.io/runner", "parallelism": 2, "completions": 2, "suspend": state.suspend})
}
