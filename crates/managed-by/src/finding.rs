//! Findings of rules, and their messages in the format of kube-apiserver's `field.Error`.

use std::borrow::Cow;

use crate::description::Rule;
use crate::object::job::Uncounted;
use crate::release::{Release, ReleaseSet};
use crate::upstream::go;
use crate::upstream::time::Time;

/// Error types: those of apimachinery's `field.ErrorType` that rules report, and [`Self::UserForbidden`], which apimachinery lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorType {
    /// The value is invalid.
    Invalid,
    /// The value is missing.
    Required,
    /// The value is already in the list.
    Duplicate,
    /// The value is too long. The message omits the value.
    TooLong,
    /// The value is not in the list of supported values.
    NotSupported,
    /// The value is forbidden in this context.
    Forbidden,
    /// The user may not write the field.
    UserForbidden,
}

impl ErrorType {
    /// Returns the text of the type in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "Invalid value",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::TooLong => "Too long",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden | Self::UserForbidden => "Forbidden",
        }
    }

    /// Returns true if the policy reports the error as `is forbidden`, with code 403, instead of `is invalid`.
    pub const fn is_access_error(self) -> bool {
        matches!(self, Self::Forbidden | Self::UserForbidden)
    }
}

/// Invalid value, by the Go type of the upstream error, which determines its format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BadValue<'a> {
    /// No value in the message.
    Omitted,
    String(Cow<'a, str>),
    Pointer(Option<Cow<'a, str>>),
    /// A string type, such as a UID.
    NamedString(Cow<'a, str>),
    /// An integer, or a pointer to one.
    Int(i32),
    Int64(i64),
    Time(Option<Time>),
    Uncounted(Uncounted<'static>),
}

impl BadValue<'_> {
    /// Formats the value like `field.Error` of the given release. Returns [`None`] if the message has no value.
    ///
    /// Up to 1.33, pointers are dereferenced (nil becomes the string `"null"`), and values are formatted by type: strings with
    /// `%q`, times with `String()`, structs with `%#v`. Since 1.34, all values except plain strings and numbers are marshaled with
    /// `encoding/json`.
    fn text(&self, release: Release) -> Option<String> {
        match self {
            Self::Omitted => None,
            Self::Pointer(value) if release.minor() >= 34 => Some(
                value
                    .as_deref()
                    .map_or_else(|| "null".to_owned(), go::json_string),
            ),
            Self::Pointer(value) => Some(go::quote(value.as_deref().unwrap_or("null"))),
            Self::NamedString(value) if release.minor() >= 34 => Some(go::json_string(value)),
            Self::String(value) | Self::NamedString(value) => Some(go::quote(value)),
            Self::Int(value) => Some(value.to_string()),
            Self::Int64(value) => Some(value.to_string()),
            Self::Time(None) if release.minor() >= 34 => Some("null".to_owned()),
            Self::Time(None) => Some("\"null\"".to_owned()),
            Self::Time(Some(time)) if release.minor() >= 34 => Some(time.json()),
            Self::Time(Some(time)) => Some(time.go_string()),
            Self::Uncounted(pods) if release.minor() >= 34 => Some(uncounted_json(pods)),
            Self::Uncounted(pods) => Some(uncounted_go(pods)),
        }
    }
}

/// Formats the struct like `encoding/json`. Upstream's internal type has no tags, so the fields have their Go names.
fn uncounted_json(pods: &Uncounted<'_>) -> String {
    let list = |uids: &Option<Vec<Cow<'_, str>>>| match uids {
        None => "null".to_owned(),
        Some(uids) => format!("[{}]", join_uids(uids, ",", go::json_string)),
    };
    format!(
        "{{\"Succeeded\":{},\"Failed\":{}}}",
        list(&pods.succeeded),
        list(&pods.failed)
    )
}

/// Formats the struct like `%#v`.
fn uncounted_go(pods: &Uncounted<'_>) -> String {
    let list = |uids: &Option<Vec<Cow<'_, str>>>| match uids {
        None => "[]types.UID(nil)".to_owned(),
        Some(uids) => format!("[]types.UID{{{}}}", join_uids(uids, ", ", go::quote)),
    };
    let (succeeded, failed) = (list(&pods.succeeded), list(&pods.failed));
    format!("batch.UncountedTerminatedPods{{Succeeded:{succeeded}, Failed:{failed}}}")
}

fn join_uids(uids: &[Cow<'_, str>], separator: &str, print: fn(&str) -> String) -> String {
    let mut list = String::new();
    for (index, uid) in uids.iter().enumerate() {
        if index > 0 {
            list.push_str(separator);
        }
        if list.len() > go::MAX_PRINTED {
            list.push_str("...");
            break;
        }
        list.push_str(&print(uid));
    }
    list
}

/// Error about one field, like kube-apiserver's `field.Error`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldError<'a> {
    error_type: ErrorType,
    path: Cow<'a, str>,
    value: BadValue<'a>,
    detail: Cow<'a, str>,
    /// Short detail for warnings, if the detail is long.
    short_detail: Option<Cow<'a, str>>,
    suggestion: Option<Cow<'a, str>>,
}

impl<'a> FieldError<'a> {
    fn new(
        error_type: ErrorType,
        path: impl Into<Cow<'a, str>>,
        value: BadValue<'a>,
        detail: impl Into<Cow<'a, str>>,
    ) -> Self {
        Self {
            error_type,
            path: path.into(),
            value,
            detail: detail.into(),
            short_detail: None,
            suggestion: None,
        }
    }

    pub(crate) fn invalid(
        path: impl Into<Cow<'a, str>>,
        value: BadValue<'a>,
        detail: impl Into<Cow<'a, str>>,
    ) -> Self {
        Self::new(ErrorType::Invalid, path, value, detail)
    }

    /// Creates an error about a missing value. `detail` may be empty.
    pub(crate) fn required(path: impl Into<Cow<'a, str>>, detail: impl Into<Cow<'a, str>>) -> Self {
        Self::new(ErrorType::Required, path, BadValue::Omitted, detail)
    }

    /// Creates an error about a value that is already in the list.
    pub(crate) fn duplicate(path: impl Into<Cow<'a, str>>, value: BadValue<'a>) -> Self {
        Self::new(ErrorType::Duplicate, path, value, "")
    }

    pub(crate) fn too_long(path: impl Into<Cow<'a, str>>, detail: impl Into<Cow<'a, str>>) -> Self {
        Self::new(ErrorType::TooLong, path, BadValue::Omitted, detail)
    }

    /// Creates an error about a value that is not in the list of supported values, which `detail` contains.
    pub(crate) fn not_supported(
        path: impl Into<Cow<'a, str>>,
        value: BadValue<'a>,
        detail: impl Into<Cow<'a, str>>,
    ) -> Self {
        Self::new(ErrorType::NotSupported, path, value, detail)
    }

    /// Creates an error about a value that is forbidden in this context.
    pub(crate) fn forbidden(
        path: impl Into<Cow<'a, str>>,
        detail: impl Into<Cow<'a, str>>,
    ) -> Self {
        Self::new(ErrorType::Forbidden, path, BadValue::Omitted, detail)
    }

    /// Creates an error about a user who may not write the field.
    pub(crate) fn user_forbidden(
        path: impl Into<Cow<'a, str>>,
        detail: impl Into<Cow<'a, str>>,
    ) -> Self {
        Self::new(ErrorType::UserForbidden, path, BadValue::Omitted, detail)
    }

    /// Sets a short detail for warnings.
    #[must_use]
    pub(crate) fn with_short_detail(mut self, short_detail: impl Into<Cow<'a, str>>) -> Self {
        self.short_detail = Some(short_detail.into());
        self
    }

    /// Sets a suggestion: a valid value for the field, which the detail also mentions.
    #[must_use]
    pub(crate) fn with_suggestion(mut self, value: impl Into<Cow<'a, str>>) -> Self {
        self.suggestion = Some(value.into());
        self
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns the suggested value: the bare text to write at the path.
    pub(crate) fn suggestion(&self) -> Option<&str> {
        self.suggestion.as_deref()
    }

    /// Returns the path of the field, from the root of the object.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn error_type(&self) -> ErrorType {
        self.error_type
    }

    /// Formats the error like the kube-apiserver of the given release.
    pub(crate) fn message(&self, release: Release) -> String {
        let value = self.value.text(release);
        self.join(
            Some(self.error_type.as_str()),
            value.as_deref(),
            &self.detail,
        )
    }

    /// Formats the error for a warning: with the short detail and without the error type, or in full if neither a value nor an access error implies the type.
    fn short_message(&self, release: Release) -> String {
        let short_detail = self.short_detail.as_ref().unwrap_or(&self.detail);
        match self.value.text(release) {
            Some(value) => self.join(None, Some(&value), short_detail),
            None if self.error_type.is_access_error() => self.join(None, None, short_detail),
            None => self.message(release),
        }
    }

    fn join(&self, error_type: Option<&str>, value: Option<&str>, detail: &str) -> String {
        let detail = Some(detail).filter(|detail| !detail.is_empty());
        let parts = [Some(&*self.path), error_type, value, detail];
        parts.into_iter().flatten().collect::<Vec<_>>().join(": ")
    }
}

/// Error with the rule that reported it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleFinding<'a> {
    rule: &'static Rule,
    error: FieldError<'a>,
    /// True if kube-apiserver reports the same error, so the message must match exactly.
    upstream: bool,
    /// Releases with the finding, if the settings choose no release and not all releases have it.
    releases: Option<ReleaseSet>,
}

impl<'a> RuleFinding<'a> {
    pub(crate) fn new(rule: &'static Rule, error: FieldError<'a>, upstream: bool) -> Self {
        Self {
            rule,
            error,
            upstream,
            releases: None,
        }
    }

    /// Restricts the finding to some releases.
    pub(crate) fn with_releases(self, releases: ReleaseSet) -> Self {
        Self {
            releases: Some(releases),
            ..self
        }
    }

    /// Returns the releases of kube-apiserver with this finding, if the settings choose no release and not all releases have it.
    pub(crate) fn releases(&self) -> Option<ReleaseSet> {
        self.releases
    }

    pub(crate) fn rule(&self) -> &'static Rule {
        self.rule
    }

    pub(crate) fn error(&self) -> &FieldError<'a> {
        &self.error
    }

    pub(crate) fn is_upstream(&self) -> bool {
        self.upstream
    }

    /// Formats the finding for a denial. A finding of kube-apiserver keeps its exact message; others end with the rule id.
    pub(crate) fn denial(&self, release: Release) -> String {
        let text = self.error.message(release);
        if self.upstream {
            text
        } else {
            self.with_rule_id(&text)
        }
    }

    /// Formats the finding for a warning: short, and with the rule id.
    pub(crate) fn warning(&self, release: Release) -> String {
        let Some(releases) = self.releases else {
            return self.with_rule_id(&self.error.short_message(release));
        };
        let release = releases.newest().unwrap_or(release);
        let text = self.error.short_message(release);
        self.with_rule_id(&format!(
            "{text}; kube-apiserver {releases} denies it: set kubernetes_version to make the policy deny it"
        ))
    }

    pub(crate) fn with_rule_id(&self, text: &str) -> String {
        format!("{text} [{}]", self.rule.id)
    }
}

#[cfg(test)]
mod tests {
    use super::{BadValue, FieldError};
    use crate::object::job::Uncounted;
    use crate::release::Release;

    #[test]
    fn formats_values_by_type_and_release() {
        let (v1_33, v1_34) = (Release::V1_33, Release::V1_34);
        let text = |value, release| FieldError::invalid("spec.x", value, "no").message(release);
        let pointer = || BadValue::Pointer(Some("<a>".into()));
        let named = || BadValue::NamedString("<a>".into());
        for (value, release, printed) in [
            (BadValue::String("<a>".into()), Release::V1_37, r#""<a>""#),
            (pointer(), v1_33, r#""<a>""#),
            (pointer(), v1_34, r#""\u003ca\u003e""#),
            (BadValue::Pointer(None), v1_33, r#""null""#),
            (BadValue::Pointer(None), v1_34, "null"),
            (BadValue::Time(None), v1_33, r#""null""#),
            (named(), v1_33, r#""<a>""#),
            (named(), v1_34, r#""\u003ca\u003e""#),
        ] {
            let expected = format!("spec.x: Invalid value: {printed}: no");
            assert_eq!(text(value, release), expected);
        }
        let omitted = text(BadValue::Omitted, v1_34);
        assert_eq!(omitted, "spec.x: Invalid value: no");
        // Lists are truncated at 64 KiB.
        for (first, end) in [(65_533, r#"a","b"],"#), (65_534, r#"a",...],"#)] {
            let uids = vec!["a".repeat(first).into(), "b".into()];
            let (succeeded, failed) = (Some(uids), None);
            let uids = BadValue::Uncounted(Uncounted { succeeded, failed });
            assert!(text(uids, Release::V1_37).contains(end), "{first}");
        }
    }
}
