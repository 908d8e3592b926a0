//! The objects that a controller will create from templates and whole objects inside this object.

use std::borrow::Cow;

use serde::de::{Deserializer, Error};

use super::Level;
use super::paths::{Paths, SPEC, Set};
use super::reading::Reading;
use crate::decode::{Members, Raw, Type, Value, late};
use crate::kind::{JOB, Kind, Template};
use crate::object::custom::{MAX_NESTED, MAX_TEMPLATES, Nested};
use crate::upstream::go;

/// Objects that are nested deeper than this are not read.
const MAX_DEPTH: usize = 8;

/// No name in Kubernetes is longer.
const MAX_NAME: usize = 253;

impl<'a> Reading<'a> {
    pub(super) fn template<D: Deserializer<'a>>(
        &mut self,
        template: &'a Template<'a>,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        if self.templates >= MAX_TEMPLATES {
            return self.leave_out(template, value);
        }
        self.templates = self.templates.saturating_add(1);
        let kind = match *template {
            Template::Spec(kind) => return self.child(kind, value),
            Template::Object(kind) => Some(kind),
            Template::Any => None,
        };
        let place = value.place();
        let mut made = Made {
            kind,
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

    /// Whether a template was left out, so that the others are too.
    pub(super) fn leaves_templates_out(&self) -> bool {
        self.templates > MAX_TEMPLATES
    }

    /// Passes over a template, and notes the first one.
    fn leave_out<D: Deserializer<'a>>(
        &mut self,
        template: &'a Template<'a>,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        if self.templates == MAX_TEMPLATES {
            self.templates = self.templates.saturating_add(1);
            let kind = match *template {
                Template::Spec(kind) | Template::Object(kind) => kind,
                // It would name one.
                Template::Any => &JOB,
            };
            let path = value.place().path().to_string();
            self.nested.push(Nested::unread(kind, path));
        }
        value.skip()
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
        Cow::Owned(value) => Cow::Owned(go::prefix(value, MAX_NAME).to_owned()),
    }
}
