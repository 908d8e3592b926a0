//! The lists of writers in the manifests, beside the library and the documentation.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use managed_by::kinds;
use serde_json::{Value, json};
use xtask::manifests::{projects, taken_in};

fn read(path: &str) -> String {
    fs::read_to_string(xtask::root(path)).unwrap()
}

/// Whichever projects are taken in, the lists are those of the page's table, but for what it says of delegated workloads.
#[test]
fn the_writers_are_those_of_the_page() {
    let manifest = read("deploy/management.yml");
    let page = read("docs/status-writers.md");
    let (_, table) = page.split_once("## The table\n").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let words = |cell: &str| -> BTreeSet<String> {
        let words = cell.split([' ', ',']).filter(|word| !word.is_empty());
        words.map(ToOwned::to_owned).collect()
    };
    let known: BTreeSet<_> = kinds().iter().map(|kind| kind.name().to_owned()).collect();
    let mut all = BTreeSet::new();
    let mut rows = Vec::new();
    for line in table.lines().filter(|line| line.contains("| `system:")) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let [_, kinds, account, of, with, ..] = cells[..] else {
            panic!("{line}");
        };
        let (kinds, with) = (words(kinds), words(with));
        assert!(kinds.is_subset(&known), "{line}");
        all.extend(with.clone());
        assert!(
            ["all", "delegated", "not delegated"].contains(&of),
            "{line}"
        );
        if of != "delegated" {
            rows.push((kinds, account.trim_matches('`'), with));
        }
    }
    // A tag that no row knows is misspelt.
    for file in ["management", "audit-scanner"] {
        let tags = projects(&read(&format!("deploy/{file}.yml")));
        assert_eq!(tags, all, "{file}");
    }
    let all_but = |left_out: &str| -> BTreeSet<String> {
        let kept = all.iter().filter(|project| *project != left_out);
        kept.cloned().collect()
    };
    // Not both projects that serve MPIJobs.
    let mut choices = vec![
        BTreeSet::new(),
        all_but("mpi-operator"),
        all_but("mpijob-v1"),
    ];
    choices.extend(all.iter().map(|project| BTreeSet::from([project.clone()])));
    for projects in choices {
        let mut expected: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (kinds, account, with) in &rows {
            for kind in kinds.iter().filter(|_| with.is_subset(&projects)) {
                expected.entry(kind).or_default().push(account);
            }
        }
        let manifest: Value = serde_yaml_ng::from_str(&taken_in(&manifest, &projects)).unwrap();
        let listed = manifest.pointer("/spec/settings/standard_status_writers");
        assert_eq!(listed, Some(&json!(expected)), "{projects:?}");
    }
}
