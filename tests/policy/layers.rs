//! Checks the dependencies of crates, and those of the library's modules against the layers in `docs/contributing/architecture.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::root;

/// Modules import only modules above them in the table, so there are no cycles.
#[test]
fn modules_import_only_modules_above_them() {
    let page = fs::read_to_string(root("docs/contributing/architecture.md")).unwrap();
    let (_, layers) = page.split_once("## Layers\n").unwrap();
    let layers = layers.split("\n## ").next().unwrap();
    let rows = layers.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.map(|row| row.split(" | ").next().unwrap());
    let order: Vec<_> = cells
        .flat_map(|cell| cell.split('`').step_by(2))
        .map(|name| name.trim_end_matches('/').trim_end_matches(".rs"))
        .collect();
    let source = root("crates/managed-by/src");
    let library = fs::read_to_string(source.join("lib.rs")).unwrap();
    let modules: BTreeSet<_> = library
        .lines()
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    assert_eq!(order.iter().copied().collect::<BTreeSet<_>>(), modules);
    let mut git = Command::new("git");
    git.args(["ls-files", "*.rs"]).current_dir(&source);
    let files = String::from_utf8(git.output().unwrap().stdout).unwrap();
    let mut count = 0;
    for file in files.lines() {
        let place = Path::new(file).with_extension("");
        let parts: Vec<_> = place.iter().map(|part| part.to_str().unwrap()).collect();
        if parts == ["lib"] || parts.contains(&"tests") {
            continue;
        }
        let position = |name: &str| order.iter().position(|module| *module == name);
        let own = position(parts[0]).unwrap();
        let text = fs::read_to_string(source.join(file)).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let is_top = parts.len() == 1 || parts[1] == "mod";
        for line in code.lines() {
            if line.trim_start().starts_with("//") {
                continue;
            }
            let at = format!("{file}: {line}");
            // Paths to other modules must start with `crate::`.
            let up = if is_top { "super::" } else { "super::super::" };
            assert!(!line.contains(up), "{at}");
            for used in line.split("crate::").skip(1) {
                let end = used.find(|c: char| !c.is_alphanumeric() && c != '_');
                let name = used.split_at(end.unwrap_or(used.len())).0;
                let used = position(name).unwrap_or_else(|| panic!("{at}: no module"));
                assert!(used <= own, "{at}");
                count += 1;
            }
        }
    }
    assert!(count > 200, "{count}");
}

/// The commands share only `managed-by-console`, and only `status` has a network stack.
#[test]
fn commands_are_separate() {
    let commands = ["linter", "conformance", "status"].map(|name| format!("managed-by-{name}"));
    for command in &commands {
        let tree = Command::new(env!("CARGO"))
            .args(["tree", "--offline", "--locked", "--edges", "normal"])
            .args(["--prefix", "none", "--format", "{p}", "--package", command])
            .current_dir(root("."))
            .output()
            .unwrap();
        let tree = String::from_utf8(tree.stdout).unwrap();
        let names = tree.lines().filter_map(|line| line.split(' ').next());
        let names: BTreeSet<_> = names.collect();
        assert!(names.contains("managed-by-console"), "{command}: {tree}");
        for other in commands.iter().filter(|other| *other != command) {
            assert!(!names.contains(&**other), "{command} uses {other}");
        }
        for name in ["kube", "tokio", "rustls"] {
            let has_network = command == "managed-by-status";
            assert_eq!(names.contains(name), has_network, "{command}: {name}");
        }
    }
}
