//! Pods: no workloads of their own here, but what tells that a workload is run.

use std::borrow::Cow;

use crate::decode::{Kept, Note, Place, Raw, Result};
use crate::upstream::names::is_subdomain;

/// A pod that is to be created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pod<'a> {
    pub(crate) name: Cow<'a, str>,
    /// Its controller, if it is a Job. No Job has a name that is no DNS subdomain (`ValidateJobName`), so an owner with such a
    /// name is none: a question for it would go to another path of the API.
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
}

impl<'a> Pod<'a> {
    /// Reads a pod.
    pub(crate) fn read(value: Kept<'_, 'a>) -> Self {
        let mut pod = Self::default();
        value.object(|name, value| {
            if name != "metadata" {
                return;
            }
            pod = Self::default();
            value.object_or_null(|name, value| match name {
                "name" => pod.name = value.string_or_null().unwrap_or_default(),
                "ownerReferences" => {
                    let is_job = |owner: &Owner<'_>| {
                        (&*owner.api_version, &*owner.kind) == ("batch/v1", "Job")
                            && is_subdomain(&owner.name)
                    };
                    pod.job = Owner::controller(value).filter(is_job);
                }
                _ => {}
            });
        });
        pod
    }
}

impl<'a> Owner<'a> {
    /// The controller among owner references. kube-apiserver lets one owner be the controller.
    fn controller(references: Kept<'_, 'a>) -> Option<Self> {
        let mut controller = None;
        references.array_or_null(|index, reference| {
            let mut owner = Self {
                index,
                ..Self::default()
            };
            let mut is_controller = false;
            reference.object(|name, value| match name {
                "apiVersion" => owner.api_version = value.string_or_null().unwrap_or_default(),
                "kind" => owner.kind = value.string_or_null().unwrap_or_default(),
                "name" => owner.name = value.string_or_null().unwrap_or_default(),
                "uid" => owner.uid = value.string_or_null().unwrap_or_default(),
                "controller" => is_controller = value.bool_or_null(),
                _ => {}
            });
            if is_controller {
                controller = Some(owner);
            }
        });
        controller
    }

    /// The controller among owner references that were kept as text.
    ///
    /// # Errors
    /// If one of them is of another type than it must be.
    pub(crate) fn controller_of(references: Raw<'a>) -> Result<Option<Self>> {
        let note = Note::default();
        let controller = Self::controller(Kept::new(references, Place::root(&note)));
        note.or(controller)
    }
}
