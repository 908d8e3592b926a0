//! `controllers`: who may be delegated to, an allow-list.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::custom_kinds::CustomKinds;
use super::problem::{Problem, Problems, Rejection};
use super::reading::{List, MAX_ENTRIES, Reading, declare_keys};
use super::{Settings, glob, names};
use crate::decode::{Path, Raw, Type};
use crate::kind::{self, Form, Holder, Kind};
use crate::sorted::Sorted;
use crate::upstream::names::is_managed_by;

const PATH: Path<'_> = Path::Member(&Path::Root, "controllers");

declare_keys!(Key {
    "kinds" => Kinds,
    "namespaces" => Namespaces,
    "status_writers" => StatusWriters,
});

/// What an external controller may do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Controller<'a> {
    kinds: Option<Vec<Cow<'a, str>>>,
    namespaces: Option<Vec<Cow<'a, str>>>,
    status_writers: Option<Vec<Cow<'a, str>>>,
}

const NAMESPACES_LIST: List<'_> = List {
    covers: glob::matches,
    instead_of_none: Some(OR_ALL),
    ..List::of("a list of namespaces", &glob::wrong)
};

pub(super) const WRITERS_LIST: List<'_> = List {
    instead_of_none: Some(OR_ALL),
    ..List::of("a list of users and groups", &names::wrong_user_or_group)
};

const OR_ALL: &str = "; leave the key out to mean all";

/// The kinds of objects that are delegated, as settings name them, each once.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    let workloads = || {
        kind::kinds()
            .iter()
            .filter(|k| k.holder == Holder::Workload)
    };
    let first = move |i: usize, kind: &str| !workloads().take(i).any(|k| k.name == kind);
    let all = workloads().enumerate();
    all.filter(move |&(i, k)| first(i, k.name))
        .map(|(_, k)| k.name)
}

/// The error about the name of a kind that neither the library knows nor the settings declare.
pub(super) fn wrong_kind(kind: &str, declared: CustomKinds<'_>) -> Option<Rejection> {
    if kinds().any(|k| k == kind) {
        return None;
    }
    let names = declared.names();
    if names.iter().any(|name| name == kind) {
        return None;
    }
    let mut words: Vec<&str> = kinds().collect();
    words.extend(names.iter().map(|name| &**name));
    let text = format!("expected one of {}", words.join(", "));
    Some(Rejection::with_nearest(text, kind, &words))
}

impl<'a> Controller<'a> {
    /// Whether objects of a kind in a namespace may be delegated to it.
    pub(crate) fn serves(&self, kind: &str, namespace: &str) -> bool {
        let listed = |kinds: &Vec<Cow<'_, str>>| kinds.iter().any(|k| k == kind);
        let matched = |p: &Vec<Cow<'_, str>>| p.iter().any(|p| glob::matches(p, namespace));
        self.kinds.as_ref().is_none_or(listed) && self.namespaces.as_ref().is_none_or(matched)
    }

    /// The users and groups that may write the status of what is delegated to it; [`None`] is anyone.
    pub(crate) fn status_writers(&self) -> Option<&[Cow<'a, str>]> {
        self.status_writers.as_deref()
    }

    fn read(
        value: Raw<'a>,
        declared: CustomKinds<'_>,
        path: &Path<'_>,
        reading: &mut Reading,
    ) -> Self {
        let mut controller = Self::default();
        if value.json_type() == Type::Null {
            return controller;
        }
        let wrong_kind = |kind: &str| wrong_kind(kind, declared);
        let kinds_list = List {
            is_semantic: !declared.is_empty(),
            instead_of_none: Some(OR_ALL),
            ..List::of("a list of kinds", &wrong_kind)
        };
        reading.fields(value, path, Key::ALL, |reading, value, key, path| {
            let (field, list) = match key {
                Key::Kinds => (&mut controller.kinds, kinds_list),
                Key::Namespaces => (&mut controller.namespaces, NAMESPACES_LIST),
                Key::StatusWriters => (&mut controller.status_writers, WRITERS_LIST),
            };
            *field = Some(reading.strings(value, path, &list));
        });
        controller
    }
}

impl<'a> Settings<'a> {
    /// Whether there is an allow-list of controllers.
    pub(crate) fn has_allow_list(&self) -> bool {
        self.controllers.is_some()
    }

    fn listed_controllers(&self) -> &[(Cow<'a, str>, Raw<'a>)] {
        self.controllers.as_deref().unwrap_or_default()
    }

    /// What the allow-list says about a controller: [`None`] if there is none, or the controller is not in it.
    pub(crate) fn controller(&self, name: &str) -> Result<Option<Controller<'a>>, Problems> {
        let mut reading = Reading::lazy();
        let path = Path::Quoted(&PATH, name);
        let mut found = None;
        let entries = self.listed_controllers().iter();
        for (_, value) in entries.filter(|(key, _)| key == name) {
            if found.is_some() {
                reading.push(Problem::twice(&path));
            }
            let controller = Controller::read(*value, self.custom_kinds, &path, &mut reading);
            found = Some(controller);
        }
        reading.end(found)
    }

    /// The listed controllers that may be delegated objects of a kind in a namespace.
    pub(crate) fn controllers_serving(
        &self,
        kind: &str,
        namespace: &str,
    ) -> Result<Vec<Cow<'a, str>>, Problems> {
        let mut reading = Reading::lazy();
        let mut names = Vec::new();
        for (name, value) in self.listed_controllers() {
            let path = Path::Quoted(&PATH, name);
            let controller = Controller::read(*value, self.custom_kinds, &path, &mut reading);
            if controller.serves(kind, namespace) {
                names.push(name.clone());
            }
        }
        // Keys may come in any order; messages must not.
        let sorted = Sorted::of(names.iter().map(|name| &**name));
        let names = sorted.iter().filter_map(|(_, place)| names.get(place));
        reading.end(names.cloned().collect())
    }

    /// Notes everything that is wrong with the allow-list.
    pub(super) fn check_controllers(&self, reading: &mut Reading) {
        let (entries, declared) = (self.listed_controllers(), self.custom_kinds);
        if entries.len() > MAX_ENTRIES {
            let text = format!("got {}, expected at most {MAX_ENTRIES}", entries.len());
            reading.push(Problem::new(&PATH, text));
            return;
        }
        let mut seen = BTreeMap::new();
        for (name, value) in entries {
            let path = Path::Quoted(&PATH, name);
            if seen.insert(Cow::Borrowed(&**name), 0_usize).is_some() {
                reading.push(Problem::twice(&path));
            }
            if let Some(wrong) = names::wrong_controller(name) {
                reading.push(Problem::new(&path, wrong).of_key());
            } else if let Some(kind) = declared.reconciled_by(name) {
                let text = format!(
                    "{}'s own controller needs no permission, expected an external one",
                    kind.name()
                );
                reading.push(Problem::semantic(&path, text).of_key());
            } else if let Some(known) = names::lost_domain(name) {
                let text = format!("a name without a domain, did you mean \"{known}\"?");
                let reason = Rejection::suggesting(text, Some(known.to_owned()));
                reading.push(Problem::semantic(&path, reason).of_key());
            }
            let controller = Controller::read(*value, declared, &path, reading);
            let kinds = Path::Member(&path, "kinds");
            for (index, kind) in controller.kinds.iter().flatten().enumerate() {
                if !can_name(kind, name, declared) {
                    let text = format!("the API of {kind} accepts no such name");
                    reading.push(Problem::semantic(&Path::Index(&kinds, index), text));
                }
            }
        }
    }
}

/// Whether objects of a kind, or templates of it, can name a controller. A kind that is not known is another problem.
fn can_name(kind: &str, controller: &str, declared: CustomKinds<'_>) -> bool {
    let known = kind::kinds().iter();
    let mut known = known.filter(|known| known.workload() == kind).peekable();
    let declared = declared.named(kind);
    let is_unknown = known.peek().is_none() && declared.is_empty();
    let accepted = |known: &Kind<'_>| match known.form {
        Form::Path => is_managed_by(controller),
        Form::OneOf(values) => values.contains(&controller),
        Form::Open => true,
    };
    is_unknown
        || known.any(|known| accepted(known))
        || declared.iter().any(|kind| kind.accepts(controller))
}
