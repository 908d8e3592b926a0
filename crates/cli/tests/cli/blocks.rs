//! Runs each block of values, settings or manifests in the documentation.

use std::fmt::Write as _;
use std::process::Command;

use managed_by_testing::examples::merge_patch;
use managed_by_testing::{chart, read, root};
use serde_json::Value;

use crate::support::run;

/// Blocks of other shapes: the page, the beginning, and the test that reads and runs the block.
const OTHER_TESTS: [(&str, &str, &str); 10] = [
    (
        ".github/SECURITY.md",
        "apiVersion: v1\nkind: ConfigMap",
        "e2e/kwctl.bats",
    ),
    ("CONTRIBUTING.md", "{\"case\":", "parity/tests/vectors.rs"),
    (
        "docs/explanation/outages.md",
        "apiVersion: apiserver",
        "e2e/cel-static.bats",
    ),
    (
        "docs/explanation/outages.md",
        "apiServer:\n",
        "e2e/cel-static.bats",
    ),
    (CI_PAGE, "on: pull_request", CI_TEST),
    (CI_PAGE, "managed-by:\n", CI_TEST),
    (CI_PAGE, "repos:\n", CI_TEST),
    ("docs/tasks/monitor.md", "apiVersion: audit", "e2e/lib.bash"),
    ("src/usage.md", "role: management", "tests/policy/module.rs"),
    ("src/usage.md", "{\"uid\"", "tests/policy/module.rs"),
];
const CI_PAGE: &str = "docs/tasks/check-in-ci.md";
const CI_TEST: &str = "crates/cli/tests/cli/integrations.rs";

/// Languages of blocks with commands, output or code.
const LANGUAGES: [&str; 9] = [
    "console",
    "go",
    "html",
    "js",
    "rust",
    "rust,ignore",
    "sh",
    "text",
    "ts",
];

/// Returns the number of examples on a page whose examples the library or `xtask/tests/status_guide.rs` runs.
fn examples(page: &str) -> Option<usize> {
    match page {
        "crates/managed-by/src/settings/reference.md" => Some(62),
        "docs/reference/job-status.md" => Some(20),
        _ => page.starts_with("crates/managed-by/src/rule/").then_some(2),
    }
}

/// Returns true if the lines outside of fences contain no block: indented, with another fence, or in HTML.
fn has_other_blocks(page: &str) -> bool {
    let mut is_code = false;
    let mut lines = page.lines().filter(|line| {
        is_code ^= line.trim_start().starts_with("```");
        !is_code
    });
    lines.any(|line| {
        let is_yaml = || serde_yaml_ng::from_str::<Value>(line).is_ok_and(|v| !v.is_string());
        let text = line.trim_start();
        ["~~~", "````", "<pre"].iter().any(|m| text.starts_with(m))
            || line.starts_with("    ") && !text.is_empty() && is_yaml()
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
    for settings in chart::settings_in(&rendered).unwrap() {
        let checked = run(&["settings", "check", "-"], settings.to_string().as_bytes());
        assert_eq!(checked.code, 0, "{place}: {}", checked.err);
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
    let files = git.args(["ls-files", "*.md", "*artifacthub-pkg.yml", ":!crates/cli"]);
    let files = files.current_dir(root("")).output().unwrap().stdout;
    let files = String::from_utf8(files).unwrap();
    let (mut commands, mut complete, mut manifests) = (0, 0, 0);
    let mut other = OTHER_TESTS.to_vec();
    for page in files.lines() {
        let text = read(page).unwrap();
        assert!(page.ends_with("yml") || !has_other_blocks(&text), "{page}");
        let (mut values, mut count) = (Value::Null, 0);
        for (language, body) in blocks(&text) {
            let place = format!("{page}: {body}");
            let body = body.replace("\\\n", " ");
            let of_chart = |line: &&str| {
                let is_kubewarden = line.contains("https://charts.kubewarden.io");
                line.contains("charts/managed-by-policy ")
                    || line.contains("helm ") && line.contains(" --set ") && !is_kubewarden
            };
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
            assert!(!body.contains("<<"), "no test runs {place}");
            let language = language.split(' ').next().unwrap();
            let is_key = |key: &str| key == "apiVersion" || keys.get(key).is_some();
            let mut starts = body.lines().filter_map(|line| line.split_once(':'));
            let is_values = starts.any(|(key, _)| is_key(key));
            let is_run = ["yaml", "json"].contains(&language) || is_values && language == "text";
            if !is_run {
                let is_cargo = language == "toml" && body.contains("dependencies]");
                let is_known = LANGUAGES.contains(&language) || is_cargo;
                assert!(is_known, "no test runs {place}");
                continue;
            }
            if examples(page).is_some() {
                count += 1;
                continue;
            }
            let is_read =
                |(file, start, _): &(&str, &str, &str)| *file == page && body.starts_with(start);
            if let Some(index) = other.iter().position(is_read) {
                let (_, _, reader) = other.swap_remove(index);
                let name = page.rsplit('/').next().unwrap();
                assert!(
                    read(reader).unwrap().contains(name),
                    "{reader} does not run {place}"
                );
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
            values = merge_patch(&values, &new);
            check_values(&place, "", &values);
        }
        assert_eq!(count, examples(page).unwrap_or(0), "{page}");
    }
    assert!(other.is_empty(), "{other:?}");
    assert_eq!((commands, complete, manifests), (15, 1, 3));
}
