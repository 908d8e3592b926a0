//! Settings of the policy, and all errors in them.
//!
//! The policy parses its settings for every request, in a fresh instance. They borrow from the JSON, and sections that only some
//! requests need (`controllers`, `namespaces`, `exempt`, `builtin_status_writers`) are decoded on demand. Every section that a
//! verdict depends on is validated: if it is invalid, the request is denied ([`AdmissionReview::settings`]).
//!
//! Settings depend only on the descriptions of rules. [`Settings::default`], which the registry implements, adds the list of rules;
//! other constructors start from it.

mod builtin_status_writers;
mod controllers;
mod custom_kinds;
mod error;
mod exempt;
mod glob;
mod names;
mod namespaces;
mod owned;
mod parser;
#[cfg(feature = "docs")]
pub(crate) mod reference;

use std::borrow::Cow;

use crate::decode::{Entries, Node, Outline, Path, Raw, Type};
use crate::description::{Enforcement, Rule};
use crate::kind::{KINDS, Kind};
use crate::release::Release;
use crate::request::{AdmissionReview, GroupVersionKind};
use crate::unchecked::UncheckedReason;
use controllers::NONE;
pub use controllers::kinds;
pub(crate) use custom_kinds::CustomKind;
use custom_kinds::{CustomKinds, KindNames};
pub use error::{SettingsError, SettingsErrors};
pub use namespaces::Delegation;
pub use owned::OwnedSettings;
use parser::{ListSchema, Parser, declare_keys};

/// Setting `reserved_value`: handling of the value that means the built-in controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ReservedValuePolicy {
    /// The value is allowed, and means the same as no value.
    #[default]
    Allow,
    /// The value is denied: leave the field out for the built-in controller.
    Deny,
}

impl ReservedValuePolicy {
    /// All values, with their names in settings.
    pub const ALL: &[(&'static str, Self)] = &[("allow", Self::Allow), ("deny", Self::Deny)];
}

/// Setting `on_lookup_failure`: handling of a pod whose Job lookup failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnLookupFailure {
    /// The pod is allowed, with a warning.
    #[default]
    Allow,
    /// The pod is denied.
    Deny,
}

impl OnLookupFailure {
    /// All values, with their names in settings.
    pub const ALL: &[(&'static str, Self)] = &[("allow", Self::Allow), ("deny", Self::Deny)];
}

/// Setting `role`: the role of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
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
    /// All values, with their names in settings.
    pub const ALL: &[(&'static str, Self)] = &[
        ("hybrid", Self::Hybrid),
        ("management", Self::Management),
        ("worker", Self::Worker),
    ];

    /// Returns the name in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Management => "management",
            Self::Worker => "worker",
        }
    }

    /// Returns the delegation of namespaces that no entry of `namespaces` matches.
    pub const fn delegation(self) -> Delegation {
        match self {
            Self::Hybrid => Delegation::Allowed,
            Self::Management => Delegation::Required,
            Self::Worker => Delegation::Forbidden,
        }
    }
}

/// Settings of the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings<'a> {
    kubernetes_version: Option<Release>,
    reserved_value: ReservedValuePolicy,
    role: Option<Role>,
    on_lookup_failure: OnLookupFailure,
    /// All rules, in the order of the registry.
    rules: &'static [&'static Rule],
    /// Enforcements that `rules` configures, by index of the rule. Empty if it configures none.
    enforcements: Vec<Option<Enforcement>>,
    /// Entries by name. They are decoded on demand.
    controllers: Option<Entries<'a>>,
    /// Entries in order. They are decoded on demand.
    namespaces: Entries<'a>,
    custom_kinds: CustomKinds<'a>,
    /// Namespaces with a default `LocalQueue`. Decoded if a workload lacks a queue.
    default_local_queue: Option<Raw<'a>>,
    /// Decoded for status updates of workloads that are not delegated.
    builtin_status_writers: Option<Raw<'a>>,
    /// Decoded before a cluster-specific denial.
    exempt: Option<Raw<'a>>,
}

declare_keys!(Key {
    "kubernetes_version" => KubernetesVersion,
    "reserved_value" => ReservedValue,
    "role" => Role,
    "controllers" => Controllers,
    "namespaces" => Namespaces,
    "custom_kinds" => CustomKinds,
    "default_local_queue" => DefaultLocalQueue,
    "builtin_status_writers" => BuiltinStatusWriters,
    "exempt" => Exempt,
    "on_lookup_failure" => OnLookupFailure,
    "rules" => Rules,
});

/// Returns the keys of the settings.
pub fn keys() -> impl Iterator<Item = &'static str> {
    Key::ALL.iter().map(|(name, _)| *name)
}

impl<'a> Settings<'a> {
    /// Parses settings from JSON: an object, or `null` for the default. A key with the value `null` is ignored.
    ///
    /// # Errors
    /// Returns the problems: unknown and duplicate keys, invalid values, entries that never match, and contradictions. The list has at
    /// most 50; the message contains the number of the others.
    pub fn from_json(bytes: &'a [u8]) -> Result<Self, SettingsErrors> {
        let json = Raw::document(bytes).map_err(|e| SettingsErrors::malformed(&e))?;
        let mut parser = Parser::with_duplicate_checks();
        let settings = Self::default().merge_json(&Outline::from_raw(json), &mut parser);
        settings.check(&mut parser);
        parser.finish(settings)
    }

    /// Returns the default settings for the given release.
    pub fn for_release(release: Release) -> Self {
        Self::default().with_kubernetes_version(release)
    }

    pub(crate) fn with_rules(rules: &'static [&'static Rule]) -> Self {
        Self {
            kubernetes_version: None,
            reserved_value: ReservedValuePolicy::default(),
            role: None,
            on_lookup_failure: OnLookupFailure::default(),
            rules,
            enforcements: Vec::new(),
            controllers: None,
            namespaces: Entries::new(),
            custom_kinds: CustomKinds::default(),
            default_local_queue: None,
            builtin_status_writers: None,
            exempt: None,
        }
    }

    fn merge_json(mut self, json: &Outline<'a>, parser: &mut Parser) -> Self {
        if json.raw_or_empty.json_type() == Type::Null
            || !parser.expect_type(json.raw_or_empty, Type::Object, &Path::Root, "an object")
        {
            return self;
        }
        let mut seen = Vec::with_capacity(Key::ALL.len());
        for (key, node) in &json.entries {
            let known = parser.lookup_key(key, &Path::Root, Key::ALL, &mut seen);
            let value = node.raw_or_empty();
            let Some((name, key)) = known.filter(|_| value.json_type() != Type::Null) else {
                continue;
            };
            let path = &Path::Member(&Path::Root, name);
            match key {
                Key::KubernetesVersion => {
                    let release = value.string().and_then(|text| text.parse().ok());
                    if release.is_none() {
                        parser.push_with(|| SettingsError::invalid_version(path, value));
                    }
                    self.kubernetes_version = release;
                }
                Key::ReservedValue => {
                    let value = parser.parse_enum(value, path, ReservedValuePolicy::ALL);
                    self.reserved_value = value.unwrap_or_default();
                }
                Key::Role => self.role = parser.parse_enum(value, path, Role::ALL),
                Key::OnLookupFailure => {
                    let value = parser.parse_enum(value, path, OnLookupFailure::ALL);
                    self.on_lookup_failure = value.unwrap_or_default();
                }
                Key::Controllers => self.controllers = controllers::read(node, path, parser),
                Key::Namespaces => {
                    let expected = "a list of entries with match and delegation";
                    let entries = parser.entries(node, Type::Array, path, expected);
                    self.namespaces = entries.unwrap_or_default();
                }
                Key::CustomKinds => self.custom_kinds.section = Some(value),
                // A form without an answer leaves an empty list.
                Key::DefaultLocalQueue => {
                    self.default_local_queue = Some(value).filter(|list| list.as_str() != "[]");
                }
                Key::BuiltinStatusWriters => self.builtin_status_writers = Some(value),
                Key::Exempt => self.exempt = Some(value),
                Key::Rules => self.read_rules(node, path, parser),
            }
        }
        self
    }

    fn read_rules(&mut self, section: &Node<'_>, path: &Path<'_>, parser: &mut Parser) {
        let expected = "an object that maps rule ids to deny, warn or off";
        if !parser.expect_type(section.raw_or_empty(), Type::Object, path, expected) {
            return;
        }
        let mut enforcements = vec![None; self.rules.len()];
        let mut seen = vec![false; self.rules.len()];
        for (id, value) in section.entries().iter() {
            let path = Path::Key(path, id);
            let index = self.rules.iter().position(|rule| rule.id == id);
            let slot = index.and_then(|i| seen.get_mut(i).zip(enforcements.get_mut(i)));
            let Some((seen, slot)) = slot else {
                parser.push_with(|| {
                    let ids: Vec<_> = self.rules.iter().map(|rule| rule.id).collect();
                    SettingsError::unknown_rule(&path, id, &ids)
                });
                continue;
            };
            if std::mem::replace(seen, true) {
                parser.push(SettingsError::duplicate_field(&path));
            }
            if value.json_type() != Type::Null {
                *slot = parser.parse_enum(*value, &path, ENFORCEMENTS);
            }
        }
        if enforcements.iter().any(Option::is_some) {
            self.enforcements = enforcements;
        }
    }

    /// Reports problems in sections that are decoded on demand, and between sections.
    fn check(&self, parser: &mut Parser) {
        let kind_names = KindNames::new(self.custom_kinds);
        self.check_controllers(&kind_names, parser);
        let delegations = self.check_namespaces(parser);
        self.custom_kinds.check(parser);
        self.read_builtin_writers(None, &kind_names, parser);
        self.read_exempt(parser);
        self.read_default_local_queue(parser);
        let namespaces = Path::Member(&Path::Root, "namespaces");
        let mut required = delegations
            .iter()
            .filter(|(_, d)| *d == Delegation::Required);
        if self.role() == Role::Worker {
            for (index, _) in required.clone() {
                let path = Path::Index(&namespaces, *index);
                let path = Path::Member(&path, "delegation");
                let text = "Unsupported value: \"required\": supported values with role worker: forbidden, allowed; \
                            use role hybrid for a cluster that runs some workloads and delegates others";
                parser.push(SettingsError::semantic(&path, text));
            }
        }
        if self.allows_no_controller() {
            let path = Path::Member(&Path::Root, "controllers");
            let requirement = match required.next() {
                Some((index, _)) => Path::Index(&namespaces, *index).to_string(),
                None if self.role() == Role::Management => "role management".to_owned(),
                None => return,
            };
            let text = format!(
                "Invalid value: \"{NONE}\": must have at least one controller, because {requirement} requires delegation"
            );
            parser.push(SettingsError::semantic(&path, text));
        }
    }

    /// Returns the release whose rules apply. With [`None`], kube-apiserver's rules deny only what all releases deny.
    pub fn kubernetes_version(&self) -> Option<Release> {
        self.kubernetes_version
    }

    /// Returns the release whose message format is used: the configured release, or the newest.
    pub(crate) fn message_release(&self) -> Release {
        self.kubernetes_version.unwrap_or_default()
    }

    /// Returns the setting `reserved_value`.
    pub fn reserved_value_policy(&self) -> ReservedValuePolicy {
        self.reserved_value
    }

    /// Returns the role of the cluster.
    pub fn role(&self) -> Role {
        self.role.unwrap_or_default()
    }

    /// Returns true if pods are validated: the role is `management` or unset. If no role is set, registering the policy for pods
    /// means that they should be validated.
    pub(crate) fn validates_pods(&self) -> bool {
        self.role.is_none_or(|role| role == Role::Management)
    }

    /// Returns the setting `on_lookup_failure`.
    pub fn on_lookup_failure(&self) -> OnLookupFailure {
        self.on_lookup_failure
    }

    /// Sets the release.
    #[must_use]
    pub fn with_kubernetes_version(self, release: Release) -> Self {
        Self {
            kubernetes_version: Some(release),
            ..self
        }
    }

    /// Adapts the settings for tools, which may run without an API server. Rules that are off by default, unless the settings configure
    /// them, deny if kube-apiserver enforces them. The others warn: they are for the authors of the objects.
    #[must_use]
    pub fn for_tools(self) -> Self {
        let rules = self.rules.iter().zip(self.configured_enforcements());
        let tool_enforcement = |(rule, configured): (&&Rule, Option<Enforcement>)| {
            let default = match self.default_enforcement(rule) {
                Enforcement::Off if rule.is_upstream() => Some(Enforcement::Deny),
                Enforcement::Off => Some(Enforcement::Warn),
                Enforcement::Deny | Enforcement::Warn => None,
            };
            configured.or(default)
        };
        let enforcements = rules.map(tool_enforcement).collect();
        Self {
            enforcements,
            ..self
        }
    }

    /// Returns every rule with its enforcement, in the order of the registry. By default, rules about the status of custom
    /// resources only warn for objects of the built-in controller.
    pub fn rules(&self) -> impl Iterator<Item = (&'static Rule, Enforcement)> + '_ {
        let rules = self.rules.iter().zip(self.configured_enforcements());
        rules.map(|(rule, set)| (*rule, set.unwrap_or(self.default_enforcement(rule))))
    }

    /// Returns the enforcement of a rule that `rules` doesn't configure.
    pub(crate) fn default_enforcement(&self, rule: &Rule) -> Enforcement {
        if rule.prevents_bypass() && self.configures_delegation() {
            Enforcement::Deny
        } else {
            rule.default
        }
    }

    fn configures_delegation(&self) -> bool {
        self.role.is_some() || self.controllers.is_some() || !self.namespaces.is_empty()
    }

    /// Returns the configured enforcement of each rule, in the order of the registry.
    pub(crate) fn configured_enforcements(&self) -> impl Iterator<Item = Option<Enforcement>> + '_ {
        (0..self.rules.len()).map(|index| self.enforcements.get(index).copied().flatten())
    }

    /// Returns the enforcement of a rule.
    pub fn enforcement(&self, id: &str) -> Option<Enforcement> {
        let found = self.rules().find(|(rule, _)| rule.id == id);
        found.map(|(_, enforcement)| enforcement)
    }

    /// Returns the reason why a kind that is neither supported nor declared in this version is not evaluated.
    pub(crate) fn unsupported_reason(&self, kind: &GroupVersionKind<'_>) -> UncheckedReason {
        let is_supported = |known: &&Kind<'_>| known.name == kind.kind && known.group == kind.group;
        let is_declared = || {
            let same = |declared: &CustomKind<'_>| {
                (&declared.kind, &declared.group) == (&kind.kind, &kind.group)
            };
            self.custom_kinds.without_problems().iter().any(same)
        };
        if KINDS.iter().any(is_supported) || is_declared() {
            UncheckedReason::UnsupportedVersion
        } else {
            UncheckedReason::UnsupportedKind
        }
    }

    fn read_default_local_queue(&self, parser: &mut Parser) -> Vec<Cow<'a, str>> {
        let path = Path::Member(&Path::Root, "default_local_queue");
        let list = self.default_local_queue;
        list.map_or(Vec::new(), |list| {
            let patterns = ListSchema {
                covers: glob::matches,
                ..ListSchema::new("a list of namespaces", &glob::validate)
            };
            parser.parse_string_list(list, &path, &patterns)
        })
    }

    /// Returns true if Kueue adds the label with the queue's name to workloads in the namespace.
    pub(crate) fn has_default_local_queue(&self, namespace: &str) -> Result<bool, SettingsErrors> {
        let mut parser = Parser::without_duplicate_checks();
        let patterns = self.read_default_local_queue(&mut parser);
        parser.finish(patterns.iter().any(|p| glob::matches(p, namespace)))
    }

    /// Returns true if `custom_kinds` declares the given version of a kind.
    pub fn declares(&self, group: &str, version: &str, kind: &str) -> bool {
        let wanted = GroupVersionKind {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        };
        self.custom_kind(&wanted).is_ok_and(|kind| kind.is_some())
    }

    pub(crate) fn custom_kind(
        &self,
        kind: &GroupVersionKind<'_>,
    ) -> Result<Option<CustomKind<'a>>, SettingsErrors> {
        self.custom_kinds.find(kind)
    }
}

impl<'a> AdmissionReview<'a> {
    /// Parses the settings next to the request, or returns the default if there are none. Sections that only some rules need are
    /// decoded by these rules.
    ///
    /// If a section is invalid, this function or the rule that needs the section returns the problems, and the verdict is
    /// [`Verdict::misconfigured`](crate::Verdict::misconfigured). Sections that no rule needs are not validated.
    ///
    /// # Errors
    /// Returns the problems of the sections that were decoded, as in [`Settings::from_json`].
    pub fn settings(&self) -> Result<Settings<'a>, SettingsErrors> {
        let Some(json) = &self.settings else {
            return Ok(Settings::default());
        };
        let mut parser = Parser::without_duplicate_checks();
        let settings = Settings::default().merge_json(json, &mut parser);
        parser.finish(settings)
    }
}

const ENFORCEMENTS: &[(&str, Enforcement)] = &[
    ("deny", Enforcement::Deny),
    ("warn", Enforcement::Warn),
    ("off", Enforcement::Off),
];

#[cfg(test)]
mod tests;
