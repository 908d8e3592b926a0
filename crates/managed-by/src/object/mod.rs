//! Objects, by the fields that rules read, borrowed from the request.

pub(crate) mod custom;
pub(crate) mod job;
pub(crate) mod pod;
pub(crate) mod template;
pub(crate) mod unread;
mod walk;

use std::borrow::Cow;

use serde::de::Deserializer;

use crate::decode::{Kept, Members, Names, Note, Place, Raw, Type, Value};
use crate::kind::{Kind, Mode, Status};
use custom::{Custom, NO_STATUS};
use job::{Job, JobStatus};

/// An object, by the fields that rules read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Object<'a> {
    pub(crate) metadata: Metadata<'a>,
    /// `managedBy`, wherever the kind has it. [`None`] is unset, which `""` is not.
    pub(crate) managed_by: Option<Cow<'a, str>>,
    /// What else is read of a Job. Boxed, because objects are moved about.
    pub(crate) job: Option<Box<Job<'a>>>,
    /// What else is read of a custom resource, where there is anything.
    pub(crate) custom: Option<Box<Custom<'a>>>,
}

impl<'a> Object<'a> {
    /// Who reconciles the object, which is of a kind.
    pub(crate) fn mode(&self, kind: &Kind<'_>) -> Mode<'_> {
        kind.mode(self.managed_by.as_deref())
    }

    /// Whether it has a status, as far as rules read it.
    pub(crate) fn has_status(&self) -> bool {
        let job = self.job.as_deref();
        let custom = self.custom.as_deref();
        job.is_some_and(|job| job.status != JobStatus::default())
            || custom.is_some_and(|custom| custom.status != NO_STATUS)
    }

    /// The object with the status of another one of its kind.
    pub(crate) fn with_status_of(mut self, other: Self) -> Self {
        if let Some(job) = &mut self.job {
            job.status = other.job.map(|job| job.status).unwrap_or_default();
        } else {
            let status = other.custom.map(|custom| custom.status);
            self.custom.get_or_insert_default().status = status.unwrap_or_default();
        }
        self
    }

    /// Reads an object of a kind; [`None`] is `null`. If a field has another type than the rules of the kind need, that is the
    /// inner error. The names of its members are remembered, if there is where to.
    ///
    /// # Errors
    /// If the bytes are not JSON.
    pub(crate) fn read<D: Deserializer<'a>>(
        value: Value<'_, D>,
        kind: &'a Kind<'a>,
        names: Option<&ObjectNames>,
    ) -> Result<crate::decode::Result<Option<Self>>, D::Error> {
        let note = Note::default();
        // Paths begin at the object: whoever has a request around it says so.
        let value = value.at(Place::root(&note));
        let object = match kind.status {
            Status::Job => job::read(value, names)?,
            Status::Unjudged | Status::Custom(_) => walk::read(value, kind, names)?,
        };
        Ok(note.or(object))
    }
}

/// The names of an object's members and of those of its `metadata`.
#[derive(Debug, Default)]
pub(crate) struct ObjectNames {
    pub(crate) members: Names,
    pub(crate) metadata: Names,
}

/// The parts of `metadata` that are needed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Metadata<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) uid: Cow<'a, str>,
    /// Whether `deletionTimestamp` is set: the object waits for its finalizers.
    pub(crate) is_being_deleted: bool,
    /// `labels`, decoded where a setting asks for them.
    pub(crate) labels: Option<Raw<'a>>,
    /// `ownerReferences`, decoded where a rule asks for them.
    pub(crate) owner_references: Option<Raw<'a>>,
}

impl<'a> Metadata<'a> {
    /// Reads the member of that name; `null` is none.
    ///
    /// # Errors
    /// If the bytes are not JSON.
    fn read<D: Deserializer<'a>>(
        value: Value<'_, D>,
        names: Option<&ObjectNames>,
    ) -> Result<Self, D::Error> {
        let mut reading = MetadataReading {
            metadata: Self::default(),
            names: names.map(|names| &names.metadata),
        };
        value.object_or_null(&mut reading)?;
        Ok(reading.metadata)
    }

    /// Takes a member that was kept.
    fn kept(&mut self, name: &str, value: Kept<'_, 'a>) {
        match name {
            "name" => self.name = value.string_or_null().unwrap_or_default(),
            "uid" => self.uid = value.string_or_null().unwrap_or_default(),
            "deletionTimestamp" => self.is_being_deleted = value.raw().json_type() != Type::Null,
            "labels" => self.labels = Some(value.raw()),
            "ownerReferences" => self.owner_references = Some(value.raw()),
            _ => {}
        }
    }
}

struct MetadataReading<'n, 'a> {
    metadata: Metadata<'a>,
    names: Option<&'n Names>,
}

impl<'a> Members<'a> for MetadataReading<'_, 'a> {
    fn member<D: Deserializer<'a>>(
        &mut self,
        name: &str,
        value: Value<'_, D>,
    ) -> Result<(), D::Error> {
        if let Some(names) = self.names {
            names.read(name);
        }
        match name {
            "name" | "uid" | "deletionTimestamp" | "labels" | "ownerReferences" => {
                self.metadata.kept(name, value.keep()?);
            }
            _ => value.skip()?,
        }
        Ok(())
    }
}
