//! Where the parts of a custom resource stand that rules read: a tree for each kind, and one reader for all of them.
//!
//! A tree is a static table, so that a kind is data and costs a request of another kind nothing. What is not in the tree
//! is skipped: pod templates above all.

use std::borrow::Cow;
use std::fmt;

use super::KindProfile;
use super::custom::{Custom, MAX_DEPTH, MAX_NESTED, Nested, Sign, Status};
use crate::json::{Reader, Result, Type};
use crate::request::{Metadata, Object};
use crate::time::Time;

/// What to do with a value.
#[derive(Debug)]
pub(crate) enum Part {
    /// An object: by its members, those that are not named are skipped.
    Fields(&'static [(&'static str, Part)]),
    /// An array or a map: the same for each element.
    Each(&'static Part),
    /// The field itself.
    ManagedBy,
    /// An object, or the spec of one, that a controller will make.
    Template(Template),
    /// A number that counts something.
    Counter,
    /// A number that only goes up, with its place in [`Status::totals`].
    Total(usize),
    /// How often the workload may be tried again.
    Retries,
    /// A list of the status of each earlier attempt, with the conditions of the last that say something.
    Attempts(&'static [Sign]),
    /// When it started.
    Start,
    /// When it ended.
    End,
    /// A list of conditions, with those that say something.
    Conditions(&'static [Sign]),
    /// A word for the state, with those that say something: a bit of [`super::custom::fact`] each.
    Word(&'static [(&'static str, u16)]),
    /// The same, of which other words are read too.
    Said(&'static [(&'static str, u16)]),
}

/// What stands in a template.
#[derive(Debug)]
pub(crate) enum Template {
    /// An object of a kind: `{"metadata": ..., "spec": ...}`.
    Object(&'static KindProfile),
    /// The spec of an object of a kind.
    Spec(&'static KindProfile),
    /// An object of any kind, which names it.
    Any,
}

/// The way from the root to where the reader stands, on the stack: it becomes text only where something is found.
#[derive(Clone, Copy)]
pub(super) struct Trail<'t> {
    up: Option<&'t Trail<'t>>,
    step: Segment<'t>,
}

#[derive(Clone, Copy)]
enum Segment<'t> {
    Member(&'static str),
    Index(usize),
    Key(&'t [u8]),
}

impl<'t> Trail<'t> {
    fn root(member: &'static str) -> Self {
        let step = Segment::Member(member);
        Self { up: None, step }
    }

    fn to(&'t self, step: Segment<'t>) -> Self {
        let up = Some(self);
        Self { up, step }
    }
}

/// As kube-apiserver writes paths: `status.replicaStatuses[Worker].active`.
impl fmt::Display for Trail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(up) = self.up {
            fmt::Display::fmt(up, f)?;
        }
        match self.step {
            Segment::Member(name) if self.up.is_none() => f.write_str(name),
            Segment::Member(name) => write!(f, ".{name}"),
            Segment::Index(index) => write!(f, "[{index}]"),
            Segment::Key(key) => write!(f, "[{}]", String::from_utf8_lossy(key)),
        }
    }
}

/// Reads an object by the tree of its kind.
///
/// `null` is an absent value on the way to the field and for the field itself. Elsewhere a value of another type than
/// expected is passed over: its schema lets it pass or not, and no rule judges what it cannot read.
///
/// # Errors
/// If the field, or what it stands in, is of the wrong type.
pub(super) fn read<'a>(kind: &KindProfile, reader: &mut Reader<'a>) -> Result<Object<'a>> {
    let mut object = Object::default();
    let mut walk = Walk::default();
    reader.object(|reader, key| match (key, kind.status) {
        (b"metadata", _) => {
            object.metadata = Metadata::read(reader).map_err(|e| e.within("metadata"))?;
            Ok(())
        }
        (b"spec", _) => {
            // Of two, the last counts.
            walk.managed_by = None;
            walk.nested.clear();
            walk.retries = 0;
            walk.part(reader, &kind.spec, &Trail::root("spec"))
        }
        (b"status", Some(profile)) => {
            walk.status = Status::default();
            walk.lenient = true;
            walk.part(reader, &profile.parts, &Trail::root("status"))?;
            walk.lenient = false;
            Ok(())
        }
        _ => reader.skip(),
    })?;
    object.managed_by = walk.managed_by;
    if !walk.nested.is_empty() || walk.status != Status::default() {
        object.custom = Some(Box::new(Custom {
            nested: walk.nested,
            status: walk.status,
            retries: walk.retries,
        }));
    }
    Ok(object)
}

#[derive(Default)]
struct Walk<'a> {
    /// Of the object that is being read: the outer one, or one that is nested in it.
    managed_by: Option<Cow<'a, str>>,
    nested: Vec<Nested<'a>>,
    status: Status<'a>,
    retries: usize,
    /// The kind of the nested object that is being read.
    kind: Option<&'static KindProfile>,
    depth: usize,
    lenient: bool,
}

impl<'a> Walk<'a> {
    fn part(&mut self, reader: &mut Reader<'a>, part: &Part, at: &Trail<'_>) -> Result<()> {
        match part {
            Part::Fields(fields) => self.fields(reader, fields, at),
            Part::Each(part) => match reader.peek()? {
                Type::Array => reader.array(|reader, index| {
                    let at = at.to(Segment::Index(index));
                    self.part(reader, part, &at)
                }),
                // A key that is no name would stand in the path of everything below it.
                Type::Object => reader.object(|reader, key| {
                    if key.len() > MAX_NAME {
                        return reader.skip();
                    }
                    let at = at.to(Segment::Key(key));
                    self.part(reader, part, &at)
                }),
                _ => reader.skip(),
            },
            Part::ManagedBy if self.lenient => {
                self.managed_by = text(reader)?;
                Ok(())
            }
            Part::ManagedBy => {
                let value = reader.string_or_null();
                self.managed_by = value.map_err(|e| e.within(at.to_string()))?;
                Ok(())
            }
            Part::Template(template) => self.template(reader, template, at),
            Part::Counter => {
                if let Some(count) = count(reader)? {
                    self.status.count(count, at);
                }
                Ok(())
            }
            Part::Total(index) => {
                if let Some(count) = count(reader)? {
                    self.status.count(count, at);
                    if let Some(total) = self.status.totals.get_mut(*index) {
                        *total = count;
                    }
                }
                Ok(())
            }
            Part::Retries => {
                let retries = count(reader)?.unwrap_or_default().max(0);
                self.retries = retries.try_into().unwrap_or(usize::MAX);
                Ok(())
            }
            Part::Attempts(signs) => self.attempts(reader, signs),
            Part::Start => {
                self.status.start = time(reader)?;
                Ok(())
            }
            Part::End => {
                self.status.end = time(reader)?;
                Ok(())
            }
            Part::Conditions(signs) => {
                self.status.facts |= conditions(reader, signs)?;
                Ok(())
            }
            Part::Word(words) => self.word(reader, words).map(|_| ()),
            Part::Said(words) => {
                self.status.word = self.word(reader, words)?;
                Ok(())
            }
        }
    }

    fn word(
        &mut self,
        reader: &mut Reader<'a>,
        words: &[(&str, u16)],
    ) -> Result<Option<Cow<'a, str>>> {
        let word = text(reader)?;
        if let Some(word) = &word {
            let known = words.iter().find(|(known, _)| known == word);
            self.status.facts |= known.map_or(0, |(_, fact)| *fact);
        }
        Ok(word)
    }

    fn attempts(&mut self, reader: &mut Reader<'a>, signs: &[Sign]) -> Result<()> {
        if reader.peek()? != Type::Array {
            return reader.skip();
        }
        let mut last = 0;
        self.status.attempts = 0;
        reader.array(|reader, index| {
            self.status.attempts = index.saturating_add(1);
            last = 0;
            if reader.peek()? != Type::Object {
                return reader.skip();
            }
            reader.object(|reader, key| match key {
                b"conditions" => {
                    last = conditions(reader, signs)?;
                    Ok(())
                }
                _ => reader.skip(),
            })
        })?;
        self.status.facts |= last;
        Ok(())
    }

    fn fields(
        &mut self,
        reader: &mut Reader<'a>,
        fields: &'static [(&'static str, Part)],
        at: &Trail<'_>,
    ) -> Result<()> {
        let got = reader.peek()?;
        if got == Type::Null || (got != Type::Object && self.lenient) {
            return reader.skip();
        }
        if got != Type::Object {
            let wrong = reader.object(|reader, _| reader.skip());
            return wrong.map_err(|e| e.within(at.to_string()));
        }
        reader.object(|reader, key| {
            let field = fields.iter().find(|(name, _)| name.as_bytes() == key);
            let Some((name, part)) = field else {
                return reader.skip();
            };
            self.part(reader, part, &at.to(Segment::Member(name)))
        })
    }

    fn template(
        &mut self,
        reader: &mut Reader<'a>,
        template: &Template,
        at: &Trail<'_>,
    ) -> Result<()> {
        if reader.peek()? != Type::Object {
            return reader.skip();
        }
        match template {
            Template::Spec(kind) => self.child(reader, kind, at),
            Template::Object(kind) => reader.object(|reader, key| match key {
                b"spec" => self.child(reader, kind, &at.to(SPEC)),
                _ => reader.skip(),
            }),
            Template::Any => self.any(reader, at),
        }
    }

    /// An object that names its kind. Kubewarden sorts keys, so that the kind comes before the spec; where it does not,
    /// the spec is read once it is known.
    fn any(&mut self, reader: &mut Reader<'a>, at: &Trail<'_>) -> Result<()> {
        let (mut api_version, mut name) = (None, None);
        let mut spec: Option<&'a [u8]> = None;
        reader.object(|reader, key| {
            match key {
                b"apiVersion" => api_version = text(reader)?,
                b"kind" => name = text(reader)?,
                b"spec" => {
                    if let Some(kind) = find(api_version.as_deref(), name.as_deref()) {
                        return self.child(reader, kind, &at.to(SPEC));
                    }
                    spec = Some(reader.raw()?);
                }
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        match (spec, find(api_version.as_deref(), name.as_deref())) {
            (Some(spec), Some(kind)) => self.child(&mut Reader::again(spec), kind, &at.to(SPEC)),
            _ => Ok(()),
        }
    }

    /// Reads the spec of an object that stands in the one being read.
    fn child(
        &mut self,
        reader: &mut Reader<'a>,
        kind: &'static KindProfile,
        at: &Trail<'_>,
    ) -> Result<()> {
        if self.depth >= MAX_DEPTH || self.nested.len() >= MAX_NESTED {
            if self.nested.len() <= MAX_NESTED {
                self.nested.push(Nested::unread(kind, at.to_string()));
            }
            return reader.skip();
        }
        let first = self.nested.len();
        let outer = self.managed_by.take();
        let outer_kind = self.kind.replace(kind);
        let outer_lenient = std::mem::replace(&mut self.lenient, true);
        let depth = self.depth.saturating_add(1);
        self.depth = depth;
        self.part(reader, &kind.spec, at)?;
        self.depth = depth.saturating_sub(1);
        self.lenient = outer_lenient;
        self.kind = outer_kind;
        let own = std::mem::replace(&mut self.managed_by, outer);
        // Those right below now learn who makes them.
        for nested in self.nested.iter_mut().skip(first) {
            if nested.depth == depth.saturating_add(1) {
                nested.parent = own.as_ref().map(beginning);
            }
        }
        if let Some(value) = own.filter(|value| *value != kind.reserved) {
            let below = kind.managed_by.get(1..).unwrap_or_default();
            let nested = Nested {
                path: format!("{at}.{}", below.join(".")),
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

const SPEC: Segment<'static> = Segment::Member("spec");

/// No name in Kubernetes is longer.
const MAX_NAME: usize = 253;

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

/// The kind of a nested object, if its version has the field.
fn find(api_version: Option<&str>, kind: Option<&str>) -> Option<&'static KindProfile> {
    let (group, version) = api_version?.split_once('/')?;
    let profile = KindProfile::find(group, version, kind?)?;
    (!profile.pruned_in.contains(&version)).then_some(profile)
}

/// What a list of conditions says. Of several of one type the first counts, as for those who look one up (knative's
/// `GetCondition`, the `getCondition`s of the operators); where the list is a map by type there are no others.
fn conditions(reader: &mut Reader<'_>, signs: &[Sign]) -> Result<u16> {
    if reader.peek()? != Type::Array {
        return reader.skip().map(|()| 0);
    }
    let mut facts = 0;
    let mut seen = 0_u32;
    reader.array(|reader, _| {
        if reader.peek()? != Type::Object {
            return reader.skip();
        }
        let (mut condition, mut status, mut reason) = (None, None, None);
        reader.object(|reader, key| {
            let field = match key {
                b"type" => &mut condition,
                b"status" => &mut status,
                b"reason" => &mut reason,
                _ => return reader.skip(),
            };
            *field = text(reader)?;
            Ok(())
        })?;
        let is = |word: &Option<Cow<'_, str>>, wanted| word.as_deref() == Some(wanted);
        let Some(first) = signs.iter().position(|sign| is(&condition, sign.condition)) else {
            return Ok(());
        };
        let bit = 1_u32.wrapping_shl(u32::try_from(first).unwrap_or_default());
        if seen & bit != 0 {
            return Ok(());
        }
        seen |= bit;
        for sign in signs.iter().filter(|sign| is(&condition, sign.condition)) {
            if is(&status, sign.status) && (sign.reason.is_empty() || is(&reason, sign.reason)) {
                facts |= sign.fact;
            }
        }
        Ok(())
    })?;
    Ok(facts)
}

/// A string; [`None`] where something else stands.
fn text<'a>(reader: &mut Reader<'a>) -> Result<Option<Cow<'a, str>>> {
    if reader.peek()? == Type::String {
        return reader.string().map(Some);
    }
    reader.skip().map(|()| None)
}

/// A whole number; [`None`] where something else stands.
fn count(reader: &mut Reader<'_>) -> Result<Option<i64>> {
    if reader.peek()? != Type::Number {
        return reader.skip().map(|()| None);
    }
    let digits = std::str::from_utf8(reader.raw()?).unwrap_or_default();
    Ok(digits.parse().ok())
}

/// A time; [`None`] where something else stands.
fn time(reader: &mut Reader<'_>) -> Result<Option<Time>> {
    Ok(text(reader)?.and_then(|text| Time::parse(&text)))
}
