//! JSON representation of an [`Evaluation`], which the command line, the npm package and the Go package share. The schema is
//! `docs/evaluation.schema.json`.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Evaluation, MergedFinding, ReleaseVerdict};
use crate::finding::ErrorType;
use crate::release::{Release, ReleaseSet};
use crate::verdict::{Decision, Verdict};

/// Serializes `allowed`, `code`, `message`, `warnings` and `auditAnnotations` of the merged verdict, `findings`, and `releaseVerdicts` if
/// the caller chose the releases.
impl Serialize for Evaluation<'_> {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        let mut map = json.serialize_map(None)?;
        serialize_verdict(&self.verdict, &mut map)?;
        let has_verdicts = !self.release_verdicts.is_empty();
        let findings = self.findings.iter().map(|finding| FindingJson {
            finding,
            has_verdicts,
        });
        map.serialize_entry("findings", &findings.collect::<Vec<_>>())?;
        if !self.release_verdicts.is_empty() {
            map.serialize_entry("releaseVerdicts", &self.release_verdicts)?;
        }
        map.end()
    }
}

impl Serialize for ReleaseVerdict<'_> {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        let mut map = json.serialize_map(None)?;
        map.serialize_entry("releases", &self.releases)?;
        serialize_verdict(&self.verdict, &mut map)?;
        map.end()
    }
}

/// JSON representation of a finding. `message` is the message of the newest release. `messages` has the messages of all releases, if they
/// differ. `releases` has the releases with the finding, if the caller chose them or only some have it.
struct FindingJson<'f> {
    finding: &'f MergedFinding<'f>,
    has_verdicts: bool,
}

impl Serialize for FindingJson<'_> {
    fn serialize<S: Serializer>(&self, json: S) -> Result<S::Ok, S::Error> {
        let Self {
            finding,
            has_verdicts,
        } = *self;
        let mut map = json.serialize_map(None)?;
        map.serialize_entry("rule", finding.rule().id())?;
        map.serialize_entry("enforcement", finding.enforcement().as_str())?;
        map.serialize_entry("upstream", &finding.finding().is_upstream())?;
        map.serialize_entry("path", finding.path())?;
        map.serialize_entry("type", &finding.error().error_type())?;
        map.serialize_entry("message", &finding.message())?;
        map.serialize_entry("detail", finding.detail())?;
        if let Some(suggestion) = finding.error().suggestion() {
            map.serialize_entry("suggestion", suggestion)?;
        }
        let releases = finding.finding().releases();
        if let Some(releases) = releases.or(has_verdicts.then(|| finding.releases())) {
            map.serialize_entry("releases", &releases)?;
        }
        let messages = finding.messages();
        if messages.len() > 1 {
            map.serialize_entry("messages", &messages)?;
        }
        map.end()
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

fn serialize_verdict<M: SerializeMap>(verdict: &Verdict<'_>, map: &mut M) -> Result<(), M::Error> {
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
