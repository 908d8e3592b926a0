//! JSON of evaluations.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Evaluation, ReleaseVerdict};
use crate::description::{Enforcement, Rule};
use crate::finding::ErrorType;
use crate::release::{Release, ReleaseSet};
use crate::verdict::{Decision, Verdict};

impl Serialize for Evaluation {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        let mut map = json.serialize_map(None)?;
        serialize_verdict(&self.verdict, &mut map)?;
        map.serialize_entry("findings", &self.findings)?;
        map.serialize_entry("unchecked", &self.unchecked)?;
        if !self.release_verdicts.is_empty() {
            map.serialize_entry("releaseVerdicts", &self.release_verdicts)?;
        }
        map.end()
    }
}

impl Serialize for ReleaseVerdict {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        let mut map = json.serialize_map(None)?;
        map.serialize_entry("releases", &self.releases)?;
        serialize_verdict(&self.verdict, &mut map)?;
        map.end()
    }
}

fn serialize_verdict<M: SerializeMap>(verdict: &Verdict, map: &mut M) -> Result<(), M::Error> {
    map.serialize_entry("allowed", &verdict.decision.is_allowed())?;
    if let Decision::Denied { code, message } = &verdict.decision {
        map.serialize_entry("code", code)?;
        map.serialize_entry("message", message)?;
    }
    map.serialize_entry("warnings", &verdict.warnings)?;
    map.serialize_entry("auditAnnotations", &Annotations(&verdict.audit_annotations))
}

struct Annotations<'v>(&'v [(&'static str, String)]);

impl Serialize for Annotations<'_> {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        json.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// Serializes the type as in kube-apiserver's messages: `Invalid value`.
impl Serialize for ErrorType {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        json.serialize_str(self.as_str())
    }
}

impl Serialize for ReleaseSet {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        json.collect_seq(self.iter().map(Release::as_str))
    }
}

pub(super) fn serialize_rule_id<S: Serializer>(rule: &Rule, json: S) -> Result<S::Ok, S::Error> {
    json.serialize_str(rule.id())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
pub(super) fn serialize_enforcement<S: Serializer>(
    enforcement: &Enforcement,
    json: S,
) -> Result<S::Ok, S::Error> {
    json.serialize_str(enforcement.as_str())
}
