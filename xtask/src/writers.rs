//! `standard_status_writers` of the manifests, made of the table in `docs/status-writers.md`.
//!
//! An admin lists only what is installed, because a name that is free can be taken by whoever creates namespaces. So the lines of a
//! project stand behind its tag, `#jobset ` for example, in the rules and in the lists, and removing the tag takes the project in.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use managed_by::kinds;

use crate::generated::{Generated, read};

/// The page with the table.
const PAGE: &str = "docs/status-writers.md";

/// The projects that a manifest can take in.
pub const PROJECTS: [&str; 8] = [
    "jobset",
    "trainer",
    "kuberay",
    "appwrapper",
    "tekton",
    "training-operator",
    "mpijob-v1",
    "mpi-operator",
];

/// The files with settings that are not beside `matchConditions`.
const SETTINGS: [&str; 3] = [
    "deploy/policies.yml",
    "examples/settings/management.yml",
    "examples/settings/worker.yml",
];

/// The account that has another name in some clusters.
const JOB_CONTROLLER: &str = "system:serviceaccount:kube-system:job-controller";

/// A row of the table: a writer of the status of workloads that are not delegated.
struct Row {
    kinds: Vec<String>,
    /// The projects with which it is there, all of them; none if every cluster has it.
    projects: Vec<String>,
    account: String,
}

/// The rows of the table, those about delegated workloads aside.
fn rows() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let page = read(PAGE)?;
    let after = page.split_once("## The table\n").map(|(_, after)| after);
    let table = after.and_then(|after| after.split("\n## ").next());
    let lines = table.unwrap_or_default().lines();
    for line in lines.filter(|line| line.contains("| `system:")) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let [_, names, account, of, projects, ..] = &*cells else {
            anyhow::bail!("{PAGE}: {line}");
        };
        ensure!(
            ["all", "delegated", "not delegated"].contains(of),
            "{PAGE}: {line}"
        );
        let words = |text: &str| -> Vec<String> {
            let words = text.split([',', ' ', '`']).filter(|word| !word.is_empty());
            words.map(ToOwned::to_owned).collect()
        };
        let row = Row {
            kinds: words(names),
            projects: words(projects),
            account: account.trim_matches('`').to_owned(),
        };
        let is_kind = |name: &String| kinds().iter().any(|kind| kind.name() == name);
        let is_project = |name: &String| PROJECTS.contains(&&**name);
        ensure!(row.kinds.iter().all(is_kind), "{PAGE}: {names}");
        ensure!(row.projects.iter().all(is_project), "{PAGE}: {projects}");
        if *of != "delegated" {
            rows.push(row);
        }
    }
    ensure!(!rows.is_empty(), "{PAGE}: no table");
    Ok(rows)
}

/// The kinds that have lists.
///
/// # Errors
/// If the page cannot be read.
pub fn listed() -> Result<BTreeSet<&'static str>> {
    let rows = rows()?;
    let names = kinds().iter().map(|kind| kind.name());
    Ok(names
        .filter(|name| rows.iter().any(|row| row.kinds.iter().any(|k| k == name)))
        .collect())
}

/// A manifest with some projects taken in.
pub fn taken_in(manifest: &str, projects: &[&str]) -> String {
    projects.iter().fold(manifest.to_owned(), |text, project| {
        text.replace(&format!("#{project} "), "")
    })
}

/// The files with lists and without `matchConditions`.
///
/// # Errors
/// As [`filled`], and if a file has no lists.
pub fn generated() -> Result<Vec<Generated>> {
    let make = |path: &&str| {
        let text = read(path)?;
        let made = filled(&text)?.with_context(|| format!("{path}: no lists"))?;
        Ok(Generated::new(*path, made))
    };
    SETTINGS.iter().map(make).collect()
}

/// A file with its lists made again: the lines below `standard_status_writers` that are indented more. [`None`] if it has none.
///
/// # Errors
/// If the page cannot be read, or its table names what does not exist.
pub fn filled(text: &str) -> Result<Option<String>> {
    let Some((before, after)) = text.split_once("standard_status_writers:\n") else {
        return Ok(None);
    };
    let indent = before.rsplit('\n').next().unwrap_or_default();
    let mut made = format!("{before}standard_status_writers:\n{}", lists(indent)?);
    let is_inside = |line: &&str| line.len().saturating_sub(line.trim_start().len()) > indent.len();
    for line in after.lines().skip_while(is_inside) {
        writeln!(made, "{line}")?;
    }
    Ok(Some(made))
}

fn lists(indent: &str) -> Result<String> {
    let rows = rows()?;
    let mut text = format!(
        "{indent}  # Every controller that writes the status of a workload that is not delegated: docs/status-writers.md, from which `make docs` makes\n\
         {indent}  # these lists. Who is listed for a kind may create its children where delegation is required. Replace NAMESPACE, and of two names of one\n\
         {indent}  # controller keep the one that you have.\n"
    );
    let tags = |projects: &[String]| {
        let tags = projects.iter().map(|project| ["#", project, " "].concat());
        tags.collect::<String>()
    };
    let mut done = BTreeSet::new();
    for kind in kinds().iter().map(|kind| kind.name()) {
        if !done.insert(kind) {
            continue;
        }
        let of_kind: Vec<_> = rows
            .iter()
            .filter(|row| row.kinds.iter().any(|k| k == kind))
            .collect();
        // Who brings the kind stands first: every cluster, one project, or one of two.
        let is_everywhere = of_kind.first().is_some_and(|row| row.projects.is_empty());
        let bringers = of_kind.iter().filter(|row| row.projects.len() == 1);
        let bringers: Vec<_> = match of_kind.first() {
            Some(first) if is_everywhere => vec![first],
            _ => bringers.collect(),
        };
        for bringer in bringers {
            writeln!(text, "{indent}  {}{kind}:", tags(&bringer.projects))?;
            for row in of_kind
                .iter()
                .filter(|row| row.projects.starts_with(&bringer.projects))
            {
                if row.account == JOB_CONTROLLER {
                    writeln!(
                        text,
                        "{indent}    # Or system:kube-controller-manager, if it runs without --use-service-account-credentials."
                    )?;
                }
                writeln!(text, "{indent}    {}- {}", tags(&row.projects), row.account)?;
            }
        }
    }
    Ok(text)
}
