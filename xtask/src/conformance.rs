//! Generates the tables of `docs/reference/conformance.md` from the reports in `go/conformance/reports/` and from the profiles.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use managed_by::{Release, ReleaseSet};
use managed_by_offline::profile::PROFILES;
use managed_by_testing::read;
use serde::Deserialize;

use crate::book::{files, has_extension};
use crate::generated::{Generated, replace_between_marks};
use crate::profiles;

const PAGE: &str = "docs/reference/conformance.md";
const REPORTS: &str = "go/conformance/reports";

/// Report of `go/conformance`, as far as the page shows it. The type `Report` there documents the fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    api_version: String,
    implementation: Implementation,
    kubernetes_version: String,
    suite_version: String,
    releases: String,
    rejected_writes: RejectedWrites,
    tests: Vec<Test>,
    #[serde(skip)]
    path: String,
}

#[derive(Deserialize)]
struct Implementation {
    organization: String,
    project: String,
    url: String,
    version: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RejectedWrites {
    Counted(u64),
    Unknown(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    name: String,
    result: TestResult,
    #[serde(default)]
    conforms_to: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum TestResult {
    Success,
    Partial,
    Failure,
    Skipped,
}

pub(crate) fn generated() -> Result<Vec<Generated>> {
    let mut paths: Vec<_> = files(REPORTS)?.collect();
    paths.retain(|path| has_extension(path, "yaml"));
    paths.sort_unstable();
    let reports = paths
        .iter()
        .map(|path| report(path).with_context(|| path.clone()));
    let reports = reports.collect::<Result<Vec<_>>>()?;
    let page = replace_between_marks(&read(PAGE)?, "reports", &table(&reports)?)?;
    let page = replace_between_marks(&page, "profiles", &profiles::table()?)?;
    Ok(vec![Generated::new(PAGE, page)])
}

fn report(path: &str) -> Result<Report> {
    let mut report: Report = serde_yaml_ng::from_str(&read(path)?)?;
    let Implementation {
        organization,
        project,
        version,
        ..
    } = &report.implementation;
    let suite = &report.suite_version;
    let expected = format!("{REPORTS}/v{suite}/{organization}-{project}/{version}-report.yaml");
    ensure!(path == expected, "expected the name {expected}");
    ensure!(
        report.api_version == "conformance.managed-by-policy.github.io/v1alpha1",
        "unsupported apiVersion {}",
        report.api_version
    );
    path.clone_into(&mut report.path);
    Ok(report)
}

fn table(reports: &[Report]) -> Result<String> {
    let names = PROFILES.iter().map(|profile| profile.name);
    let mut text = "| implementation | report | Kubernetes | rejected writes |".to_owned();
    for name in names.clone() {
        write!(text, " {name} |")?;
    }
    text.push('\n');
    text.push_str(&"| --- ".repeat(4_usize.saturating_add(PROFILES.len())));
    text.push_str("|\n");
    for report in reports {
        let Implementation {
            organization,
            project,
            url,
            version,
        } = &report.implementation;
        let rejected = match &report.rejected_writes {
            RejectedWrites::Counted(count) => count.to_string(),
            RejectedWrites::Unknown(text) => text.clone(),
        };
        write!(
            text,
            "| [{organization}/{project}]({url}) | [{version}](../../{}) | {} | {rejected} |",
            report.path, report.kubernetes_version,
        )?;
        for name in names.clone() {
            write!(text, " {} |", cell(report, name)?)?;
        }
        text.push('\n');
    }
    Ok(text)
}

fn cell(report: &Report, name: &str) -> Result<String> {
    let Some(test) = report.tests.iter().find(|test| test.name == name) else {
        return Ok("–".to_owned());
    };
    let evaluated = releases(&report.releases)?;
    let without = evaluated.difference(releases(&test.conforms_to)?);
    Ok(match test.result {
        TestResult::Success => "✓".to_owned(),
        TestResult::Partial if without.is_empty() => "✓ as far as recorded".to_owned(),
        TestResult::Partial => format!("✓ except {without}"),
        TestResult::Failure => "✗".to_owned(),
        TestResult::Skipped => "skipped".to_owned(),
    })
}

fn releases(names: &str) -> Result<ReleaseSet> {
    let names = names.split(',').filter(|name| !name.is_empty());
    names
        .map(|name| name.parse::<Release>().with_context(|| name.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use managed_by_offline::profile::PROFILES;
    use managed_by_testing::read;

    /// The tests of the Go module have the names of the profiles, in the same order.
    #[test]
    fn suite_has_a_test_for_each_profile() {
        let source = read("go/conformance/tests.go").unwrap();
        let source = source.replace("{Core, ", "{\"Core\", ");
        let tests = source
            .lines()
            .filter_map(|line| line.strip_prefix("\t\t{\""));
        let tests: Vec<_> = tests.filter_map(|line| line.split('"').next()).collect();
        let profiles: Vec<_> = PROFILES.iter().map(|profile| profile.name).collect();
        assert_eq!(tests, profiles);
    }
}
