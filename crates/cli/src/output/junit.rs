//! JUnit XML: a suite for each file, a case for each object.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

use managed_by::{Decision, Enforcement};
use quick_junit::{NonSuccessKind, Report as JUnit, TestCase, TestCaseStatus, TestSuite};

use super::plain::plain;
use crate::diagnostic::{Diagnostic, Level};
use crate::report::Excuse;
use crate::report::{Outcome, Report};

pub(crate) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let mut suites: BTreeMap<Arc<str>, TestSuite> = BTreeMap::new();
    let mut add = |file: &Arc<str>, case: TestCase| {
        let suite = suites.entry(Arc::clone(file));
        suite
            .or_insert_with(|| TestSuite::new(&*plain(file)))
            .add_test_case(case);
    };
    for outcome in &report.results {
        add(&outcome.file, judged(outcome, report.denies_warnings));
    }
    for diagnostic in report.diagnostics() {
        let case = case_of(diagnostic, report.denies_warnings);
        add(&diagnostic.file, case);
    }
    let mut junit = JUnit::new(format!("managed-by {}", report.kind.as_str()));
    junit.add_test_suites(suites.into_values());
    let junit = junit.to_string().map_err(io::Error::other)?;
    out.write_all(junit.as_bytes())
}

fn judged(outcome: &Outcome, denies_warnings: bool) -> TestCase {
    let texts = |wanted: Enforcement| -> Vec<String> {
        let findings = outcome.counted();
        let findings = findings.map(|finding| (&finding.found, &finding.place));
        findings
            .filter(|(found, _)| found.enforcement == wanted)
            .map(|(found, place)| {
                let place = place.as_ref().map(|p| format!("{}:{}: ", p.line, p.column));
                let place = place.unwrap_or_default();
                let text = plain(&outcome.text_of(found)).into_owned();
                format!("{place}{text} [{}]", found.rule.id())
            })
            .collect()
    };
    let denials = texts(Enforcement::Deny);
    let status = if let Decision::Denied { message, .. } = &outcome.decision {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        let mut message = message.clone();
        if let Some(releases) = outcome.releases {
            // Writing to a String cannot fail.
            let _ = write!(message, " ({releases})");
        }
        status.set_message(&*plain(&message));
        let denied = outcome.counted().map(|finding| &finding.found);
        let rule = denied.clone().find(|f| f.enforcement == Enforcement::Deny);
        status.set_type(rule.map(|f| f.rule.id()).unwrap_or_default());
        status.set_description(denials.join("\n"));
        status
    } else if let Some(warned) = texts(Enforcement::Warn).first().filter(|_| denies_warnings) {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(warned);
        status.set_type("warning");
        status
    } else {
        TestCaseStatus::success()
    };
    let name = outcome.asked();
    let mut case = TestCase::new(&*plain(&name), status);
    case.set_classname(&*plain(&outcome.object.kind_and_group()));
    let mut said = texts(Enforcement::Warn);
    said.extend(outcome.findings.iter().filter_map(|finding| {
        let why = match finding.excuse.as_ref()? {
            Excuse::Exception { reason } => format!("excepted ({})", plain(reason)),
            Excuse::Baseline => "in the baseline".to_owned(),
        };
        let found = &finding.found;
        Some(format!(
            "{why}: {} [{}]",
            plain(&found.text),
            found.rule.id()
        ))
    }));
    if !said.is_empty() {
        case.set_system_out(said.join("\n"));
    }
    case
}

fn case_of(diagnostic: &Diagnostic, denies_warnings: bool) -> TestCase {
    let text = plain(&diagnostic.text);
    let place = plain(&diagnostic.place()).into_owned();
    let kind = match diagnostic.kind.level() {
        Level::Error => NonSuccessKind::Error,
        Level::Warning if denies_warnings => NonSuccessKind::Failure,
        Level::Warning | Level::Note => {
            let mut case = TestCase::new(place, TestCaseStatus::success());
            case.set_system_out(&*text);
            return case;
        }
    };
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(&*text);
    status.set_type(diagnostic.kind.as_str());
    TestCase::new(place, status)
}
