//! What a rule found, as data; the text is made once, here.

use std::borrow::Cow;

use crate::description::Rule;
use crate::object::job::Uncounted;
use crate::release::{Release, ReleaseSet};
use crate::upstream::go;
use crate::upstream::time::Time;

/// The kinds of trouble with a field that kube-apiserver tells apart (`field.ErrorType` of apimachinery).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorType {
    /// The value is not one the field may have.
    Invalid,
    /// A value is needed.
    Required,
    /// The value stands in the list already.
    Duplicate,
    /// The value has too many bytes; it is not repeated.
    TooLong,
    /// The value is not in the list of allowed values.
    NotSupported,
    /// The field may not be as it is here, though elsewhere it might.
    Forbidden,
    /// Who asks may not write the field.
    Unauthorized,
}

impl ErrorType {
    /// The words that begin the error.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "Invalid value",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::TooLong => "Too long",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden | Self::Unauthorized => "Forbidden",
        }
    }

    /// Whether kube-apiserver would say `is forbidden`, with code 403, where it otherwise says `is invalid`.
    pub const fn is_access_error(self) -> bool {
        matches!(self, Self::Forbidden | Self::Unauthorized)
    }
}

/// The offending value, by the Go type that upstream hands to its error: the type decides how the value is printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BadValue<'a> {
    /// Nothing is printed.
    Omitted,
    /// A string.
    String(Cow<'a, str>),
    /// A pointer to a string.
    Pointer(Option<Cow<'a, str>>),
    /// A string of a type of its own, such as a UID.
    NamedString(Cow<'a, str>),
    /// An integer, or a pointer to one.
    Int(i32),
    /// An integer of 64 bits.
    Int64(i64),
    /// A pointer to a `metav1.Time`.
    Time(Option<Time>),
    /// A pointer to `UncountedTerminatedPods`.
    Uncounted(Uncounted<'static>),
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

impl BadValue<'_> {
    /// The same value, with nothing borrowed.
    fn into_owned(self) -> BadValue<'static> {
        match self {
            Self::Omitted => BadValue::Omitted,
            Self::String(text) => BadValue::String(owned(text)),
            Self::Pointer(text) => BadValue::Pointer(text.map(owned)),
            Self::NamedString(text) => BadValue::NamedString(owned(text)),
            Self::Int(number) => BadValue::Int(number),
            Self::Int64(number) => BadValue::Int64(number),
            Self::Time(time) => BadValue::Time(time),
            Self::Uncounted(pods) => BadValue::Uncounted(pods),
        }
    }

    /// The value as `field.Error` of the release prints it.
    ///
    /// Up to 1.33 a pointer is followed and what it points to printed with `%q` (nothing: the word `"null"` as a
    /// string); from 1.34 on a pointer goes through `encoding/json`.
    fn text(&self, release: Release) -> Option<String> {
        match self {
            Self::Omitted => None,
            Self::Pointer(value) if release >= Release::V1_34 => Some(
                value
                    .as_deref()
                    .map_or_else(|| "null".to_owned(), go::json_string),
            ),
            Self::Pointer(value) => Some(go::quote(value.as_deref().unwrap_or("null"))),
            Self::NamedString(value) if release >= Release::V1_34 => Some(go::json_string(value)),
            Self::String(value) | Self::NamedString(value) => Some(go::quote(value)),
            Self::Int(value) => Some(value.to_string()),
            Self::Int64(value) => Some(value.to_string()),
            Self::Time(None) if release >= Release::V1_34 => Some("null".to_owned()),
            Self::Time(None) => Some("\"null\"".to_owned()),
            Self::Time(Some(time)) if release >= Release::V1_34 => Some(time.json()),
            Self::Time(Some(time)) => Some(time.go_string()),
            Self::Uncounted(pods) if release >= Release::V1_34 => Some(uncounted_json(pods)),
            Self::Uncounted(pods) => Some(uncounted_go(pods)),
        }
    }
}

/// The struct as `encoding/json` writes it: upstream's internal type has no tags, so the fields keep their Go names.
fn uncounted_json(pods: &Uncounted<'_>) -> String {
    let list = |uids: &Option<Vec<Cow<'_, str>>>| match uids {
        None => "null".to_owned(),
        Some(uids) => format!("[{}]", joined(uids, ",", go::json_string)),
    };
    format!(
        "{{\"Succeeded\":{},\"Failed\":{}}}",
        list(&pods.succeeded),
        list(&pods.failed)
    )
}

/// The struct as `%#v` prints it.
fn uncounted_go(pods: &Uncounted<'_>) -> String {
    let list = |uids: &Option<Vec<Cow<'_, str>>>| match uids {
        None => "[]types.UID(nil)".to_owned(),
        Some(uids) => format!("[]types.UID{{{}}}", joined(uids, ", ", go::quote)),
    };
    let (succeeded, failed) = (list(&pods.succeeded), list(&pods.failed));
    format!("batch.UncountedTerminatedPods{{Succeeded:{succeeded}, Failed:{failed}}}")
}

fn joined(uids: &[Cow<'_, str>], separator: &str, print: fn(&str) -> String) -> String {
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

/// One thing wrong with one field, in the form of kube-apiserver's `field.Error`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError<'a> {
    error_type: ErrorType,
    path: Cow<'a, str>,
    value: BadValue<'a>,
    detail: Cow<'a, str>,
    /// What a warning says instead of the detail, where that is long.
    brief: Option<Cow<'a, str>>,
    /// The value that the field was probably meant to have.
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
            brief: None,
            suggestion: None,
        }
    }

    /// The field's value is not allowed; `detail` says why.
    pub(crate) fn invalid(
        path: impl Into<Cow<'a, str>>,
        value: BadValue<'a>,
        detail: impl Into<Cow<'a, str>>,
    ) -> Self {
        Self::new(ErrorType::Invalid, path, value, detail)
    }

    /// The field needs a value; `detail` says why, unless it is empty.
    pub(crate) fn required(path: impl Into<Cow<'a, str>>, detail: &'static str) -> Self {
        Self::new(ErrorType::Required, path, BadValue::Omitted, detail)
    }

    /// The value stands in the list already.
    pub(crate) fn duplicate(path: impl Into<Cow<'a, str>>, value: BadValue<'a>) -> Self {
        Self::new(ErrorType::Duplicate, path, value, "")
    }

    /// The field's value has too many bytes; `detail` says how many it may have.
    pub(crate) fn too_long(path: impl Into<Cow<'a, str>>, detail: impl Into<Cow<'a, str>>) -> Self {
        Self::new(ErrorType::TooLong, path, BadValue::Omitted, detail)
    }

    /// The value is not in the list of allowed values, which `detail` names.
    pub(crate) fn not_supported(
        path: impl Into<Cow<'a, str>>,
        value: BadValue<'a>,
        detail: impl Into<Cow<'a, str>>,
    ) -> Self {
        Self::new(ErrorType::NotSupported, path, value, detail)
    }

    /// The field may not be as it is here; `detail` says why, and what would do.
    pub(crate) fn forbidden(
        path: impl Into<Cow<'a, str>>,
        detail: impl Into<Cow<'a, str>>,
    ) -> Self {
        Self::new(ErrorType::Forbidden, path, BadValue::Omitted, detail)
    }

    /// Who asks may not write the field; `detail` says who may.
    pub(crate) fn unauthorized(
        path: impl Into<Cow<'a, str>>,
        detail: impl Into<Cow<'a, str>>,
    ) -> Self {
        Self::new(ErrorType::Unauthorized, path, BadValue::Omitted, detail)
    }

    /// The same error, with fewer words for a warning.
    #[must_use]
    pub(crate) fn briefly(mut self, brief: impl Into<Cow<'a, str>>) -> Self {
        self.brief = Some(brief.into());
        self
    }

    /// Adds the value that was probably meant. It must be one that could be written at the path; the detail names it too.
    #[must_use]
    pub(crate) fn suggesting(mut self, value: impl Into<Cow<'a, str>>) -> Self {
        self.suggestion = Some(value.into());
        self
    }

    /// The same error, with nothing borrowed.
    fn into_owned(self) -> FieldError<'static> {
        FieldError {
            error_type: self.error_type,
            path: owned(self.path),
            value: self.value.into_owned(),
            detail: owned(self.detail),
            brief: self.brief.map(owned),
            suggestion: self.suggestion.map(owned),
        }
    }

    /// What is wrong, and what would do.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns the value that was probably meant: the bare text to write at the path instead of the one there.
    pub fn suggestion(&self) -> Option<&str> {
        self.suggestion.as_deref()
    }

    /// The field's path, from the object's root.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The kind of trouble.
    pub fn error_type(&self) -> ErrorType {
        self.error_type
    }

    /// The error as kube-apiserver of that release writes it.
    pub fn text(&self, release: Release) -> String {
        let value = self.value.text(release);
        self.join(
            Some(self.error_type.as_str()),
            value.as_deref(),
            &self.detail,
        )
    }

    /// The error with no word too many: a value says by itself that it is meant.
    fn short_text(&self, release: Release) -> String {
        let brief = self.brief.as_ref().unwrap_or(&self.detail);
        match self.value.text(release) {
            Some(value) => self.join(None, Some(&value), brief),
            None if self.error_type.is_access_error() => self.join(None, None, brief),
            None => self.text(release),
        }
    }

    fn join(&self, error_type: Option<&str>, value: Option<&str>, detail: &str) -> String {
        let detail = Some(detail).filter(|detail| !detail.is_empty());
        let parts = [Some(&*self.path), error_type, value, detail];
        parts.into_iter().flatten().collect::<Vec<_>>().join(": ")
    }
}

/// An error and the rule that found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding<'a> {
    rule: &'static Rule,
    error: FieldError<'a>,
    /// Whether kube-apiserver would have found it too, so that its error text is kept.
    upstream: bool,
    /// The releases that find it, where not all do and the settings choose none.
    releases: Option<ReleaseSet>,
}

impl<'a> Finding<'a> {
    pub(crate) fn new(rule: &'static Rule, error: FieldError<'a>, upstream: bool) -> Self {
        Self {
            rule,
            error,
            upstream,
            releases: None,
        }
    }

    /// The same finding, with nothing borrowed.
    pub(crate) fn into_owned(self) -> Finding<'static> {
        Finding {
            rule: self.rule,
            error: self.error.into_owned(),
            upstream: self.upstream,
            releases: self.releases,
        }
    }

    /// The same finding, of some releases alone.
    pub(crate) fn of_releases(self, releases: ReleaseSet) -> Self {
        Self {
            releases: Some(releases),
            ..self
        }
    }

    /// The releases of kube-apiserver that deny for this, where the settings choose no release and not all do.
    pub fn releases(&self) -> Option<ReleaseSet> {
        self.releases
    }

    /// The rule that fired.
    pub fn rule(&self) -> &'static Rule {
        self.rule
    }

    /// What it found.
    pub fn error(&self) -> &FieldError<'a> {
        &self.error
    }

    /// Whether kube-apiserver would find it too.
    pub fn is_upstream(&self) -> bool {
        self.upstream
    }

    /// The finding as part of a denial. What kube-apiserver finds too keeps its words to the byte; the
    /// rest names its rule.
    pub fn denial(&self, release: Release) -> String {
        let text = self.error.text(release);
        if self.upstream {
            text
        } else {
            self.named(&text)
        }
    }

    /// The finding as a warning, which the API server never gives: short, and with its rule.
    pub fn warning(&self, release: Release) -> String {
        let Some(releases) = self.releases else {
            return self.named(&self.error.short_text(release));
        };
        let release = releases.newest().unwrap_or(release);
        let text = self.error.short_text(release);
        self.named(&format!(
            "{text}; kube-apiserver {releases} denies it, set kubernetes_version to deny it here"
        ))
    }

    /// A text about it with the name of its rule.
    pub(crate) fn named(&self, text: &str) -> String {
        format!("{text} [{}]", self.rule.id)
    }
}

#[cfg(test)]
mod tests {
    use super::{BadValue, FieldError};
    use crate::object::job::Uncounted;
    use crate::release::Release;

    #[test]
    fn values_print_by_type_and_release() {
        let (v1_33, v1_34) = (Release::V1_33, Release::V1_34);
        let text = |value, release| FieldError::invalid("spec.x", value, "no").text(release);
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
        // A list goes on until 64 KiB of it are printed.
        for (first, end) in [(65_533, r#"a","b"],"#), (65_534, r#"a",...],"#)] {
            let uids = vec!["a".repeat(first).into(), "b".into()];
            let (succeeded, failed) = (Some(uids), None);
            let uids = BadValue::Uncounted(Uncounted { succeeded, failed });
            assert!(text(uids, Release::V1_37).contains(end), "{first}");
        }
    }

    #[test]
    fn an_empty_detail_leaves_no_colon() {
        assert_eq!(
            FieldError::required("spec.x", "").text(Release::V1_37),
            "spec.x: Required value"
        );
    }
}
