//! Decodes custom resources, guided by the paths in the profile of their kind.
//!
//! A profile lists paths (`status.replicatedJobsStatus[].ready`). The walk descends into the object with the set of paths that
//! still match, and skips other values such as pod templates.
//!
//! `managedBy`, its parent objects and the metadata are strict: a value of the wrong type is an error, except `null`. Other values
//! of the wrong type are skipped, because the schema of the kind defines them.

mod builder;
mod conditions;
mod nested;
mod paths;

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess};

use super::Object;
use super::custom::MAX_TEMPLATES;
use crate::decode::fields::{self, Text};
use crate::decode::{self, Lenient, Node, Path, Raw, Strict, Type, VisitContainer, decode_str};
use crate::kind::Kind;
use builder::ObjectBuilder;
use paths::{EACH, Leaf, LeafPath};

/// Decodes an object, guided by the paths of its kind. Returns [`None`] for `null`.
pub(super) fn read<'a, D: Deserializer<'a>>(
    json: D,
    kind: &'a Kind<'a>,
) -> Result<Option<Object<'a>>, D::Error> {
    let mut builder = ObjectBuilder::default();
    let paths = paths::for_kind(kind);
    let is_set = json.deserialize_option(Strict(&mut Cursor::root(&paths, &mut builder)))?;
    Ok(is_set.then(|| builder.build()))
}

/// Decodes an object from its members, like [`read`]. Each path of its kind except `metadata` has two or more segments.
///
/// # Errors
/// Fails if a strict value has the wrong type, with its path in the object.
pub(crate) fn decode_members<'a>(
    members: &[(Cow<'a, str>, Node<'a>)],
    kind: &'a Kind<'a>,
) -> decode::Result<Object<'a>> {
    let mut builder = ObjectBuilder::default();
    let paths = paths::for_kind(kind);
    let mut root = Cursor::root(&paths, &mut builder);
    for (name, part) in members {
        let Node::Split(json_type, entries) = part else {
            root.read_raw_member(name, part.raw_or_empty())?;
            continue;
        };
        let mut cursor = root.member_cursor(&Path::Root, name)?;
        if cursor.leads_to_managed_by() && !matches!(json_type, Type::Object | Type::Null) {
            let (expected, got) = ("an object", json_type.name());
            return Err(decode::DecodeError::unexpected(&**name, expected, got));
        }
        for (name, raw) in entries {
            cursor.read_raw_member(name, *raw)?;
        }
    }
    Ok(builder.build())
}

/// Set of paths, as a bit mask of their indexes.
type PathSet = u64;

/// Position in the object, with the paths that lead to it.
struct Cursor<'r, 'a> {
    /// The paths of the kind; at most 64.
    paths: &'r [LeafPath<'a>],
    /// Paths that lead to the position or below.
    matching: PathSet,
    /// Length of the prefix of these paths that leads to the position.
    offset: usize,
    /// Paths through members that were already read.
    visited: PathSet,
    /// True in the outer object, and false in nested ones.
    is_strict: bool,
    path: Path<'r>,
    builder: &'r mut ObjectBuilder<'a>,
}

impl<'r, 'a> Cursor<'r, 'a> {
    fn root(paths: &'r [LeafPath<'a>], builder: &'r mut ObjectBuilder<'a>) -> Self {
        Self {
            paths,
            matching: PathSet::MAX,
            offset: 0,
            visited: 0,
            is_strict: true,
            path: Path::Root,
            builder,
        }
    }

    /// Returns the cursor of a child, which the first `offset` bytes of the matching paths lead to.
    fn child<'b>(&'b mut self, matching: PathSet, offset: usize, path: Path<'b>) -> Cursor<'b, 'a> {
        Cursor {
            matching,
            offset,
            visited: 0,
            path,
            builder: &mut *self.builder,
            ..*self
        }
    }

    /// Iterates over a set of paths, each with its bit.
    fn iter(
        &self,
        mut set: PathSet,
    ) -> impl Iterator<Item = (PathSet, &'r LeafPath<'a>)> + use<'r, 'a> {
        let paths = self.paths;
        std::iter::from_fn(move || {
            let (index, bit) = (set.trailing_zeros(), set & set.wrapping_neg());
            set ^= bit;
            let path = paths.get(index as usize)?;
            (bit != 0).then_some((bit, path))
        })
    }

    /// Returns the matching paths that continue with a step, and the length of their prefix after it.
    fn step(&self, separator: &str, name: &str) -> (PathSet, usize) {
        let start = self.offset.saturating_add(separator.len());
        let end = start.saturating_add(name.len());
        let [separator, name] = [separator, name].map(str::as_bytes);
        let is_first = |text: &[u8], byte| text.is_empty() || text.first() == byte;
        let mut matching = 0;
        for (bit, (path, _)) in self.iter(self.matching) {
            let path = path.as_bytes();
            // Compares single bytes first: few paths match, and comparing slices is a call.
            if matches!(path.get(end), None | Some(b'.' | b'['))
                && is_first(name, path.get(start))
                && is_first(separator, path.get(self.offset))
                && path.get(start..end) == Some(name)
            {
                matching |= bit;
            }
        }
        // A name that contains a separator never matches a path.
        if matching != 0 && name.iter().any(|b| matches!(b, b'.' | b'[')) {
            matching = 0;
        }
        (matching, end)
    }

    /// Returns the matching paths that continue with a member, like [`Cursor::step`].
    fn step_member(&self, name: &str) -> (PathSet, usize) {
        let separator = if self.offset == 0 { "" } else { "." };
        self.step(separator, name)
    }

    /// Marks the paths through a member as visited. Returns false if they already were: the member is a duplicate.
    fn mark_visited(&mut self, matching: PathSet) -> bool {
        let is_first = self.visited & matching == 0;
        self.visited |= matching;
        is_first
    }

    /// Returns true if one of the paths leads to `managedBy` of the outer object.
    fn leads_to_managed_by(&self) -> bool {
        let is_field = |(_, (_, leaf)): (PathSet, &LeafPath<'_>)| matches!(leaf, Leaf::ManagedBy);
        self.is_strict && self.iter(self.matching).any(is_field)
    }

    /// Returns the leaf whose path ends at the position.
    fn leaf(&self) -> Option<Leaf<'a>> {
        let mut paths = self.iter(self.matching);
        paths.find_map(|(_, (path, leaf))| (path.len() == self.offset).then_some(*leaf))
    }

    /// Decodes the value of a member.
    fn read_member<A: MapAccess<'a>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        let parent = self.path;
        let (matching, offset) = self.step_member(name);
        if !self.mark_visited(matching) {
            return Err(decode::duplicate());
        }
        if matching != 0 {
            return map.next_value_seed(self.child(matching, offset, Path::Member(&parent, name)));
        }
        let (each, offset) = self.step(EACH, "");
        if each == 0 {
            return map.next_value().map(|IgnoredAny| ());
        }
        map.next_value_seed(self.child(each, offset, Path::Key(&parent, name)))
    }

    /// Marks a member as visited and returns its cursor. Fails if the member is a duplicate.
    fn member_cursor<'b>(
        &'b mut self,
        parent: &'b Path<'b>,
        name: &'b str,
    ) -> decode::Result<Cursor<'b, 'a>> {
        let (matching, offset) = self.step_member(name);
        let path = Path::Member(parent, name);
        if !self.mark_visited(matching) {
            return Err(decode::DecodeError::duplicate(path.to_string()));
        }
        Ok(self.child(matching, offset, path))
    }

    /// Decodes the value of a member from raw JSON.
    fn read_raw_member(&mut self, name: &str, raw: Raw<'a>) -> decode::Result<()> {
        let parent = self.path;
        let cursor = self.member_cursor(&parent, name)?;
        let path = cursor.path;
        match cursor.leaf() {
            _ if cursor.matching == 0 => Ok(()),
            Some(leaf) if !matches!(leaf, Leaf::Metadata | Leaf::ManagedBy | Leaf::Template(_)) => {
                cursor.builder.set(leaf, raw, &path);
                Ok(())
            }
            _ => decode_str(raw.as_str(), cursor).map_err(|e| e.within(&path.to_string())),
        }
    }
}

impl<'a> DeserializeSeed<'a> for Cursor<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(mut self, json: D) -> Result<(), D::Error> {
        match self.leaf() {
            Some(Leaf::Metadata) => self.builder.metadata = fields::object(json)?,
            Some(Leaf::ManagedBy) if self.is_strict => {
                self.builder.managed_by = fields::optional_string(json)?;
            }
            Some(Leaf::Template(template)) => {
                self.builder.decode_template(template, &self.path, json)?;
            }
            Some(leaf) => {
                let raw = Raw::deserialize(json)?;
                self.builder.set(leaf, raw, &self.path);
            }
            None if self.leads_to_managed_by() => {
                json.deserialize_option(Strict(&mut self))?;
            }
            None => {
                json.deserialize_any(Lenient(&mut self))?;
            }
        }
        Ok(())
    }
}

impl<'a> VisitContainer<'a> for Cursor<'_, 'a> {
    fn visit_members<A: MapAccess<'a>>(&mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            self.read_member(&name, &mut map)?;
        }
        Ok(())
    }

    fn visit_elements<A: SeqAccess<'a>>(&mut self, mut seq: A) -> Result<(), A::Error> {
        let (each, offset) = self.step(EACH, "");
        let parent = self.path;
        let mut index = 0_usize;
        loop {
            let is_skipped = self.builder.templates > MAX_TEMPLATES
                && self
                    .iter(each)
                    .all(|(_, (_, leaf))| matches!(leaf, Leaf::Template(_)));
            let next = if is_skipped || each == 0 {
                seq.next_element()?.map(|IgnoredAny| ())
            } else {
                seq.next_element_seed(self.child(each, offset, Path::Index(&parent, index)))?
            };
            if next.is_none() {
                return Ok(());
            }
            index = index.saturating_add(1);
        }
    }
}
