//! `custom_kinds`: kinds that the admin declares, because the library does not know them.

use std::borrow::Cow;

use super::problem::{Problem, Problems};
use super::reading::{List, Reading};
use crate::decode::{Note, Outline, Part, Path, Place, Raw, Type, late, shown};
use crate::kind::status::{CONDITIONS, End, Ends, Outcome, Sign, StatusProfile, is_true};
use crate::kind::{self, EXTERNAL, Form, Holder, Kind, Status};
use crate::request::GroupVersionKind;
use crate::upstream::names::{MAX_SUBDOMAIN, is_label, is_managed_by, is_subdomain};

const PATH: Path<'_> = Path::Member(&Path::Root, "custom_kinds");

const KEYS: [&str; 9] = [
    "group",
    "versions",
    "kind",
    "plural",
    "managed_by",
    "reserved",
    "form",
    "holder",
    "status",
];

const STATUS_KEYS: [&str; 6] = ["success", "failure", "start", "end", "counters", "totals"];

const SIGN_KEYS: [&str; 3] = ["condition", "path", "values"];

/// No settings may declare more kinds.
const MAX_KINDS: usize = 64;

/// No path may have more segments.
const MAX_SEGMENTS: usize = 16;

/// No status may have more counters, or more totals.
const MAX_COUNTERS: usize = 16;

/// No list of words may be longer.
const MAX_WORDS: usize = 16;

/// No name of a version, a kind or a resource is longer, and no segment of a path.
const MAX_LABEL: usize = 63;

/// Where the field is, unless an entry says otherwise.
const MANAGED_BY: &str = "spec.managedBy";

/// The section, unread until a request is about a kind that the library does not know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CustomKinds<'a> {
    pub(super) section: Option<Raw<'a>>,
}

/// One entry: a kind as the admin declares it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CustomKind<'a> {
    group: Cow<'a, str>,
    /// [`None`] is all.
    versions: Option<Vec<Cow<'a, str>>>,
    kind: Cow<'a, str>,
    plural: Cow<'a, str>,
    managed_by: Option<Cow<'a, str>>,
    reserved: Option<Cow<'a, str>>,
    form: DeclaredForm<'a>,
    is_template: bool,
    status: Option<DeclaredStatus<'a>>,
}

/// Which values the kind's own API accepts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum DeclaredForm<'a> {
    #[default]
    Path,
    Any,
    OneOf(Vec<Cow<'a, str>>),
}

/// What the status says, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct DeclaredStatus<'a> {
    success: Option<DeclaredSign<'a>>,
    failure: Option<DeclaredSign<'a>>,
    start: Option<Cow<'a, str>>,
    end: Option<Cow<'a, str>>,
    counters: Vec<Cow<'a, str>>,
    totals: Vec<Cow<'a, str>>,
}

/// How the status says that the workload has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DeclaredSign<'a> {
    Condition(Cow<'a, str>),
    Word {
        path: Cow<'a, str>,
        values: Vec<Cow<'a, str>>,
    },
}

impl<'a> CustomKinds<'a> {
    /// The entries, by their keys; none if the section is no list.
    fn entries(self, reading: &mut Reading) -> Vec<Outline<'a>> {
        let expected = "a list of kinds, each an object";
        let section = self.section;
        let Some(section) = section.filter(|s| reading.is(*s, Type::Array, &PATH, expected)) else {
            return Vec::new();
        };
        let note = Note::default();
        let outline = late(section, Place::root(&note), |value| Outline::read(value));
        let parts = outline.map(|outline| outline.parts).unwrap_or_default();
        let entries = parts.into_iter().filter_map(|(_, part)| match part {
            Part::Outline(entry) => Some(entry),
            Part::Text(_) => None,
        });
        entries.collect()
    }

    /// The entry of a kind, if there is one for its version.
    pub(super) fn find(
        self,
        wanted: &GroupVersionKind<'_>,
    ) -> Result<Option<CustomKind<'a>>, Problems> {
        let mut reading = Reading::lazy();
        for (index, entry) in self.entries(&mut reading).iter().enumerate() {
            let is = |key: &str, wanted: &str| {
                let mut keys = entry.texts();
                keys.any(|(name, value)| name == key && value.string().as_deref() == Some(wanted))
            };
            if is("kind", &wanted.kind) && is("group", &wanted.group) {
                let path = Path::Index(&PATH, index);
                let kind = CustomKind::read(entry, &path, &mut reading);
                return reading.end(kind.is_in(&wanted.version).then_some(kind));
            }
        }
        reading.end(None)
    }

    /// Whether there are none.
    pub(super) fn is_empty(self) -> bool {
        self.entries(&mut Reading::lazy()).is_empty()
    }

    /// The names of the kinds.
    pub(super) fn names(self) -> Vec<Cow<'a, str>> {
        let entries = self.entries(&mut Reading::lazy());
        let keys = entries.iter().flat_map(Outline::texts);
        keys.filter(|(name, _)| *name == "kind")
            .filter_map(|(_, value)| value.string())
            .collect()
    }

    /// The kinds of a name. What is wrong with them is told elsewhere.
    pub(super) fn named(self, name: &str) -> Vec<CustomKind<'a>> {
        let all = self.all(&mut Reading::lazy());
        all.into_iter().filter(|kind| kind.kind == name).collect()
    }

    /// The kind whose own controller has a name. What is wrong with it is told elsewhere.
    pub(super) fn reconciled_by(self, controller: &str) -> Option<CustomKind<'a>> {
        let mut all = self.all(&mut Reading::lazy()).into_iter();
        all.find(|kind| kind.reserved.as_deref() == Some(controller))
    }

    fn all(self, reading: &mut Reading) -> Vec<CustomKind<'a>> {
        let entries = self.entries(reading);
        let read = entries
            .iter()
            .enumerate()
            .map(|(index, entry)| CustomKind::read(entry, &Path::Index(&PATH, index), reading));
        read.collect()
    }

    /// Notes everything that is wrong.
    pub(super) fn check(self, reading: &mut Reading) {
        let count = self.section.map_or(0, |section| section.elements().len());
        if count > MAX_KINDS {
            let text = format!("got {count} kinds, expected at most {MAX_KINDS}");
            reading.push(Problem::new(&PATH, text));
            return;
        }
        let all = self.all(reading);
        for (index, kind) in all.iter().enumerate() {
            let path = Path::Index(&PATH, index);
            let same =
                |other: &CustomKind<'_>| other.kind == kind.kind && other.group == kind.group;
            let earlier = all.iter().take(index).position(same);
            if let Some(earlier) = earlier.filter(|_| !kind.kind.is_empty()) {
                let text = format!(
                    "{} of {} is declared by item {earlier} already",
                    kind.kind, kind.group
                );
                reading.push(Problem::semantic(&path, text));
            }
            kind.check(&path, reading);
        }
    }
}

impl<'a> CustomKind<'a> {
    fn read(entry: &Outline<'a>, path: &Path<'_>, reading: &mut Reading) -> Self {
        let mut kind = Self::default();
        if entry.json_type != Type::Object {
            let got = entry.json_type.name();
            let text = format!("got {got}, expected an object that declares a kind");
            reading.push(Problem::new(path, text));
            return kind;
        }
        let mut has = (false, false, false);
        reading.members(
            entry.texts(),
            path,
            &KEYS,
            |reading, value, name, path| match name {
                "group" => {
                    has.0 = true;
                    kind.group = reading.text(value, path, &wrong_group);
                }
                "versions" => kind.versions = Some(reading.strings(value, path, &VERSIONS_LIST)),
                "kind" => {
                    has.1 = true;
                    kind.kind = reading.text(value, path, &wrong_name);
                }
                "plural" => {
                    has.2 = true;
                    kind.plural = reading.text(value, path, &wrong_plural);
                }
                "managed_by" => {
                    kind.managed_by = Some(reading.text(value, path, &wrong_field_path));
                }
                "reserved" => kind.reserved = Some(reading.text(value, path, &wrong_value)),
                "form" if value.json_type() == Type::Array => {
                    kind.form = DeclaredForm::OneOf(reading.strings(value, path, &VALUES_LIST));
                }
                "form" => {
                    let is_any = reading.word(value, path, &[("path", false), ("any", true)]);
                    if is_any == Some(true) {
                        kind.form = DeclaredForm::Any;
                    }
                }
                "holder" => {
                    let words = &[("workload", false), ("template", true)];
                    kind.is_template = reading.word(value, path, words).unwrap_or_default();
                }
                _ => kind.status = Some(DeclaredStatus::read(value, path, reading)),
            },
        );
        for (has, key, expected) in [
            (has.0, "group", "the group of the kind, such as argoproj.io"),
            (has.1, "kind", "the name of the kind, such as Workflow"),
            (
                has.2,
                "plural",
                "the name of its resource, such as workflows",
            ),
        ] {
            if !has {
                reading.push(Problem::missing(&Path::Member(path, key), expected));
            }
        }
        kind
    }

    /// Whether the entry is about a version of the kind.
    fn is_in(&self, version: &str) -> bool {
        let versions = self.versions.as_ref();
        versions.is_none_or(|versions| versions.iter().any(|v| v == version))
    }

    /// Whether objects of the kind are delegated themselves.
    pub(crate) fn is_workload(&self) -> bool {
        !self.is_template
    }

    /// The name of the kind.
    pub(super) fn name(&self) -> &str {
        &self.kind
    }

    /// Whether the kind's own API accepts a value.
    pub(super) fn accepts(&self, value: &str) -> bool {
        match &self.form {
            DeclaredForm::Path => is_managed_by(value),
            DeclaredForm::Any => true,
            DeclaredForm::OneOf(values) => values.iter().any(|v| v == value),
        }
    }

    /// Hands out the kind in the form that the library has its own in.
    pub(crate) fn with_kind<T>(&self, version: &str, read: impl FnOnce(&Kind<'_>) -> T) -> T {
        let values = match &self.form {
            DeclaredForm::OneOf(values) => borrowed(values),
            DeclaredForm::Path | DeclaredForm::Any => Vec::new(),
        };
        let status = DeclaredStatus::default();
        let status = self.status.as_ref().unwrap_or(&status);
        let (success, failure) = (status.success.as_ref(), status.failure.as_ref());
        let words = [success, failure].map(|sign| {
            let words = sign.map(DeclaredSign::words);
            borrowed(words.unwrap_or_default())
        });
        let [success_words, failure_words] = &words;
        let success = success.map(|sign| sign.sign(success_words));
        let failure = failure.map(|sign| sign.sign(failure_words));
        let has_outcome = success.is_some() || failure.is_some();
        let profile = StatusProfile {
            outcome: has_outcome.then(|| Outcome::of(success, failure)),
            start: status.start.as_deref(),
            end: status.end.as_deref().map(|path| End {
                path,
                needs_outcome: false,
                required_by: Ends::empty(),
            }),
            counters: &borrowed(&status.counters),
            totals: &borrowed(&status.totals),
            ..StatusProfile::EMPTY
        };
        read(&Kind {
            group: &self.group,
            versions: &[version],
            name: &self.kind,
            plural: &self.plural,
            managed_by: self.managed_by.as_deref().unwrap_or(MANAGED_BY),
            reserved: self.reserved.as_deref(),
            form: match &self.form {
                DeclaredForm::Path => Form::Path,
                DeclaredForm::Any => Form::Open,
                DeclaredForm::OneOf(_) => Form::OneOf(&values),
            },
            holder: if self.is_template {
                Holder::Template(&self.kind)
            } else {
                Holder::Workload
            },
            status: match &self.status {
                Some(_) => Status::Custom(&profile),
                None => Status::Unjudged,
            },
            is_declared: true,
            ..Kind::EMPTY
        })
    }

    /// Notes what contradicts something else.
    fn check(&self, path: &Path<'_>, reading: &mut Reading) {
        let (group, kind) = (&*self.group, &*self.kind);
        let mut built_in = kind::kinds().iter();
        if built_in.any(|known| known.name == kind && known.group == group) {
            let text = format!("{kind} of {group} is built in and cannot be declared");
            reading.push(Problem::semantic(&Path::Member(path, "kind"), text));
        }
        if let Some(reserved) = self.reserved.as_deref().filter(|r| !r.is_empty()) {
            let path = Path::Member(path, "reserved");
            if EXTERNAL.contains(&reserved) {
                let text = "is an external controller, expected the kind's own";
                reading.push(Problem::semantic(&path, text));
            } else if !self.accepts(reserved) {
                let text = "`form` accepts no such value";
                reading.push(Problem::semantic(&path, text));
            }
        }
        if let Some(status) = &self.status {
            status.check(&Path::Member(path, "status"), reading);
        }
    }
}

impl<'a> DeclaredStatus<'a> {
    fn read(value: Raw<'a>, path: &Path<'_>, reading: &mut Reading) -> Self {
        let mut status = Self::default();
        reading.fields(
            value,
            path,
            &STATUS_KEYS,
            |reading, value, name, path| match name {
                "success" => status.success = DeclaredSign::read(value, path, reading),
                "failure" => status.failure = DeclaredSign::read(value, path, reading),
                "start" => status.start = Some(reading.text(value, path, &wrong_status_path)),
                "end" => status.end = Some(reading.text(value, path, &wrong_status_path)),
                "counters" => status.counters = reading.strings(value, path, &COUNTERS_LIST),
                _ => status.totals = reading.strings(value, path, &TOTALS_LIST),
            },
        );
        status
    }

    fn check(&self, path: &Path<'_>, reading: &mut Reading) {
        let signs = [("success", &self.success), ("failure", &self.failure)];
        if let [Some(success), Some(failure)] = [&self.success, &self.failure]
            && success.says_what(failure)
        {
            let text = "says what `success` says";
            reading.push(Problem::semantic(&Path::Member(path, "failure"), text));
        }
        // Each path, and the key that it stands under.
        let mut paths: Vec<(&str, &str)> = Vec::new();
        for (key, sign) in signs {
            if let Some(sign) = sign
                && !paths.iter().any(|(_, path)| *path == sign.path())
            {
                paths.push((key, sign.path()));
            }
        }
        let times = [("start", &self.start), ("end", &self.end)];
        let times = times
            .into_iter()
            .filter_map(|(key, path)| Some((key, path.as_deref()?)));
        let counters = self.counters.iter().map(|path| ("counters", &**path));
        let totals = self.totals.iter().map(|path| ("totals", &**path));
        for (key, declared) in times.chain(counters).chain(totals) {
            let meets = |&&(_, other): &&(&str, &str)| {
                leads_into(declared, other) || leads_into(other, declared)
            };
            if let Some((other, _)) = paths.iter().find(meets) {
                let shown = shown(declared, "path");
                let text = format!("{shown} is, or leads through, a path of `{other}`");
                reading.push(Problem::semantic(&Path::Member(path, key), text));
            }
            paths.push((key, declared));
        }
    }
}

impl<'a> DeclaredSign<'a> {
    fn read(value: Raw<'a>, path: &Path<'_>, reading: &mut Reading) -> Option<Self> {
        let (mut condition, mut word, mut values) = (None, None, None);
        if !reading.is(
            value,
            Type::Object,
            path,
            "an object with `condition`, or with `path` and `values`",
        ) {
            return None;
        }
        reading.fields(
            value,
            path,
            &SIGN_KEYS,
            |reading, value, name, path| match name {
                "condition" => condition = Some(reading.text(value, path, &wrong_condition)),
                "path" => word = Some(reading.text(value, path, &wrong_status_path)),
                _ => values = Some(reading.strings(value, path, &WORDS_LIST)),
            },
        );
        match (condition, word, values) {
            (Some(condition), None, None) => Some(Self::Condition(condition)),
            (None, Some(path), Some(values)) => Some(Self::Word { path, values }),
            (None, Some(_), None) => {
                let expected = "the words that say it, such as [Succeeded]";
                reading.push(Problem::missing(&Path::Member(path, "values"), expected));
                None
            }
            (None, None, Some(_)) => {
                let expected = "the path of the word, such as status.phase";
                reading.push(Problem::missing(&Path::Member(path, "path"), expected));
                None
            }
            (None, None, None) => {
                let expected = "the type of a condition; or `path` and `values`";
                reading.push(Problem::missing(&Path::Member(path, "condition"), expected));
                None
            }
            (Some(_), ..) => {
                let text =
                    "a condition or a word says it: leave out `condition`, or `path` and `values`";
                reading.push(Problem::new(path, text));
                None
            }
        }
    }

    /// Where it is.
    fn path(&self) -> &str {
        match self {
            Self::Condition(_) => CONDITIONS,
            Self::Word { path, .. } => path,
        }
    }

    /// Whether a status that says this may say the other thing by that alone.
    fn says_what(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Condition(this), Self::Condition(other)) => this == other,
            (
                Self::Word { path, values },
                Self::Word {
                    path: other,
                    values: others,
                },
            ) => path == other && values.iter().any(|value| others.contains(value)),
            _ => false,
        }
    }

    /// The words that say it.
    fn words(&self) -> &[Cow<'a, str>] {
        match self {
            Self::Condition(_) => &[],
            Self::Word { values, .. } => values,
        }
    }

    fn sign<'k>(&'k self, words: &'k [&'k str]) -> Sign<'k> {
        match self {
            Self::Condition(condition) => is_true(condition),
            Self::Word { path, .. } => Sign::Word {
                path,
                values: words,
            },
        }
    }
}

fn borrowed<'v>(values: &'v [Cow<'_, str>]) -> Vec<&'v str> {
    values.iter().map(|value| &**value).collect()
}

/// Whether a path is another one, or what is in it.
fn leads_into(path: &str, other: &str) -> bool {
    let rest = other.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

const VERSIONS_LIST: List<'_> = List {
    expected: "a list of versions",
    wrong: &wrong_version,
    is_semantic: false,
    covers: str::eq,
    at_most: MAX_WORDS,
    instead_of_none: Some("; leave the key out to mean all"),
};

const VALUES_LIST: List<'_> = List {
    expected: "path, any, or a list of values",
    wrong: &wrong_value,
    is_semantic: false,
    covers: str::eq,
    at_most: MAX_WORDS,
    instead_of_none: Some("; write any to mean all"),
};

const WORDS_LIST: List<'_> = List {
    expected: "a list of words",
    wrong: &wrong_value,
    is_semantic: false,
    covers: str::eq,
    at_most: MAX_WORDS,
    instead_of_none: Some(""),
};

const COUNTERS_LIST: List<'_> = List {
    expected: "a list of paths",
    wrong: &wrong_counter,
    is_semantic: false,
    covers: str::eq,
    at_most: MAX_COUNTERS,
    instead_of_none: None,
};

const TOTALS_LIST: List<'_> = List {
    wrong: &wrong_status_path,
    ..COUNTERS_LIST
};

/// What apiextensions asks of `spec.group`: a domain with a dot.
fn wrong_group(group: &str) -> Option<String> {
    let right = is_subdomain(group) && group.contains('.') && group.len() <= MAX_SUBDOMAIN;
    (!right).then(|| "expected a domain with a dot, such as argoproj.io".to_owned())
}

fn is_name(name: &str) -> bool {
    is_label(name) && name.len() <= MAX_LABEL && name.starts_with(|c: char| c.is_ascii_lowercase())
}

fn wrong_version(version: &str) -> Option<String> {
    (!is_name(version)).then(|| "expected a version, such as v1alpha1".to_owned())
}

/// What apiextensions asks of `spec.names.kind`: in small letters it is a label.
fn wrong_name(kind: &str) -> Option<String> {
    let right =
        is_name(&kind.to_ascii_lowercase()) && kind.starts_with(|c: char| c.is_ascii_uppercase());
    (!right).then(|| "expected the name of a kind, such as Workflow".to_owned())
}

fn wrong_plural(plural: &str) -> Option<String> {
    (!is_name(plural))
        .then(|| "expected the name of a resource in small letters, such as workflows".to_owned())
}

fn wrong_condition(condition: &str) -> Option<String> {
    condition
        .is_empty()
        .then(|| "expected the type of a condition, such as Succeeded".to_owned())
}

fn wrong_value(value: &str) -> Option<String> {
    value
        .is_empty()
        .then(|| "expected a value that is not empty".to_owned())
}

/// What is wrong with the path of the field.
fn wrong_field_path(path: &str) -> Option<String> {
    wrong_path(path, "spec", "spec.managedBy", "")
}

/// What is wrong with a path in the status.
fn wrong_status_path(path: &str) -> Option<String> {
    wrong_path(path, "status", "status.phase", "")
}

/// What is wrong with the path of a counter, which may be in lists and maps.
fn wrong_counter(path: &str) -> Option<String> {
    wrong_path(path, "status", "status.replicas[].failed", "[]")
}

/// What is wrong with a path that begins with `first`. Each name after that may have `suffix` behind it.
fn wrong_path(path: &str, first: &str, example: &str, suffix: &str) -> Option<String> {
    let is_name = |segment: &str| {
        let name = segment.strip_suffix(suffix).unwrap_or(segment);
        (1..=MAX_LABEL).contains(&name.len())
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    };
    let mut names = 0_usize;
    let right = path.split('.').all(|segment| {
        names = names.saturating_add(1);
        if names == 1 {
            segment == first
        } else {
            is_name(segment)
        }
    });
    let right = right && (2..=MAX_SEGMENTS).contains(&names);
    (!right).then(|| {
        format!("expected a path such as {example}: {first} and what is in it, at most {MAX_SEGMENTS} names")
    })
}
