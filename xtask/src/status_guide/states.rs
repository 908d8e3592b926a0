//! The states of a Job, and the steps between them.

use serde_json::{Value, json};

use crate::releases::status_update;

/// A state of a Job that is not indexed, by the status that its controller has written.
pub struct State {
    /// Its name in the picture.
    pub name: &'static str,
    /// Whether its spec suspends it.
    pub suspend: bool,
    /// Its status.
    pub status: Value,
}

pub(super) const START: &str = "2026-01-01T00:00:00Z";
/// When it ends.
pub const END: &str = "2026-01-01T01:00:00Z";

pub(super) fn conditions(types: &[(&str, &str)]) -> Value {
    let condition = |(name, status): &(&str, &str)| json!({"type": name, "status": status});
    types.iter().map(condition).collect()
}

/// All of them.
pub fn states() -> [State; 7] {
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

/// The step from one state to another.
///
/// People suspend and resume by the spec; the controller sees that before it writes. Counters never fall, and what has
/// happened is not taken back: a step keeps the counters of the state before, where they are higher.
pub fn step(from: &State, to: &State) -> Value {
    let mut status = to.status.clone();
    for counter in ["succeeded", "failed"] {
        let of = |status: &Value| status[counter].as_i64().unwrap_or_default();
        let higher = of(&from.status).max(of(&status));
        if higher > 0 {
            status[counter] = higher.into();
        }
    }
    let is_true = |status: &Value, name: &str| {
        let entries = status["conditions"].as_array();
        entries.into_iter().flatten().any(|c| c["type"] == name)
    };
    if is_true(&from.status, "Suspended") && !is_true(&to.status, "Suspended") {
        let entries = status["conditions"].as_array().cloned().unwrap_or_default();
        let resumed = json!({"type": "Suspended", "status": "False"});
        status["conditions"] = [vec![resumed], entries].concat().into();
    }
    status_update(&spec(to), &from.status, &status)
}

fn spec(state: &State) -> Value {
    json!({"managedBy": "acme.io/runner", "parallelism": 2, "completions": 2, "suspend": state.suspend})
}
