//! What a program that embeds the module asks besides a policy server's questions: findings as data, for many releases at once.
//!
//! No published policy has these operations.

use kubewarden_policy_sdk::wapc_guest::{self as guest, CallResult};
use managed_by::{AdmissionReview, Judgement, Release, ReleaseSet, Verdict, judge_in};
use serde::Serialize;

use crate::Cluster;

/// Registers `judge` and `describe`.
pub(crate) fn register() {
    guest::register_function("judge", judge);
    guest::register_function("describe", describe);
}

/// The answer to `describe`: what the module is.
#[derive(Serialize)]
struct Description {
    /// The version of the policy.
    version: &'static str,
    /// The releases that it knows, oldest first.
    releases: Vec<&'static str>,
}

fn describe(_: &[u8]) -> CallResult {
    let description = Description {
        version: env!("CARGO_PKG_VERSION"),
        releases: Release::ALL.iter().map(|r| r.as_str()).collect(),
    };
    Ok(serde_json::to_vec(&description)?)
}

/// Takes a line of releases, separated by blanks, and what `validate` takes, and gives the judgement by
/// `docs/judgement.schema.json`. Each release is asked as if the settings named it, as tools have them; if the line is empty, the
/// settings are taken as they are.
fn judge(payload: &[u8]) -> CallResult {
    let line_end = payload.iter().position(|byte| *byte == b'\n');
    let (line, document) = payload
        .split_at_checked(line_end.unwrap_or(0))
        .ok_or("no line of releases")?;
    let releases = std::str::from_utf8(line)?
        .split_ascii_whitespace()
        .map(str::parse)
        .collect::<Result<Vec<Release>, _>>()?;
    let releases = Some(releases).filter(|releases| !releases.is_empty());
    let asked: Option<ReleaseSet> = releases.map(|releases| releases.into_iter().collect());

    let without_rules = |verdict| Ok(serde_json::to_vec(&Judgement::of_all(verdict, asked))?);
    let review = match AdmissionReview::from_json(document) {
        Ok(review) => review,
        Err(reason) => return without_rules(Verdict::malformed(&reason)),
    };
    let settings = match review.settings() {
        Ok(settings) => settings,
        Err(problems) => return without_rules(Verdict::misconfigured(&problems)),
    };
    let settings = match asked {
        Some(_) => settings.for_tools(),
        None => settings,
    };
    let judgement = judge_in(&review.request, &settings, asked, &Cluster);
    Ok(serde_json::to_vec(&judgement)?)
}
