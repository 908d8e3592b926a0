//! Conformance profiles: the parts of the Job API that a recording of a controller must exercise.
//!
//! A profile lists transitions of a Job and rules. A rule is exercised if a write could have violated it (see
//! `managed_by::exercised_rules`).

use std::collections::BTreeSet;

use serde_json::Value;

/// Part of the Job API that a controller supports.
#[derive(Debug)]
pub struct Profile {
    /// Name, such as `Core`.
    pub name: &'static str,
    /// Description of a controller with this profile.
    pub title: &'static str,
    /// Transitions that the recording must contain.
    pub transitions: &'static [Transition],
    /// Ids of the rules that writes must exercise, in the releases that have the rule. Rules about what a controller may leave out, such as
    /// `ready` or counters that grow in several writes, are not among them.
    pub rules: &'static [&'static str],
}

/// Change of a Job by one write.
#[derive(Debug)]
pub struct Transition {
    /// Id, such as `start`. Unique within the profile.
    pub id: &'static str,
    /// The change that the write makes.
    pub title: &'static str,
    /// Id of the transition of the same Job that must precede this one.
    pub after: Option<&'static str>,
    matches: fn(&JobChange<'_>) -> bool,
}

const fn transition(
    id: &'static str,
    title: &'static str,
    matches: fn(&JobChange<'_>) -> bool,
) -> Transition {
    Transition {
        id,
        title,
        after: None,
        matches,
    }
}

impl Transition {
    const fn after(self, id: &'static str) -> Self {
        Self {
            after: Some(id),
            ..self
        }
    }
}

/// The profile that every controller of Jobs supports.
pub const CORE: &str = "Core";

/// The profile of controllers without Jobs: every rule for the status of the recorded kinds is exercised.
pub const STATUS: &str = "Status";

const COMPLETES: Transition = transition("complete", "the Job completes", |job| {
    job.becomes_true("Complete")
});

/// The profiles for Jobs. The first one is [`CORE`], and the others are extended features.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: CORE,
        title: "Starts Jobs, counts their pods, and completes or fails them",
        transitions: &[
            transition("start", "`startTime` is set", |job| job.is_set("startTime")),
            transition("active", "`active` rises above 0", |job| {
                job.rises_above_zero("active")
            }),
            transition("succeeded", "`succeeded` increases", |job| {
                job.increases("succeeded")
            }),
            transition("failed", "`failed` increases", |job| {
                job.increases("failed")
            }),
            transition("complete", "`Complete` becomes True", |job| {
                job.becomes_true("Complete")
            }),
            transition("fail", "`Failed` becomes True", |job| {
                job.becomes_true("Failed")
            }),
        ],
        rules: &[
            "job-status/negative-counter",
            "job-status/complete-and-failed",
            "job-status/complete-and-failure-target",
            "job-status/completion-time-without-complete",
            "job-status/complete-without-completion-time",
            "job-status/completion-time-before-start-time",
            "job-status/failed-without-failure-target",
            "job-status/complete-without-success-criteria-met",
            "job-status/finished-with-active-pods",
            "job-status/finished-without-start-time",
            "job-status/start-time-changed",
        ],
    },
    Profile {
        name: "Suspend",
        title: "Suspends and resumes Jobs",
        transitions: &[
            transition(
                "suspend",
                "`Suspended` of a started Job becomes True",
                |job| job.becomes_true("Suspended") && job.is_started(),
            ),
            transition("resume", "`Suspended` becomes False", |job| {
                is_true(job.old, "Suspended") && !is_true(job.new, "Suspended")
            })
            .after("suspend"),
            COMPLETES.after("resume"),
        ],
        rules: &[],
    },
    Profile {
        name: "Indexed",
        title: "Records the completed indexes of Indexed Jobs",
        transitions: &[
            transition("index-completed", "`completedIndexes` changes", |job| {
                job.is_indexed() && job.changes("completedIndexes")
            }),
            COMPLETES.after("index-completed"),
        ],
        rules: &["job-status/invalid-completed-indexes"],
    },
    Profile {
        name: "BackoffLimitPerIndex",
        title: "Limits the retries of each index",
        transitions: &[
            transition("index-failed", "`failedIndexes` changes", |job| {
                job.has_spec("backoffLimitPerIndex") && job.changes("failedIndexes")
            }),
            transition("fail", "the Job fails", |job| job.becomes_true("Failed"))
                .after("index-failed"),
        ],
        rules: &[
            "job-status/invalid-failed-indexes",
            "job-status/failed-indexes-overlap-completed",
        ],
    },
    Profile {
        name: "SuccessPolicy",
        title: "Completes Jobs by their success policy",
        transitions: &[
            transition(
                "success-criteria-met",
                "`SuccessCriteriaMet` of a Job with `successPolicy` becomes True",
                |job| job.has_spec("successPolicy") && job.becomes_true("SuccessCriteriaMet"),
            ),
            // A write may set both conditions.
            transition("complete", "a Job with `successPolicy` completes", |job| {
                job.has_spec("successPolicy") && job.becomes_true("Complete")
            }),
        ],
        rules: &["job-status/success-policy-without-success-criteria-met"],
    },
    Profile {
        name: "PodFailurePolicy",
        title: "Fails Jobs by their pod failure policy",
        transitions: &[transition(
            "fail",
            "`Failed` becomes True with reason `PodFailurePolicy`",
            |job| {
                job.has_spec("podFailurePolicy")
                    && job.becomes_true("Failed")
                    && reason(job.new, "Failed") == Some("PodFailurePolicy")
            },
        )],
        rules: &["job-status/failed-without-failure-target"],
    },
    Profile {
        name: "PodReplacementPolicy",
        title: "Replaces pods only after they have terminated",
        transitions: &[
            transition(
                "terminating",
                "`terminating` of a Job with `podReplacementPolicy: Failed` rises above 0",
                |job| {
                    job.spec_is("podReplacementPolicy", "Failed")
                        && job.rises_above_zero("terminating")
                },
            ),
            transition("terminated", "`terminating` falls to 0", |job| {
                count(job.old, "terminating") > 0 && count(job.new, "terminating") == 0
            })
            .after("terminating"),
            transition("finish", "the Job completes or fails", |job| {
                job.becomes_true("Complete") || job.becomes_true("Failed")
            })
            .after("terminated"),
        ],
        rules: &["job-status/finished-with-terminating-pods"],
    },
    Profile {
        name: "Elastic",
        title: "Follows a change of `completions` while an Indexed Job runs",
        transitions: &[
            transition("scale", "`completions` of a started Job changes", |job| {
                job.is_indexed()
                    && job.is_started()
                    && spec(job.old, "completions") != spec(job.new, "completions")
            }),
            COMPLETES.after("scale"),
        ],
        rules: &["job-status/invalid-completed-indexes"],
    },
    Profile {
        name: "Mirror",
        title: "Copies the status of a Job in another cluster",
        transitions: &[
            transition(
                "copy-complete",
                "one write sets both `SuccessCriteriaMet` and `Complete`",
                |job| job.becomes_true("SuccessCriteriaMet") && job.becomes_true("Complete"),
            ),
            transition(
                "copy-failed",
                "one write sets both `FailureTarget` and `Failed`",
                |job| job.becomes_true("FailureTarget") && job.becomes_true("Failed"),
            ),
        ],
        rules: &[
            "job-status/complete-without-success-criteria-met",
            "job-status/failed-without-failure-target",
        ],
    },
];

pub fn profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

/// Transitions that a recording contains, by profile and id.
#[derive(Debug, Clone, Default)]
pub struct Transitions(BTreeSet<(&'static str, &'static str)>);

impl Transitions {
    /// Returns true if a transition of a profile was found.
    pub fn contains(&self, profile: &'static str, transition: &'static str) -> bool {
        self.0.contains(&(profile, transition))
    }

    /// Adds the transitions in a set.
    pub fn extend(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    /// Adds the transitions of a Job by a write, given the Job's earlier transitions. A write can make several, such as the start
    /// and the end.
    pub fn add(&mut self, old: &Value, new: &Value) {
        let change = JobChange { old, new };
        for profile in PROFILES {
            for transition in profile.transitions {
                let is_preceded = transition
                    .after
                    .is_none_or(|earlier| self.contains(profile.name, earlier));
                if is_preceded && (transition.matches)(&change) {
                    self.0.insert((profile.name, transition.id));
                }
            }
        }
    }
}

/// A Job before and after a write.
struct JobChange<'v> {
    old: &'v Value,
    new: &'v Value,
}

impl JobChange<'_> {
    fn increases(&self, counter: &str) -> bool {
        count(self.new, counter) > count(self.old, counter)
    }

    fn rises_above_zero(&self, counter: &str) -> bool {
        count(self.old, counter) == 0 && count(self.new, counter) > 0
    }

    fn changes(&self, field: &str) -> bool {
        status(self.old, field) != status(self.new, field)
    }

    fn is_set(&self, field: &str) -> bool {
        status(self.old, field).is_none() && status(self.new, field).is_some()
    }

    fn becomes_true(&self, condition: &str) -> bool {
        !is_true(self.old, condition) && is_true(self.new, condition)
    }

    fn is_started(&self) -> bool {
        status(self.old, "startTime").is_some()
    }

    fn has_spec(&self, field: &str) -> bool {
        spec(self.old, field).is_some()
    }

    fn spec_is(&self, field: &str, wanted: &str) -> bool {
        spec(self.old, field).is_some_and(|value| value == wanted)
    }

    fn is_indexed(&self) -> bool {
        self.spec_is("completionMode", "Indexed")
    }
}

fn spec<'v>(job: &'v Value, field: &str) -> Option<&'v Value> {
    job.get("spec")?.get(field).filter(|value| !value.is_null())
}

fn status<'v>(job: &'v Value, field: &str) -> Option<&'v Value> {
    job.get("status")?
        .get(field)
        .filter(|value| !value.is_null())
}

fn count(job: &Value, counter: &str) -> i64 {
    let value = status(job, counter).and_then(Value::as_i64);
    value.unwrap_or_default()
}

fn condition<'v>(job: &'v Value, name: &str) -> Option<&'v Value> {
    let conditions = status(job, "conditions")?.as_array()?;
    let mut conditions = conditions.iter();
    conditions.find(|condition| condition.get("type").and_then(Value::as_str) == Some(name))
}

fn is_true(job: &Value, name: &str) -> bool {
    let status = condition(job, name).and_then(|condition| condition.get("status"));
    status.and_then(Value::as_str) == Some("True")
}

fn reason<'v>(job: &'v Value, name: &str) -> Option<&'v str> {
    condition(job, name)?.get("reason")?.as_str()
}

pub fn is_finished(job: &Value) -> bool {
    is_true(job, "Complete") || is_true(job, "Failed")
}

/// Returns true if the Job is, or should be, suspended.
pub fn is_suspended(job: &Value) -> bool {
    spec(job, "suspend").and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use managed_by::rule;
    use serde_json::json;

    use super::{CORE, PROFILES, Transitions, profile};

    #[test]
    fn profiles_name_existing_rules_and_earlier_transitions() {
        assert_eq!(PROFILES[0].name, CORE);
        for profile in PROFILES {
            for id in profile.rules {
                assert!(rule(id).is_some_and(managed_by::Rule::is_upstream), "{id}");
            }
            for (index, transition) in profile.transitions.iter().enumerate() {
                let mut earlier = profile.transitions.iter().take(index);
                let after = transition.after;
                assert!(
                    after.is_none_or(|id| earlier.any(|earlier| earlier.id == id)),
                    "{}: {}",
                    profile.name,
                    transition.id
                );
            }
        }
    }

    #[test]
    fn transition_requires_the_earlier_one_of_the_same_job() {
        let job = |suspended: &str, complete: &str| {
            json!({"status": {"startTime": "2026-01-01T00:00:00Z", "conditions": [
                {"type": "Suspended", "status": suspended}, {"type": "Complete", "status": complete}]}})
        };
        let (running, suspended) = (job("False", "False"), job("True", "False"));
        let complete = job("False", "True");
        let suspend = profile("Suspend").unwrap();
        let found = |states: &[&serde_json::Value]| {
            let mut transitions = Transitions::default();
            for pair in states.windows(2) {
                transitions.add(pair[0], pair[1]);
            }
            let ids = suspend.transitions.iter().map(|transition| transition.id);
            ids.filter(|id| transitions.contains("Suspend", id))
                .collect::<Vec<_>>()
        };
        assert_eq!(found(&[&suspended, &running, &complete]), [""; 0]);
        assert_eq!(
            found(&[&running, &suspended, &running, &complete]),
            ["suspend", "resume", "complete"]
        );
    }
}
