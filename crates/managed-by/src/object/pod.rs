//! Pods, and the owner references that show which controller runs a workload.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::Deserializer;

use crate::decode::{Raw, Result, decode_str, fields};
use crate::upstream::names::is_subdomain;

/// Pod to create.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "an object")]
pub(crate) struct Pod<'a> {
    #[serde(borrow, deserialize_with = "fields::object")]
    metadata: PodMetadata<'a>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "an object", rename_all = "camelCase")]
struct PodMetadata<'a> {
    #[serde(borrow, deserialize_with = "fields::string")]
    name: Cow<'a, str>,
    #[serde(borrow)]
    owner_references: ControllerReference<'a>,
}

/// Controller in an object's owner references. kube-apiserver accepts at most one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ControllerReference<'a>(Option<OwnerReference<'a>>);

/// Reference to a controller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, expecting = "an object", rename_all = "camelCase")]
pub(crate) struct OwnerReference<'a> {
    /// Index in `metadata.ownerReferences`.
    #[serde(skip)]
    pub(crate) index: usize,
    #[serde(borrow, deserialize_with = "fields::string")]
    pub(crate) api_version: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "fields::string")]
    pub(crate) kind: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "fields::string")]
    pub(crate) name: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "fields::string")]
    pub(crate) uid: Cow<'a, str>,
    #[serde(deserialize_with = "fields::or_default")]
    controller: bool,
}

impl<'a> Pod<'a> {
    pub(crate) fn name(&self) -> &Cow<'a, str> {
        &self.metadata.name
    }

    /// Returns the Job that controls the pod. Requires a DNS subdomain as its name, like `ValidateJob`, because lookups put the
    /// name into a URL path.
    pub(crate) fn job(&self) -> Option<&OwnerReference<'a>> {
        let ControllerReference(owner) = &self.metadata.owner_references;
        let owner = owner.as_ref()?;
        let is_job = (&*owner.api_version, &*owner.kind) == ("batch/v1", "Job");
        (is_job && is_subdomain(&owner.name)).then_some(owner)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ControllerReference<'a> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> std::result::Result<Self, D::Error> {
        let mut controller = None;
        let mut index = 0_usize;
        fields::for_each(
            json,
            |fields::StrictObject(owner): fields::StrictObject<OwnerReference<'a>>| {
                if owner.controller {
                    controller = Some(OwnerReference { index, ..owner });
                }
                index = index.saturating_add(1);
            },
        )?;
        Ok(Self(controller))
    }
}

impl<'a> OwnerReference<'a> {
    /// Returns the controller in owner references.
    ///
    /// # Errors
    /// Fails if a field has the wrong type.
    pub(crate) fn controller_of(references: Raw<'a>) -> Result<Option<Self>> {
        let ControllerReference(owner) = decode_str(references.as_str(), PhantomData)?;
        Ok(owner)
    }
}
