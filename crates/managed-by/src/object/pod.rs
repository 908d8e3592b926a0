//! Pods: no workloads of their own here, but what tells that a workload is run.

use std::borrow::Cow;

use serde::de::Deserializer;

use crate::decode::{Members, Note, Place, Raw, Result, Value, late};

/// A pod that is to be created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pod<'a> {
    pub(crate) name: Cow<'a, str>,
    /// Its controller, if it is a Job.
    pub(crate) job: Option<Owner<'a>>,
}

/// An owner of an object that is its controller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Owner<'a> {
    /// Its place in `metadata.ownerReferences`.
    pub(crate) index: usize,
    pub(crate) api_version: Cow<'a, str>,
    pub(crate) kind: Cow<'a, str>,
    pub(crate) name: Cow<'a, str>,
    pub(crate) uid: Cow<'a, str>,
    is_controller: bool,
}

/// Whether a kind is this one.
pub(crate) fn is_pod(group: &str, version: &str, kind: &str) -> bool {
    (group, version, kind) == ("", "v1", "Pod")
}

impl<'a> Pod<'a> {
    pub(crate) fn read<D: Deserializer<'a>>(
        value: Value<'_, D>,
    ) -> std::result::Result<Self, D::Error> {
        let mut pod = Self::default();
        value.object(&mut Reading(&mut pod))?;
        Ok(pod)
    }
}

struct Reading<'r, 'a>(&'r mut Pod<'a>);

impl<'a> Members<'a> for Reading<'_, 'a> {
    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> std::result::Result<(), D::Error> {
        if name != "metadata" {
            return value.skip();
        }
        *self.0 = Pod::default();
        value.object_or_null(self.0).map(|_| ())
    }
}

/// The members of a pod's metadata.
impl<'a> Members<'a> for Pod<'a> {
    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> std::result::Result<(), D::Error> {
        match name {
            "name" => self.name = value.string_or_null()?.unwrap_or_default(),
            "ownerReferences" => {
                let mut controller = Controller::default();
                value.array_or_null(&mut controller)?;
                let is_job =
                    |owner: &Owner<'_>| owner.api_version == "batch/v1" && owner.kind == "Job";
                self.job = controller.0.filter(is_job);
            }
            _ => value.skip()?,
        }
        Ok(())
    }
}

/// The controller among owner references. kube-apiserver lets one owner be the controller.
#[derive(Default)]
pub(crate) struct Controller<'a>(Option<Owner<'a>>);

impl<'a> Controller<'a> {
    /// The controller among owner references that were kept as text.
    ///
    /// # Errors
    /// If one of them is of another type than it must be.
    pub(crate) fn find(references: Raw<'a>) -> Result<Option<Owner<'a>>> {
        let note = Note::default();
        let mut controller = Self::default();
        let root = Place::root(&note);
        late(references, root, |value| {
            value.array_or_null(&mut controller)
        })?;
        note.or(controller.0)
    }
}

impl<'a> Members<'a> for Controller<'a> {
    fn element<D: Deserializer<'a>>(
        &mut self,
        index: usize,
        value: Value<'_, D>,
    ) -> std::result::Result<(), D::Error> {
        let mut owner = Owner {
            index,
            ..Owner::default()
        };
        value.object(&mut owner)?;
        if owner.is_controller {
            self.0 = Some(owner);
        }
        Ok(())
    }
}

impl<'a> Members<'a> for Owner<'a> {
    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> std::result::Result<(), D::Error> {
        match name {
            "apiVersion" => self.api_version = value.string_or_null()?.unwrap_or_default(),
            "kind" => self.kind = value.string_or_null()?.unwrap_or_default(),
            "name" => self.name = value.string_or_null()?.unwrap_or_default(),
            "uid" => self.uid = value.string_or_null()?.unwrap_or_default(),
            "controller" => self.is_controller = value.bool_or_null()?,
            _ => value.skip()?,
        }
        Ok(())
    }
}
