//! Runs each block of values, settings or manifests in the documentation.

use std::fmt::Write as _;
use std::process::Command;

use managed_by_testing::{chart, read, root};
use serde_json::Value;

use crate::support::run;

/// Returns the test that reads and runs a block of another shape.
fn other_test(page: &str, body: &str) -> Option<&'static str> {
    Some(match page {
        ".github/SECURITY.md" => "e2e/kwctl.bats",
        "CONTRIBUTING.md" => "parity/tests/vectors.rs",
        "docs/explanation/outages.md" if body.contains("/admission") => "e2e/cel-static.bats",
        "docs/reference/job-status.md" => "xtask/tests/status_guide.rs",
        "docs/tasks/check-in-ci.md" => "crates/cli/tests/cli/integrations.rs",
        "docs/tasks/monitor.md" => "e2e/lib.bash",
        "src/usage.md" => "tests/policy/module.rs",
        // The library includes these pages.
        "crates/managed-by/src/settings/reference.md" => "tests/policy/settings.rs",
        _ if page.starts_with("crates/managed-by/src/rule/") => "tests/library/catalog.rs",
        _ => return None,
    })
}

/// Returns the fenced blocks of a page: the text behind the fence, and the lines without the fence's indentation.
pub(crate) fn blocks(page: &str) -> Vec<(&str, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let fence = line.split_once("```");
        if let Some((indent, language)) = fence.filter(|(before, _)| before.trim().is_empty()) {
            let body = lines.by_ref().take_while(|l| l.trim_start() != "```");
            let body = body.map(|line| line.get(indent.len()..).unwrap_or_default());
            blocks.push((language, body.collect::<Vec<_>>().join("\n")));
        }
    }
    blocks
}

/// Returns the values in a command that installs or upgrades the chart, as arguments of Helm without spaces.
fn values_in_command(line: &str) -> String {
    let mut arguments = String::new();
    for part in line.split(" --set").skip(1) {
        let (json, value) = part.split_once(' ').unwrap();
        let (end, value) = value.strip_prefix('\'').map_or((' ', value), |v| ('\'', v));
        let value = value.split(end).next().unwrap().replace(": ", ":");
        write!(arguments, " --set{json} {value}").unwrap();
    }
    arguments
}

fn merge(values: &mut Value, more: &Value) {
    match (values, more) {
        (Value::Object(values), Value::Object(more)) => {
            for (key, value) in more {
                merge(values.entry(key).or_insert(Value::Null), value);
            }
        }
        (values, more) => values.clone_from(more),
    }
}

/// Fails unless Helm accepts the values, and the policy the settings. Values of a page that need no cluster are complete.
fn check_values(place: &str, arguments: &str, values: &Value) {
    let is_complete = ["projects", "kubernetesVersion"]
        .iter()
        .all(|key| values.get(key).is_some());
    let cluster = if is_complete { "" } else { "offline" };
    let Some(rendered) = chart::render(cluster, arguments, values).unwrap() else {
        return;
    };
    let rendered = rendered.unwrap_or_else(|error| panic!("{place}: {error}"));
    for document in rendered.split("\n---\n") {
        let document: Value = serde_yaml_ng::from_str(document).unwrap();
        if document["spec"]["module"].is_string() {
            let settings = document["spec"]["settings"].to_string();
            let checked = run(&["settings", "check", "-"], settings.as_bytes());
            assert_eq!(checked.code, 0, "{place}: {}", checked.err);
        }
    }
}

/// Fails unless `managed-by` finds nothing in the manifests once their typo, if they have one, is corrected.
fn check_manifests(place: &str, manifests: &str) {
    let lint = |text: &str| {
        let result = run(&["lint", "-", "--deny-warnings"], text.as_bytes());
        (result.code, result.out + &result.err)
    };
    let corrected = manifests.replace("multikeue", "multikueue");
    let (code, text) = lint(&corrected);
    assert_eq!(code, 0, "{place}: {text}");
    if corrected != manifests {
        let (code, text) = lint(manifests);
        assert_eq!(code, 1, "{place}: {text}");
    }
}

/// Values of the chart, in blocks and in commands, are accepted, a block with the ones before it on its page. Manifests are right, apart from their typo. Other
/// tests run the other blocks.
#[test]
fn blocks_in_the_pages_work() {
    let keys = read("charts/managed-by-policy/values.yaml").unwrap();
    let keys: Value = serde_yaml_ng::from_str(&keys).unwrap();
    let mut git = Command::new("git");
    let files = git.args(["ls-files", "*.md", "*artifacthub-pkg.yml"]);
    let files = files.current_dir(root("")).output().unwrap().stdout;
    let files = String::from_utf8(files).unwrap();
    let (mut commands, mut complete, mut manifests) = (0, 0, 0);
    for page in files.lines() {
        let text = read(page).unwrap();
        let mut values = Value::Null;
        for (language, body) in blocks(&text) {
            let place = format!("{page}: {body}");
            let of_chart = |line: &&str| line.contains("charts/managed-by-policy ");
            for line in body.lines().filter(of_chart) {
                let is_released = line.contains("oci://");
                let version = concat!("/managed-by-policy --version ", env!("CARGO_PKG_VERSION"));
                assert!(!is_released || line.contains(version), "{place}");
                let arguments = values_in_command(line);
                if !arguments.is_empty() {
                    let image = " --set policyServer.image=example.com/policy-server";
                    check_values(line, &(arguments + image), &Value::Null);
                    commands += 1;
                }
            }
            let language = language.split(' ').next().unwrap();
            let is_text = language == "text" && body.starts_with("apiVersion:");
            if !is_text && !["yaml", "json"].contains(&language) {
                continue;
            }
            if let Some(test) = other_test(page, &body) {
                let name = page.rsplit('/').next().unwrap();
                let is_read = page.starts_with("crates/") || read(test).unwrap().contains(name);
                assert!(is_read, "{test} does not run {place}");
                continue;
            }
            if body.contains("\nkind: ") {
                check_manifests(&place, &body);
                manifests += 1;
                continue;
            }
            let new: Value = serde_yaml_ng::from_str(&body).unwrap();
            for key in new.as_object().unwrap().keys() {
                assert!(keys.get(key).is_some(), "no test runs {place}");
            }
            complete += usize::from(new.get("kubernetesVersion").is_some());
            merge(&mut values, &new);
            check_values(&place, "", &values);
        }
    }
    assert_eq!((commands, complete, manifests), (15, 1, 3));
}
