//! `completedIndexes` and `failedIndexes`: numbers and intervals such as `1,3-5,7`.

use super::{StatusChange, status_rule, status_update};
use crate::finding::{BadValue, FieldError};
use crate::go;
use crate::release::Release;
use crate::rule::{Anchor, Check, Docs, Documentation, Enforcement, Example, Findings, Rule};

const COMPLETED: &str = "status.completedIndexes";
const FAILED: &str = "status.failedIndexes";

status_rule! {
    INVALID_COMPLETED, "invalid-completed-indexes", "Completed indexes are increasing intervals below completions",
    "Checks that `completedIndexes` is a list of numbers and intervals, separated by commas, increasing, each below
`completions`. Runs when it changes.",
    STATE, option "RejectInvalidCompletedIndexes", since V1_30,
    accepted status_update!("{}", r#"{"completionMode":"Indexed","completions":6}"#, "{}", r#"{"completedIndexes":"0,2-3,5"}"#),
    rejected status_update!("{}", r#"{"completionMode":"Indexed","completions":6}"#, "{}", r#"{"completedIndexes":"0,2-6"}"#),
    Check::JobStatus(invalid_completed),
}

fn invalid_completed<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let indexes = &*status.new.completed_indexes;
    let Some(completions) = status
        .spec
        .completions
        .filter(|_| status.changed.completed_indexes)
    else {
        return;
    };
    if let Err(error) = check_format(indexes, completions) {
        let detail = format!("error parsing completedIndexes: {error}");
        findings.push(FieldError::invalid(
            COMPLETED,
            BadValue::String(indexes.into()),
            detail,
        ));
    }
}

status_rule! {
    INVALID_FAILED, "invalid-failed-indexes", "Failed indexes are increasing intervals below completions",
    "Checks that `failedIndexes` is a list of numbers and intervals, separated by commas, increasing, each below
`completions`. Runs when it changes, on Jobs with `backoffLimitPerIndex`.",
    STATE, option "RejectInvalidFailedIndexes", since V1_30,
    accepted status_update!("{}", r#"{"completionMode":"Indexed","completions":6,"backoffLimitPerIndex":1}"#, "{}", r#"{"failedIndexes":"0,2-3,5"}"#),
    rejected status_update!("{}", r#"{"completionMode":"Indexed","completions":6,"backoffLimitPerIndex":1}"#, "{}", r#"{"failedIndexes":"2,1"}"#),
    Check::JobStatus(invalid_failed),
}

fn invalid_failed<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let applies = status.changed.failed_indexes && status.spec.backoff_limit_per_index;
    let indexes = status.new.failed_indexes.as_deref().filter(|_| applies);
    let Some((indexes, completions)) = indexes.zip(status.spec.completions) else {
        return;
    };
    if let Err(error) = check_format(indexes, completions) {
        let detail = format!("error parsing failedIndexes: {error}");
        findings.push(FieldError::invalid(
            FAILED,
            BadValue::Pointer(Some(indexes.into())),
            detail,
        ));
    }
}

status_rule! {
    COMPLETED_OF_NON_INDEXED, "completed-indexes-non-indexed", "Only an Indexed Job has completed indexes",
    "Checks that `completedIndexes` is empty where the completion mode is not Indexed. Runs when it changes.",
    STATE, option "RejectCompletedIndexesForNonIndexedJob", since V1_30,
    accepted status_update!("{}", r#"{"completionMode":"Indexed","completions":2}"#, "{}", r#"{"completedIndexes":"1"}"#),
    rejected status_update!("{}", r#"{"completionMode":"NonIndexed","completions":2}"#, "{}", r#"{"completedIndexes":"1"}"#),
    Check::JobStatus(completed_of_non_indexed),
}

fn completed_of_non_indexed<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let indexes = &*status.new.completed_indexes;
    if status.changed.completed_indexes && !indexes.is_empty() && !status.spec.is_indexed() {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        findings.push(FieldError::invalid(
            COMPLETED,
            BadValue::String(indexes.into()),
            detail,
        ));
    }
}

status_rule! {
    FAILED_WITHOUT_LIMIT, "failed-indexes-without-backoff-limit-per-index", "Only a Job with a backoff limit per index has failed indexes",
    "Checks that `failedIndexes` is unset where `backoffLimitPerIndex` is; an empty string is set. Runs when it changes.",
    STATE, option "RejectFailedIndexesForNoBackoffLimitPerIndex", since V1_30,
    accepted status_update!("{}", r#"{"completionMode":"Indexed","completions":2,"backoffLimitPerIndex":1}"#, "{}", r#"{"failedIndexes":"1"}"#),
    rejected status_update!("{}", r#"{"completionMode":"Indexed","completions":2}"#, "{}", r#"{"failedIndexes":"1"}"#),
    Check::JobStatus(failed_without_limit),
}

fn failed_without_limit<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let indexes = status.new.failed_indexes.as_deref();
    if let Some(indexes) = indexes.filter(|_| status.changed.failed_indexes)
        && !status.spec.backoff_limit_per_index
    {
        let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        findings.push(FieldError::invalid(
            FAILED,
            BadValue::String(indexes.into()),
            detail,
        ));
    }
}

status_rule! {
    OVERLAP, "failed-indexes-overlap-completed", "No index has both completed and failed",
    "Checks that `failedIndexes` and `completedIndexes` have no index in common. Runs when either changes.",
    STATE, option "RejectFailedIndexesOverlappingCompleted", since V1_30,
    accepted status_update!("{}", r#"{"completionMode":"Indexed","completions":6,"backoffLimitPerIndex":1}"#, "{}",
        r#"{"completedIndexes":"0,2-3","failedIndexes":"1,4"}"#),
    rejected status_update!("{}", r#"{"completionMode":"Indexed","completions":6,"backoffLimitPerIndex":1}"#, "{}",
        r#"{"completedIndexes":"0,2-3","failedIndexes":"3-4"}"#),
    Check::JobStatus(overlap),
}

fn overlap<'a>(status: &StatusChange<'a>, findings: &mut Findings<'a>) {
    let changed = status.changed.failed_indexes || status.changed.completed_indexes;
    let failed = status.new.failed_indexes.as_deref().filter(|_| changed);
    let Some((failed, completions)) = failed.zip(status.spec.completions) else {
        return;
    };
    if let Some(index) = common_index(&status.new.completed_indexes, failed, completions) {
        let detail = format!("failedIndexes and completedIndexes overlap at index: {index}");
        findings.push(FieldError::invalid(
            FAILED,
            BadValue::String(failed.into()),
            detail,
        ));
    }
}

/// First and last index of an interval.
type Interval = (i32, i32);

/// `validateIndexesFormat`: the first thing wrong with a list of intervals, in upstream's words.
fn check_format(indexes: &str, completions: i32) -> Result<(), String> {
    if indexes.is_empty() {
        return Ok(());
    }
    let mut previous: Option<i32> = None;
    for text in indexes.split(',') {
        let (first, last) = parse_interval(text, completions).map_err(|e| e.text(text))?;
        if let Some(previous) = previous.filter(|p| *p >= first) {
            return Err(not_increasing(previous, first));
        }
        previous = Some(last);
    }
    Ok(())
}

/// `validateFailedIndexesNotOverlapCompleted`: walks both lists side by side; what does not parse is passed over, for it
/// is reported elsewhere. Takes the lists as increasing, as upstream does.
fn common_index(completed: &str, failed: &str, completions: i32) -> Option<i32> {
    if completed.is_empty() || failed.is_empty() {
        return None;
    }
    let parse = |text| parse_interval(text, completions).ok();
    let mut completed = completed.split(',').filter_map(parse);
    let mut failed = failed.split(',').filter_map(parse);
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

/// Why a text is no interval.
#[derive(Debug, PartialEq, Eq)]
enum Wrong<'a> {
    TooManyParts,
    NotANumber(&'a str),
    TooLarge(&'a str),
    NotIncreasing(i32, i32),
}

impl Wrong<'_> {
    fn text(&self, interval: &str) -> String {
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

/// `parseIndexInterval`: `3` or `3-5`, each number below `completions`.
fn parse_interval(text: &str, completions: i32) -> Result<Interval, Wrong<'_>> {
    let (first, last) = match text.split_once('-') {
        Some((_, last)) if last.contains('-') => return Err(Wrong::TooManyParts),
        Some((first, last)) => (first, Some(last)),
        None => (text, None),
    };
    let first = parse_index(first, completions)?;
    let Some(last) = last else {
        return Ok((first, first));
    };
    let last = parse_index(last, completions)?;
    if first >= last {
        return Err(Wrong::NotIncreasing(first, last));
    }
    Ok((first, last))
}

/// A number as `strconv.Atoi` reads it, on a machine of 64 bits: a plus sign will do. (A minus sign separates.)
fn parse_index(text: &str, completions: i32) -> Result<i32, Wrong<'_>> {
    let number: i64 = text.parse().map_err(|_| Wrong::NotANumber(text))?;
    let index = i32::try_from(number).ok().filter(|i| *i < completions);
    index.ok_or(Wrong::TooLarge(text))
}
