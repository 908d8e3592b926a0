//! `e2e.bats`: the examples and a few bad settings as command lines of kwctl. The same cases run in the tests, in our own
//! engine host, where kwctl is not installed.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::generated::Generated;
use crate::judge::{judge, refusal};
use crate::{examples, root};

/// The file.
///
/// # Errors
/// If an example cannot be read, or the policy takes what it is to refuse.
pub fn generated() -> Result<Vec<Generated>> {
    Ok(vec![Generated::new("e2e.bats", e2e()?)])
}

const HEAD: &str = r#"#!/usr/bin/env bats
# Generated from examples/ by `make docs`; `make e2e` runs it. kwctl answers 0 to a request that it could judge, whatever
# the verdict, and 1 to settings that the policy refuses.

setup() {
  command -v kwctl >/dev/null || skip "kwctl is not installed"
}

# Single quotes around the text, none in it.
says() {
  [[ "$output" == *"$1"* ]] || { echo "not said: $1"; echo "$output"; return 1; }
}
"#;

/// Settings that the policy refuses.
fn refused() -> [(&'static str, Value); 3] {
    [
        ("an unknown key", json!({"reserved_valu": "deny"})),
        (
            "a version that YAML took for a number",
            json!({"kubernetes_version": 1.3}),
        ),
        (
            "an unknown rule",
            json!({"rules": {"managed-by/formt": "deny"}}),
        ),
    ]
}

/// A word for the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A text as it stands in kwctl's answer, which is JSON.
fn in_json(text: &str) -> String {
    let json = Value::from(text).to_string();
    json.trim_start_matches('"')
        .strip_suffix('"')
        .unwrap_or(&json)
        .to_owned()
}

fn test(text: &mut String, name: &str, arguments: &str, status: u8, says: &[String]) -> Result<()> {
    write!(
        text,
        "\n@test {} {{\n  run kwctl run {arguments} annotated-policy.wasm\n  [ \"$status\" -eq {status} ]\n",
        quoted(name),
    )?;
    for said in says {
        writeln!(text, "  says {}", quoted(said))?;
    }
    text.push_str("}\n");
    Ok(())
}

fn e2e() -> Result<String> {
    let mut text = HEAD.to_owned();
    for example in examples::read(&root("examples"))? {
        let answer = judge(&example.request, &example.settings);
        let mut says = vec![format!(r#""allowed":{}"#, answer.allowed)];
        says.extend(answer.code.map(|code| format!(r#""code":{code}"#)));
        says.extend(answer.message.iter().map(|message| in_json(message)));
        says.extend(answer.warnings.iter().map(|warning| in_json(warning)));
        let mut arguments = format!("-r examples/{}.json", example.name);
        if example.settings != json!({}) {
            let settings = format!(" -s examples/{}.settings.yml", example.name);
            arguments.push_str(&settings);
        }
        test(&mut text, &example.name, &arguments, 0, &says)?;
    }
    let request = "-r examples/field/01-created-for-multikueue.json";
    for (name, settings) in refused() {
        let message = refusal(&settings).with_context(|| format!("accepted: {name}"))?;
        let arguments = format!(
            "{request} --settings-json {}",
            quoted(&settings.to_string())
        );
        test(
            &mut text,
            &format!("settings with {name}"),
            &arguments,
            1,
            &[message],
        )?;
    }
    Ok(text)
}
