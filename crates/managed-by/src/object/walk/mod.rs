//! Reads a custom resource by the paths of its kind.
//!
//! A profile names what it needs by paths (`status.replicatedJobsStatus[].ready`). The walk goes down the object with the
//! set of paths that still match, and skips what is on none of them: pod templates above all.
//!
//! The field `managedBy`, the objects that it is in and the metadata are strict: a value of the wrong type is an error, `null` aside.
//! Everything else is for the kind's own schema, and a value of another type is skipped.

mod conditions;
mod nested;
mod paths;
mod reading;

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess};

use super::{Metadata, Object};
use crate::decode::fields::{self, Nullable, Text, put};
use crate::decode::{self, Lenient, Part, Path, Raw, Strict, Type, VisitContainer, decode_str};
use crate::kind::Kind;
use paths::{EACH, Leaf, Paths, Set};
use reading::Reading;

/// Reads an object by the paths of its kind; [`None`] for `null`.
pub(super) fn read<'a, D: Deserializer<'a>>(
    json: D,
    kind: &'a Kind<'a>,
) -> Result<Option<Object<'a>>, D::Error> {
    let paths = Paths::of(kind);
    let mut reading = Reading::default();
    let mut root = Root {
        metadata: None,
        level: Level::root(&paths, &mut reading),
    };
    let is_set = json.deserialize_option(Strict(&mut root))?;
    let metadata = root.metadata.map(|Nullable(metadata)| metadata);
    Ok(is_set.then(|| reading.object(metadata.unwrap_or_default(), kind)))
}

/// Reads an object from its metadata and its other members, as [`read`] does. Each path of its kind has two members or more.
///
/// # Errors
/// If a strict value is of the wrong type, with its path from the object.
pub(crate) fn read_members<'a>(
    metadata: Metadata<'a>,
    members: &[(Cow<'a, str>, Part<'a>)],
    kind: &'a Kind<'a>,
) -> decode::Result<Object<'a>> {
    let paths = Paths::of(kind);
    let mut reading = Reading::default();
    let mut root = Level::root(&paths, &mut reading);
    for (name, part) in members {
        let (on, offset) = root.through("", name);
        let json_type = part.json_type();
        if root.leads_to_field(on) && !matches!(json_type, Type::Object | Type::Null) {
            let (expected, got) = ("an object", json_type.name());
            return Err(decode::Malformed::unexpected(&**name, expected, got));
        }
        if !root.enter(on) {
            return Err(decode::Malformed::duplicate(&**name));
        }
        if on.is_empty() {
            continue;
        }
        let path = Path::Member(&Path::Root, name);
        let mut level = root.below(on, offset, path);
        for (name, raw) in part.parts().iter() {
            level.read_raw(name, *raw)?;
        }
    }
    Ok(reading.object(metadata, kind))
}

/// The object itself: its metadata and the paths of its kind.
struct Root<'r, 'a> {
    metadata: Option<Nullable<Metadata<'a>>>,
    level: Level<'r, 'a>,
}

impl<'a> VisitContainer<'a> for Root<'_, 'a> {
    fn visit_members<A: MapAccess<'a>>(&mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            if name == "metadata" {
                put(&mut self.metadata, &mut map)?;
            } else {
                self.level.read_member(&name, &mut map)?;
            }
        }
        Ok(())
    }
}

/// A value on the way down, by the paths that lead to it.
struct Level<'r, 'a> {
    paths: &'r Paths<'a>,
    /// The paths that lead here.
    left: Set,
    /// The length of the part of these paths that leads here, which is the same in all.
    offset: usize,
    /// The paths that lead on through the members that were read.
    entered: Set,
    /// Whether the paths belong to the object itself, and not to one that is nested in it.
    is_strict: bool,
    path: Path<'r>,
    reading: &'r mut Reading<'a>,
}

impl<'r, 'a> Level<'r, 'a> {
    fn root(paths: &'r Paths<'a>, reading: &'r mut Reading<'a>) -> Self {
        Self {
            left: paths.all(),
            paths,
            offset: 0,
            entered: Set::empty(),
            is_strict: true,
            path: Path::Root,
            reading,
        }
    }

    /// The value that some paths lead to with the first `offset` of their bytes.
    fn below<'b>(&'b mut self, left: Set, offset: usize, path: Path<'b>) -> Level<'b, 'a> {
        Level {
            paths: self.paths,
            left,
            offset,
            entered: Set::empty(),
            is_strict: self.is_strict,
            path,
            reading: &mut *self.reading,
        }
    }

    /// Returns the paths that continue with a step, and the length of their part that does.
    fn through(&self, separator: &str, name: &str) -> (Set, usize) {
        let start = self.offset.saturating_add(separator.len());
        let end = start.saturating_add(name.len());
        let mut on = Set::empty();
        for index in self.left.indexes() {
            let Some((path, _)) = self.paths.get(index) else {
                continue;
            };
            // The end of a step and the first letter are compared before the name, which is a call: saves 4.5 % of the fuel of a JobSet's
            // status update.
            let path = path.as_bytes();
            if !matches!(path.get(end), None | Some(b'.' | b'[')) {
                continue;
            }
            let name = name.as_bytes();
            let may_be = name
                .first()
                .is_none_or(|first| path.get(start) == Some(first));
            let is_step = may_be
                && path.get(start..end) == Some(name)
                && path.get(self.offset..start) == Some(separator.as_bytes());
            if is_step {
                on |= Set::of(index);
            }
        }
        // A name with a separator in it is another member than the ones that a path names.
        if !on.is_empty() && name.bytes().any(|b| b == b'.' || b == b'[') {
            on = Set::empty();
        }
        (on, end)
    }

    /// Returns the paths that continue with a member, as [`Level::through`] does.
    fn through_member(&self, name: &str) -> (Set, usize) {
        let separator = if self.offset == 0 { "" } else { "." };
        self.through(separator, name)
    }

    /// Marks the paths through a member as entered. Returns false if they were, which means that the member occurs twice.
    fn enter(&mut self, on: Set) -> bool {
        let is_first = !self.entered.intersects(on);
        self.entered |= on;
        is_first
    }

    /// Returns some paths with their leaves.
    fn leaves(&self, paths: Set) -> impl Iterator<Item = &(&'a str, Leaf<'a>)> {
        let leaves = paths.indexes();
        leaves.filter_map(|index| self.paths.get(index))
    }

    /// Returns true if all of some paths lead to templates.
    fn leads_to_templates_alone(&self, left: Set) -> bool {
        self.leaves(left)
            .all(|(_, leaf)| matches!(leaf, Leaf::Template(_)))
    }

    /// Returns true if one of some paths leads to the field of the object itself.
    fn leads_to_field(&self, left: Set) -> bool {
        let mut leaves = self.leaves(left);
        self.is_strict && leaves.any(|(_, leaf)| matches!(leaf, Leaf::ManagedBy))
    }

    /// Returns the leaf whose path ends here.
    fn leaf(&self) -> Option<Leaf<'a>> {
        let mut leaves = self.leaves(self.left);
        let found = leaves.find(|(path, _)| path.len() == self.offset);
        found.map(|(_, leaf)| *leaf)
    }

    /// Reads the value of a member.
    fn read_member<A: MapAccess<'a>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        let (on, offset) = self.through_member(name);
        if !on.is_empty() {
            if !self.enter(on) {
                return Err(decode::duplicate());
            }
            let parent = self.path;
            return map.next_value_seed(self.below(on, offset, Path::Member(&parent, name)));
        }
        let (each, offset) = self.through(EACH, "");
        if each.is_empty() {
            return map.next_value().map(|IgnoredAny| ());
        }
        let parent = self.path;
        map.next_value_seed(self.below(each, offset, Path::Key(&parent, name)))
    }

    /// Reads the value of a member from its text.
    fn read_raw(&mut self, name: &str, raw: Raw<'a>) -> decode::Result<()> {
        let (on, offset) = self.through_member(name);
        if on.is_empty() {
            return Ok(());
        }
        let parent = self.path;
        let path = Path::Member(&parent, name);
        if !self.enter(on) {
            return Err(decode::Malformed::duplicate(path.to_string()));
        }
        let level = self.below(on, offset, path);
        match level.leaf() {
            Some(leaf) if !matches!(leaf, Leaf::ManagedBy | Leaf::Template(_)) => {
                level.reading.raw(leaf, raw, &path);
                Ok(())
            }
            _ => decode_str(raw.as_str(), level).map_err(|e| e.within(&path.to_string())),
        }
    }
}

impl<'a> DeserializeSeed<'a> for Level<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(mut self, json: D) -> Result<(), D::Error> {
        match self.leaf() {
            Some(Leaf::ManagedBy) if self.is_strict => {
                self.reading.managed_by = fields::optional_string(json)?;
            }
            Some(Leaf::Template(template)) => {
                self.reading.template(template, &self.path, json)?;
            }
            Some(leaf) => {
                let raw = Raw::deserialize(json)?;
                self.reading.raw(leaf, raw, &self.path);
            }
            None if self.leads_to_field(self.left) => {
                json.deserialize_option(Strict(&mut self))?;
            }
            None => {
                json.deserialize_any(Lenient(&mut self))?;
            }
        }
        Ok(())
    }
}

impl<'a> VisitContainer<'a> for Level<'_, 'a> {
    fn visit_members<A: MapAccess<'a>>(&mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            self.read_member(&name, &mut map)?;
        }
        Ok(())
    }

    fn visit_elements<A: SeqAccess<'a>>(&mut self, mut seq: A) -> Result<(), A::Error> {
        let (each, offset) = self.through(EACH, "");
        let parent = self.path;
        let mut index = 0_usize;
        loop {
            let is_skipped = each.is_empty()
                || self.reading.leaves_templates_out() && self.leads_to_templates_alone(each);
            let next = if is_skipped {
                seq.next_element()?.map(|IgnoredAny| ())
            } else {
                seq.next_element_seed(self.below(each, offset, Path::Index(&parent, index)))?
            };
            if next.is_none() {
                return Ok(());
            }
            index = index.saturating_add(1);
        }
    }
}
