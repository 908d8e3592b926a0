//! Pods: no workloads of their own here, but what tells that a workload is run.

use std::borrow::Cow;

use super::KindProfile;
use crate::json::{Malformed, Reader, Result, Type};
use crate::request::Object;

/// A pod that is to be created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pod<'a> {
    /// The pod's name.
    pub name: Cow<'a, str>,
    /// Its controller, if it is a Job.
    pub job: Option<Owner<'a>>,
}

/// An owner of an object that is its controller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owner<'a> {
    /// Its place in `metadata.ownerReferences`.
    pub index: usize,
    /// Its name.
    pub name: Cow<'a, str>,
    /// Its UID.
    pub uid: Cow<'a, str>,
}

/// Whether a kind is this one.
pub fn is_pod(group: &str, version: &str, kind: &str) -> bool {
    (group, version, kind) == ("", "v1", "Pod")
}

impl<'a> Pod<'a> {
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let mut pod = Self::default();
        reader.object(|reader, key| match key {
            b"metadata" => reader
                .object_or_null(|reader, key| match key {
                    b"name" => {
                        let name = reader.string_or_null().map_err(|e| e.within("name"))?;
                        pod.name = name.unwrap_or_default();
                        Ok(())
                    }
                    b"ownerReferences" => {
                        let job = Owner::read_job(reader);
                        pod.job = job.map_err(|e| e.within("ownerReferences"))?;
                        Ok(())
                    }
                    _ => reader.skip(),
                })
                .map_err(|e: Malformed| e.within("metadata")),
            _ => reader.skip(),
        })?;
        Ok(pod)
    }
}

impl<'a> Owner<'a> {
    /// The Job that is the controller among owner references. kube-apiserver lets one owner be the controller.
    fn read_job(reader: &mut Reader<'a>) -> Result<Option<Self>> {
        if reader.peek()? == Type::Null {
            return reader.skip().map(|()| None);
        }
        let mut job = None;
        reader.array(|reader, index| {
            let mut owner = Self {
                index,
                ..Self::default()
            };
            let (mut api_version, mut kind) = (Cow::default(), Cow::default());
            let mut is_controller = false;
            let read = reader.object(|reader, key| {
                let (field, name) = match key {
                    b"apiVersion" => (&mut api_version, "apiVersion"),
                    b"kind" => (&mut kind, "kind"),
                    b"name" => (&mut owner.name, "name"),
                    b"uid" => (&mut owner.uid, "uid"),
                    b"controller" => {
                        let controller = reader.bool_or_null().map_err(|e| e.within("controller"));
                        is_controller = controller?.unwrap_or_default();
                        return Ok(());
                    }
                    _ => return reader.skip(),
                };
                *field = reader
                    .string_or_null()
                    .map_err(|e| e.within(name))?
                    .unwrap_or_default();
                Ok(())
            });
            read.map_err(|e: Malformed| e.within(format!("[{index}]")))?;
            if is_controller && api_version == "batch/v1" && kind == "Job" {
                job = Some(owner);
            }
            Ok(())
        })?;
        Ok(job)
    }
}

/// A Job as the cluster gave it.
pub(crate) fn read_job(bytes: &[u8]) -> Result<Object<'_>> {
    let mut reader = Reader::new(bytes)?;
    let job: &KindProfile = &super::batch::JOB;
    let object = (job.read)(job, &mut reader)?;
    reader.end()?;
    Ok(object)
}

/// The reserved value of a Job.
pub(crate) fn is_delegated<'o>(job: &'o Object<'_>) -> Option<&'o str> {
    let reserved = super::batch::JOB.reserved;
    job.managed_by.as_deref().filter(|v| *v != reserved)
}
