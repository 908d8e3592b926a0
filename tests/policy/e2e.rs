//! `e2e.bats`: the examples and a few bad settings as command lines of kwctl. It is generated, because the same cases run
//! here, in our own engine host, where kwctl is not installed. `make docs` writes it anew.

use std::fmt::Write as _;
use std::{env, fs};

use serde_json::{Value, json};
use xtask::examples;

use crate::support::{GUEST, everywhere, root};

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
    json[1..json.len() - 1].to_owned()
}

fn test(text: &mut String, name: &str, arguments: &str, status: u8, says: &[String]) {
    write!(
        text,
        "\n@test {} {{\n  run kwctl run {arguments} annotated-policy.wasm\n  [ \"$status\" -eq {status} ]\n",
        quoted(name),
    )
    .unwrap();
    for said in says {
        writeln!(text, "  says {}", quoted(said)).unwrap();
    }
    text.push_str("}\n");
}

fn e2e() -> String {
    let mut text = HEAD.to_owned();
    for example in examples::read(&root("examples")).unwrap() {
        let answer = everywhere(&example.request, &example.settings);
        let mut says = vec![format!(r#""allowed":{}"#, answer.allowed)];
        says.extend(answer.code.map(|code| format!(r#""code":{code}"#)));
        says.extend(answer.message.iter().map(|message| in_json(message)));
        says.extend(answer.warnings.iter().map(|warning| in_json(warning)));
        let mut arguments = format!("-r examples/{}.json", example.name);
        if example.settings != json!({}) {
            let settings = format!(" -s examples/{}.settings.yml", example.name);
            arguments.push_str(&settings);
        }
        test(&mut text, &example.name, &arguments, 0, &says);
    }
    let request = "-r examples/field/01-created-for-multikueue.json";
    for (name, settings) in refused() {
        let verdict = GUEST.validate_settings(&settings).unwrap();
        assert!(!verdict.valid, "{name}");
        let arguments = format!(
            "{request} --settings-json {}",
            quoted(&settings.to_string())
        );
        let message = verdict.message.unwrap();
        test(
            &mut text,
            &format!("settings with {name}"),
            &arguments,
            1,
            &[message],
        );
    }
    text
}

#[test]
fn e2e_bats_is_up_to_date() {
    let text = e2e();
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(root("e2e.bats"), &text).unwrap();
    }
    let committed = fs::read_to_string(root("e2e.bats")).unwrap_or_default();
    assert_eq!(committed, text, "e2e.bats: make docs");
}
