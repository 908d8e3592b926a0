//! Generates the module and its glue, the catalog and the TypeScript types.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use managed_by::{Release, ReleaseSet, kinds, rules};
use managed_by_js::{
    Lint, ObjectVerdict, Position, Rejection, ReplayStep, ReplayTotals, SettingsProblem,
    SettingsVerdict, TextError,
};
use managed_by_offline::SkipReason;
use managed_by_offline::catalog::{KindEntry, RuleEntry, RuleExample, RulePage};
use managed_by_offline::replay::{ObjectRef, RecordPosition, Tally, TallyRow, TallyRowKey};
use serde_json::{Value, json};
use ts_rs::{Config, TS};
use wasm_bindgen_cli_support::Bindgen;

use managed_by_testing::root;

/// File name of the module and its glue.
const NAME: &str = "managed_by";

/// Writes the glue and the module, the catalog and the types.
///
/// # Errors
/// If the module was built with another version of wasm-bindgen, an example is not JSON, or a file cannot be read or written.
pub(crate) fn write(module: &Path, directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let put = |file: &str, bytes: &[u8]| {
        let path = directory.join(file);
        fs::write(&path, bytes).with_context(|| path.display().to_string())
    };
    // All platforms share this glue. It has no default path, so that bundlers do not look for the module.
    let mut output = Bindgen::new()
        .input_path(module)
        .web(true)?
        .out_name(NAME)
        .typescript(true)
        .omit_default_module_path(true)
        .reset_state_function(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate_output()?;
    put("managed_by.js", output.js().as_bytes())?;
    let types = output
        .ts()
        .context("wasm-bindgen generated no TypeScript types")?;
    put("managed_by.d.ts", types.as_bytes())?;
    put("managed_by.wasm", &output.wasm_mut().emit_wasm())?;
    put("catalog.json", catalog()?.to_string().as_bytes())?;
    put("types.ts", typescript_types()?.as_bytes())
}

fn catalog() -> Result<Value> {
    let schema = fs::read_to_string(root("docs/settings.schema.json"))?;
    let schema: Value = serde_json::from_str(&schema)?;
    let rules: Result<Vec<_>, _> = rules().iter().map(|rule| RulePage::new(rule)).collect();
    let kinds = kinds().iter().map(|kind| KindEntry::from(*kind));
    let releases = Release::ALL.iter();
    let releases =
        releases.map(|release| (release.as_str(), ReleaseSet::from(*release).to_string()));
    Ok(json!({
        "rules": rules?,
        "kinds": kinds.collect::<Vec<_>>(),
        "releases": releases.collect::<Vec<_>>(),
        "managedByOnByDefault": ReleaseSet::with_managed_by_on_by_default(),
        "settingsSchema": schema,
    }))
}

/// Generates TypeScript types of results and catalog from the Rust types and their doc comments.
fn typescript_types() -> Result<String> {
    let mut text = "\
        import type { AdmissionRequest } from \"../src/request.js\";\n\
        import type { Evaluation, Finding } from \"./evaluation.js\";\n\
        import type { Settings } from \"./settings.js\";\n"
        .to_owned();
    let config = Config::default().with_large_int("number");
    let mut add = |docs: Option<String>, declaration: String| {
        let docs = docs.unwrap_or_default();
        writeln!(text, "\n{docs}export {declaration}")
    };
    macro_rules! add {
        ($($name:ty),*) => {
            $(add(<$name>::docs(), <$name>::decl(&config))?;)*
        };
    }
    add!(Position, SettingsVerdict, SettingsProblem);
    add!(Lint, ObjectVerdict, TextError);
    add!(
        ReplayStep,
        Rejection,
        SkipReason,
        ObjectRef,
        RecordPosition,
        ReplayTotals<'_>,
        Tally,
        TallyRow,
        TallyRowKey
    );
    add!(RuleEntry, RulePage, RuleExample, KindEntry);
    let ids = rules().iter().map(|rule| rule.id());
    writeln!(text, "\n/** The id of a rule. */\n{}", union("RuleId", ids))?;
    Ok(text)
}

/// Declares a union of string literals.
fn union<'a>(name: &str, values: impl Iterator<Item = &'a str>) -> String {
    let values: Vec<_> = values.map(|value| format!("{value:?}")).collect();
    format!("export type {name} = {};", values.join(" | "))
}
