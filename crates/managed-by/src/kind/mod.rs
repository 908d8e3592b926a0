//! What differs from kind to kind: one file per API group.

mod batch;
pub mod job;
pub mod pod;

use crate::json::{Malformed, Reader, Result};
use crate::request::{Metadata, Object};

/// What a kind does with its `managedBy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// The object itself is delegated. The field never changes.
    Workload,
    /// The field stands in a template: it delegates objects made from it later, and may change.
    Template,
}

/// The facts about one kind that rules need.
#[derive(Debug)]
pub struct KindProfile {
    /// API group.
    pub group: &'static str,
    /// Served version.
    pub version: &'static str,
    /// The kind's name.
    pub kind: &'static str,
    /// The path of `managedBy`, as segments from the object's root.
    pub managed_by: &'static [&'static str],
    /// The value that stands for the built-in controller; unset means the same.
    pub reserved: &'static str,
    /// Whether the object or a template in it is delegated.
    pub holder: Holder,
    /// Reads the parts of an object of this kind that rules need, and checks the rest to be JSON.
    pub(crate) read: for<'a> fn(&Self, &mut Reader<'a>) -> Result<Object<'a>>,
}

/// Every kind that the library knows.
pub static KINDS: &[&KindProfile] = &[&batch::JOB, &batch::CRON_JOB];

/// The reserved values of all kinds, known to this library or not, with the words for what each controller runs.
///
/// Source: the API constants of the projects (`JobControllerName`, `JobSetControllerName`, ...), read in August 2026.
pub static RESERVED: &[(&str, &str)] = &[
    ("kubernetes.io/job-controller", "Jobs"),
    ("jobset.sigs.k8s.io/jobset-controller", "JobSets"),
    ("trainer.kubeflow.org/trainjob-controller", "TrainJobs"),
    ("ray.io/kuberay-operator", "Ray kinds"),
    (
        "workload.codeflare.dev/appwrapper-controller",
        "AppWrappers",
    ),
    ("tekton.dev/pipeline", "PipelineRuns and TaskRuns"),
    (
        "kubeflow.org/training-operator",
        "the Training Operator's jobs",
    ),
    ("kubeflow.org/mpi-operator", "MPIJobs"),
];

/// External controllers that are known to exist under a domain that built-in controllers use.
///
/// Source: Kueue, `MultiKueueControllerName`.
pub static EXTERNAL: &[&str] = &["kueue.x-k8s.io/multikueue"];

impl KindProfile {
    /// The profile of a kind, if the library knows it.
    pub fn find(group: &str, version: &str, kind: &str) -> Option<&'static Self> {
        KINDS
            .iter()
            .copied()
            .find(|k| k.kind == kind && k.group == group && k.version == version)
    }

    /// The kind that is delegated: this one, or the one that is made of its template.
    pub fn workload(&self) -> &'static str {
        let made = |k: &&&Self| k.holder == Holder::Workload && k.group == self.group;
        match self.holder {
            Holder::Workload => self.kind,
            Holder::Template => KINDS.iter().find(made).map_or(self.kind, |k| k.kind),
        }
    }

    /// The path of `managedBy` as messages write it: `spec.managedBy`.
    pub fn managed_by_path(&self) -> String {
        self.managed_by.join(".")
    }

    /// Reads `metadata` and the field, of a kind of which nothing else is judged.
    ///
    /// `null` is an absent value on the way to the field and for the field itself, as for kube-apiserver's decoder.
    fn read_field<'a>(&self, reader: &mut Reader<'a>) -> Result<Object<'a>> {
        let mut object = Object::default();
        reader.object(|reader, key| {
            if key == b"metadata" {
                object.metadata = Metadata::read(reader).map_err(|e| e.within("metadata"))?;
                return Ok(());
            }
            follow(reader, key, self.managed_by, &mut |reader| {
                object.managed_by = reader.string_or_null()?;
                Ok(())
            })
        })?;
        Ok(object)
    }
}

/// Reads the value under `key` if `path` begins with it, else skips it. Recursion ends with the path.
fn follow<'a>(
    reader: &mut Reader<'a>,
    key: &[u8],
    path: &'static [&'static str],
    found: &mut dyn FnMut(&mut Reader<'a>) -> Result<()>,
) -> Result<()> {
    let Some((&segment, rest)) = path.split_first().filter(|(s, _)| s.as_bytes() == key) else {
        return reader.skip();
    };
    let read = if rest.is_empty() {
        found(reader)
    } else {
        reader.object_or_null(|reader, key| follow(reader, key, rest, found))
    };
    read.map_err(|e: Malformed| e.within(segment))
}

#[cfg(test)]
mod tests {
    use super::{EXTERNAL, KINDS, RESERVED};

    #[test]
    fn reserved_values_of_known_kinds_are_listed() {
        for kind in KINDS {
            assert!(
                RESERVED.iter().any(|&(name, _)| name == kind.reserved),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = RESERVED
            .iter()
            .map(|&(n, _)| n)
            .chain(EXTERNAL.iter().copied())
            .collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
