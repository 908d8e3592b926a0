//! The resources with workloads: the kinds of the library, and the kinds that the settings declare.

use std::collections::BTreeMap;
use std::fmt;

use managed_by::{FieldLocation, kinds};
use managed_by_console::exit::CliError;
use managed_by_console::value::suggestion;
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resource {
    group: String,
    /// Versions whose objects the library decodes.
    versions: Vec<String>,
    kind: String,
    pub(super) plural: String,
    pub(super) is_namespaced: bool,
}

/// Formats as `jobs.batch`.
impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.plural, self.group)
    }
}

impl Resource {
    /// Creates a resource that has no workloads.
    pub(super) fn new(group: &str, version: &str, plural: &str) -> Self {
        Self {
            group: group.to_owned(),
            versions: vec![version.to_owned()],
            kind: String::new(),
            plural: plural.to_owned(),
            is_namespaced: true,
        }
    }

    pub(super) fn group_kind(&self) -> (String, String) {
        (self.group.clone(), self.kind.clone())
    }

    /// Returns the group and version, as in `apiVersion`.
    pub(super) fn group_version(&self) -> String {
        let version = self.versions.first().map_or("v1", |version| &**version);
        format!("{}/{version}", self.group)
    }

    /// Returns the path of an object, or of the list if the name is empty.
    pub(super) fn path(&self, namespace: Option<&str>, name: &str) -> String {
        let namespace = namespace.filter(|_| self.is_namespaced);
        let namespace = namespace.map_or_else(String::new, |name| format!("/namespaces/{name}"));
        let slash = if name.is_empty() { "" } else { "/" };
        let (version, plural) = (self.group_version(), &self.plural);
        format!("/apis/{version}{namespace}/{plural}{slash}{name}")
    }

    /// Returns the resource in each version that the cluster serves for the group, with true for those that can be read, which are first.
    pub(super) fn served_by(&self, served: &BTreeMap<String, Vec<String>>) -> Vec<(Self, bool)> {
        let versions = served.get(&self.group).into_iter().flatten();
        let with_version = |version: &String| {
            let is_readable = self.versions.is_empty() || self.versions.contains(version);
            let versions = vec![version.clone()];
            let resource = self.clone();
            (
                Self {
                    versions,
                    ..resource
                },
                is_readable,
            )
        };
        let mut found: Vec<_> = versions.map(with_version).collect();
        found.sort_by_key(|(_, is_readable)| !is_readable);
        found
    }

    fn is_named(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let kind = self.kind.to_ascii_lowercase();
        // kubectl prints `job.batch/pi`.
        let group = name.strip_suffix(&self.group);
        let name = group.and_then(|n| n.strip_suffix('.')).unwrap_or(&name);
        name == kind || name == self.plural
    }
}

pub(super) fn known(settings: &str) -> Vec<Resource> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Settings {
        custom_kinds: Option<Vec<Declared>>,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Declared {
        group: String,
        versions: Option<Vec<String>>,
        kind: String,
        plural: String,
        location: Option<String>,
    }
    let mut known: Vec<Resource> = Vec::new();
    for kind in kinds() {
        if kind.field_location() != FieldLocation::Workload {
            continue;
        }
        let versions = kind.versions().iter();
        let versions = versions.map(|version| (*version).to_owned());
        let is_same = |known: &&mut Resource| {
            (&*known.group, &*known.plural) == (kind.group(), kind.plural())
        };
        match known.iter_mut().find(is_same) {
            Some(known) => known.versions.extend(versions),
            None => known.push(Resource {
                group: kind.group().to_owned(),
                versions: versions.collect(),
                kind: kind.name().to_owned(),
                plural: kind.plural().to_owned(),
                is_namespaced: true,
            }),
        }
    }
    // The caller has parsed the settings, so this cannot fail.
    let settings: Settings = serde_json::from_str(settings).unwrap_or_default();
    let declared = settings.custom_kinds.unwrap_or_default().into_iter();
    let declared = declared.filter(|kind| kind.location.as_deref() != Some("template"));
    known.extend(declared.map(|kind| Resource {
        group: kind.group,
        versions: kind.versions.unwrap_or_default(),
        kind: kind.kind,
        plural: kind.plural,
        is_namespaced: true,
    }));
    known
}

/// What the arguments select.
#[derive(Debug, Default)]
pub(super) struct Selection {
    pub(super) kind: Option<String>,
    pub(super) name: Option<String>,
}

impl Selection {
    /// Parses `KIND` or `KIND/NAME`.
    pub(super) fn new(text: Option<&str>, known: &[Resource]) -> Result<Self, CliError> {
        let Some(text) = text else {
            return Ok(Self::default());
        };
        let (kind, name) = match text.split_once('/') {
            Some((kind, name)) => (kind, Some(name)),
            None => (text, None),
        };
        if !known.iter().any(|resource| resource.is_named(kind)) {
            let near = suggestion(kind, known.iter().map(|resource| &*resource.plural));
            return Err(CliError::Error(format!("unknown kind {kind}{near}")));
        }
        Ok(Self {
            kind: Some(kind.to_owned()),
            name: name.map(str::to_owned),
        })
    }

    pub(super) fn includes(&self, resource: &Resource) -> bool {
        let kind = self.kind.as_ref();
        kind.is_none_or(|kind| resource.is_named(kind))
    }
}
