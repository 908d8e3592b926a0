//! `controllers`: who may be delegated to, an allow-list.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::custom_kinds::CustomKinds;
use super::glob;
use super::names;
use super::problem::{Problem, Problems};
use super::reading::{List, MAX_ENTRIES, MAX_ITEMS, Reading, Wrong};
use crate::decode::{Part, Parts, Path, Raw, Type};
use crate::kind::{self, Form, Holder, Kind};
use crate::sorted::Sorted;
use crate::upstream::names::is_managed_by;

const PATH: Path<'_> = Path::Member(&Path::Root, "controllers");

const KEYS: [&str; 3] = ["kinds", "namespaces", "status_writers"];

/// The allow-list, by name. An entry is decoded when it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Controllers<'a> {
    entries: Parts<'a>,
}

/// What an external controller may do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Controller<'a> {
    kinds: Option<Vec<Cow<'a, str>>>,
    namespaces: Option<Vec<Cow<'a, str>>>,
    status_writers: Option<Vec<Cow<'a, str>>>,
}

fn kinds_list<'w>(wrong: Wrong<'w>, declared: CustomKinds<'_>) -> List<'w> {
    List {
        expected: "a list of kinds",
        wrong,
        is_semantic: !declared.is_empty(),
        ..WRITERS_LIST
    }
}

const NAMESPACES_LIST: List<'_> = List {
    expected: "a list of namespaces",
    wrong: &glob::wrong,
    is_semantic: false,
    covers: glob::covers,
    at_most: MAX_ITEMS,
    instead_of_none: Some("; leave the key out to mean all"),
};

pub(super) const WRITERS_LIST: List<'_> = List {
    expected: "a list of users and groups",
    wrong: &names::wrong_user_or_group,
    is_semantic: false,
    covers: str::eq,
    at_most: MAX_ITEMS,
    instead_of_none: Some("; leave the key out to mean all"),
};

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
pub(super) fn wrong_kind(kind: &str, declared: CustomKinds<'_>) -> Option<String> {
    if kinds().any(|k| k == kind) {
        return None;
    }
    let names = declared.names();
    if names.iter().any(|name| name == kind) {
        return None;
    }
    let mut words: Vec<&str> = kinds().collect();
    words.extend(names.iter().map(|name| &**name));
    let mut text = format!("expected one of {}", words.join(", "));
    super::problem::hint(&mut text, kind, &words);
    Some(text)
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
        reading.fields(value, path, &KEYS, |reading, value, name, path| {
            let (field, list) = match name {
                "kinds" => (&mut controller.kinds, kinds_list(&wrong_kind, declared)),
                "namespaces" => (&mut controller.namespaces, NAMESPACES_LIST),
                _ => (&mut controller.status_writers, WRITERS_LIST),
            };
            *field = Some(reading.strings(value, path, &list));
        });
        controller
    }
}

impl<'a> Controllers<'a> {
    /// Finds the entries. [`None`] is a problem.
    pub(super) fn read(section: &Part<'a>, reading: &mut Reading) -> Option<Self> {
        let expected = "an object of controllers' names";
        let is_object = reading.is(section.raw(), Type::Object, &PATH, expected);
        is_object.then(|| Self {
            entries: section.parts().into_owned(),
        })
    }

    /// The entry of a controller, if it is listed.
    pub(super) fn get(
        &self,
        name: &str,
        declared: CustomKinds<'_>,
    ) -> Result<Option<Controller<'a>>, Problems> {
        let mut reading = Reading::lazy();
        let path = Path::Quoted(&PATH, name);
        let mut found = None;
        let entries = self.entries.iter();
        for (_, value) in entries.filter(|(key, _)| key == name) {
            if found.is_some() {
                reading.push(Problem::twice(&path));
            }
            found = Some(Controller::read(*value, declared, &path, &mut reading));
        }
        reading.end(found)
    }

    /// The names of those that may be delegated objects of a kind in a namespace.
    pub(super) fn serving(
        &self,
        kind: &str,
        namespace: &str,
        declared: CustomKinds<'_>,
    ) -> Result<Vec<Cow<'a, str>>, Problems> {
        let mut reading = Reading::lazy();
        let mut names = Vec::new();
        for (name, value) in &self.entries {
            let path = Path::Quoted(&PATH, name);
            let controller = Controller::read(*value, declared, &path, &mut reading);
            if controller.serves(kind, namespace) {
                names.push(name.clone());
            }
        }
        // Keys may come in any order; messages must not.
        let sorted = Sorted::of(names.iter().map(|name| &**name));
        let names = sorted.iter().filter_map(|(_, place)| names.get(place));
        reading.end(names.cloned().collect())
    }

    /// Whether it allows nobody.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Notes everything that is wrong.
    pub(super) fn check(&self, declared: CustomKinds<'_>, reading: &mut Reading) {
        if self.entries.len() > MAX_ENTRIES {
            let text = format!("got {}, expected at most {MAX_ENTRIES}", self.entries.len());
            reading.push(Problem::new(&PATH, text));
            return;
        }
        let mut seen = BTreeMap::new();
        for (name, value) in &self.entries {
            let path = Path::Quoted(&PATH, name);
            if seen.insert(Cow::Borrowed(&**name), 0_usize).is_some() {
                reading.push(Problem::twice(&path));
            }
            if let Some(wrong) = names::wrong_controller(name) {
                reading.push(Problem::new(&path, wrong));
            } else if let Some(kind) = declared.reconciled_by(name) {
                let text = format!(
                    "{}'s own controller needs no permission, expected an external one",
                    kind.name()
                );
                reading.push(Problem::semantic(&path, text));
            } else if let Some(known) = names::lost_domain(name) {
                let text = format!("a name without a domain, did you mean \"{known}\"?");
                reading.push(Problem::semantic(&path, text));
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
