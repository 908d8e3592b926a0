//! `controllers`: the allow-list of external controllers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::custom_kinds::{CustomKind, KindNames};
use super::error::{Rejection, SettingsError, SettingsErrors};
use super::parser::{ListSchema, MAX_ENTRIES, Parser, declare_keys};
use super::{Settings, glob, names};
use crate::decode::{Entries, Node, Path, Raw, Type};
use crate::description::Enforcement;
use crate::kind::{self, FieldLocation, Kind, REQUIRED_LABELS};
use crate::sorted::Sorted;

const PATH: Path<'_> = Path::Member(&Path::Root, "controllers");

declare_keys!(Key {
    "kinds" => Kinds,
    "namespaces" => Namespaces,
    "required_labels" => RequiredLabels,
    "status_writers" => StatusWriters,
});

/// Value of the section that allows no external controller.
pub(super) const NONE: &str = "none";

/// Value of an entry without limits.
const ANY: &str = "any";

/// Entry of the allow-list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Controller<'a> {
    kinds: Option<Vec<Cow<'a, str>>>,
    namespaces: Option<Vec<Cow<'a, str>>>,
    required_labels: Option<Vec<Cow<'a, str>>>,
    status_writers: Option<Vec<Cow<'a, str>>>,
}

const NAMESPACES_LIST: ListSchema<'_> = ListSchema {
    covers: glob::matches,
    empty_hint: Some(OR_ALL),
    ..ListSchema::new("a list of namespaces", &glob::validate)
};

const LABELS_LIST: ListSchema<'_> = ListSchema {
    empty_hint: Some("; to require no label, turn off delegation/missing-label"),
    ..ListSchema::new("a list of label keys", &names::validate_label_key)
};

pub(super) const WRITERS_LIST: ListSchema<'_> = ListSchema {
    empty_hint: Some(OR_ALL),
    ..ListSchema::new("a list of users and groups", &names::validate_user_or_group)
};

const OR_ALL: &str = "; leave the key out to mean all";

/// Returns the entries of the section. [`NONE`] has none.
///
/// An empty object is rejected, here and as an entry, because Rancher's UI removes empty values, which would change the meaning.
pub(super) fn read<'a>(
    section: &Node<'a>,
    path: &Path<'_>,
    parser: &mut Parser,
) -> Option<Entries<'a>> {
    if section.raw_or_empty().string().as_deref() == Some(NONE) {
        return Some(Entries::new());
    }
    let expected = "an object keyed by controller name, or \"none\"";
    let entries = parser.entries(section, Type::Object, path, expected)?;
    if entries.is_empty() {
        let text = "Required value: must have at least one controller; \
                    write \"none\" to allow no controller, or leave the key out to allow all";
        parser.push_with(|| SettingsError::new(path, text));
    }
    Some(entries)
}

/// Returns the kinds of workloads that settings can name, without duplicates.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    let workloads = || {
        kind::kinds()
            .iter()
            .filter(|k| k.location == FieldLocation::Workload)
    };
    let first = move |i: usize, kind: &str| !workloads().take(i).any(|k| k.name == kind);
    let all = workloads().enumerate();
    all.filter(move |&(i, k)| first(i, k.name))
        .map(|(_, k)| k.name)
}

/// Validates the name of a kind, which must be known or in `custom_kinds`.
pub(super) fn validate_kind(kind: &str, declared: &KindNames<'_>) -> Option<Rejection> {
    let is_workload = |k: &&Kind<'_>| k.location == FieldLocation::Workload && k.name == kind;
    if kind::kinds().iter().any(is_workload) {
        return None;
    }
    let names = || {
        let names = declared.get().iter().map(|name| &**name);
        names.filter(|name| !name.is_empty())
    };
    if names().any(|name| name == kind) {
        return None;
    }
    let mut supported: Vec<&str> = kinds().collect();
    supported.extend(names());
    let text = "must be a supported kind, such as Job, or a kind in custom_kinds";
    let rejection = Rejection::with_nearest(text.to_owned(), kind, &supported);
    Some(match declared.get() {
        [] => rejection,
        _ => rejection.semantic(),
    })
}

impl<'a> Controller<'a> {
    /// Returns true if objects of a kind in a namespace may be delegated to the controller.
    pub(crate) fn allows(&self, kind: &str, namespace: &str) -> bool {
        let listed = |kinds: &Vec<Cow<'_, str>>| kinds.iter().any(|k| k == kind);
        let matched = |p: &Vec<Cow<'_, str>>| p.iter().any(|p| glob::matches(p, namespace));
        self.kinds.as_ref().is_none_or(listed) && self.namespaces.as_ref().is_none_or(matched)
    }

    /// Returns the users and groups that may write the status of delegated objects, or [`None`] for everyone.
    pub(crate) fn status_writers(&self) -> Option<&[Cow<'a, str>]> {
        self.status_writers.as_deref()
    }

    fn read(
        value: Raw<'a>,
        declared: &KindNames<'_>,
        path: &Path<'_>,
        parser: &mut Parser,
    ) -> Self {
        let mut controller = Self::default();
        let members = match value.json_type() {
            Type::String if value.string().as_deref() == Some(ANY) => return controller,
            Type::Object | Type::Null => value.members(),
            _ => {
                parser.expect_type(
                    value,
                    Type::Object,
                    path,
                    "an object with limits, or \"any\"",
                );
                return controller;
            }
        };
        if members.iter().all(|(_, v)| v.json_type() == Type::Null) {
            let text = "Required value: must have kinds, namespaces, required_labels or status_writers; write \"any\" for no limits";
            let reason = Rejection::with_suggestion(text.to_owned(), Some(ANY.to_owned()));
            parser.push(SettingsError::new(path, reason));
        }
        let validate = |kind: &str| validate_kind(kind, declared);
        let kinds_list = ListSchema {
            empty_hint: Some(OR_ALL),
            ..ListSchema::new("a list of kinds", &validate)
        };
        parser.parse_members(&members, path, Key::ALL, |parser, value, key, path| {
            let (field, list) = match key {
                Key::Kinds => (&mut controller.kinds, kinds_list),
                Key::Namespaces => (&mut controller.namespaces, NAMESPACES_LIST),
                Key::RequiredLabels => (&mut controller.required_labels, LABELS_LIST),
                Key::StatusWriters => (&mut controller.status_writers, WRITERS_LIST),
            };
            *field = Some(parser.parse_string_list(value, path, &list));
        });
        controller
    }
}

impl<'a> Settings<'a> {
    pub(crate) fn has_allow_list(&self) -> bool {
        self.controllers.is_some()
    }

    /// Returns true if the allow-list is [`NONE`].
    pub(super) fn allows_no_controller(&self) -> bool {
        self.controllers.as_ref().is_some_and(Vec::is_empty)
    }

    /// Returns the names of the listed controllers.
    pub fn controller_names(&self) -> impl Iterator<Item = &str> {
        self.listed_controllers().iter().map(|(name, _)| &**name)
    }

    fn listed_controllers(&self) -> &[(Cow<'a, str>, Raw<'a>)] {
        self.controllers.as_deref().unwrap_or_default()
    }

    /// Returns a controller's entry in the allow-list.
    pub(crate) fn controller(&self, name: &str) -> Result<Option<Controller<'a>>, SettingsErrors> {
        let mut parser = Parser::without_duplicate_checks();
        let declared = KindNames::new(self.custom_kinds);
        let path = Path::Key(&PATH, name);
        let mut found = None;
        let entries = self.listed_controllers().iter();
        for (_, value) in entries.filter(|(key, _)| key == name) {
            if found.is_some() {
                parser.push(SettingsError::duplicate_field(&path));
            }
            found = Some(Controller::read(*value, &declared, &path, &mut parser));
        }
        parser.finish(found)
    }

    /// Returns the keys of the labels that a controller requires: from its entry, or else from the table of known controllers.
    pub(crate) fn required_labels(
        &self,
        controller: &str,
    ) -> Result<Cow<'a, [Cow<'a, str>]>, SettingsErrors> {
        let mut listed = self.listed_controllers().iter();
        let entry = listed.find(|(name, _)| name == controller);
        // Other keys of the entry don't matter, and validating the kinds would be expensive.
        let list = entry.and_then(|(_, entry)| entry.member("required_labels"));
        if let Some(list) = list.filter(|list| list.json_type() != Type::Null) {
            let mut parser = Parser::without_duplicate_checks();
            let entry = Path::Key(&PATH, controller);
            let path = Path::Member(&entry, "required_labels");
            let labels = parser.parse_string_list(list, &path, &LABELS_LIST);
            return parser.finish(Cow::Owned(labels));
        }
        let known = REQUIRED_LABELS.iter().find(|(name, _)| *name == controller);
        Ok(Cow::Borrowed(known.map_or(&[], |(_, labels)| labels)))
    }

    /// Returns the listed controllers that objects of a kind in a namespace may be delegated to.
    pub(crate) fn controllers_for(
        &self,
        kind: &str,
        namespace: &str,
    ) -> Result<Vec<Cow<'a, str>>, SettingsErrors> {
        let mut names = Vec::new();
        self.for_each_controller(|name, controller| {
            if controller.allows(kind, namespace) {
                names.push(name.clone());
            }
        })?;
        // Sort the names, because the order of keys is arbitrary.
        let sorted = Sorted::new(names.iter().map(|name| &**name));
        let names = sorted.iter().filter_map(|(_, index)| names.get(index));
        Ok(names.cloned().collect())
    }

    /// Returns true if a listed controller that objects of a kind in a namespace may be delegated to has status writers for which
    /// `is_listed` returns true.
    pub(crate) fn any_status_writers(
        &self,
        kind: &str,
        namespace: &str,
        is_listed: impl Fn(&[Cow<'a, str>]) -> bool,
    ) -> Result<bool, SettingsErrors> {
        let mut found = false;
        self.for_each_controller(|_, controller| {
            found = found
                || (controller.allows(kind, namespace)
                    && controller.status_writers().is_some_and(&is_listed));
        })?;
        Ok(found)
    }

    /// Calls a function with each listed controller.
    ///
    /// # Errors
    /// Fails if an entry is invalid, after all calls.
    fn for_each_controller(
        &self,
        mut f: impl FnMut(&Cow<'a, str>, &Controller<'a>),
    ) -> Result<(), SettingsErrors> {
        let mut parser = Parser::without_duplicate_checks();
        let declared = KindNames::new(self.custom_kinds);
        for (name, value) in self.listed_controllers() {
            let path = Path::Key(&PATH, name);
            f(
                name,
                &Controller::read(*value, &declared, &path, &mut parser),
            );
        }
        parser.finish(())
    }

    pub(super) fn check_controllers(&self, names: &KindNames<'_>, parser: &mut Parser) {
        let entries = self.listed_controllers();
        if entries.len() > MAX_ENTRIES {
            let text = format!(
                "Too many: {}: must have at most {MAX_ENTRIES} items",
                entries.len()
            );
            parser.push(SettingsError::new(&PATH, text));
            return;
        }
        let declared = self.custom_kinds.without_problems();
        let lists_unknown =
            self.enforcement("managed-by/reserved-domain") == Some(Enforcement::Off);
        let mut seen = BTreeMap::new();
        for (name, value) in entries {
            let path = Path::Key(&PATH, name);
            if seen.insert(Cow::Borrowed(&**name), 0_usize).is_some() {
                parser.push(SettingsError::duplicate_field(&path));
            }
            let rejection = if let Some(rejection) = names::validate_controller(name) {
                Some(rejection)
            } else if let Some(kind) = declared.iter().find(|kind| kind.is_reconciled_by(name)) {
                Some(names::built_in(kind.name()).semantic())
            } else {
                names::nearest_external(name, lists_unknown)
            };
            if let Some(rejection) = rejection {
                parser.push(SettingsError::new(&path, rejection).for_key());
            }
            let controller = Controller::read(*value, names, &path, parser);
            let kinds = Path::Member(&path, "kinds");
            for (index, kind) in controller.kinds.iter().flatten().enumerate() {
                if !accepts_controller(kind, name, &declared) {
                    let text = format!("the API of {kind} rejects this controller's name");
                    parser.push(SettingsError::semantic(&Path::Index(&kinds, index), text));
                }
            }
        }
    }
}

/// Returns true if objects of a kind, or templates for it, accept a controller's name. Returns true for unknown kinds, which are a
/// different problem.
fn accepts_controller(kind: &str, controller: &str, declared: &[CustomKind<'_>]) -> bool {
    let known = kind::kinds().iter();
    let mut known = known
        .filter(|known| known.workload_kind() == kind)
        .peekable();
    let mut declared = declared
        .iter()
        .filter(|known| known.name() == kind)
        .peekable();
    let is_unknown = known.peek().is_none() && declared.peek().is_none();
    is_unknown
        || known.any(|known| known.constraint.accepts(controller))
        || declared.any(|kind| kind.accepts(controller))
}
