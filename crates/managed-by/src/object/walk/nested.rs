//! Nested objects in the templates of a custom resource.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess};

use super::builder::ObjectBuilder;
use super::paths::{self, SPEC};
use super::{Cursor, PathSet};
use crate::decode::fields::Text;
use crate::decode::{Lenient, Path, Raw, Type, VisitContainer, duplicate};
use crate::kind::{JOB, Kind, Template};
use crate::object::custom::{MAX_NESTED, MAX_TEMPLATES, NestedManagedBy};
use crate::upstream::go;

/// Maximum nesting depth to read.
const MAX_DEPTH: usize = 8;

/// Maximum length of a name in Kubernetes.
const MAX_NAME: usize = 253;

impl<'a> ObjectBuilder<'a> {
    /// Decodes a template: an object or the spec of an object.
    pub(super) fn decode_template<D: Deserializer<'a>>(
        &mut self,
        template: &'a Template<'a>,
        path: &Path<'_>,
        json: D,
    ) -> Result<(), D::Error> {
        self.templates = self.templates.saturating_add(1);
        if self.templates > MAX_TEMPLATES {
            // Report only the first skipped template.
            if self.templates == MAX_TEMPLATES.saturating_add(1) {
                let kind = match *template {
                    Template::Spec(kind) | Template::Object(kind) => kind,
                    // A placeholder, because the kind is unknown. The finding for a skipped template does not name it.
                    Template::Any => &JOB,
                };
                self.nested
                    .push(NestedManagedBy::skipped(kind, path.to_string()));
            }
            return IgnoredAny::deserialize(json).map(|_| ());
        }
        let kind = match *template {
            Template::Spec(kind) => {
                return NestedSpec {
                    kind,
                    path: *path,
                    builder: self,
                }
                .deserialize(json);
            }
            Template::Object(kind) => Some(kind),
            Template::Any => None,
        };
        let mut object = TemplateObject {
            kind,
            api_version: None,
            kind_name: None,
            spec: None,
            path,
            builder: self,
        };
        json.deserialize_any(Lenient(&mut object))?;
        // Kubewarden sorts keys, so the kind usually comes before the spec. Otherwise, the spec is decoded now.
        let (Some(kind), Some(spec)) = (object.known_kind(), object.spec) else {
            return Ok(());
        };
        let child = NestedSpec {
            kind,
            path: Path::Member(path, SPEC),
            builder: self,
        };
        let mut json = serde_json::Deserializer::from_str(spec.as_str());
        // The text is valid JSON, so the only possible error is a duplicate member.
        child.deserialize(&mut json).map_err(|_| duplicate())
    }
}

/// Seed that decodes the spec of a nested object.
struct NestedSpec<'r, 'a> {
    kind: &'a Kind<'a>,
    path: Path<'r>,
    builder: &'r mut ObjectBuilder<'a>,
}

impl<'a> DeserializeSeed<'a> for NestedSpec<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, json: D) -> Result<(), D::Error> {
        let Self {
            kind,
            path,
            builder,
        } = self;
        if builder.depth >= MAX_DEPTH || builder.nested.len() >= MAX_NESTED {
            let json_type = Raw::deserialize(json)?.json_type();
            if json_type == Type::Object && builder.nested.len() <= MAX_NESTED {
                let skipped = NestedManagedBy::skipped(kind, path.to_string());
                builder.nested.push(skipped);
            }
            return Ok(());
        }
        let first = builder.nested.len();
        let outer = builder.managed_by.take();
        let outer_kind = builder.kind.replace(kind);
        let depth = builder.depth.saturating_add(1);
        builder.depth = depth;
        json.deserialize_any(Lenient(&mut Cursor {
            paths: &paths::for_spec(kind),
            matching: PathSet::MAX,
            offset: SPEC.len(),
            visited: 0,
            is_strict: false,
            path,
            builder: &mut *builder,
        }))?;
        builder.depth = depth.saturating_sub(1);
        builder.kind = outer_kind;
        let own = std::mem::replace(&mut builder.managed_by, outer);
        // Set the parent of the objects in its templates.
        for nested in builder.nested.iter_mut().skip(first) {
            if nested.depth == depth.saturating_add(1) {
                nested.parent_managed_by = own.as_ref().map(truncated);
            }
        }
        if let Some(value) = own.filter(|value| kind.reconciler(Some(value)).is_delegated()) {
            let below = kind.managed_by_path.strip_prefix(SPEC).unwrap_or_default();
            let nested = NestedManagedBy {
                path: format!("{path}{below}"),
                kind,
                value: Some(value),
                depth,
                parent_kind: outer_kind,
                parent_managed_by: None,
            };
            builder.nested.insert(first, nested);
        }
        Ok(())
    }
}

/// Visitor of an object in a template, of a known kind or with its own `apiVersion` and `kind`.
struct TemplateObject<'r, 'a> {
    kind: Option<&'a Kind<'a>>,
    api_version: Option<Cow<'a, str>>,
    kind_name: Option<Cow<'a, str>>,
    /// Spec, if it comes before the kind.
    spec: Option<Raw<'a>>,
    path: &'r Path<'r>,
    builder: &'r mut ObjectBuilder<'a>,
}

impl<'a> TemplateObject<'_, 'a> {
    /// Returns the kind of its `apiVersion` and `kind`, if it is known and the version has the field.
    fn known_kind(&self) -> Option<&'a Kind<'a>> {
        let (group, version) = self.api_version.as_deref()?.split_once('/')?;
        let kind = Kind::find(group, version, self.kind_name.as_deref()?)?;
        (!kind.pruned_in.contains(&version)).then_some(kind)
    }
}

impl<'a> VisitContainer<'a> for TemplateObject<'_, 'a> {
    fn visit_members<A: MapAccess<'a>>(&mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(name)) = map.next_key()? {
            match (&*name, self.kind) {
                (SPEC, kind) => match kind.or_else(|| self.known_kind()) {
                    Some(kind) => map.next_value_seed(NestedSpec {
                        kind,
                        path: Path::Member(self.path, SPEC),
                        builder: &mut *self.builder,
                    })?,
                    None => self.spec = Some(map.next_value()?),
                },
                ("apiVersion", None) => self.api_version = map.next_value::<Raw<'a>>()?.string(),
                ("kind", None) => self.kind_name = map.next_value::<Raw<'a>>()?.string(),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// Copies a value for a child. Truncates owned strings to the length of a name, because each child has its own copy; borrowed ones
/// are free.
fn truncated<'a>(value: &Cow<'a, str>) -> Cow<'a, str> {
    match value {
        Cow::Borrowed(value) => Cow::Borrowed(value),
        Cow::Owned(value) => Cow::Owned(go::prefix(value, MAX_NAME).to_owned()),
    }
}
