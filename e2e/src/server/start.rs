//! Settings that keep PolicyServer from starting, and other things that happen before the first request.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use managed_by::Settings;
use serde_json::{Value, json};

use crate::deploy;
use crate::policy_server::Launch;
use crate::report::Report;
use crate::tls::Authority;

pub(super) fn run(report: &mut Report, folder: &Path, authority: &Authority) {
    for (what, settings) in [
        ("an unknown key", json!({"controler": {}})),
        ("a version as a number", json!({"kubernetes_version": 1.3})),
        (
            "an unknown rule",
            json!({"rules": {"managed-by/formt": "deny"}}),
        ),
        (
            "an unknown level",
            json!({"rules": {"managed-by/format": "block"}}),
        ),
        (
            "several problems",
            json!({"role": "hub", "reserved_value": 1, "namespaces": {}}),
        ),
    ] {
        report.check(
            &format!("refused, with our words in the log: {what}"),
            refused(folder, authority, &settings),
        );
    }
    report.check(
        "a module without metadata is refused",
        without_metadata(folder, authority),
    );
    report.check(
        "the readiness probe answers on a port of its own, and nothing else there",
        probe(folder, authority),
    );
}

fn refused(folder: &Path, authority: &Authority, settings: &Value) -> Result<()> {
    let text = settings.to_string();
    let Err(problems) = Settings::from_json(text.as_bytes()) else {
        bail!("the library takes {settings}");
    };
    let good = deploy::protect(&json!({}))?;
    let policies = json!({"good": good, "bad": deploy::protect(settings)?});
    let place = Launch::new(folder, "refused", authority)?;
    let (code, log) = place.refused(&policies)?;
    ensure!(code == Some(1), "exit code {code:?}");
    let words = problems.to_string();
    // The error is printed as Rust prints a text within another.
    let escaped = words.escape_debug().to_string();
    ensure!(
        log.contains(&words) || log.contains(&escaped),
        "not in the log: {words}\n{log}"
    );
    Ok(())
}

fn without_metadata(folder: &Path, authority: &Authority) -> Result<()> {
    let mut policy = deploy::protect(&json!({}))?;
    policy["module"] = deploy::module("policy.wasm")?.into();
    let place = Launch::new(folder, "bare", authority)?;
    let (code, log) = place.refused(&json!({"bare": policy}))?;
    ensure!(code == Some(1), "exit code {code:?}");
    ensure!(log.contains("Policy is missing protocol version"), "{log}");
    Ok(())
}

fn probe(folder: &Path, authority: &Authority) -> Result<()> {
    let place = Launch::new(folder, "probe", authority)?;
    let server = place.start(&json!({"managed-by": deploy::protect(&json!({}))?}))?;
    ensure!(server.get(&server.probe)?.code == 200);
    let validate = server.probe.replace("/readiness", "/validate/managed-by");
    let answer = server.get(&validate)?;
    ensure!(answer.code == 404, "{} {}", answer.code, answer.body);
    Ok(())
}
