//! Rules about counters: never negative, and some never decrease.

use super::CustomStatusChange;
use crate::description::{Enforcement, Rule};
use crate::finding::BadValue;
use crate::rule::{Check, CheckFn, Findings};
use crate::sorted::Sorted;

pub(crate) static NEGATIVE: Check = Check::new(
    Rule::policy(
        "status/negative-counter",
        include_str!("negative-counter.md"),
    )
    .for_kinds(|kind| {
        kind.status_profile_matches(|profile| {
            !profile.counters.is_empty() || !profile.monotonic_counters.is_empty()
        })
    }),
    CheckFn::CustomStatus(negative),
);

fn negative<'a>(status: &CustomStatusChange<'a>, findings: &mut Findings<'a>) {
    let old = &status.old_or_empty().negative;
    let paths = Sorted::new(old.iter().map(|(path, _)| &**path));
    for counter in &status.new.negative {
        let (path, value) = counter;
        let stored = paths.index_of(path).and_then(|index| old.get(index));
        if stored != Some(counter) {
            let detail = "must be greater than or equal to 0";
            findings.invalid(&**path, BadValue::Int64(*value), detail);
        }
    }
}

pub(crate) static DECREASED: Check = Check::new(
    Rule::policy(
        "status/counter-decreased",
        include_str!("counter-decreased.md"),
    )
    .with_default(Enforcement::Warn)
    .for_kinds(|kind| {
        kind.status_profile_matches(|profile| !profile.monotonic_counters.is_empty())
    }),
    CheckFn::CustomStatus(decreased),
);

fn decreased<'a>(status: &CustomStatusChange<'a>, findings: &mut Findings<'a>) {
    let Some(old) = status.old.filter(|_| !status.is_delegated) else {
        return;
    };
    for (index, path) in status.profile.monotonic_counters.iter().enumerate() {
        let (old, new) = (
            old.monotonic_counter(index),
            status.new.monotonic_counter(index),
        );
        if new < old {
            let detail = format!("cannot decrease from {old}");
            findings.invalid(*path, BadValue::Int64(new), detail);
        }
    }
}
