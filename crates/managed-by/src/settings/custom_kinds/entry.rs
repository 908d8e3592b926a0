//! An entry: one kind.

use std::borrow::Cow;

use super::borrowed;
use super::status::DeclaredStatus;
use super::words::{
    VALUES_LIST, VERSIONS_LIST, wrong_field_path, wrong_group, wrong_name, wrong_plural,
    wrong_value,
};
use crate::decode::{Part, Path, Type};
use crate::kind::{self, EXTERNAL, Form, Holder, Kind, Status};
use crate::settings::problem::Problem;
use crate::settings::reading::{Reading, declare_keys};
use crate::upstream::names::is_managed_by;

declare_keys!(Key {
    "group" => Group,
    "versions" => Versions,
    "kind" => Kind,
    "plural" => Plural,
    "managed_by" => ManagedBy,
    "reserved" => Reserved,
    "form" => Form,
    "holder" => Holder,
    "status" => Status,
});

/// The keys that no entry may leave out, and what they hold.
const NEEDED: [(&str, Key, &str); 3] = [
    (
        "group",
        Key::Group,
        "the group of the kind, such as argoproj.io",
    ),
    ("kind", Key::Kind, "the name of the kind, such as Workflow"),
    (
        "plural",
        Key::Plural,
        "the name of its resource, such as workflows",
    ),
];

/// Where the field is, unless an entry says otherwise.
const MANAGED_BY: &str = "spec.managedBy";

/// One entry: a kind as the admin declares it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CustomKind<'a> {
    pub(super) group: Cow<'a, str>,
    /// [`None`] is all.
    versions: Option<Vec<Cow<'a, str>>>,
    pub(super) kind: Cow<'a, str>,
    plural: Cow<'a, str>,
    managed_by: Option<Cow<'a, str>>,
    pub(super) reserved: Option<Cow<'a, str>>,
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

impl<'a> CustomKind<'a> {
    pub(super) fn read(entry: &Part<'a>, path: &Path<'_>, reading: &mut Reading) -> Self {
        let mut kind = Self::default();
        let got = entry.raw().json_type();
        if got != Type::Object {
            let got = got.name();
            let text = format!("got {got}, expected an object that declares a kind");
            reading.push(Problem::new(path, text));
            return kind;
        }
        let mut given = Vec::new();
        let members = entry.parts();
        reading.members(&members, path, Key::ALL, |reading, value, key, path| {
            given.push(key);
            match key {
                Key::Group => kind.group = reading.text(value, path, &wrong_group),
                Key::Versions => {
                    kind.versions = Some(reading.strings(value, path, &VERSIONS_LIST));
                }
                Key::Kind => kind.kind = reading.text(value, path, &wrong_name),
                Key::Plural => kind.plural = reading.text(value, path, &wrong_plural),
                Key::ManagedBy => {
                    kind.managed_by = Some(reading.text(value, path, &wrong_field_path));
                }
                Key::Reserved => kind.reserved = Some(reading.text(value, path, &wrong_value)),
                Key::Form if value.json_type() == Type::Array => {
                    kind.form = DeclaredForm::OneOf(reading.strings(value, path, &VALUES_LIST));
                }
                Key::Form => {
                    let is_any = reading.word(value, path, &[("path", false), ("any", true)]);
                    if is_any == Some(true) {
                        kind.form = DeclaredForm::Any;
                    }
                }
                Key::Holder => {
                    let words = &[("workload", false), ("template", true)];
                    kind.is_template = reading.word(value, path, words).unwrap_or_default();
                }
                Key::Status => kind.status = Some(DeclaredStatus::read(value, path, reading)),
            }
        });
        for (name, key, expected) in NEEDED {
            if !given.contains(&key) {
                reading.push(Problem::missing(&Path::Member(path, name), expected));
            }
        }
        kind
    }

    /// Whether the entry is about a version of the kind.
    pub(super) fn is_in(&self, version: &str) -> bool {
        let versions = self.versions.as_ref();
        versions.is_none_or(|versions| versions.iter().any(|v| v == version))
    }

    /// Whether objects of the kind are delegated themselves.
    pub(crate) fn is_workload(&self) -> bool {
        !self.is_template
    }

    /// The name of the kind.
    pub(in crate::settings) fn name(&self) -> &str {
        &self.kind
    }

    /// Whether the kind's own API accepts a value.
    pub(in crate::settings) fn accepts(&self, value: &str) -> bool {
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
        status.with_profile(|profile| {
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
                    Some(_) => Status::Custom(profile),
                    None => Status::Unjudged,
                },
                is_declared: true,
                ..Kind::EMPTY
            })
        })
    }

    /// Notes what contradicts something else.
    pub(super) fn check(&self, path: &Path<'_>, reading: &mut Reading) {
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
