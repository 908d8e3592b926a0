//! JUnit XML: a suite for each file, a case for each request and each diagnostic.

use std::collections::BTreeMap;
use std::io::{self, Write};

use managed_by::Decision;
use managed_by_console::diagnostic::{Diagnostic, Level};
use managed_by_console::escape::escape_control;
use quick_junit::{NonSuccessKind, Report as JUnit, TestCase, TestCaseStatus, TestSuite};

use crate::report::Report;
use crate::result::{LocatedFinding, RequestResult};

pub(crate) fn write(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let denies_warnings = report.denies_warnings;
    let results = report.results.iter();
    let results = results.map(|result| (&result.file, object_case(result, denies_warnings)));
    let diagnostics = report.sorted_diagnostics();
    let diagnostics = diagnostics.map(|d| (&d.file, diagnostic_case(d, denies_warnings)));
    let mut suites: BTreeMap<&str, TestSuite> = BTreeMap::new();
    for (file, case) in results.chain(diagnostics) {
        let suite = suites.entry(file);
        let suite = suite.or_insert_with(|| TestSuite::new(&*escape_control(file)));
        suite.add_test_case(case);
    }
    let mut junit = JUnit::new(format!("managed-by {}", report.kind));
    junit.add_test_suites(suites.into_values());
    let junit = junit.to_string().map_err(io::Error::other)?;
    out.write_all(junit.as_bytes())
}

fn failure(kind: NonSuccessKind, message: &str, id: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(&*escape_control(message)).set_type(id);
    status
}

fn object_case(result: &RequestResult, denies_warnings: bool) -> TestCase {
    let findings_with_level = |level: Level| {
        result
            .unsuppressed_findings()
            .filter(move |f| f.level() == level)
    };
    let line = |finding: &LocatedFinding| {
        let span = finding.span.as_ref();
        let position = span.map(|span| format!("{}:{}: ", span.line, span.column));
        let text = format!(
            "{} [{}]",
            result.text_of(finding),
            finding.reported.rule.id()
        );
        format!("{}{}", position.unwrap_or_default(), escape_control(&text))
    };
    let denials: Vec<_> = findings_with_level(Level::Error).map(line).collect();
    let mut output: Vec<_> = findings_with_level(Level::Warning).map(line).collect();
    let unchecked = result.unchecked_texts();
    let unchecked = unchecked.map(|(level, text)| (level, escape_control(&text).into_owned()));
    let (warnings, notes): (Vec<_>, Vec<_>) =
        unchecked.partition(|(level, _)| *level == Level::Warning);
    output.extend(warnings.into_iter().map(|(_, text)| text));
    let status = match (&result.decision, output.first()) {
        (Decision::Denied { message, .. }, _) => {
            let releases = result.releases.map(|releases| format!(" ({releases})"));
            let message = format!("{message}{}", releases.unwrap_or_default());
            let rule = findings_with_level(Level::Error)
                .next()
                .map(|f| f.reported.rule.id());
            let kind = NonSuccessKind::Failure;
            let mut status = failure(kind, &message, rule.unwrap_or_default());
            status.set_description(denials.join("\n"));
            status
        }
        (Decision::Allowed, Some(warning)) if denies_warnings => {
            failure(NonSuccessKind::Failure, warning, "warning")
        }
        (Decision::Allowed, _) => TestCaseStatus::success(),
    };
    let mut case = TestCase::new(&*escape_control(&result.describe_request()), status);
    case.set_classname(&*escape_control(&result.object.kind_and_group()));
    output.extend(result.findings.iter().filter_map(|finding| {
        let reason = finding.exception.as_ref()?;
        let (text, id) = (&finding.reported.message, finding.reported.rule.id());
        Some(
            escape_control(&format!(
                "suppressed by an exception ({reason}): {text} [{id}]"
            ))
            .into_owned(),
        )
    }));
    output.extend(notes.into_iter().map(|(_, text)| text));
    if !output.is_empty() {
        case.set_system_out(output.join("\n"));
    }
    case
}

fn diagnostic_case(diagnostic: &Diagnostic, denies_warnings: bool) -> TestCase {
    let position = escape_control(&diagnostic.position()).into_owned();
    let kind = match diagnostic.level() {
        Level::Error => NonSuccessKind::Error,
        Level::Warning if denies_warnings => NonSuccessKind::Failure,
        Level::Warning | Level::Note => {
            let mut case = TestCase::new(position, TestCaseStatus::success());
            case.set_system_out(&*escape_control(&diagnostic.message));
            return case;
        }
    };
    let status = failure(kind, &diagnostic.message, &diagnostic.kind.to_string());
    TestCase::new(position, status)
}
