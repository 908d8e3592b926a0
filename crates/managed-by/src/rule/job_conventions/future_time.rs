//! `job-conventions/future-time`

use super::conditions::{ChangedConditions, changed, path};
use super::only_in_tools;
use crate::decode::Raw;
use crate::finding::BadValue;
use crate::rule::{Check, CheckFn, Context, Findings};
use crate::upstream::time::Time;

/// How much a controller's clock may be ahead of the API server's, in seconds.
const CLOCK_SKEW: i64 = 60;

pub(crate) static RULE: Check = only_in_tools(
    "job-conventions/future-time",
    include_str!("future-time.md"),
    CheckFn::Change(check),
);

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let (Some(status), Some(written)) = (&context.status, written(context)) else {
        return;
    };
    let ChangedConditions { new, old } = changed(context);
    let is_future = |time: Option<Time>| time > Some(written.add_seconds(CLOCK_SKEW));
    let old_times = status.old.map(|old| [old.start_time, old.completion_time]);
    let mut old_times = old_times.into_iter().flatten();
    if old_times.any(is_future) || old.iter().any(|old| is_future(old.last_transition_time)) {
        return;
    }
    let mut check = |path: String, time: Option<Time>| {
        if is_future(time) && !findings.is_full() {
            let detail = "must not be later than the write, by the time in managedFields";
            findings.invalid(path, BadValue::Time(time), detail);
        }
    };
    check("status.startTime".to_owned(), status.new.start_time);
    check(
        "status.completionTime".to_owned(),
        status.new.completion_time,
    );
    for (index, condition) in new.iter().enumerate() {
        check(
            path(index, "lastTransitionTime"),
            condition.last_transition_time,
        );
    }
}

/// Returns when the API server stored the new object. A client sends the `managedFields` of the object that it read.
fn written(context: &Context<'_>) -> Option<Time> {
    fn managed_fields(object: &str) -> Option<Raw<'_>> {
        Raw::new(object).member("metadata")?.member("managedFields")
    }
    let newest = |fields: Raw<'_>| {
        let times = fields.elements().into_iter();
        let times = times.filter_map(|(_, entry)| entry.member("time")?.string());
        times.filter_map(|time| Time::parse(&time)).max()
    };
    let objects = context.request.source.json()?;
    let new = managed_fields(&objects.object)?;
    let old = objects.old.as_deref().and_then(managed_fields);
    let is_stored = old.is_none_or(|old| old.as_str() != new.as_str());
    newest(new).filter(|new| is_stored && Some(*new) >= old.and_then(newest))
}
