//! Operations for programs that embed the module, such as the Go package: structured findings, for several releases at once.
//!
//! Published policies do not have these operations.

use managed_by::{AdmissionReview, Evaluation, Release, ReleaseSet, Verdict, resolve};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use wapc_guest::{self as guest, CallResult};

use crate::Cluster;

/// Registers `evaluate` and `describe`.
pub(crate) fn register() {
    guest::register_function("evaluate", evaluate);
    guest::register_function("describe", describe);
}

/// Response of `describe`.
#[derive(Serialize)]
struct Description {
    /// Version of the policy.
    version: &'static str,
    /// Supported Kubernetes releases, oldest first.
    releases: Vec<&'static str>,
}

fn describe(_: &[u8]) -> CallResult {
    let description = Description {
        version: env!("CARGO_PKG_VERSION"),
        releases: Release::ALL.iter().map(|r| r.as_str()).collect(),
    };
    Ok(serde_json::to_vec(&description)?)
}

/// Input of `evaluate`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct EvaluateRequest<'a> {
    /// Releases to evaluate the request for, as if `kubernetes_version` were set to each. If empty, the settings are used unchanged.
    #[serde(default, deserialize_with = "releases")]
    releases: ReleaseSet,
    /// Payload of `validate`.
    #[serde(borrow)]
    review: &'a RawValue,
}

impl<'a> EvaluateRequest<'a> {
    fn from_json(payload: &'a [u8]) -> Result<Self, String> {
        let is_object = |json: &[u8]| json.trim_ascii_start().starts_with(b"{");
        let input = match serde_json::from_slice::<Self>(payload) {
            Err(error) => Err(error.to_string()),
            // Serde also decodes a struct from an array.
            Ok(_) if !is_object(payload) => {
                Err("invalid type: sequence, expected an object".to_owned())
            }
            Ok(input) if !is_object(input.review.get().as_bytes()) => {
                Err("review must be an object".to_owned())
            }
            Ok(input) => Ok(input),
        };
        input.map_err(|reason| {
            format!(
                r#"invalid input: {reason}; expected {{"releases": ["{}", ...], "review": {{"request": ..., "settings": ...}}}}"#,
                Release::default()
            )
        })
    }
}

fn releases<'de, D: Deserializer<'de>>(json: D) -> Result<ReleaseSet, D::Error> {
    let names = Vec::<String>::deserialize(json)?;
    let releases = names.iter().map(|name| {
        let unknown = |e| D::Error::custom(format!("unknown release {name:?}, {e}"));
        name.parse::<Release>().map_err(unknown)
    });
    releases.collect()
}

/// Evaluates a review for several releases. The output is an evaluation as in `docs/evaluation.schema.json`.
fn evaluate(payload: &[u8]) -> CallResult {
    let input = EvaluateRequest::from_json(payload)?;
    let releases = Some(input.releases).filter(|releases| !releases.is_empty());
    let encode_uniform = |verdict| Ok(serde_json::to_vec(&Evaluation::uniform(verdict, releases))?);
    let review = match AdmissionReview::from_json(input.review.get().as_bytes()) {
        Ok(review) => review,
        Err(reason) => return encode_uniform(Verdict::malformed(&reason)),
    };
    let settings = match review.settings() {
        Ok(settings) => settings,
        Err(problems) => return encode_uniform(Verdict::misconfigured(&problems)),
    };
    let settings = match releases {
        Some(_) => settings.for_tools(),
        None => settings,
    };
    let evaluation = resolve(&review.request, &settings, |request| {
        request.evaluate(releases, &Cluster)
    });
    Ok(serde_json::to_vec(&evaluation)?)
}
