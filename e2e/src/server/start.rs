//! Settings that keep PolicyServer from starting, and other things that happen before the first request.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use managed_by_testing::judge;
use serde_json::{Value, json};

use crate::deploy;
use crate::policy_server::PolicyServer;
use crate::report;
use crate::tls::Authority;

pub(super) fn run(folder: &Path, authority: &Authority) {
    for settings in [
        json!({"controler": {}}),
        json!({"kubernetes_version": 1.3}),
        json!({"rules": {"managed-by/formt": "deny"}}),
        json!({"rules": {"managed-by/format": "block"}}),
        json!({"role": "hub", "reserved_value": 1, "namespaces": {}}),
    ] {
        report::check(
            &format!("refused, with the library's words in the log: {settings}"),
            refused(folder, authority, &settings),
        );
    }
    report::check(
        "a module without metadata is refused",
        without_metadata(folder, authority),
    );
}

fn refused(folder: &Path, authority: &Authority, settings: &Value) -> Result<()> {
    let words = judge::refusal(settings).context("the library takes them")?;
    let good = deploy::protect(&json!({}))?;
    let policies = json!({"good": good, "bad": deploy::protect(settings)?});
    let log = PolicyServer::new(&folder.join("refused"), authority)?.refused(&policies)?;
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
    let log =
        PolicyServer::new(&folder.join("bare"), authority)?.refused(&json!({"bare": policy}))?;
    ensure!(log.contains("Policy is missing protocol version"), "{log}");
    Ok(())
}
