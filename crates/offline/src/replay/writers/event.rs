//! Extracts the writer of a status from an audit event.

use std::borrow::Cow;

use managed_by::{AdmissionRequest, FieldLocation, Kind, Problems, Settings, with_kind};
use serde_json::json;

use crate::json::{Members, elements, string};
use crate::path::Path;
use crate::record::Audited;
use crate::replay::tally::username;
use crate::unjudged::{Unjudged, Why};

/// A kind whose status writes are tracked.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) group: String,
    /// Served versions; empty matches all.
    pub(super) versions: Vec<String>,
    pub(super) plural: String,
    pub(super) name: String,
    pub(super) managed_by: Path,
    pub(super) reserved: Option<String>,
}

/// Classification of an audit event.
pub(super) enum Said<'c> {
    Nothing,
    Other,
    Refused,
    Undecided,
    Unjudged(Unjudged),
    Written(Wrote<'c>),
}

/// A status write that counts.
pub(super) struct Wrote<'c> {
    /// Index of the target kind.
    pub(super) kind: usize,
    pub(super) whose: Whose<'c>,
    pub(super) user: String,
    pub(super) time: Option<Cow<'c, str>>,
    pub(super) reaction: Reaction,
}

/// The owner of an object's status: built-in controller or delegate.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Whose<'c> {
    BuiltIn,
    Delegated(Cow<'c, str>),
}

/// The policy's response to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaction {
    Nothing,
    /// The policy allowed the write despite a finding.
    Found,
    Denied,
}

/// The policy's audit annotations on a write.
#[derive(Debug, Default)]
pub(super) struct Notes<'c> {
    pub(super) whose: Option<Whose<'c>>,
    /// True if a status writer rule denies the write, or would deny it outside mode `monitor`.
    pub(super) is_denied: bool,
    /// True if a status writer rule warns.
    pub(super) is_warned: bool,
}

/// Prefix of the ids of status writer rules.
pub(super) const RULES: &str = "status-writer/";

impl Target {
    /// Returns the target for a kind whose objects can be delegated themselves. The settings list writers for no other
    /// kind.
    pub(super) fn of(kind: &Kind<'_>) -> Option<Self> {
        (kind.field_location() == FieldLocation::Workload).then(|| Self {
            group: kind.group().to_owned(),
            versions: kind.versions().iter().map(ToString::to_string).collect(),
            plural: kind.plural().to_owned(),
            name: kind.name().to_owned(),
            managed_by: Path::parse(kind.managed_by_path()),
            reserved: kind.reserved_value().map(str::to_owned),
        })
    }

    /// Parses a custom kind that the settings declare.
    pub(super) fn declared(entry: &str, settings: &Settings<'_>) -> Result<Option<Self>, Problems> {
        let entry = Members::of(entry).unwrap_or_default();
        let text = |name| entry.string(name).unwrap_or_default();
        let versions = entry.get("versions").and_then(elements).unwrap_or_default();
        let versions: Vec<_> = versions.into_iter().filter_map(string).collect();
        let version = versions.first().map_or("v1", |version| &**version);
        let kind = json!({"group": text("group"), "version": version, "kind": text("kind")});
        let request = json!({"operation": "CREATE", "kind": kind, "object": {}}).to_string();
        let Ok(request) = AdmissionRequest::from_json(request.as_bytes()) else {
            return Ok(None);
        };
        let target = with_kind(&request, settings, Self::of)?.flatten();
        Ok(target.map(|target| Self {
            versions: versions.into_iter().map(Cow::into_owned).collect(),
            ..target
        }))
    }

    /// Finds the kind of the audited resource. If several match, the one that serves the version wins. For other versions,
    /// the API server sends a converted object (`matchPolicy: Equivalent`).
    pub(super) fn find<'t>(targets: &'t [Self], audited: &Audited<'_>) -> Option<&'t Self> {
        let is_it =
            |target: &&Self| target.group == audited.group && target.plural == audited.resource;
        let mut all = targets.iter().filter(is_it);
        let has_version = |target: &&Self| target.versions.iter().any(|v| *v == audited.version);
        all.clone().find(has_version).or_else(|| all.next())
    }

    /// Returns the owner of an object's status, if the text is an object of this kind with enough information.
    pub(super) fn whose<'c>(&self, object: &'c str) -> Option<Whose<'c>> {
        let members = Members::of(object)?;
        if members.string("kind")? != self.name {
            return None;
        }
        let (last, before) = self.managed_by.segments().split_last()?;
        let mut holder = members;
        for segment in before {
            holder = holder.object(segment.key());
        }
        let Some(value) = holder.get(last.key()) else {
            return Some(Whose::BuiltIn);
        };
        let name = string(value)?;
        let is_reserved = self.reserved.as_deref() == Some(&*name);
        Some(if is_reserved {
            Whose::BuiltIn
        } else {
            Whose::Delegated(name)
        })
    }
}

impl<'c> Said<'c> {
    pub(super) fn of(audited: Result<Audited<'c>, Unjudged>, targets: &[Target]) -> Self {
        let audited = match audited {
            Ok(audited) if audited.updates_status() => audited,
            Ok(_) => return Self::Nothing,
            Err(unjudged) => return Self::Unjudged(unjudged),
        };
        let Some(target) = Target::find(targets, &audited) else {
            return Self::Other;
        };
        // A kind name applies to all API groups, as in the settings.
        let Some(kind) = targets.iter().position(|first| first.name == target.name) else {
            return Self::Other;
        };
        let notes = Notes::of(&audited.annotations());
        // If the policy manifest sets a custom message, only the annotation names the rule.
        let message = audited.message().unwrap_or_default();
        let names_rule = notes.is_denied || message.contains("[status-writer/");
        let is_denied = audited.code == 403 && names_rule;
        if audited.is_refused() && !is_denied {
            return Self::Refused;
        }
        let is_builtin = is_denied && message.contains("[status-writer/builtin]");
        let whose = audited
            .response()
            .and_then(|object| target.whose(object))
            .or(notes.whose)
            .or_else(|| is_builtin.then_some(Whose::BuiltIn))
            // The client's object comes last: the API server keeps the stored spec and ignores the one in the request.
            .or_else(|| audited.sent().and_then(|object| target.whose(object)));
        let Some(whose) = whose else {
            return Self::Undecided;
        };
        let user = audited.user().and_then(username);
        let Some(user) = user.filter(|user| !user.is_empty()) else {
            let text = "an audit event of a status write that names no user";
            return Self::Unjudged(Unjudged::new(Why::Malformed, text));
        };
        Self::Written(Wrote {
            kind,
            whose,
            user,
            time: audited.time(),
            reaction: if is_denied {
                Reaction::Denied
            } else if notes.is_denied || notes.is_warned {
                Reaction::Found
            } else {
                Reaction::Nothing
            },
        })
    }
}

impl<'c> Notes<'c> {
    /// Reads the policy's annotations. The API server prefixes each key with the webhook name, so both values must come
    /// from the same webhook.
    pub(super) fn of(annotations: &Members<'c>) -> Self {
        let mut notes = Self::default();
        for (key, value) in annotations.iter() {
            let Some((webhook, key)) = key.rsplit_once('/') else {
                continue;
            };
            let value = string(value).unwrap_or_default();
            match key {
                "denied" => notes.is_denied |= value.contains(RULES),
                "warned" => notes.is_warned |= value.contains(RULES),
                "mode" if value == "BuiltIn" => notes.whose = Some(Whose::BuiltIn),
                "mode" if value == "Delegated" => {
                    let controller = annotations.string(&format!("{webhook}/controller"));
                    let controller = controller.and_then(|quoted| unquoted(&quoted));
                    notes.whose = controller.map(|name| Whose::Delegated(Cow::Owned(name)));
                }
                _ => {}
            }
        }
        notes
    }
}

/// Parses a string quoted by Go's `strconv.Quote`. Returns [`None`] if it is truncated or not UTF-8.
fn unquoted(quoted: &str) -> Option<String> {
    let body = quoted.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::with_capacity(body.len());
    let mut rest = body.chars();
    while let Some(c) = rest.next() {
        if c == '"' {
            return None;
        }
        if c != '\\' {
            text.push(c);
            continue;
        }
        let digits = match rest.next()? {
            'a' => Err('\u{7}'),
            'b' => Err('\u{8}'),
            'f' => Err('\u{c}'),
            'n' => Err('\n'),
            'r' => Err('\r'),
            't' => Err('\t'),
            'v' => Err('\u{b}'),
            c @ ('\\' | '"') => Err(c),
            'x' => Ok(2),
            'u' => Ok(4),
            'U' => Ok(8),
            _ => return None,
        };
        text.push(match digits {
            Err(c) => c,
            Ok(digits) => {
                let mut number = 0_u32;
                for _ in 0..digits {
                    let digit = rest.next()?.to_digit(16)?;
                    number = number.checked_mul(16)?.checked_add(digit)?;
                }
                // A byte above ASCII is part of an invalid UTF-8 sequence.
                char::from_u32(number).filter(|c| digits > 2 || c.is_ascii())?
            }
        });
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::unquoted;

    #[test]
    pub(super) fn what_go_quotes_is_read_again() {
        for (quoted, expected) in [
            (
                "\"kueue.x-k8s.io/multikueue\"",
                Some("kueue.x-k8s.io/multikueue"),
            ),
            ("\"\"", Some("")),
            (r#""a\"b\\c""#, Some("a\"b\\c")),
            (
                r#""\a\b\f\n\r\t\v\x00\x7f""#,
                Some("\u{7}\u{8}\u{c}\n\r\t\u{b}\0\u{7f}"),
            ),
            (r#""\u2028\U0001f600é""#, Some("\u{2028}\u{1f600}é")),
            // An invalid byte, an escape that Go does not have, and a truncated escape.
            (r#""\xff""#, None),
            (r#""\q""#, None),
            (r#""\u12""#, None),
            (r#""\""#, None),
            (r#""a"b""#, None),
            (r#""\u+123""#, None),
            (r#""\Uffffffff""#, None),
            (r#""\ud800""#, None),
            ("\"aaa...", None),
            ("aaa", None),
            ("", None),
        ] {
            assert_eq!(unquoted(quoted).as_deref(), expected, "{quoted}");
        }
    }
}
