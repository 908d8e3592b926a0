//! Reads a custom resource by the paths of its kind.
//!
//! A profile names what it needs by paths (`status.replicatedJobsStatus[].ready`). The walk goes down the object with the
//! set of paths that still match, and skips what is on none of them: pod templates above all.
//!
//! One contract holds for values of another type than expected. The field `managedBy` and the objects on the way to it are
//! strict: a request in which one of them is of the wrong type is malformed, `null` aside. Everything else is the business of
//! the kind's own schema and is passed over.

mod conditions;
mod nested;
mod paths;
mod reading;

use serde::de::Deserializer;

use super::{Metadata, Object, ObjectNames};
use crate::decode::{self, Kept, Members, Outline, Part, Place, Type, Value, late};
use crate::kind::Kind;
use paths::{EACH, Leaf, Paths, Set};
use reading::Reading;

/// Reads an object by the paths of its kind; [`None`] is `null`.
///
/// # Errors
/// If the bytes are not JSON.
pub(super) fn read<'a, D: Deserializer<'a>>(
    value: Value<'_, D>,
    kind: &'a Kind<'a>,
    names: Option<&ObjectNames>,
) -> Result<Option<Object<'a>>, D::Error> {
    let paths = Paths::of(kind);
    let mut reading = Reading::default();
    let mut root = Root {
        names,
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
    let got = outline.raw.json_type();
    if got != Type::Object {
        place.expected("an object", got.name());
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
        let path = place.member(name);
        let place = place.at(&path);
        if name == "metadata" {
            metadata = Metadata::default();
            let got = part.raw().json_type();
            if !matches!(got, Type::Object | Type::Null) {
                place.expected("an object", got.name());
            }
            for (name, raw) in part.parts().iter() {
                let path = place.member(name);
                metadata.kept(name, Kept::new(*raw, place.at(&path)));
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
    names: Option<&'r ObjectNames>,
    metadata: Metadata<'a>,
    level: Level<'r, 'a>,
}

impl<'a> Members<'a> for Root<'_, 'a> {
    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        if let Some(names) = self.names {
            names.members.read(name);
        }
        if name == "metadata" {
            self.metadata = Metadata::read(value, self.names)?;
            return Ok(());
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
        let start = self.offset.saturating_add(separator.len());
        let end = start.saturating_add(name.len());
        let mut on = Set::EMPTY;
        for index in self.left.iter() {
            let Some((path, _)) = self.paths.get(index) else {
                continue;
            };
            // Few paths have the end of a step there: that is asked first.
            let path = path.as_bytes();
            if !matches!(path.get(end), None | Some(b'.' | b'[')) {
                continue;
            }
            // Then the first letter, because comparing texts is a call.
            let name = name.as_bytes();
            let may_be = name
                .first()
                .is_none_or(|first| path.get(start) == Some(first));
            let is_step = may_be
                && path.get(start..end) == Some(name)
                && path.get(self.offset..start) == Some(separator.as_bytes());
            if is_step {
                on = on.with(index);
            }
        }
        (on, end)
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

    /// Whether some paths lead to templates, and to nothing else.
    fn has_templates_alone(&self, left: Set) -> bool {
        let mut leaves = left.iter().filter_map(|index| self.paths.get(index));
        leaves.all(|(_, leaf)| matches!(leaf, Leaf::Template(_)))
    }

    /// What is at the end of a path of that length.
    fn leaf(&self, left: Set, offset: usize) -> Option<Leaf<'a>> {
        let mut leaves = left.iter().filter_map(|index| self.paths.get(index));
        let found = leaves.find(|(path, _)| path.len() == offset);
        found.map(|(_, leaf)| *leaf)
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
                self.reading.forget(*leaf, place);
            }
        }
        self.seen = self.seen.or(on);
    }

    /// Reads a member that was taken apart.
    fn part(&mut self, name: &str, part: &Part<'a>, place: Place<'_>) -> decode::Result<()> {
        let (on, offset) = self.through("", name);
        if on.is_empty() {
            return Ok(());
        }
        self.forget_earlier(on, place);
        let mut below = self.below(on, offset);
        for (name, raw) in part.parts().iter() {
            let (on, offset) = below.through(".", name);
            if on.is_empty() {
                continue;
            }
            let path = place.member(name);
            let place = place.at(&path);
            below.forget_earlier(on, place);
            if let Some(leaf) = below.leaf(on, offset) {
                let is_strict = below.is_strict;
                below.reading.kept(leaf, Kept::new(*raw, place), is_strict);
            } else {
                late(*raw, place, |value| below.read((on, offset), value))?;
            }
        }
        self.check(on, part.raw().json_type(), place);
        Ok(())
    }
}

impl<'a> Members<'a> for Level<'_, 'a> {
    const OF_ARRAY: bool = true;

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
        if each.0.is_empty()
            || self.reading.leaves_templates_out() && self.has_templates_alone(each.0)
        {
            return value.skip();
        }
        self.read(each, value)
    }
}
