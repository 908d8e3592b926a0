//! Whether a write exercises a rule: the rule looked at it, and it could have broken it.
//!
//! For kube-apiserver's rules this is upstream's switch (`getStatusValidationOptions`: what must have changed) together with
//! what the rule is about: a running Job does not exercise a rule on finished ones. A test holds it to the vectors: whatever a
//! rule denies, exercises it.

use managed_by::Kind;
use serde_json::Value;

/// A write, as its two objects.
pub(crate) struct Write<'v> {
    /// The object as stored; `null` if it is created.
    pub(crate) old: &'v Value,
    /// The object as it is to become.
    pub(crate) new: &'v Value,
    /// Whether the subresource `status` was written.
    pub(crate) is_status: bool,
}

const ENDS: [&str; 2] = ["Complete", "Failed"];

impl<'v> Write<'v> {
    /// The write that an admission request asks for.
    pub(crate) fn of(request: &'v Value) -> Self {
        let member = |name: &str| request.get(name).unwrap_or(&Value::Null);
        Self {
            old: member("oldObject"),
            new: member("object"),
            is_status: member("subResource") == "status",
        }
    }

    /// The object whose spec counts.
    pub(crate) fn spec_holder(&self) -> &'v Value {
        if self.is_status { self.old } else { self.new }
    }

    /// Whether the write exercises a rule on objects of a kind that the rule judges.
    pub(crate) fn exercises(&self, rule: &str, kind: &Kind<'_>) -> bool {
        if rule == "job-spec/scheduling-directives" {
            return self.changes_template();
        }
        let brings_status = self.is_status || (self.old.is_null() && self.has_status());
        match rule.split_once('/') {
            Some(("job-status", name)) => brings_status && self.exercises_status(name),
            // A promise of the kind's project is one about every status.
            Some(("status", _)) => brings_status && !kind.is_built_in(),
            _ => false,
        }
    }

    fn has_status(&self) -> bool {
        let status = self.new.get("status").and_then(Value::as_object);
        status.is_some_and(|status| !status.is_empty())
    }

    fn changes_template(&self) -> bool {
        let template = |object: &'v Value| object.pointer("/spec/template");
        let is_suspended = self.old.pointer("/spec/suspend") == Some(&Value::Bool(true));
        !self.is_status && is_suspended && template(self.old) != template(self.new)
    }

    fn exercises_status(&self, name: &str) -> bool {
        let (old, new) = (Status::of(self.old), Status::of(self.new));
        let spec = self.spec_holder().get("spec").unwrap_or(&Value::Null);
        let is_indexed = spec
            .get("completionMode")
            .is_some_and(|mode| mode == "Indexed");
        let has_policy = spec
            .get("successPolicy")
            .is_some_and(|policy| !policy.is_null());
        let changed = |names: &[&str]| names.iter().any(|name| old.get(name) != new.get(name));
        let turned = |types: &[&str]| types.iter().any(|t| old.is(&[t]) != new.is(&[t]));
        let finished =
            |member: &str| new.is(&ENDS) && (old.is(&ENDS) != new.is(&ENDS) || changed(&[member]));
        match name {
            "negative-counter" => COUNTERS.iter().any(|name| new.number(name) != 0),
            "uncounted-uids" => new.has_uncounted(),
            "complete-and-failed" => turned(&ENDS) && new.is(&ENDS),
            "complete-and-failure-target" => {
                let types = ["Complete", "FailureTarget"];
                turned(&types) && new.is(&types)
            }
            "completion-time-without-complete" => {
                (turned(&["Complete"]) || changed(&["completionTime"])) && new.has("completionTime")
            }
            "complete-without-completion-time" => {
                (turned(&["Complete"]) || changed(&["completionTime"])) && new.is(&["Complete"])
            }
            "completion-time-before-start-time" => {
                let times = ["startTime", "completionTime"];
                changed(&times) && times.iter().all(|time| new.has(time))
            }
            "failed-without-failure-target" => {
                (turned(&["Failed"]) || changed(&["failedIndexes"])) && new.is(&["Failed"])
            }
            "complete-without-success-criteria-met" => {
                turned(&["Complete", "SuccessCriteriaMet"]) && new.is(&["Complete"])
            }
            "finished-with-active-pods" => finished("active"),
            "finished-without-start-time" => finished("startTime"),
            "finished-with-uncounted-pods" => finished("uncountedTerminatedPods"),
            "finished-with-terminating-pods" => finished("terminating"),
            "invalid-completed-indexes" => {
                changed(&["completedIndexes"]) && new.has("completedIndexes")
            }
            "invalid-failed-indexes" => changed(&["failedIndexes"]) && new.has("failedIndexes"),
            "completed-indexes-non-indexed" => {
                !is_indexed && changed(&["completedIndexes", "succeeded"])
            }
            "failed-indexes-without-backoff-limit-per-index" => {
                let limit = spec.get("backoffLimitPerIndex");
                limit.is_none_or(Value::is_null) && changed(&["failedIndexes", "failed"])
            }
            "failed-indexes-overlap-completed" => {
                let indexes = ["completedIndexes", "failedIndexes"];
                changed(&indexes) && indexes.iter().all(|list| new.has(list))
            }
            "ready-exceeds-active" => changed(&["ready", "active"]) && new.has("ready"),
            "success-criteria-met-non-indexed" => !is_indexed && new.is(&["SuccessCriteriaMet"]),
            "success-criteria-met-without-success-policy" => {
                !has_policy && new.is(&["SuccessCriteriaMet"])
            }
            "success-criteria-met-and-failed" => new.is(&["SuccessCriteriaMet", "Failed"]),
            "success-criteria-met-and-failure-target" => {
                new.is(&["SuccessCriteriaMet", "FailureTarget"])
            }
            "success-policy-without-success-criteria-met" => has_policy && new.is(&["Complete"]),
            "terminal-condition-disabled" => old.is(&["Complete", "Failed", "FailureTarget"]),
            "failed-decreased" => old.number("failed") > 0 || new.number("failed") < 0,
            "succeeded-decreased" => {
                let is_elastic = is_indexed && spec.get("completions") == spec.get("parallelism");
                !is_elastic && (old.number("succeeded") > 0 || new.number("succeeded") < 0)
            }
            "completion-time-changed" => old.has("completionTime") && new.has("completionTime"),
            "start-time-changed" => {
                let is_suspended = spec.get("suspend") == Some(&Value::Bool(true));
                old.has("startTime") && !is_suspended
            }
            "success-criteria-met-disabled" => old.is(&["SuccessCriteriaMet"]),
            "success-criteria-met-after-complete" => old.is(&["Complete"]),
            _ => false,
        }
    }
}

const COUNTERS: [&str; 5] = ["active", "succeeded", "failed", "ready", "terminating"];

/// A Job's status.
#[derive(Clone, Copy)]
struct Status<'v>(&'v Value);

impl<'v> Status<'v> {
    fn of(object: &'v Value) -> Self {
        Self(object.get("status").unwrap_or(&Value::Null))
    }

    /// A member; `null` if it is absent.
    fn get(self, name: &str) -> &'v Value {
        self.0.get(name).unwrap_or(&Value::Null)
    }

    fn has(self, name: &str) -> bool {
        let value = self.get(name);
        !value.is_null() && *value != ""
    }

    fn number(self, name: &str) -> i64 {
        self.get(name).as_i64().unwrap_or_default()
    }

    /// Whether one of the conditions is true.
    fn is(self, types: &[&str]) -> bool {
        let conditions = self.get("conditions").as_array();
        conditions.into_iter().flatten().any(|condition| {
            let says = |name: &str| condition.get(name).and_then(Value::as_str);
            says("status") == Some("True") && says("type").is_some_and(|t| types.contains(&t))
        })
    }

    fn has_uncounted(self) -> bool {
        let pods = self.get("uncountedTerminatedPods").as_object();
        let mut lists = pods.into_iter().flatten().map(|(_, list)| list);
        lists.any(|list| list.as_array().is_some_and(|uids| !uids.is_empty()))
    }
}
