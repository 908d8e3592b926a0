//! Entry of `custom_kinds`: the declaration of one kind.

use std::borrow::Cow;

use super::borrowed;
use super::status::DeclaredStatus;
use super::validation::{
    VALUES_LIST, VERSIONS_LIST, validate_field_path, validate_group, validate_kind_name,
    validate_plural, validate_value,
};
use crate::decode::{Node, Path, Type, quote_or_size};
use crate::kind::{self, EXTERNAL_CONTROLLERS, FieldLocation, Kind, StatusRules, ValueConstraint};
use crate::settings::error::SettingsError;
use crate::settings::parser::{Parser, declare_keys};
use crate::upstream::names::is_valid_managed_by;

declare_keys!(Key {
    "group" => Group,
    "versions" => Versions,
    "kind" => Kind,
    "plural" => Plural,
    "managed_by_path" => ManagedByPath,
    "reserved_value" => ReservedValue,
    "format" => Format,
    "location" => Location,
    "status" => Status,
});

/// Required keys, each with a description of the value.
const REQUIRED_KEYS: [(&str, Key, &str); 3] = [
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

const DEFAULT_PATH: &str = "spec.managedBy";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CustomKind<'a> {
    pub(in crate::settings) group: Cow<'a, str>,
    /// Versions, or [`None`] for all.
    versions: Option<Vec<Cow<'a, str>>>,
    pub(in crate::settings) kind: Cow<'a, str>,
    plural: Cow<'a, str>,
    managed_by_path: Option<Cow<'a, str>>,
    reserved_value: Option<Cow<'a, str>>,
    format: DeclaredFormat<'a>,
    is_template: bool,
    status: Option<DeclaredStatus<'a>>,
}

/// Constraint on the value in the kind's own API.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum DeclaredFormat<'a> {
    #[default]
    Path,
    Any,
    OneOf(Vec<Cow<'a, str>>),
}

impl<'a> CustomKind<'a> {
    pub(super) fn parse(entry: &Node<'a>, path: &Path<'_>, parser: &mut Parser) -> Self {
        let mut kind = Self::default();
        let got = entry.raw_or_empty().json_type();
        if got != Type::Object {
            let expected = "an object that declares a kind";
            parser.push(match got {
                Type::Null => SettingsError::wrong_type(path, entry.raw_or_empty(), expected),
                got => {
                    let got = got.name();
                    SettingsError::new(path, format!("Invalid value: {got}: must be {expected}"))
                }
            });
            return kind;
        }
        let mut given = Vec::new();
        let members = entry.entries();
        parser.parse_members(&members, path, Key::ALL, |parser, value, key, path| {
            given.push(key);
            match key {
                Key::Group => kind.group = parser.parse_string(value, path, &validate_group),
                Key::Versions => {
                    kind.versions = Some(parser.parse_string_list(value, path, &VERSIONS_LIST));
                }
                Key::Kind => kind.kind = parser.parse_string(value, path, &validate_kind_name),
                Key::Plural => kind.plural = parser.parse_string(value, path, &validate_plural),
                Key::ManagedByPath => {
                    kind.managed_by_path =
                        Some(parser.parse_string(value, path, &validate_field_path));
                }
                Key::ReservedValue => {
                    kind.reserved_value = Some(parser.parse_string(value, path, &validate_value));
                }
                Key::Format if value.json_type() == Type::Array => {
                    kind.format =
                        DeclaredFormat::OneOf(parser.parse_string_list(value, path, &VALUES_LIST));
                }
                Key::Format => {
                    let is_any = parser.parse_enum(value, path, &[("path", false), ("any", true)]);
                    if is_any == Some(true) {
                        kind.format = DeclaredFormat::Any;
                    }
                }
                Key::Location => {
                    let variants = &[("workload", false), ("template", true)];
                    kind.is_template = parser.parse_enum(value, path, variants).unwrap_or_default();
                }
                Key::Status => kind.status = Some(DeclaredStatus::read(value, path, parser)),
            }
        });
        for (name, key, expected) in REQUIRED_KEYS {
            if !given.contains(&key) {
                parser.push(SettingsError::missing(&Path::Member(path, name), expected));
            }
        }
        kind
    }

    /// Returns true if the entry applies to a version of the kind.
    pub(super) fn has_version(&self, version: &str) -> bool {
        let versions = self.versions.as_ref();
        versions.is_none_or(|versions| versions.iter().any(|v| v == version))
    }

    /// Returns true if objects of the kind are themselves delegated, instead of templates for such objects.
    pub(crate) fn is_workload(&self) -> bool {
        !self.is_template
    }

    pub(in crate::settings) fn name(&self) -> &str {
        &self.kind
    }

    /// Returns true if a value is the kind's reserved value.
    pub(in crate::settings) fn is_reconciled_by(&self, controller: &str) -> bool {
        self.reserved_value.as_deref() == Some(controller)
    }

    /// Returns true if the kind's own API accepts a value.
    pub(in crate::settings) fn accepts(&self, value: &str) -> bool {
        match &self.format {
            DeclaredFormat::Path => is_valid_managed_by(value),
            DeclaredFormat::Any => true,
            DeclaredFormat::OneOf(values) => values.iter().any(|v| v == value),
        }
    }

    /// Calls `f` with the declared [`Kind`], which borrows from the entry.
    pub(crate) fn with_kind<T>(&self, version: &str, f: impl FnOnce(&Kind<'_>) -> T) -> T {
        let values = match &self.format {
            DeclaredFormat::OneOf(values) => borrowed(values),
            DeclaredFormat::Path | DeclaredFormat::Any => Vec::new(),
        };
        let status = DeclaredStatus::default();
        let status = self.status.as_ref().unwrap_or(&status);
        status.with_profile(|profile| {
            f(&Kind {
                group: &self.group,
                versions: &[version],
                name: &self.kind,
                plural: &self.plural,
                managed_by_path: self.managed_by_path.as_deref().unwrap_or(DEFAULT_PATH),
                reserved_value: self.reserved_value.as_deref(),
                constraint: match &self.format {
                    DeclaredFormat::Path => ValueConstraint::Path,
                    DeclaredFormat::Any => ValueConstraint::Any,
                    DeclaredFormat::OneOf(_) => ValueConstraint::OneOf(&values),
                },
                location: if self.is_template {
                    FieldLocation::Template(&self.kind)
                } else {
                    FieldLocation::Workload
                },
                status: match &self.status {
                    Some(_) => StatusRules::Custom(profile),
                    None => StatusRules::Unchecked,
                },
                is_declared: true,
                ..Kind::EMPTY
            })
        })
    }

    pub(super) fn check(&self, path: &Path<'_>, parser: &mut Parser) {
        let (group, kind) = (&*self.group, &*self.kind);
        let mut built_in = kind::kinds().iter();
        if built_in.any(|known| known.name == kind && known.group == group) {
            let text = format!(
                "Duplicate value: \"{kind}\": the policy supports {kind}.{group} without a declaration"
            );
            parser.push(SettingsError::semantic(&Path::Member(path, "kind"), text));
        }
        if let Some(reserved) = self.reserved_value.as_deref().filter(|r| !r.is_empty()) {
            let path = Path::Member(path, "reserved_value");
            if EXTERNAL_CONTROLLERS.contains(&reserved) {
                let value = quote_or_size(reserved, "string");
                let text = format!(
                    "Invalid value: {value}: must be the kind's built-in controller, not an external controller"
                );
                parser.push(SettingsError::semantic(&path, text));
            } else if !self.accepts(reserved) {
                let value = quote_or_size(reserved, "string");
                let text = format!(
                    "Invalid value: {value}: must be one of the values that `format` accepts"
                );
                parser.push(SettingsError::semantic(&path, text));
            }
        }
        if let Some(status) = &self.status {
            status.check(&Path::Member(path, "status"), parser);
        }
    }
}
