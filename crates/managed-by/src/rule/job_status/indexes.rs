//! Rules about `completedIndexes` and `failedIndexes`: indexes and intervals such as `1,3-5,7`.

use super::{JobStatusChange, VALIDATE_STATUS, rule};
use crate::description::Upstream;
use crate::finding::BadValue;
use crate::rule::{Check, CheckFn, Findings};
use crate::upstream::go;

const COMPLETED: &str = "status.completedIndexes";
const FAILED: &str = "status.failedIndexes";

pub(crate) static INVALID_COMPLETED: Check = Check::new(
    rule(
        "job-status/invalid-completed-indexes",
        include_str!("invalid-completed-indexes.md"),
        Upstream::in_function(VALIDATE_STATUS).with_option("RejectInvalidCompletedIndexes"),
    ),
    CheckFn::JobStatus(invalid_completed),
)
.applies_when(|changed| changed.completed_indexes)
.exercised_when(|status| !status.new.completed_indexes.is_empty());

fn invalid_completed<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    let indexes = &*status.new.completed_indexes;
    if !indexes.is_empty()
        && let Some(completions) = status.spec.completions()
        && let Err(error) = check_format(indexes, completions)
    {
        let detail = format!("error parsing completedIndexes: {error}");
        findings.invalid(COMPLETED, BadValue::String(indexes.into()), detail);
    }
}

pub(crate) static INVALID_FAILED: Check = Check::new(
    rule(
        "job-status/invalid-failed-indexes",
        include_str!("invalid-failed-indexes.md"),
        Upstream::in_function(VALIDATE_STATUS).with_option("RejectInvalidFailedIndexes"),
    ),
    CheckFn::JobStatus(invalid_failed),
)
.applies_when(|changed| changed.failed_indexes)
.exercised_when(|status| failed_indexes(status).is_some());

/// Returns the failed indexes, unless there are none.
fn failed_indexes<'a>(status: &JobStatusChange<'a>) -> Option<&'a str> {
    let indexes = status.new.failed_indexes.as_deref();
    indexes.filter(|indexes| !indexes.is_empty())
}

fn invalid_failed<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    let indexes = failed_indexes(status);
    if status.spec.backoff_limit_per_index.is_some()
        && let Some((indexes, completions)) = indexes.zip(status.spec.completions())
        && let Err(error) = check_format(indexes, completions)
    {
        let detail = format!("error parsing failedIndexes: {error}");
        let value = BadValue::Pointer(Some(indexes.into()));
        findings.invalid(FAILED, value, detail);
    }
}

pub(crate) static COMPLETED_INDEXES_NON_INDEXED: Check = Check::new(
    rule(
        "job-status/completed-indexes-non-indexed",
        include_str!("completed-indexes-non-indexed.md"),
        Upstream::in_function(VALIDATE_STATUS)
            .with_option("RejectCompletedIndexesForNonIndexedJob"),
    ),
    CheckFn::JobStatus(completed_indexes_non_indexed),
)
.exercised_when(|status| {
    !status.spec.is_indexed()
        && (status.changed.completed_indexes
            || status.new.succeeded != status.old.map_or(0, |old| old.succeeded))
});

fn completed_indexes_non_indexed<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    if status.changed.completed_indexes
        && !status.spec.is_indexed()
        && !status.new.completed_indexes.is_empty()
    {
        let indexes = &*status.new.completed_indexes;
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        findings.invalid(COMPLETED, BadValue::String(indexes.into()), detail);
    }
}

pub(crate) static FAILED_WITHOUT_LIMIT: Check = Check::new(
    rule(
        "job-status/failed-indexes-without-backoff-limit-per-index",
        include_str!("failed-indexes-without-backoff-limit-per-index.md"),
        Upstream::in_function(VALIDATE_STATUS)
            .with_option("RejectFailedIndexesForNoBackoffLimitPerIndex"),
    ),
    CheckFn::JobStatus(failed_without_limit),
)
.exercised_when(|status| {
    status.spec.backoff_limit_per_index.is_none()
        && (status.changed.failed_indexes
            || status.new.failed != status.old.map_or(0, |old| old.failed))
});

fn failed_without_limit<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    if status.changed.failed_indexes
        && status.spec.backoff_limit_per_index.is_none()
        && let Some(indexes) = status.new.failed_indexes.as_deref()
    {
        let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        findings.invalid(FAILED, BadValue::String(indexes.into()), detail);
    }
}

pub(crate) static FAILED_INDEXES_OVERLAP_COMPLETED: Check = Check::new(
    rule(
        "job-status/failed-indexes-overlap-completed",
        include_str!("failed-indexes-overlap-completed.md"),
        Upstream::in_function(VALIDATE_STATUS)
            .with_option("RejectFailedIndexesOverlappingCompleted"),
    ),
    CheckFn::JobStatus(failed_indexes_overlap_completed),
)
.applies_when(|changed| changed.completed_indexes || changed.failed_indexes)
.exercised_when(|status| {
    !status.new.completed_indexes.is_empty() && failed_indexes(status).is_some()
});

fn failed_indexes_overlap_completed<'a>(status: &JobStatusChange<'a>, findings: &mut Findings<'a>) {
    let failed = failed_indexes(status);
    if let Some((failed, completions)) = failed.zip(status.spec.completions())
        && let Some(index) = common_index(&status.new.completed_indexes, failed, completions)
    {
        let detail = format!("failedIndexes and completedIndexes overlap at index: {index}");
        findings.invalid(FAILED, BadValue::String(failed.into()), detail);
    }
}

/// First and last index of an interval.
type Interval = (i32, i32);

/// Validates a non-empty list of intervals (`validateIndexesFormat`). Returns upstream's message for the first error.
fn check_format(indexes: &str, completions: i32) -> Result<(), String> {
    let mut previous: Option<i32> = None;
    for (interval, text) in Intervals::new(indexes, completions) {
        let (first, last) = interval.map_err(|e| e.message(text))?;
        if let Some(previous) = previous.filter(|p| *p >= first) {
            return Err(not_increasing(previous, first));
        }
        previous = Some(last);
    }
    Ok(())
}

/// Returns the first index in both lists (`validateFailedIndexesNotOverlapCompleted`). Skips invalid intervals, which another rule
/// reports, and assumes increasing lists, like upstream.
fn common_index(completed: &str, failed: &str, completions: i32) -> Option<i32> {
    let valid = |list| Intervals::new(list, completions).filter_map(|(interval, _)| interval.ok());
    let (mut completed, mut failed) = (valid(completed), valid(failed));
    let (mut c, mut f) = (completed.next()?, failed.next()?);
    loop {
        if c.0 <= f.1 && f.0 <= c.1 {
            return Some(c.0.max(f.0));
        }
        if c.0 <= f.0 {
            c = completed.next()?;
        } else {
            f = failed.next()?;
        }
    }
}

/// Returns the first index of a list that is not in another one. Skips invalid intervals, and assumes increasing lists.
pub(crate) fn missing_index(old: &str, new: &str, completions: i32) -> Option<i32> {
    let valid = |list| Intervals::new(list, completions).filter_map(|(interval, _)| interval.ok());
    let mut kept = valid(new);
    let mut next = kept.next();
    for (mut first, last) in valid(old) {
        while first <= last {
            match next {
                Some((start, end)) if start <= first && first <= end => {
                    first = end.saturating_add(1);
                }
                Some((_, end)) if end < first => next = kept.next(),
                _ => return Some(first),
            }
        }
    }
    None
}

/// Iterator over the intervals of a list, each with its text. Lists can have tens of thousands of intervals, mostly plain digits,
/// which [`parse_digits_interval`] parses in one pass: this halves the fuel of a status update with 20,000 intervals. Other intervals are
/// parsed as in upstream.
struct Intervals<'a> {
    /// The unparsed rest, or [`None`] after the last interval. An empty list has one empty interval.
    rest: Option<&'a str>,
    completions: i32,
}

impl<'a> Intervals<'a> {
    fn new(list: &'a str, completions: i32) -> Self {
        Self {
            rest: Some(list),
            completions,
        }
    }
}

impl<'a> Iterator for Intervals<'a> {
    type Item = (Result<Interval, IntervalError<'a>>, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest?;
        let (interval, length) = parse_digits_interval(rest.as_bytes(), self.completions);
        let length = length.unwrap_or_else(|| rest.find(',').unwrap_or(rest.len()));
        let text = rest.get(..length).unwrap_or_default();
        self.rest = rest.get(length.saturating_add(1)..);
        Some((
            interval.map_or_else(|| parse_interval(text, self.completions), Ok),
            text,
        ))
    }
}

/// Parses the interval at the start of a list if it is valid and consists of digits. Also returns its length, if known.
fn parse_digits_interval(bytes: &[u8], completions: i32) -> (Option<Interval>, Option<usize>) {
    let (first, end) = parse_digits_index(bytes, 0);
    let (last, end) = match bytes.get(end) {
        Some(b'-') => {
            let (last, end) = parse_digits_index(bytes, end.wrapping_add(1));
            (last.filter(|last| first < Some(*last)), end)
        }
        _ => (first, end),
    };
    if !matches!(bytes.get(end), None | Some(b',')) {
        return (None, None);
    }
    let valid = first.zip(last).filter(|(_, last)| *last < completions);
    (valid, Some(end))
}

/// Parses an index of one to nine digits, which always fits into an `i32`. Also returns the position after the digits.
fn parse_digits_index(bytes: &[u8], start: usize) -> (Option<i32>, usize) {
    let (mut index, mut at) = (0_i32, start);
    while let Some(digit) = bytes
        .get(at)
        .map(|b| b.wrapping_sub(b'0'))
        .filter(|d| *d < 10)
    {
        index = index.wrapping_mul(10).wrapping_add(i32::from(digit));
        at = at.wrapping_add(1);
    }
    let digits = at.wrapping_sub(start);
    ((1..=9).contains(&digits).then_some(index), at)
}

#[derive(Debug, PartialEq, Eq)]
enum IntervalError<'a> {
    TooManyParts,
    NotANumber(&'a str),
    TooLarge(&'a str),
    NotIncreasing(i32, i32),
}

impl IntervalError<'_> {
    fn message(&self, interval: &str) -> String {
        match self {
            Self::TooManyParts => format!(
                "the fragment {} violates the requirement that an index interval can have at most two parts separated by '-'",
                go::quote(interval)
            ),
            Self::NotANumber(text) => format!(
                "cannot convert string to integer for index: {}",
                go::quote(text)
            ),
            Self::TooLarge(text) => format!("too large index: {}", go::quote(text)),
            Self::NotIncreasing(first, last) => not_increasing(*first, *last),
        }
    }
}

fn not_increasing(previous: i32, current: i32) -> String {
    format!("non-increasing order, previous: {previous}, current: {current}")
}

/// Parses `3` or `3-5`, with each index below `completions` (`parseIndexInterval`).
fn parse_interval(text: &str, completions: i32) -> Result<Interval, IntervalError<'_>> {
    let (first, last) = match text.split_once('-') {
        Some((_, last)) if last.contains('-') => return Err(IntervalError::TooManyParts),
        Some((first, last)) => (first, Some(last)),
        None => (text, None),
    };
    let first = parse_index(first, completions)?;
    let Some(last) = last else {
        return Ok((first, first));
    };
    let last = parse_index(last, completions)?;
    if first >= last {
        return Err(IntervalError::NotIncreasing(first, last));
    }
    Ok((first, last))
}

/// Parses a number like `strconv.Atoi` on a 64-bit machine, which accepts a plus sign. A minus sign is a separator.
fn parse_index(text: &str, completions: i32) -> Result<i32, IntervalError<'_>> {
    let number: i64 = text.parse().map_err(|_| IntervalError::NotANumber(text))?;
    let index = i32::try_from(number).ok().filter(|i| *i < completions);
    index.ok_or(IntervalError::TooLarge(text))
}

#[cfg(test)]
mod tests {
    use super::{Intervals, common_index, missing_index, parse_interval};
    use std::collections::BTreeSet;

    use proptest::collection::btree_set;
    use proptest::prelude::proptest;

    /// Parses a list like upstream: `strings.Split`, then `parseIndexInterval`.
    fn parse_like_upstream(
        list: &str,
        completions: i32,
    ) -> Vec<(Result<super::Interval, super::IntervalError<'_>>, &str)> {
        let parse = |text| (parse_interval(text, completions), text);
        list.split(',').map(parse).collect()
    }

    proptest! {
        #[test]
        fn intervals_are_parsed_like_upstream(list in "([0-9]{0,11}[-,+ :/]?){0,8}", completions in 0..i32::MAX) {
            let read: Vec<_> = Intervals::new(&list, completions).collect();
            assert_eq!(read, parse_like_upstream(&list, completions));
        }

        #[test]
        fn small_intervals_are_parsed_like_upstream(list in "([0-9]{1,2}(-[0-9]{1,2})?,?){0,8}", completions in 0..100) {
            let read: Vec<_> = Intervals::new(&list, completions).collect();
            assert_eq!(read, parse_like_upstream(&list, completions));
        }

        #[test]
        fn missing_index_returns_the_first(old in btree_set(0..20_i32, 0..20), new in btree_set(0..20_i32, 0..20)) {
            let list = |indexes: &BTreeSet<i32>| {
                let numbers: Vec<_> = indexes.iter().map(ToString::to_string).collect();
                numbers.join(",").replace(",2,3,4,", ",2-4,").replace("7,8,9", "7-9")
            };
            let first = old.difference(&new).next().copied();
            assert_eq!(missing_index(&list(&old), &list(&new), 20), first);
        }
    }

    #[test]
    fn common_index_returns_the_first() {
        for (completed, failed, common) in [
            ("", "1", None),
            ("1", "", None),
            ("0,2-4", "1,5", None),
            ("0,2-4", "1,4-5", Some(4)),
            ("0-9", "3", Some(3)),
            ("3", "0-9", Some(3)),
            ("x,3", "0,y,3", Some(3)),
            ("2147483646", "2147483645-2147483646", Some(2_147_483_646)),
        ] {
            let found = common_index(completed, failed, i32::MAX);
            assert_eq!(found, common, "{completed} and {failed}");
        }
    }
}
