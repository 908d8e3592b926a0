//! What an admin chooses, and everything that is wrong with it at once.
//!
//! A policy reads its settings for every request, in a fresh instance. So they are borrowed, and what only some requests
//! need (`controllers`, `namespaces`, `exempt`, `standard_status_writers`) is decoded when a rule asks for it, and no
//! more of it than the rule asks for. What a verdict rests on has always been checked: bad settings deny
//! ([`AdmissionReview::settings`]), or were not looked at.
//!
//! Rules are known here by their description alone. The list of rules comes with [`Settings::default`], which the catalogue
//! implements; the other constructors start from it.

mod controllers;
mod custom_kinds;
mod exempt;
mod glob;
mod names;
mod namespaces;
mod problem;
mod reading;
#[cfg(feature = "docs")]
pub(crate) mod reference;
mod standard;

use crate::decode::{Outline, Part, Parts, Path, Raw, Type};
use crate::description::{Enforcement, Rule};
use crate::release::Release;
use crate::request::{AdmissionReview, GroupVersionKind};
pub use controllers::kinds;
pub(crate) use custom_kinds::CustomKind;
use custom_kinds::CustomKinds;
pub use namespaces::Delegation;
pub use problem::{Problem, Problems};
use reading::{Reading, declare_keys};

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
    pub const ALL: &[(&'static str, Self)] = &[("allow", Self::Allow), ("deny", Self::Deny)];
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
    pub const ALL: &[(&'static str, Self)] = &[("allow", Self::Allow), ("deny", Self::Deny)];
}

/// The role of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// The cluster runs workloads, and it may delegate some.
    #[default]
    Hybrid,
    /// The cluster delegates all workloads.
    Management,
    /// The cluster runs the workloads that it receives, and delegates none.
    Worker,
}

impl Role {
    /// All of them, as settings name them.
    pub const ALL: &[(&'static str, Self)] = &[
        ("hybrid", Self::Hybrid),
        ("management", Self::Management),
        ("worker", Self::Worker),
    ];

    /// The word for it in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Management => "management",
            Self::Worker => "worker",
        }
    }

    /// What it asks of a namespace that the settings do not name.
    pub const fn delegation(self) -> Delegation {
        match self {
            Self::Hybrid => Delegation::Allowed,
            Self::Management => Delegation::Required,
            Self::Worker => Delegation::Forbidden,
        }
    }
}

/// The policy's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings<'a> {
    kubernetes_version: Option<Release>,
    reserved_value: ReservedValue,
    role: Option<Role>,
    on_lookup_failure: OnLookupFailure,
    /// The rules that the settings know.
    rules: &'static [&'static Rule],
    /// What `rules` chooses, by the places of the rules; shorter than these where it chooses nothing.
    chosen: Vec<Option<Enforcement>>,
    /// By name. An entry is decoded when it is asked for.
    controllers: Option<Parts<'a>>,
    /// In order. One is decoded when it is its turn.
    namespaces: Parts<'a>,
    custom_kinds: CustomKinds<'a>,
    /// Unread until the status of a standard object is written.
    standard_status_writers: Option<Raw<'a>>,
    /// Unread until somebody is about to be denied.
    exempt: Option<Raw<'a>>,
}

declare_keys!(Key {
    "kubernetes_version" => KubernetesVersion,
    "reserved_value" => ReservedValue,
    "role" => Role,
    "controllers" => Controllers,
    "namespaces" => Namespaces,
    "custom_kinds" => CustomKinds,
    "standard_status_writers" => StandardStatusWriters,
    "exempt" => Exempt,
    "on_lookup_failure" => OnLookupFailure,
    "rules" => Rules,
});

/// The keys of the settings.
pub fn keys() -> impl Iterator<Item = &'static str> {
    Key::ALL.iter().map(|(name, _)| *name)
}

impl<'a> Settings<'a> {
    /// Reads settings from JSON: an object, or `null` for none. A key whose value is `null` is as good as absent.
    ///
    /// # Errors
    /// All problems: unknown keys, keys given twice, values that are not allowed, entries that can never apply, parts
    /// that contradict each other.
    pub fn from_json(bytes: &'a [u8]) -> Result<Self, Problems> {
        let json = Raw::document(bytes).map_err(|e| Problems::unreadable(&e))?;
        let mut reading = Reading::complete();
        let settings = Self::default().filled(&Outline::of(json), &mut reading);
        settings.check(&mut reading);
        reading.end(settings)
    }

    /// The settings that choose a release and nothing else.
    pub fn for_release(release: Release) -> Self {
        Self::default().with_kubernetes_version(release)
    }

    /// The settings that choose nothing, for a list of rules.
    pub(crate) fn of_rules(rules: &'static [&'static Rule]) -> Self {
        Self {
            kubernetes_version: None,
            reserved_value: ReservedValue::default(),
            role: None,
            on_lookup_failure: OnLookupFailure::default(),
            rules,
            chosen: Vec::new(),
            controllers: None,
            namespaces: Parts::new(),
            custom_kinds: CustomKinds::default(),
            standard_status_writers: None,
            exempt: None,
        }
    }

    fn filled(mut self, json: &Outline<'a>, reading: &mut Reading) -> Self {
        if json.raw.json_type() == Type::Null
            || !reading.is(json.raw, Type::Object, &Path::Root, "an object")
        {
            return self;
        }
        let mut seen = Vec::with_capacity(Key::ALL.len());
        for (key, part) in &json.parts {
            let known = reading.known(key, &Path::Root, Key::ALL, &mut seen);
            let value = part.raw();
            let Some((name, key)) = known.filter(|_| value.json_type() != Type::Null) else {
                continue;
            };
            let path = &Path::Member(&Path::Root, name);
            match key {
                Key::KubernetesVersion => {
                    let release = value.string().and_then(|text| text.parse().ok());
                    if release.is_none() {
                        reading.push_with(|| Problem::version(path, value));
                    }
                    self.kubernetes_version = release;
                }
                Key::ReservedValue => {
                    let word = reading.word(value, path, ReservedValue::ALL);
                    self.reserved_value = word.unwrap_or_default();
                }
                Key::Role => self.role = reading.word(value, path, Role::ALL),
                Key::OnLookupFailure => {
                    let word = reading.word(value, path, OnLookupFailure::ALL);
                    self.on_lookup_failure = word.unwrap_or_default();
                }
                Key::Controllers => {
                    let expected = "an object of controllers' names";
                    self.controllers = reading.parts(part, Type::Object, path, expected);
                }
                Key::Namespaces => {
                    let expected = "a list of entries with match and delegation";
                    let entries = reading.parts(part, Type::Array, path, expected);
                    self.namespaces = entries.unwrap_or_default();
                }
                Key::CustomKinds => self.custom_kinds.section = Some(value),
                Key::StandardStatusWriters => self.standard_status_writers = Some(value),
                Key::Exempt => self.exempt = Some(value),
                Key::Rules => self.read_rules(part, path, reading),
            }
        }
        self
    }

    fn read_rules(&mut self, section: &Part<'_>, path: &Path<'_>, reading: &mut Reading) {
        let expected = "an object of rule ids, each deny, warn or off";
        if !reading.is(section.raw(), Type::Object, path, expected) {
            return;
        }
        let mut chosen = vec![None; self.rules.len()];
        let mut seen = vec![false; self.rules.len()];
        for (id, value) in section.parts().iter() {
            let index = self.rules.iter().position(|rule| rule.id == id);
            let slot = index.and_then(|i| seen.get_mut(i).zip(chosen.get_mut(i)));
            let Some((seen, slot)) = slot else {
                reading.push_with(|| {
                    let ids: Vec<_> = self.rules.iter().map(|rule| rule.id).collect();
                    Problem::unknown_key(path, id, &ids)
                });
                continue;
            };
            let path = Path::Quoted(path, id);
            if std::mem::replace(seen, true) {
                reading.push(Problem::twice(&path));
            }
            if value.json_type() != Type::Null {
                *slot = reading.word(*value, &path, ENFORCEMENTS);
            }
        }
        if chosen.iter().any(Option::is_some) {
            self.chosen = chosen;
        }
    }

    /// Notes everything that is wrong with the parts that are not read for every request, and with all together.
    fn check(&self, reading: &mut Reading) {
        self.check_controllers(reading);
        let delegations = self.check_namespaces(reading);
        self.custom_kinds.check(reading);
        self.read_standard_writers(None, reading);
        self.exempt(reading);
        let namespaces = Path::Member(&Path::Root, "namespaces");
        let mut required = delegations
            .iter()
            .filter(|(_, d)| *d == Delegation::Required);
        if self.role() == Role::Worker {
            for (index, _) in required.clone() {
                let path = Path::Index(&namespaces, *index);
                let path = Path::Member(&path, "delegation");
                let text = "required contradicts role worker, expected forbidden or allowed; \
                            a cluster that hands workloads on is a hybrid";
                reading.push(Problem::semantic(&path, text));
            }
        }
        if self.controllers.as_ref().is_some_and(Vec::is_empty) {
            let path = Path::Member(&Path::Root, "controllers");
            let by = match required.next() {
                Some((index, _)) => Path::Index(&namespaces, *index).to_string(),
                None if self.role() == Role::Management => "role management".to_owned(),
                None => return,
            };
            let text = format!("allows nobody, where {by} requires delegation");
            reading.push(Problem::semantic(&path, text));
        }
    }

    /// The release whose rules apply. [`None`]: a rule of kube-apiserver denies only what all releases deny.
    pub fn kubernetes_version(&self) -> Option<Release> {
        self.kubernetes_version
    }

    /// The release whose error texts apply: the chosen one, else the newest.
    pub(crate) fn text_release(&self) -> Release {
        self.kubernetes_version.unwrap_or_default()
    }

    /// What the reserved value means.
    pub fn reserved_value(&self) -> ReservedValue {
        self.reserved_value
    }

    /// The role of the cluster.
    pub fn role(&self) -> Role {
        self.role.unwrap_or_default()
    }

    /// Whether pods are judged: on a management cluster, and where the settings do not say what the cluster is, because
    /// there is no other reason to ask about pods.
    pub(crate) fn judges_pods(&self) -> bool {
        self.role.is_none_or(|role| role == Role::Management)
    }

    /// What happens to a pod whose Job could not be looked up.
    pub fn on_lookup_failure(&self) -> OnLookupFailure {
        self.on_lookup_failure
    }

    /// The same settings with another release.
    #[must_use]
    pub fn with_kubernetes_version(self, release: Release) -> Self {
        Self {
            kubernetes_version: Some(release),
            ..self
        }
    }

    /// The same settings as tools use them, beside an API server or without one: the rules deny that are off by default only
    /// because kube-apiserver is there to say it, unless the settings choose otherwise.
    #[must_use]
    pub fn for_tools(self) -> Self {
        let defaults = self.rules.iter().map(|rule| self.default_of(rule));
        let in_tools = |(chosen, default): (Option<Enforcement>, Enforcement)| {
            chosen.or((default == Enforcement::Off).then_some(Enforcement::Deny))
        };
        let chosen = self.choices().zip(defaults).map(in_tools).collect();
        Self { chosen, ..self }
    }

    /// Every rule with what it does when it fires, in the order of the catalogue. On an object that its own controller
    /// reconciles, a rule about the status of custom resources only warns, unless the settings choose otherwise.
    pub fn rules(&self) -> impl Iterator<Item = (&'static Rule, Enforcement)> + '_ {
        let rules = self.rules.iter().zip(self.choices());
        rules.map(|(rule, chosen)| (*rule, chosen.unwrap_or(self.default_of(rule))))
    }

    /// What a rule does where `rules` chooses nothing for it.
    pub(crate) fn default_of(&self, rule: &Rule) -> Enforcement {
        if rule.is_guard() && self.says_who_delegates() {
            Enforcement::Deny
        } else {
            rule.default
        }
    }

    /// Whether they say who delegates what to whom, so that a write which hides that from the policy matters.
    fn says_who_delegates(&self) -> bool {
        self.role.is_some() || self.controllers.is_some() || !self.namespaces.is_empty()
    }

    /// What the settings choose for each rule, in the order of the catalogue.
    pub(crate) fn choices(&self) -> impl Iterator<Item = Option<Enforcement>> + '_ {
        (0..self.rules.len()).map(|index| self.chosen.get(index).copied().flatten())
    }

    /// What a rule does when it fires.
    pub fn enforcement(&self, id: &str) -> Option<Enforcement> {
        let found = self.rules().find(|(rule, _)| rule.id == id);
        found.map(|(_, enforcement)| enforcement)
    }

    /// Whether they declare a kind in a version (`custom_kinds`), so that objects of it are judged.
    pub fn declares(&self, group: &str, version: &str, kind: &str) -> bool {
        let wanted = GroupVersionKind {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        };
        self.custom_kind(&wanted).is_ok_and(|kind| kind.is_some())
    }

    /// The kind as the settings declare it, if they do.
    pub(crate) fn custom_kind(
        &self,
        kind: &GroupVersionKind<'_>,
    ) -> Result<Option<CustomKind<'a>>, Problems> {
        self.custom_kinds.find(kind)
    }
}

impl<'a> AdmissionReview<'a> {
    /// Reads the parts of the settings beside the request that every request needs; the default settings if there are none. A rule
    /// reads another part when it needs that part.
    ///
    /// If a part is invalid, this function or the rule that needs the part returns the problems, and the answer is
    /// [`Verdict::misconfigured`](crate::Verdict::misconfigured). A part that no rule needs is not checked.
    ///
    /// # Errors
    /// The problems of the parts that were read, as in [`Settings::from_json`].
    pub fn settings(&self) -> Result<Settings<'a>, Problems> {
        let Some(json) = &self.settings else {
            return Ok(Settings::default());
        };
        let mut reading = Reading::lazy();
        let settings = Settings::default().filled(json, &mut reading);
        reading.end(settings)
    }
}

/// The words for what happens when a rule fires.
const ENFORCEMENTS: &[(&str, Enforcement)] = &[
    ("deny", Enforcement::Deny),
    ("warn", Enforcement::Warn),
    ("off", Enforcement::Off),
];

#[cfg(test)]
mod tests;
