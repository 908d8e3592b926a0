//! The objects that a controller will create from templates and whole objects inside this object.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess};

use super::paths::{self, SPEC};
use super::reading::Reading;
use super::{Level, Set};
use crate::decode::fields::Text;
use crate::decode::{Lenient, Path, Raw, Type, VisitContainer, duplicate};
use crate::kind::{JOB, Kind, Template};
use crate::object::custom::{MAX_NESTED, MAX_TEMPLATES, Nested};
use crate::upstream::go;

/// Objects that are nested deeper than this are not read.
const MAX_DEPTH: usize = 8;

/// No name in Kubernetes is longer.
const MAX_NAME: usize = 253;

impl<'a> Reading<'a> {
    /// Reads a template: an object, or the spec of one, that a controller will create.
    pub(super) fn template<D: Deserializer<'a>>(
        &mut self,
        template: &'a Template<'a>,
        path: &Path<'_>,
        json: D,
    ) -> Result<(), D::Error> {
        self.templates = self.templates.saturating_add(1);
        if self.templates > MAX_TEMPLATES {
            // The first one is reported.
            if self.templates == MAX_TEMPLATES.saturating_add(1) {
                let kind = match *template {
                    Template::Spec(kind) | Template::Object(kind) => kind,
                    // It would name one.
                    Template::Any => &JOB,
                };
                self.nested.push(Nested::unread(kind, path.to_string()));
            }
            return IgnoredAny::deserialize(json).map(|_| ());
        }
        let kind = match *template {
            Template::Spec(kind) => {
                return Child {
                    kind,
                    path: *path,
                    reading: self,
                }
                .deserialize(json);
            }
            Template::Object(kind) => Some(kind),
            Template::Any => None,
        };
        let mut made = Made {
            kind,
            api_version: None,
            name: None,
            spec: None,
            path,
            reading: self,
        };
        json.deserialize_any(Lenient(&mut made))?;
        // Kubewarden sorts keys, so that the kind comes before the spec. Elsewhere the spec is read late.
        let (Some(kind), Some(spec)) = (made.named(), made.spec) else {
            return Ok(());
        };
        let child = Child {
            kind,
            path: Path::Member(path, SPEC),
            reading: self,
        };
        let mut json = serde_json::Deserializer::from_str(spec.as_str());
        // The text is JSON, and the one error is a member that occurs twice.
        child.deserialize(&mut json).map_err(|_| duplicate())
    }
}

/// The spec of an object that is nested in the one being read.
struct Child<'r, 'a> {
    kind: &'a Kind<'a>,
    path: Path<'r>,
    reading: &'r mut Reading<'a>,
}

impl<'a> DeserializeSeed<'a> for Child<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, json: D) -> Result<(), D::Error> {
        let Self {
            kind,
            path,
            reading,
        } = self;
        if reading.depth >= MAX_DEPTH || reading.nested.len() >= MAX_NESTED {
            let json_type = Raw::deserialize(json)?.json_type();
            if json_type == Type::Object && reading.nested.len() <= MAX_NESTED {
                let unread = Nested::unread(kind, path.to_string());
                reading.nested.push(unread);
            }
            return Ok(());
        }
        let first = reading.nested.len();
        let outer = reading.managed_by.take();
        let outer_kind = reading.kind.replace(kind);
        let depth = reading.depth.saturating_add(1);
        reading.depth = depth;
        json.deserialize_any(Lenient(&mut Level {
            paths: &paths::of_spec(kind),
            left: Set::MAX,
            offset: SPEC.len(),
            entered: 0,
            is_strict: false,
            path,
            reading: &mut *reading,
        }))?;
        reading.depth = depth.saturating_sub(1);
        reading.kind = outer_kind;
        let own = std::mem::replace(&mut reading.managed_by, outer);
        // The templates right below now learn who makes their objects.
        for nested in reading.nested.iter_mut().skip(first) {
            if nested.depth == depth.saturating_add(1) {
                nested.parent = own.as_ref().map(beginning);
            }
        }
        if let Some(value) = own.filter(|value| kind.mode(Some(value)).is_delegated()) {
            let below = kind.managed_by.strip_prefix(SPEC).unwrap_or_default();
            let nested = Nested {
                path: format!("{path}{below}"),
                kind,
                value: Some(value),
                depth,
                parent_kind: outer_kind,
                parent: None,
            };
            reading.nested.insert(first, nested);
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
    path: &'r Path<'r>,
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

impl<'a> VisitContainer<'a> for Made<'_, 'a> {
    fn visit_members<A: MapAccess<'a>>(&mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            match (&*name, self.kind) {
                (SPEC, kind) => match kind.or_else(|| self.named()) {
                    Some(kind) => map.next_value_seed(Child {
                        kind,
                        path: Path::Member(self.path, SPEC),
                        reading: &mut *self.reading,
                    })?,
                    None => self.spec = Some(map.next_value()?),
                },
                ("apiVersion", None) => self.api_version = map.next_value::<Raw<'a>>()?.string(),
                ("kind", None) => self.name = map.next_value::<Raw<'a>>()?.string(),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// A value as its children remember it: each has a copy, so no more of it than a name could be.
fn beginning<'a>(value: &Cow<'a, str>) -> Cow<'a, str> {
    match value {
        Cow::Borrowed(value) => Cow::Borrowed(value),
        Cow::Owned(value) => Cow::Owned(go::prefix(value, MAX_NAME).to_owned()),
    }
}
