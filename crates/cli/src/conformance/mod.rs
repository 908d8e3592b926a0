//! Conformance reports on controllers: which recorded writes each release of kube-apiserver would have denied, and which rules the
//! writes did not test. The command `conformance` prints them.
//!
//! [`ReportBuilder`] collects writes as admission requests and returns a [`ConformanceReport`]: data (`serde`) and Markdown
//! ([`ConformanceReport::markdown`]). It does no I/O and has no clock.
//!
//! A write *exercises* a rule if the rule applies to it and the write could have broken it. For example, a Job that finishes exercises
//! the rules on finished Jobs. A rule without such a write is *untested*, not passed. A controller *conforms* to a release if its
//! writes exercise every part of the required profiles, no write is denied or was rejected, and every object reached an end.

mod builder;
mod coverage;
mod markdown;
mod report;
mod rule_results;
mod tracked_object;
mod writes;

pub(crate) use builder::ReportBuilder;
pub(crate) use report::ConformanceReport;
pub(crate) use writes::WriteLocation;

#[cfg(test)]
mod tests;

/// Returns the URL of a rule's page.
fn rule_url(id: &str) -> String {
    managed_by::rule(id).map_or_else(String::new, managed_by::Rule::page_url)
}
