//! Key `status` of an entry: the declaration of a kind's status.

use std::borrow::Cow;

use super::borrowed;
use super::validation::{
    COUNTERS_LIST, FIELD_VALUES_LIST, TOTALS_LIST, validate_condition, validate_status_path,
};
use crate::decode::{Path, Raw, Type, quote_or_size};
use crate::kind::status::{
    CONDITIONS, EndTime, OutcomeProfile, StatusMatcher, StatusProfile, TerminalStates,
    condition_true,
};
use crate::settings::error::SettingsError;
use crate::settings::parser::{Parser, declare_keys};

declare_keys!(StatusKey {
    "success" => Success,
    "failure" => Failure,
    "start" => Start,
    "end" => End,
    "counters" => Counters,
    "totals" => Totals,
});

declare_keys!(MatcherKey {
    "condition" => Condition,
    "path" => Path,
    "values" => Values,
});

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DeclaredStatus<'a> {
    success: Option<DeclaredMatcher<'a>>,
    failure: Option<DeclaredMatcher<'a>>,
    start: Option<Cow<'a, str>>,
    end: Option<Cow<'a, str>>,
    counters: Vec<Cow<'a, str>>,
    totals: Vec<Cow<'a, str>>,
}

/// Matcher of an outcome, as an admin declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DeclaredMatcher<'a> {
    Condition(Cow<'a, str>),
    Field {
        path: Cow<'a, str>,
        values: Vec<Cow<'a, str>>,
    },
}

impl<'a> DeclaredStatus<'a> {
    pub(super) fn read(value: Raw<'a>, path: &Path<'_>, parser: &mut Parser) -> Self {
        let mut status = Self::default();
        parser.parse_object(
            value,
            path,
            StatusKey::ALL,
            |parser, value, key, path| match key {
                StatusKey::Success => status.success = DeclaredMatcher::read(value, path, parser),
                StatusKey::Failure => status.failure = DeclaredMatcher::read(value, path, parser),
                StatusKey::Start => {
                    status.start = Some(parser.parse_string(value, path, &validate_status_path));
                }
                StatusKey::End => {
                    status.end = Some(parser.parse_string(value, path, &validate_status_path));
                }
                StatusKey::Counters => {
                    status.counters = parser.parse_string_list(value, path, &COUNTERS_LIST);
                }
                StatusKey::Totals => {
                    status.totals = parser.parse_string_list(value, path, &TOTALS_LIST);
                }
            },
        );
        status
    }

    pub(super) fn with_profile<T>(&self, read: impl FnOnce(&StatusProfile<'_>) -> T) -> T {
        let (success, failure) = (self.success.as_ref(), self.failure.as_ref());
        let values = [success, failure].map(|matcher| {
            let values = matcher.map(DeclaredMatcher::values);
            borrowed(values.unwrap_or_default())
        });
        let [success_values, failure_values] = &values;
        let success = success.map(|matcher| matcher.matcher(success_values));
        let failure = failure.map(|matcher| matcher.matcher(failure_values));
        let has_outcome = success.is_some() || failure.is_some();
        let profile = StatusProfile {
            outcome: has_outcome.then(|| OutcomeProfile::partial(success, failure)),
            start: self.start.as_deref(),
            end: self.end.as_deref().map(|path| EndTime {
                path,
                needs_outcome: false,
                required_by: TerminalStates::empty(),
            }),
            counters: &borrowed(&self.counters),
            monotonic_counters: &borrowed(&self.totals),
            ..StatusProfile::EMPTY
        };
        read(&profile)
    }

    pub(super) fn check(&self, path: &Path<'_>, parser: &mut Parser) {
        let matchers = [("success", &self.success), ("failure", &self.failure)];
        if let [Some(success), Some(failure)] = [&self.success, &self.failure]
            && success.overlaps(failure)
        {
            let text = "Invalid value: must not match the same statuses as `success`";
            parser.push(SettingsError::semantic(
                &Path::Member(path, "failure"),
                text,
            ));
        }
        // Each path with its key.
        let mut paths: Vec<(&str, &str)> = Vec::new();
        for (key, matcher) in matchers {
            if let Some(matcher) = matcher
                && !paths.iter().any(|(_, path)| *path == matcher.path())
            {
                paths.push((key, matcher.path()));
            }
        }
        let times = [("start", &self.start), ("end", &self.end)];
        let times = times
            .into_iter()
            .filter_map(|(key, path)| Some((key, path.as_deref()?)));
        let counters = self.counters.iter().map(|path| ("counters", &**path));
        let totals = self.totals.iter().map(|path| ("totals", &**path));
        for (key, declared) in times.chain(counters).chain(totals) {
            let overlaps_path = |&&(_, other): &&(&str, &str)| {
                contains_path(declared, other) || contains_path(other, declared)
            };
            if let Some((other, _)) = paths.iter().find(overlaps_path) {
                let quoted = quote_or_size(declared, "path");
                let text = format!("Invalid value: {quoted}: overlaps with a path of `{other}`");
                parser.push(SettingsError::semantic(&Path::Member(path, key), text));
            }
            paths.push((key, declared));
        }
    }
}

impl<'a> DeclaredMatcher<'a> {
    fn read(value: Raw<'a>, path: &Path<'_>, parser: &mut Parser) -> Option<Self> {
        let (mut condition, mut field, mut values) = (None, None, None);
        if !parser.expect_type(
            value,
            Type::Object,
            path,
            "an object with `condition`, or with `path` and `values`",
        ) {
            return None;
        }
        parser.parse_object(
            value,
            path,
            MatcherKey::ALL,
            |parser, value, key, path| match key {
                MatcherKey::Condition => {
                    condition = Some(parser.parse_string(value, path, &validate_condition));
                }
                MatcherKey::Path => {
                    field = Some(parser.parse_string(value, path, &validate_status_path));
                }
                MatcherKey::Values => {
                    values = Some(parser.parse_string_list(value, path, &FIELD_VALUES_LIST));
                }
            },
        );
        let (key, expected) = match (condition, field, values) {
            (Some(condition), None, None) => return Some(Self::Condition(condition)),
            (None, Some(path), Some(values)) => return Some(Self::Field { path, values }),
            (None, Some(_), None) => ("values", "a list of field values, such as [Succeeded]"),
            (None, None, Some(_)) => ("path", "the path of a field, such as status.phase"),
            (None, None, None) => (
                "condition",
                "the type of a condition; or `path` and `values`",
            ),
            (Some(_), ..) => {
                let text = "Forbidden: `condition` excludes `path` and `values`";
                parser.push(SettingsError::new(path, text));
                return None;
            }
        };
        parser.push(SettingsError::missing(&Path::Member(path, key), expected));
        None
    }

    fn path(&self) -> &str {
        match self {
            Self::Condition(_) => CONDITIONS,
            Self::Field { path, .. } => path,
        }
    }

    /// Returns true if one condition or value can match both.
    fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Condition(this), Self::Condition(other)) => this == other,
            (
                Self::Field { path, values },
                Self::Field {
                    path: other,
                    values: others,
                },
            ) => path == other && values.iter().any(|value| others.contains(value)),
            _ => false,
        }
    }

    fn values(&self) -> &[Cow<'a, str>] {
        match self {
            Self::Condition(_) => &[],
            Self::Field { values, .. } => values,
        }
    }

    fn matcher<'k>(&'k self, values: &'k [&'k str]) -> StatusMatcher<'k> {
        match self {
            Self::Condition(condition) => condition_true(condition),
            Self::Field { path, .. } => StatusMatcher::Field { path, values },
        }
    }
}

/// Returns true if `other` is equal to `path`, or is a field below it.
fn contains_path(path: &str, other: &str) -> bool {
    let rest = other.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
