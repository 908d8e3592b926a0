//! Rules about the list of conditions.
//!
//! Source: "Typical status properties" in Kubernetes' API conventions, and `JobConditionType` of `k8s.io/api/batch/v1`.

use super::{only_in_tools, rule, with_statuses};
use crate::decode::Raw;
use crate::finding::{BadValue, FieldError};
use crate::rule::{Check, CheckFn, Context, Findings};
use crate::sorted::Sorted;
use crate::suggest::{did_you_mean, nearest};
use crate::upstream::time::Time;

/// The values of a condition's status (`ConditionStatus` of `k8s.io/api/core/v1`).
const STATUSES: [&str; 3] = ["True", "False", "Unknown"];

/// Condition of a status.
#[derive(PartialEq, Eq)]
pub(super) struct Condition {
    name: String,
    status: String,
    /// [`None`] if unset.
    pub(super) last_transition_time: Option<Time>,
}

impl Condition {
    fn read_all(status: Option<Raw<'_>>) -> Vec<Self> {
        let list = status.and_then(|status| status.member("conditions"));
        let mut conditions = Vec::new();
        for (_, json) in list.map(Raw::elements).unwrap_or_default() {
            let text = |name| json.member(name).and_then(Raw::string).unwrap_or_default();
            conditions.push(Self {
                name: text("type").into_owned(),
                status: text("status").into_owned(),
                last_transition_time: Time::parse(&text("lastTransitionTime"))
                    .map(Time::whole_seconds),
            });
        }
        conditions
    }

    /// Returns a key for the condition's type and status.
    fn state(&self) -> String {
        [&*self.name, &*self.status].join("\0")
    }
}

/// The conditions of the new and the old status. Both lists are empty if they are equal.
#[derive(Default)]
pub(crate) struct ChangedConditions {
    pub(super) new: Vec<Condition>,
    pub(super) old: Vec<Condition>,
}

impl ChangedConditions {
    fn read(context: &Context<'_>) -> Self {
        let mut lists = Self::default();
        with_statuses(context, &mut |new, old| {
            let [new, old] = [Some(new), old].map(Condition::read_all);
            if new != old {
                lists = Self { new, old };
            }
        });
        lists
    }
}

/// Returns the changed conditions, which are decoded once for all rules.
pub(super) fn changed<'c>(context: &'c Context<'_>) -> &'c ChangedConditions {
    let conditions = &context.changed_conditions;
    conditions.get_or_init(|| ChangedConditions::read(context))
}

pub(super) fn path(index: usize, field: &str) -> String {
    format!("status.conditions[{index}].{field}")
}

fn value(text: &str) -> BadValue<'static> {
    BadValue::NamedString(text.to_owned().into())
}

pub(crate) static DUPLICATE: Check = Check::new(
    rule(
        "job-conventions/duplicate-condition",
        include_str!("duplicate-condition.md"),
    ),
    CheckFn::Change(duplicate),
);

fn duplicate<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let ChangedConditions { new, .. } = changed(context);
    let sorted = Sorted::new(new.iter().map(|condition| &*condition.name));
    for ((first, _), (second, index)) in sorted.iter().zip(sorted.iter().skip(1)) {
        if first == second && !findings.is_full() {
            findings.push(FieldError::duplicate(path(index, "type"), value(second)));
        }
    }
}

/// Own types are legal, so that only a likely typo fires.
pub(crate) static TYPE: Check = only_in_tools(
    "job-conventions/condition-type",
    include_str!("condition-type.md"),
    CheckFn::Change(misspelled_type),
);

fn misspelled_type<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    const TYPES: [&str; 5] = [
        "Suspended",
        "Complete",
        "Failed",
        "FailureTarget",
        "SuccessCriteriaMet",
    ];
    let ChangedConditions { new, .. } = changed(context);
    for (index, Condition { name, .. }) in new.iter().enumerate() {
        let meant = nearest(name, TYPES).filter(|meant| meant != name);
        if let Some(meant) = meant.filter(|_| !findings.is_full()) {
            let error = FieldError::invalid(path(index, "type"), value(name), did_you_mean(meant));
            findings.push(error.with_suggestion(meant));
        }
    }
}

pub(crate) static UNKNOWN_STATUS: Check = Check::new(
    rule(
        "job-conventions/condition-status",
        include_str!("condition-status.md"),
    ),
    CheckFn::Change(unknown_status),
);

fn unknown_status<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let ChangedConditions { new, .. } = changed(context);
    for (index, Condition { status, .. }) in new.iter().enumerate() {
        if STATUSES.contains(&&**status) || findings.is_full() {
            continue;
        }
        let supported = "supported values: \"False\", \"True\", \"Unknown\"";
        let error = FieldError::not_supported(path(index, "status"), value(status), supported);
        let mut statuses = STATUSES.into_iter();
        let meant = statuses.find(|known| known.eq_ignore_ascii_case(status));
        findings.push(match meant {
            Some(meant) => error.with_suggestion(meant),
            None => error,
        });
    }
}

pub(crate) static TRANSITION_TIME: Check = Check::new(
    rule(
        "job-conventions/transition-time",
        include_str!("transition-time.md"),
    ),
    CheckFn::Change(transition_time),
);

fn transition_time<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let ChangedConditions { new, old } = changed(context);
    let known: Vec<_> = old.iter().map(Condition::state).collect();
    let known = Sorted::new(known.iter().map(|state| &**state));
    for (index, condition) in new.iter().enumerate() {
        let unchanged = known.index_of(&condition.state());
        let Some(old) = unchanged.and_then(|index| old.get(index)) else {
            continue;
        };
        let (time, status) = (condition.last_transition_time, &condition.status);
        if time != old.last_transition_time && !findings.is_full() {
            let detail = format!("must not change while the condition stays {status}");
            findings.invalid(
                path(index, "lastTransitionTime"),
                BadValue::Time(time),
                detail,
            );
        }
    }
}
