//! Reads a custom resource by the paths of its kind.
//!
//! A profile names what it needs by paths (`status.replicatedJobsStatus[].ready`). The walk goes down the object with the
//! set of paths that still match, and skips what is on none of them: pod templates above all.
//!
//! One contract holds for values of another type than expected. The field `managedBy` and the objects on the way to it are
//! strict: a request in which one of them is of the wrong type is malformed, `null` aside. Everything else is the business of
//! the kind's own schema and is passed over.

mod conditions;
mod paths;

use std::borrow::Cow;

use serde::de::{Deserializer, Error};

use super::custom::{Custom, MAX_NESTED, Nested, Status};
use super::{Metadata, Object};
use crate::decode::{self, Kept, Members, Outline, Part, Place, Raw, Type, Value, late};
use crate::kind::status::{Ends, FailureNotes, Sign};
use crate::kind::{Kind, Template};
use crate::upstream::time::Time;
use conditions::{ConditionFacts, Conditions, notes_of};
use paths::{Below, EACH, Leaf, Paths, SPEC, Set};

/// Objects that are nested deeper than this are not read.
const MAX_DEPTH: usize = 8;

/// No name in Kubernetes is longer.
const MAX_NAME: usize = 253;

/// Reads an object by the paths of its kind; [`None`] is `null`.
///
/// # Errors
/// If the bytes are not JSON.
pub(super) fn read<'a, D: Deserializer<'a>>(
    value: Value<'_, D>,
    kind: &'a Kind<'a>,
) -> Result<Option<Object<'a>>, D::Error> {
    let paths = Paths::of(kind);
    let mut reading = Reading::default();
    let mut root = Root {
        metadata: Metadata::default(),
        level: Level {
            paths: &paths,
            left: paths.all(),
            offset: 0,
            seen: Set::EMPTY,
            is_strict: true,
            reading: &mut reading,
        },
    };
    let is_there = value.object_or_null(&mut root)?;
    let metadata = root.metadata;
    Ok(is_there.then(|| Object {
        metadata,
        managed_by: reading.managed_by.take(),
        job: None,
        custom: reading.custom(kind),
    }))
}

/// As [`read`], of an object that was taken apart before its kind was known. Each path of such a kind has two members or more.
///
/// # Errors
/// None that input can reach: the parts have been found to be JSON.
pub(super) fn read_outline<'a>(
    outline: &Outline<'a>,
    kind: &'a Kind<'a>,
    place: Place<'_>,
) -> decode::Result<Object<'a>> {
    let paths = Paths::of(kind);
    let mut reading = Reading::default();
    let mut metadata = Metadata::default();
    if outline.json_type != Type::Object {
        place.expected("an object", outline.json_type.name());
    }
    let mut level = Level {
        paths: &paths,
        left: paths.all(),
        offset: 0,
        seen: Set::EMPTY,
        is_strict: true,
        reading: &mut reading,
    };
    for (name, part) in &outline.parts {
        let Part::Outline(part) = part else {
            continue;
        };
        let path = place.member(name);
        let place = place.at(&path);
        if name == "metadata" {
            metadata = Metadata::default();
            if !matches!(part.json_type, Type::Object | Type::Null) {
                place.expected("an object", part.json_type.name());
            }
            for (name, raw) in part.texts() {
                let path = place.member(name);
                metadata.kept(name, Kept::new(raw, place.at(&path)));
            }
        } else {
            level.part(name, part, place)?;
        }
    }
    Ok(Object {
        metadata,
        managed_by: reading.managed_by.take(),
        job: None,
        custom: reading.custom(kind),
    })
}

/// The object itself: the metadata beside the paths.
struct Root<'r, 'a> {
    metadata: Metadata<'a>,
    level: Level<'r, 'a>,
}

impl<'a> Members<'a> for Root<'_, 'a> {
    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        if name == "metadata" {
            self.metadata = Metadata::default();
            return value.object_or_null(&mut self.metadata).map(|_| ());
        }
        self.level.member(name, value)
    }
}

/// A value on the way down, by the paths that lead to it.
struct Level<'r, 'a> {
    paths: &'r Paths<'a>,
    /// The paths that lead here.
    left: Set,
    /// How many of their bytes lead here; these are the same in all.
    offset: usize,
    /// The paths through the members that were seen.
    seen: Set,
    /// Whether the paths belong to the object itself, and not to one that is nested in it.
    is_strict: bool,
    reading: &'r mut Reading<'a>,
}

impl<'a> Level<'_, 'a> {
    /// The paths that lead on through a step, and how many of their bytes do.
    fn through(&self, separator: &str, name: &str) -> (Set, usize) {
        let mut on = Set::EMPTY;
        for index in self.left.iter() {
            let path = self
                .paths
                .get(index)
                .and_then(|(p, _)| p.get(self.offset..));
            let rest = path.and_then(|p| p.strip_prefix(separator)?.strip_prefix(name));
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '['])) {
                on = on.with(index);
            }
        }
        let step = separator.len().saturating_add(name.len());
        (on, self.offset.saturating_add(step))
    }

    /// Reads the value that paths lead to with the first `offset` of their bytes.
    fn read<D: Deserializer<'a>>(
        &mut self,
        (left, offset): (Set, usize),
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        if let Some(leaf) = self.leaf(left, offset) {
            return self.reading.leaf(leaf, value, self.is_strict);
        }
        let place = value.place();
        let got = value.visit(&mut self.below(left, offset))?;
        self.check(left, got, place);
        Ok(())
    }

    /// What is at the end of a path of that length.
    fn leaf(&self, left: Set, offset: usize) -> Option<Leaf<'a>> {
        let mut leaves = left.iter().filter_map(|index| self.paths.get(index));
        let found = leaves.find(|(path, _)| path.len() == offset);
        found.map(|(_, leaf)| leaf)
    }

    /// What some paths lead to with the first `offset` of their bytes.
    fn below(&mut self, left: Set, offset: usize) -> Level<'_, 'a> {
        Level {
            paths: self.paths,
            left,
            offset,
            seen: Set::EMPTY,
            is_strict: self.is_strict,
            reading: &mut *self.reading,
        }
    }

    /// Notes that a value on the way to the field is no object.
    fn check(&self, left: Set, got: Type, place: Place<'_>) {
        let mut leaves = left.iter().filter_map(|index| self.paths.get(index));
        let leads_to_field = leaves.any(|(_, leaf)| matches!(leaf, Leaf::ManagedBy));
        if self.is_strict && leads_to_field && !matches!(got, Type::Object | Type::Null) {
            place.expected("an object", got.name());
        }
    }

    /// Takes back what earlier members of one name said: of two the last counts.
    fn forget_earlier(&mut self, on: Set, place: Place<'_>) {
        for index in self.seen.and(on).iter() {
            if let Some((_, leaf)) = self.paths.get(index) {
                self.reading.forget(leaf, place);
            }
        }
        self.seen = self.seen.or(on);
    }

    /// Reads a member that was taken apart.
    fn part(&mut self, name: &str, part: &Outline<'a>, place: Place<'_>) -> decode::Result<()> {
        let (on, offset) = self.through("", name);
        if on.is_empty() {
            return Ok(());
        }
        self.forget_earlier(on, place);
        let mut below = self.below(on, offset);
        let each = below.through(EACH, "");
        for (name, raw) in part.texts() {
            let (on, offset) = below.through(".", name);
            let path = place.member(name);
            let place = place.at(&path);
            if !on.is_empty() {
                below.forget_earlier(on, place);
                if let Some(leaf) = below.leaf(on, offset) {
                    let is_strict = below.is_strict;
                    below.reading.kept(leaf, Kept::new(raw, place), is_strict);
                } else {
                    late(raw, place, |value| below.read((on, offset), value))?;
                }
            } else if !each.0.is_empty() {
                late(raw, place, |value| below.read(each, value.keyed()))?;
            }
        }
        self.check(on, part.json_type, place);
        Ok(())
    }
}

impl<'a> Members<'a> for Level<'_, 'a> {
    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        let separator = if self.offset == 0 { "" } else { "." };
        let (on, offset) = self.through(separator, name);
        if on.is_empty() {
            let each = self.through(EACH, "");
            return if each.0.is_empty() {
                value.skip()
            } else {
                self.read(each, value.keyed())
            };
        }
        self.forget_earlier(on, value.place());
        self.read((on, offset), value)
    }

    fn element<D: Deserializer<'a>>(
        &mut self,
        _: usize,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        let each = self.through(EACH, "");
        if each.0.is_empty() {
            return value.skip();
        }
        self.read(each, value)
    }
}

/// What was read so far.
#[derive(Default)]
struct Reading<'a> {
    /// Of the object that is being read: the outer one, or one that is nested in it.
    managed_by: Option<Cow<'a, str>>,
    nested: Vec<Nested<'a>>,
    retries: usize,
    /// What conditions say.
    facts: ConditionFacts,
    states: Vec<(&'a str, Cow<'a, str>)>,
    /// What the last attempt says of its failure.
    attempt_notes: FailureNotes,
    status: Status<'a>,
    /// The kind of the nested object that is being read.
    kind: Option<&'a Kind<'a>>,
    depth: usize,
}

impl<'a> Reading<'a> {
    /// What was read beside the field, if there is anything.
    fn custom(self, kind: &Kind<'_>) -> Option<Box<Custom<'a>>> {
        let mut status = self.status;
        status.ends = self.facts.ends;
        status.notes = self.facts.notes | self.attempt_notes;
        status.exclusive = self.facts.exclusive;
        status.is_deployed = self.facts.is_deployed;
        if let Some(outcome) = kind.status_profile().and_then(|s| s.outcome) {
            let is = |sign: &Sign<'_>| match *sign {
                Sign::Word { path, values } => {
                    let mut words = self.states.iter();
                    words.any(|(at, word)| *at == path && values.contains(&&**word))
                }
                Sign::Condition { .. } => false,
            };
            for (end, sign) in [
                (Ends::SUCCESS, outcome.success),
                (Ends::FAILURE, outcome.failure),
                (Ends::DEAD_END, outcome.dead_end),
            ] {
                status.ends.set(
                    end,
                    status.ends.contains(end) || sign.as_ref().is_some_and(is),
                );
            }
            status.is_deployed |= outcome.deployed.as_ref().is_some_and(is);
            let is_final = |word: &Cow<'_, str>| match outcome.reason {
                Some(Sign::Word { values, .. }) => values.contains(&&**word),
                _ => false,
            };
            status.reason = status.reason.filter(is_final);
        }
        let custom = Custom {
            nested: self.nested,
            status,
            retries: self.retries,
        };
        (!custom.nested.is_empty() || custom.status != Status::default()).then(|| Box::new(custom))
    }

    /// Reads what is at the end of a path. The field of the object itself must be a string.
    fn leaf<D: Deserializer<'a>>(
        &mut self,
        leaf: Leaf<'a>,
        value: Value<'_, D>,
        is_strict: bool,
    ) -> Result<(), D::Error> {
        if let Leaf::Template(template) = leaf {
            return self.template(template, value);
        }
        self.kept(leaf, value.keep()?, is_strict);
        Ok(())
    }

    /// As [`Reading::leaf`], of all but templates.
    fn kept(&mut self, leaf: Leaf<'a>, value: Kept<'_, 'a>, is_strict: bool) {
        let (raw, place) = (value.raw(), value.place());
        match leaf {
            Leaf::ManagedBy if is_strict => self.managed_by = value.string_or_null(),
            Leaf::ManagedBy => self.managed_by = raw.string(),
            // Read in passing.
            Leaf::Template(_) => {}
            Leaf::Retries => {
                let retries = raw.number().unwrap_or_default().max(0);
                self.retries = retries.try_into().unwrap_or(usize::MAX);
            }
            Leaf::Conditions(profile) => {
                let mut conditions = Conditions::new(&[], Some(profile));
                conditions.read(raw);
                self.facts = conditions.facts;
            }
            Leaf::State(path) => {
                let word = raw.string();
                self.states.extend(word.map(|word| (path, word)));
            }
            Leaf::TerminalState => self.status.terminal_state = raw.string(),
            Leaf::Reason => self.status.reason = raw.string(),
            Leaf::Attempts(attempts) => {
                let attempts_made = raw.elements();
                self.status.attempts = attempts_made.len();
                let notes = attempts_made
                    .last()
                    .map(|attempt| notes_of(*attempt, attempts.notes));
                self.attempt_notes = notes.unwrap_or_default();
            }
            Leaf::Start => self.status.start = time(raw),
            Leaf::End => self.status.end = time(raw),
            Leaf::Counter => self.count(raw.number(), place),
            Leaf::Total(index) => {
                let total = raw.number();
                self.count(total, place);
                if let Some(total) = total {
                    let totals = &mut self.status.totals;
                    totals.resize(totals.len().max(index.saturating_add(1)), 0);
                    totals.splice(index..=index, [total]);
                }
            }
        }
    }

    /// Takes back what was read at the end of a path, below a place.
    fn forget(&mut self, leaf: Leaf<'a>, place: Place<'_>) {
        match leaf {
            Leaf::ManagedBy => self.managed_by = None,
            Leaf::Template(_) => {
                let below = Below::of(place);
                self.nested.retain(|nested| !below.has(&nested.path));
            }
            Leaf::Retries => self.retries = 0,
            Leaf::Conditions(_) => self.facts = ConditionFacts::default(),
            Leaf::State(path) => self.states.retain(|(at, _)| *at != path),
            Leaf::TerminalState => self.status.terminal_state = None,
            Leaf::Reason => self.status.reason = None,
            Leaf::Attempts(_) => {
                self.status.attempts = 0;
                self.attempt_notes = FailureNotes::empty();
            }
            Leaf::Start => self.status.start = None,
            Leaf::End => self.status.end = None,
            Leaf::Counter => {
                let below = Below::of(place);
                self.status.negative.retain(|(path, _)| !below.has(path));
            }
            Leaf::Total(index) => {
                let below = Below::of(place);
                self.status.negative.retain(|(path, _)| !below.has(path));
                if let Some(total) = self.status.totals.get_mut(index) {
                    *total = 0;
                }
            }
        }
    }

    fn count(&mut self, count: Option<i64>, place: Place<'_>) {
        let negative = count.filter(|count| *count < 0);
        if let Some(count) = negative.filter(|_| self.status.negative.len() < MAX_NESTED) {
            self.status.negative.push((place.path().to_string(), count));
        }
    }

    fn template<D: Deserializer<'a>>(
        &mut self,
        template: &'a Template<'a>,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        match *template {
            Template::Spec(kind) => self.child(kind, value),
            Template::Object(kind) => value
                .visit(&mut Made {
                    kind: Some(kind),
                    api_version: None,
                    name: None,
                    spec: None,
                    reading: self,
                })
                .map(|_| ()),
            Template::Any => {
                let place = value.place();
                let mut made = Made {
                    kind: None,
                    api_version: None,
                    name: None,
                    spec: None,
                    reading: self,
                };
                value.visit(&mut made)?;
                // Kubewarden sorts keys, so that the kind comes before the spec. Elsewhere the spec is read late.
                let (Some(kind), Some(spec)) = (made.named(), made.spec) else {
                    return Ok(());
                };
                let path = place.member(SPEC);
                let place = place.at(&path);
                late(spec, place, |value| self.child(kind, value)).map_err(D::Error::custom)
            }
        }
    }

    /// Reads the spec of an object that is in the one being read.
    fn child<D: Deserializer<'a>>(
        &mut self,
        kind: &'a Kind<'a>,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        let place = value.place();
        if self.depth >= MAX_DEPTH || self.nested.len() >= MAX_NESTED {
            let json_type = value.raw()?.json_type();
            if json_type == Type::Object && self.nested.len() <= MAX_NESTED {
                let path = place.path().to_string();
                self.nested.push(Nested::unread(kind, path));
            }
            return Ok(());
        }
        let first = self.nested.len();
        let outer = self.managed_by.take();
        let outer_kind = self.kind.replace(kind);
        let depth = self.depth.saturating_add(1);
        self.depth = depth;
        let paths = Paths::of_spec(kind);
        value.visit(&mut Level {
            left: paths.all(),
            paths: &paths,
            offset: SPEC.len(),
            seen: Set::EMPTY,
            is_strict: false,
            reading: self,
        })?;
        self.depth = depth.saturating_sub(1);
        self.kind = outer_kind;
        let own = std::mem::replace(&mut self.managed_by, outer);
        // The templates right below now learn who makes their objects.
        for nested in self.nested.iter_mut().skip(first) {
            if nested.depth == depth.saturating_add(1) {
                nested.parent = own.as_ref().map(beginning);
            }
        }
        if let Some(value) = own.filter(|value| kind.mode(Some(value)).is_delegated()) {
            let below = kind.managed_by.strip_prefix(SPEC).unwrap_or_default();
            let nested = Nested {
                path: format!("{}{below}", place.path()),
                kind,
                value: Some(value),
                depth,
                parent_kind: outer_kind,
                parent: None,
            };
            self.nested.insert(first, nested);
        }
        Ok(())
    }
}

/// An object that a controller will make: of a kind that is known, or that it names.
struct Made<'r, 'a> {
    kind: Option<&'a Kind<'a>>,
    api_version: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    /// Its spec, where that comes before the kind.
    spec: Option<Raw<'a>>,
    reading: &'r mut Reading<'a>,
}

impl<'a> Made<'_, 'a> {
    /// The kind that it names, if its version has the field.
    fn named(&self) -> Option<&'a Kind<'a>> {
        let (group, version) = self.api_version.as_deref()?.split_once('/')?;
        let kind = Kind::find(group, version, self.name.as_deref()?)?;
        (!kind.pruned_in.contains(&version)).then_some(kind)
    }
}

impl<'a> Members<'a> for Made<'_, 'a> {
    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        match (name, self.kind) {
            (SPEC, kind) => match kind.or_else(|| self.named()) {
                Some(kind) => self.reading.child(kind, value)?,
                None => self.spec = Some(value.raw()?),
            },
            ("apiVersion", None) => self.api_version = value.raw()?.string(),
            ("kind", None) => self.name = value.raw()?.string(),
            _ => value.skip()?,
        }
        Ok(())
    }
}

/// A value as its children remember it: each has a copy, so no more of it than a name could be.
fn beginning<'a>(value: &Cow<'a, str>) -> Cow<'a, str> {
    match value {
        Cow::Borrowed(value) => Cow::Borrowed(value),
        Cow::Owned(value) => {
            let end = value.floor_char_boundary(MAX_NAME);
            Cow::Owned(value.get(..end).unwrap_or_default().to_owned())
        }
    }
}

/// A time; [`None`] where something else is.
fn time(raw: Raw<'_>) -> Option<Time> {
    Time::parse(&raw.string()?)
}
