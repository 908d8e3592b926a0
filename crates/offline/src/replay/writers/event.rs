//! What an event of an audit log tells of the writer of a status.

use std::borrow::Cow;

use managed_by::{AdmissionRequest, FieldLocation, Kind, Problems, Settings, with_kind};
use serde_json::json;

use crate::json::{Members, elements, string};
use crate::path::Path;
use crate::record::Audited;
use crate::replay::tally::username;
use crate::unjudged::{Unjudged, Why};

/// A kind whose status somebody writes.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) group: String,
    /// None is all.
    pub(super) versions: Vec<String>,
    pub(super) plural: String,
    pub(super) name: String,
    pub(super) managed_by: Path,
    pub(super) reserved: Option<String>,
}

/// What an event says.
pub(super) enum Said<'c> {
    Nothing,
    Other,
    Refused,
    Undecided,
    Unjudged(Unjudged),
    Written(Wrote<'c>),
}

/// A write that counts.
pub(super) struct Wrote<'c> {
    /// The place of the kind.
    pub(super) kind: usize,
    pub(super) whose: Whose<'c>,
    pub(super) user: String,
    pub(super) time: Option<Cow<'c, str>>,
    pub(super) reaction: Reaction,
}

/// To whom an object belongs whose status is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Whose<'c> {
    Standard,
    Delegated(Cow<'c, str>),
}

/// What the policy said to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaction {
    Nothing,
    /// It let the write through, but found something.
    Found,
    Denied,
}

/// What the policy noted about a write.
#[derive(Debug, Default)]
pub(super) struct Notes<'c> {
    pub(super) whose: Option<Whose<'c>>,
    /// Whether one of its rules about writers denies, or would but for mode `monitor`.
    pub(super) is_denied: bool,
    /// Whether one of them warns.
    pub(super) is_warned: bool,
}

/// The first part of the ids of the rules about writers.
pub(super) const RULES: &str = "status-writer/";

impl Target {
    /// A kind whose objects are delegated themselves. The settings list writers of no other.
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

    /// A kind that the settings declare, as the library reads it.
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

    /// The kind of a resource: of several the one that has the version. Of another version the API server asks with an object
    /// that it converted (`matchPolicy: Equivalent`).
    pub(super) fn find<'t>(targets: &'t [Self], audited: &Audited<'_>) -> Option<&'t Self> {
        let is_it =
            |target: &&Self| target.group == audited.group && target.plural == audited.resource;
        let mut all = targets.iter().filter(is_it);
        let has_version = |target: &&Self| target.versions.iter().any(|v| *v == audited.version);
        all.clone().find(has_version).or_else(|| all.next())
    }

    /// To whom an object belongs, if a text is an object of the kind that says so.
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
            return Some(Whose::Standard);
        };
        let name = string(value)?;
        let is_reserved = self.reserved.as_deref() == Some(&*name);
        Some(if is_reserved {
            Whose::Standard
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
        // A name counts in all groups, as in the settings.
        let Some(kind) = targets.iter().position(|first| first.name == target.name) else {
            return Self::Other;
        };
        let notes = Notes::of(&audited.annotations());
        // With a message of the admin's own in the policy's manifest, the annotation alone names the rule.
        let message = audited.message().unwrap_or_default();
        let names_rule = notes.is_denied || message.contains("[status-writer/");
        let is_denied = audited.code == 403 && names_rule;
        if audited.is_refused() && !is_denied {
            return Self::Refused;
        }
        let says_standard = is_denied && message.contains("[status-writer/standard]");
        let whose = audited
            .response()
            .and_then(|object| target.whose(object))
            .or(notes.whose)
            .or_else(|| says_standard.then_some(Whose::Standard))
            // What the client sent comes last: the API server keeps the stored spec, whatever the client says.
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
    /// What the policy noted. The API server puts the name of the webhook before each key; one webhook says both who is meant
    /// and who that is.
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
                "mode" if value == "Standard" => notes.whose = Some(Whose::Standard),
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

/// What Go quoted (`strconv.Quote`), unless it is cut or is not UTF-8.
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
                // A byte above ASCII is a part of a character that is broken.
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
            // A byte that is no character, an escape that Go has not, and one that is cut.
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
