//! JSON of evaluations.

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::description::{Enforcement, Rule};
use crate::finding::ErrorType;
use crate::release::{Release, ReleaseSet};

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

/// Serializes `releases`, and as text `releaseRange`: `1.30 to 1.31, 1.33 from 1.33.6`.
#[expect(clippy::ref_option, reason = "serde's signature")]
#[cfg_attr(
    target_pointer_width = "64",
    expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")
)]
pub(super) fn serialize_range<S: Serializer>(
    releases: &Option<ReleaseSet>,
    json: S,
) -> Result<S::Ok, S::Error> {
    let mut map = json.serialize_map(None)?;
    if let Some(releases) = releases {
        map.serialize_entry("releases", releases)?;
        map.serialize_entry("releaseRange", &releases.to_string())?;
    }
    map.end()
}
