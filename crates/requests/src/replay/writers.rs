//! Who wrote which status, as audit logs tell it: what `standard_status_writers` and `status_writers` in the settings can
//! list.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use managed_by::{AdmissionRequest, Holder, Kind, Problems, Settings, kinds, with_kind};
use serde_json::json;

use super::groups::in_groups;
use super::step::Seen;
use super::tally::{add, entry, username};
use super::{line_of, lines};
use crate::json::{Members, elements, string};
use crate::path::Path;
use crate::record::{Audited, read_audited};
use crate::split::parts;
use crate::unjudged::{Unjudged, Why};

/// Reads audit logs, and remembers who wrote the status of which workloads.
#[derive(Debug)]
pub struct StatusWriters {
    targets: Vec<Target>,
    /// By the place of the kind among the targets, the first one of its name.
    standard: BTreeMap<usize, Users>,
    /// By the name of the controller.
    delegated: BTreeMap<String, Users>,
    sums: WriterSums,
}

/// The writers of something, by name.
type Users = BTreeMap<String, StatusWriter>;

/// The sums of the audit logs that were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriterSums {
    /// Documents that were read.
    pub documents: u64,
    /// Status writes of workloads that count. The ones that the policy denied are among them.
    pub writes: u64,
    /// How many of them the policy denied.
    pub denied: u64,
    /// How many of them the policy let through although one of its rules about writers found something: in mode `monitor`,
    /// or where the rule warns.
    pub found: u64,
    /// When the first of them was, and the last, as far as the events say.
    pub times: Option<(String, String)>,
    /// Status writes that the API server refused for another reason. They do not count.
    pub refused: u64,
    /// Status writes of other kinds: kinds that nobody knows, and kinds that only hold the template of a workload, such as
    /// CronJobs. They do not count.
    pub other: u64,
    /// Status writes whose events say neither that the object is delegated nor that it is not.
    pub undecided: u64,
    /// Where the first of these is.
    pub first_undecided: Option<Seen>,
    /// What could not be read, by reason, in their order.
    pub unjudged: Vec<(Why, u64)>,
}

/// Who wrote the status of something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusWriter {
    /// The name, as admission sees it.
    pub user: String,
    /// The kinds of the objects, by name.
    pub kinds: BTreeSet<String>,
    /// How often.
    pub writes: u64,
    /// How often the policy denied it.
    pub denied: u64,
    /// How often the policy let it through, but one of its rules about writers found something.
    pub found: u64,
    /// The first time.
    pub first: Seen,
}

/// Who wrote what, in the order in which the settings are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// The writers of the status of objects that are not delegated, by kind.
    pub standard: Vec<(String, Vec<StatusWriter>)>,
    /// The writers of the status of what is delegated to a controller, by its name.
    pub delegated: Vec<(String, Vec<StatusWriter>)>,
    /// The sums.
    pub sums: WriterSums,
}

/// A kind whose status somebody writes.
#[derive(Debug)]
struct Target {
    group: String,
    /// None is all.
    versions: Vec<String>,
    plural: String,
    name: String,
    managed_by: Path,
    reserved: Option<String>,
}

/// What an event says.
enum Said<'c> {
    Nothing,
    Other,
    Refused,
    Undecided,
    Unjudged(Unjudged),
    Written(Wrote<'c>),
}

/// A write that counts.
struct Wrote<'c> {
    /// The place of the kind.
    kind: usize,
    whose: Whose<'c>,
    user: String,
    time: Option<Cow<'c, str>>,
    verdict: Verdict,
}

/// To whom an object belongs whose status is written.
#[derive(Debug, PartialEq, Eq)]
enum Whose<'c> {
    Standard,
    Delegated(Cow<'c, str>),
}

/// What the policy said to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Nothing,
    /// It let the write through, but found something.
    Found,
    Denied,
}

/// What the policy noted about a write.
#[derive(Debug, Default)]
struct Notes<'c> {
    whose: Option<Whose<'c>>,
    /// Whether one of its rules about writers denies, or would but for mode `monitor`.
    is_denied: bool,
    /// Whether one of them warns.
    is_warned: bool,
}

/// The first part of the ids of the rules about writers.
const RULES: &str = "status-writer/";

impl StatusWriters {
    /// Nothing was read yet. The settings, as JSON, declare kinds.
    ///
    /// # Errors
    /// All problems of the settings.
    pub fn new(settings: &str) -> Result<Self, Problems> {
        let mut targets: Vec<Target> = kinds().iter().copied().filter_map(Target::of).collect();
        let read = Settings::from_json(settings.as_bytes())?;
        let declared = Members::of(settings).and_then(|all| all.get("custom_kinds"));
        for kind in declared.and_then(elements).unwrap_or_default() {
            targets.extend(Target::declared(kind, &read)?);
        }
        Ok(Self {
            targets,
            standard: BTreeMap::new(),
            delegated: BTreeMap::new(),
            sums: WriterSums::default(),
        })
    }

    /// How many status writes count up to now.
    pub fn writes(&self) -> u64 {
        self.sums.writes
    }

    /// Reads a chunk of a source, whose documents are complete ([`crate::complete`]). What is to tell comes in the order of
    /// the source. Returns how many lines the chunk has.
    pub fn chunk(
        &mut self,
        bytes: &[u8],
        source: usize,
        lines_before: u64,
        mut tell: impl FnMut(Seen, Unjudged),
    ) -> u64 {
        let parts = parts(bytes);
        self.sums.documents = add(self.sums.documents, parts.len());
        let targets = &*self.targets;
        let said = in_groups(&parts, |part, said| {
            read_audited(part.bytes, |lines, audited| {
                let line = line_of(lines_before, part, lines);
                said.push((line, Said::of(audited, targets)));
            });
        });
        for (line, said) in said {
            let time = None;
            let seen = Seen { source, line, time };
            if let Some(unjudged) = self.add(said, &seen) {
                tell(seen, unjudged);
            }
        }
        lines(bytes)
    }

    /// Adds what an event says, and hands back what is to be told.
    fn add(&mut self, said: Said<'_>, seen: &Seen) -> Option<Unjudged> {
        let sums = &mut self.sums;
        match said {
            Said::Nothing => {}
            Said::Other => sums.other = add(sums.other, 1),
            Said::Refused => sums.refused = add(sums.refused, 1),
            Said::Undecided => {
                sums.undecided = add(sums.undecided, 1);
                sums.first_undecided.get_or_insert_with(|| seen.clone());
            }
            Said::Written(wrote) => self.count(wrote, seen),
            Said::Unjudged(unjudged) => {
                if let Some(count) = entry(&mut sums.unjudged, unjudged.why, || 0) {
                    *count = add(*count, 1);
                }
                return Some(unjudged);
            }
        }
        None
    }

    fn count(&mut self, wrote: Wrote<'_>, seen: &Seen) {
        let time = wrote.time.map(Cow::into_owned);
        let sums = &mut self.sums;
        sums.writes = add(sums.writes, 1);
        if let Some(time) = &time {
            let (first, last) = sums
                .times
                .get_or_insert_with(|| (time.clone(), time.clone()));
            if time < first {
                first.clone_from(time);
            }
            if time > last {
                last.clone_from(time);
            }
        }
        let users = match wrote.whose {
            Whose::Standard => self.standard.entry(wrote.kind).or_default(),
            Whose::Delegated(name) => self.delegated.entry(name.into_owned()).or_default(),
        };
        let writer = users
            .entry(wrote.user.clone())
            .or_insert_with(|| StatusWriter {
                user: wrote.user,
                kinds: BTreeSet::new(),
                writes: 0,
                denied: 0,
                found: 0,
                first: Seen {
                    time,
                    ..seen.clone()
                },
            });
        if let Some(target) = self.targets.get(wrote.kind)
            && !writer.kinds.contains(&target.name)
        {
            writer.kinds.insert(target.name.clone());
        }
        writer.writes = add(writer.writes, 1);
        match wrote.verdict {
            Verdict::Nothing => {}
            Verdict::Found => {
                writer.found = add(writer.found, 1);
                sums.found = add(sums.found, 1);
            }
            Verdict::Denied => {
                writer.denied = add(writer.denied, 1);
                sums.denied = add(sums.denied, 1);
            }
        }
    }

    /// Who wrote what: of each list the most frequent writer first.
    pub fn finish(self) -> Written {
        let targets = self.targets;
        let of_kind = |(place, users): (usize, Users)| {
            let target = targets.get(place)?;
            Some((target.name.clone(), sorted(users)))
        };
        let of_controller = |(name, users): (String, Users)| (name, sorted(users));
        Written {
            standard: self.standard.into_iter().filter_map(of_kind).collect(),
            delegated: self.delegated.into_iter().map(of_controller).collect(),
            sums: self.sums,
        }
    }
}

fn sorted(users: Users) -> Vec<StatusWriter> {
    let mut writers: Vec<_> = users.into_values().collect();
    // The sort keeps the order of the names where counts are equal.
    writers.sort_by_key(|writer| std::cmp::Reverse(writer.writes));
    writers
}

impl Target {
    /// A kind whose objects are delegated themselves. The settings list writers of no other.
    fn of(kind: &Kind<'_>) -> Option<Self> {
        (kind.holder() == Holder::Workload).then(|| Self {
            group: kind.group().to_owned(),
            versions: kind.versions().iter().map(ToString::to_string).collect(),
            plural: kind.plural().to_owned(),
            name: kind.name().to_owned(),
            managed_by: Path::parse(kind.managed_by_path()),
            reserved: kind.reserved_value().map(str::to_owned),
        })
    }

    /// A kind that the settings declare, as the library reads it.
    fn declared(entry: &str, settings: &Settings<'_>) -> Result<Option<Self>, Problems> {
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
    fn find<'t>(targets: &'t [Self], audited: &Audited<'_>) -> Option<&'t Self> {
        let is_it =
            |target: &&Self| target.group == audited.group && target.plural == audited.resource;
        let mut all = targets.iter().filter(is_it);
        let has_version = |target: &&Self| target.versions.iter().any(|v| *v == audited.version);
        all.clone().find(has_version).or_else(|| all.next())
    }

    /// To whom an object belongs, if a text is an object of the kind that says so.
    fn whose<'c>(&self, object: &'c str) -> Option<Whose<'c>> {
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
    fn of(audited: Result<Audited<'c>, Unjudged>, targets: &[Target]) -> Self {
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
            return Self::Unjudged(Unjudged {
                why: Why::Malformed,
                text: "an audit event of a status write that names no user".to_owned(),
            });
        };
        Self::Written(Wrote {
            kind,
            whose,
            user,
            time: audited.time(),
            verdict: if is_denied {
                Verdict::Denied
            } else if notes.is_denied || notes.is_warned {
                Verdict::Found
            } else {
                Verdict::Nothing
            },
        })
    }
}

impl<'c> Notes<'c> {
    /// What the policy noted. The API server puts the name of the webhook before each key; one webhook says both who is meant
    /// and who that is.
    fn of(annotations: &Members<'c>) -> Self {
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
    fn what_go_quotes_is_read_again() {
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
