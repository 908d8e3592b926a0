//! What an admin chooses, and everything that is wrong with it at once.
//!
//! A policy reads its settings for every request, in a fresh instance. So they are borrowed, and what only some requests
//! need (`controllers`, `namespaces`, `exempt`, `standard_status_writers`) is decoded when a rule asks for it, and no
//! more of it than the rule asks for. What a verdict rests on has always been checked: bad settings deny
//! ([`Settings::lazy`]), or were not looked at.

mod controllers;
mod exempt;
mod glob;
mod names;
mod namespaces;
mod path;
mod problem;
mod reading;
#[cfg(feature = "docs")]
pub mod reference;
mod standard;

use std::borrow::Cow;

use crate::catalogue::{self, RULES};
use crate::json::{Reader, Result, Type};
use crate::release::Release;
use crate::request::UserInfo;
use crate::rule::{Enforcement, Rule};
use controllers::Controllers;
pub use controllers::{Controller, kinds};
use exempt::Exempt;
pub(crate) use exempt::Exemption;
pub use namespaces::Delegation;
use namespaces::Namespaces;
use path::Path;
use problem::Got;
pub use problem::{Problem, Problems};
use reading::Reading;
use standard::StandardStatusWriters;

/// What the reserved value of a kind means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReservedValue {
    /// The same as no value, as for kube-apiserver.
    #[default]
    Allow,
    /// Not to be written: only no value means the built-in controller.
    Deny,
}

impl ReservedValue {
    /// All of them, as settings name them.
    pub const ALL: [(&'static str, Self); 2] = [("allow", Self::Allow), ("deny", Self::Deny)];
}

/// What happens to a pod whose Job could not be looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnLookupFailure {
    /// It passes, with a warning.
    #[default]
    Allow,
    /// It is denied.
    Deny,
}

impl OnLookupFailure {
    /// All of them, as settings name them.
    pub const ALL: [(&'static str, Self); 2] = [("allow", Self::Allow), ("deny", Self::Deny)];
}

/// What a cluster is to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// Runs workloads, and may hand some to others.
    #[default]
    Hybrid,
    /// Runs none: all are handed to others.
    Management,
    /// Runs those that it is given, and hands none on.
    Worker,
}

impl Role {
    /// All of them, as settings name them.
    pub const ALL: [(&'static str, Self); 3] = [
        ("hybrid", Self::Hybrid),
        ("management", Self::Management),
        ("worker", Self::Worker),
    ];

    /// What it asks of a namespace that the settings do not name.
    pub const fn delegation(self) -> Delegation {
        match self {
            Self::Hybrid => Delegation::Allowed,
            Self::Management => Delegation::Required,
            Self::Worker => Delegation::Forbidden,
        }
    }
}

/// The policy's settings. [`Settings::default`] is what `{}` means: kube-apiserver's verdicts of the newest release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings<'a> {
    /// `kubernetes_version`: the release whose rules and words apply.
    pub kubernetes_version: Release,
    /// `reserved_value`: what the reserved value means.
    pub reserved_value: ReservedValue,
    /// `role`: what the cluster is to the others.
    pub role: Role,
    /// `on_lookup_failure`: what happens to a pod whose Job could not be looked up.
    pub on_lookup_failure: OnLookupFailure,
    /// `rules`, one for each rule of the catalogue.
    enforcement: [Enforcement; RULES.len()],
    controllers: Option<Controllers<'a>>,
    namespaces: Namespaces<'a>,
    standard_status_writers: StandardStatusWriters<'a>,
    exempt: Exempt<'a>,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Self {
            kubernetes_version: Release::default(),
            reserved_value: ReservedValue::default(),
            role: Role::default(),
            on_lookup_failure: OnLookupFailure::default(),
            enforcement: RULES.map(|rule| rule.default),
            controllers: None,
            namespaces: Namespaces::default(),
            standard_status_writers: StandardStatusWriters::default(),
            exempt: Exempt::default(),
        }
    }
}

/// The keys of the settings.
pub const KEYS: [&str; 9] = [
    "kubernetes_version",
    "reserved_value",
    "role",
    "controllers",
    "namespaces",
    "standard_status_writers",
    "exempt",
    "on_lookup_failure",
    "rules",
];

/// What an answer about some part of the settings is, where that part may be bad.
pub(crate) type Checked<T> = std::result::Result<T, Problems>;

impl<'a> Settings<'a> {
    /// Reads settings from JSON: an object, or `null` for none. A key whose value is `null` is as good as absent.
    ///
    /// # Errors
    /// All problems: unknown keys, keys given twice, values that are not allowed, entries that can never apply, parts
    /// that contradict each other.
    pub fn from_json(bytes: &'a [u8]) -> Checked<Self> {
        let mut reading = Reading::new(true);
        let settings = Self::of(bytes, &mut reading);
        settings.check(&mut reading);
        reading.end().map(|()| settings)
    }

    /// Reads settings that [`Settings::from_json`] would take, as far as every request needs them.
    ///
    /// Should they be bad, that is found here or by the rule that asks for the bad part, and the answer is
    /// [`Verdict::misconfigured`](crate::Verdict::misconfigured). A part that no rule asks for is not judged.
    ///
    /// # Errors
    /// As [`Settings::from_json`], for the parts that were read.
    pub fn lazy(bytes: &'a [u8]) -> Checked<Self> {
        let mut reading = Reading::new(false);
        let settings = Self::of(bytes, &mut reading);
        reading.end().map(|()| settings)
    }

    /// As [`Settings::lazy`], from a document that holds more than settings.
    ///
    /// # Errors
    /// The outer one, if it is not JSON; the inner one as for [`Settings::lazy`].
    pub fn read(reader: &mut Reader<'a>) -> Result<Checked<Self>> {
        let mut settings = Self::default();
        let mut reading = Reading::new(false);
        settings.fill(reader, &mut reading)?;
        Ok(reading.end().map(|()| settings))
    }

    fn of(bytes: &'a [u8], reading: &mut Reading) -> Self {
        let mut settings = Self::default();
        let read = Reader::new(bytes).and_then(|mut reader| {
            settings.fill(&mut reader, reading)?;
            reader.end()
        });
        if let Err(malformed) = read {
            reading.push(Problem::unreadable(&malformed));
        }
        settings
    }

    fn fill(&mut self, reader: &mut Reader<'a>, reading: &mut Reading) -> Result<()> {
        if reader.peek()? == Type::Null {
            return reader.skip();
        }
        reading.fields(
            reader,
            &Path::Settings,
            &KEYS,
            &mut |reading, reader, name, path| {
                match name {
                    "kubernetes_version" => self.read_version(reader, path, reading)?,
                    "reserved_value" => {
                        let word = reading.word(reader, path, ReservedValue::ALL)?;
                        self.reserved_value = word.unwrap_or_default();
                    }
                    "role" => {
                        let word = reading.word(reader, path, Role::ALL)?;
                        self.role = word.unwrap_or_default();
                    }
                    "on_lookup_failure" => {
                        let word = reading.word(reader, path, OnLookupFailure::ALL)?;
                        self.on_lookup_failure = word.unwrap_or_default();
                    }
                    "controllers" => self.controllers = Controllers::read(reader, reading)?,
                    "namespaces" => self.namespaces = Namespaces::read(reader, reading)?,
                    "standard_status_writers" => {
                        self.standard_status_writers.bytes = Some(reader.raw_container()?);
                    }
                    "exempt" => self.exempt.bytes = Some(reader.raw_container()?),
                    _ => self.read_rules(reader, path, reading)?,
                }
                Ok(())
            },
        )
    }

    fn read_version(
        &mut self,
        reader: &mut Reader<'_>,
        path: &Path<'_>,
        reading: &mut Reading,
    ) -> Result<()> {
        let got = Got::read(reader)?;
        match got.string().and_then(Release::parse) {
            Some(release) => self.kubernetes_version = release,
            None => reading.push(Problem::version(path, &got)),
        }
        Ok(())
    }

    fn read_rules(
        &mut self,
        reader: &mut Reader<'_>,
        path: &Path<'_>,
        reading: &mut Reading,
    ) -> Result<()> {
        let expected = "an object of rule ids, each deny, warn or off";
        if !reading.is(reader, Type::Object, path, expected)? {
            return Ok(());
        }
        let mut seen = [false; RULES.len()];
        reader.object(|reader, key| {
            // Ids of one length are many, ids of one length and last letter few.
            let same = |id: &[u8]| id.len() == key.len() && id.last() == key.last() && id == key;
            let index = RULES.iter().position(|rule| same(rule.id.as_bytes()));
            let slot = index.and_then(|i| seen.get_mut(i).zip(self.enforcement.get_mut(i)));
            let (Some((seen, enforcement)), Some(rule)) = (slot, index.and_then(|i| RULES.get(i)))
            else {
                let ids = RULES.map(|rule| rule.id);
                reading.push_with(|| Problem::unknown_key(path, key, &ids));
                return reader.skip();
            };
            let path = Path::Key(path, rule.id);
            if std::mem::replace(seen, true) {
                reading.push(Problem::twice(&path));
            }
            if reader.peek()? == Type::Null {
                return reader.skip();
            }
            let words = Enforcement::ALL.map(|e| (e.as_str(), e));
            if let Some(chosen) = reading.word(reader, &path, words)? {
                *enforcement = chosen;
            }
            Ok(())
        })
    }

    /// Notes everything that is wrong with the parts that [`Settings::fill`] leaves alone, and with all together.
    fn check(&self, reading: &mut Reading) {
        if let Some(controllers) = &self.controllers {
            controllers.check(reading);
        }
        let delegations = self.namespaces.check(reading);
        self.standard_status_writers.check(reading);
        self.exempt.check(reading);
        let namespaces = Path::Field(&Path::Settings, "namespaces");
        let mut required = delegations
            .iter()
            .filter(|(_, d)| *d == Delegation::Required);
        if self.role == Role::Worker {
            for (index, _) in required.clone() {
                let path = Path::Item(&namespaces, *index);
                let path = Path::Field(&path, "delegation");
                let text = "required contradicts role worker, expected forbidden or allowed; \
                            a cluster that hands workloads on is a hybrid";
                reading.push(Problem::of_sense(&path, text));
            }
        }
        if self.controllers.as_ref().is_some_and(Controllers::is_empty) {
            let path = Path::Field(&Path::Settings, "controllers");
            let by = match required.next() {
                Some((index, _)) => Path::Item(&namespaces, *index).to_string(),
                None if self.role == Role::Management => "role management".to_owned(),
                None => return,
            };
            let text = format!("allows nobody, where {by} requires delegation");
            reading.push(Problem::of_sense(&path, text));
        }
    }

    /// Every rule with what it does when it fires, in the order of the catalogue.
    pub fn rules(&self) -> impl Iterator<Item = (&'static Rule, Enforcement)> + '_ {
        RULES.into_iter().zip(self.enforcement.iter().copied())
    }

    /// What a rule does when it fires.
    pub fn enforcement(&self, id: &str) -> Option<Enforcement> {
        let rule = catalogue::find(id)?;
        let found = self.rules().find(|(r, _)| *r == rule);
        found.map(|(_, enforcement)| enforcement)
    }

    /// Whether there is an allow-list of controllers.
    pub(crate) fn has_allow_list(&self) -> bool {
        self.controllers.is_some()
    }

    /// What the allow-list says about a controller: [`None`] if there is none, or the controller is not in it.
    pub(crate) fn controller(&self, name: &str) -> Checked<Option<Controller<'a>>> {
        match &self.controllers {
            Some(controllers) => controllers.get(name),
            None => Ok(None),
        }
    }

    /// The listed controllers that may be delegated objects of a kind in a namespace.
    pub(crate) fn controllers_serving(
        &self,
        kind: &str,
        namespace: &str,
    ) -> Checked<Vec<Cow<'_, str>>> {
        match &self.controllers {
            Some(controllers) => controllers.serving(kind, namespace),
            None => Ok(Vec::new()),
        }
    }

    /// Whether workloads of a namespace are delegated, with the place of the entry of `namespaces` that says so; without
    /// one it is the role.
    pub(crate) fn delegation(&self, namespace: &str) -> Checked<(Option<usize>, Delegation)> {
        let entry = self.namespaces.of(namespace)?;
        Ok(entry.map_or((None, self.role.delegation()), |(i, d)| (Some(i), d)))
    }

    /// The users and groups that may write the status of a kind's standard objects; [`None`] is anyone.
    pub(crate) fn standard_writers(&self, kind: &str) -> Checked<Option<Vec<Cow<'a, str>>>> {
        self.standard_status_writers.of(kind)
    }

    /// As what somebody is exempt from site rules, if they are.
    pub(crate) fn exemption(&self, user: &UserInfo<'_>) -> Checked<Option<Exemption<'a>>> {
        self.exempt.covers(user)
    }
}

#[cfg(test)]
mod tests;
