//! The registry: every rule, in the order in which findings are reported.

use crate::finding::Finding;
use crate::rule::job_status::{conditions, counters, indexes, times, uncounted};
use crate::rule::{
    Context, Enforcement, Findings, Rule, allowed, closed_set, delegation, format, immutable,
    nested, pods, reserved, reserved_domain, status, status_writer, unchecked_format, wrong_kind,
};
use crate::settings::Checked;

/// Makes the registry, and what runs it, of one list.
///
/// The rules are called one after another, not through the table: wasmtime fills a module's table of functions when they
/// are first called through it, which in an instance that serves one request costs more than most rules (0.1 us each).
macro_rules! catalogue {
    ($($rule:path,)*) => {
        /// All rules. kube-apiserver's come first, in its order: the field (`validateJobSpec`, `ValidateJobSpecUpdate`),
        /// then the status (`validateJobStatus`, `ValidateJobStatusUpdate`).
        pub static RULES: [&Rule; [$(stringify!($rule)),*].len()] = [$(&$rule),*];

        /// What all rules find that hold in the release and are not off, each with what it does.
        pub(crate) fn run<'a>(context: &Context<'a>) -> Checked<Vec<(Enforcement, Finding<'a>)>> {
            let mut enforcement = context.settings.rules().map(|(_, enforcement)| enforcement);
            let mut findings = Findings::on(context.kind);
            $(
                let next = enforcement.next().unwrap_or(Enforcement::Off);
                $rule.run(next, context, &mut findings)?;
            )*
            Ok(findings.list)
        }
    };
}

catalogue! {
    format::RULE,
    immutable::RULE,
    counters::NEGATIVE,
    uncounted::UIDS,
    conditions::COMPLETE_AND_FAILED,
    conditions::COMPLETE_AND_FAILURE_TARGET,
    times::COMPLETION_WITHOUT_COMPLETE,
    times::COMPLETE_WITHOUT_COMPLETION,
    times::COMPLETION_BEFORE_START,
    conditions::FAILED_WITHOUT_FAILURE_TARGET,
    conditions::COMPLETE_WITHOUT_SUCCESS_CRITERIA_MET,
    counters::ACTIVE_OF_FINISHED,
    times::FINISHED_WITHOUT_START,
    uncounted::OF_FINISHED,
    indexes::INVALID_COMPLETED,
    indexes::INVALID_FAILED,
    indexes::COMPLETED_OF_NON_INDEXED,
    indexes::FAILED_WITHOUT_LIMIT,
    indexes::OVERLAP,
    counters::TERMINATING_OF_FINISHED,
    counters::READY,
    conditions::SUCCESS_CRITERIA_MET_NON_INDEXED,
    conditions::SUCCESS_CRITERIA_MET_AND_FAILED,
    conditions::SUCCESS_CRITERIA_MET_AND_FAILURE_TARGET,
    conditions::SUCCESS_CRITERIA_MET_WITHOUT_POLICY,
    conditions::SUCCESS_POLICY,
    conditions::TERMINAL_DISABLED,
    counters::FAILED_DECREASED,
    counters::SUCCEEDED_DECREASED,
    times::COMPLETION_CHANGED,
    times::START_CHANGED,
    conditions::SUCCESS_CRITERIA_MET_DISABLED,
    conditions::SUCCESS_CRITERIA_MET_AFTER_COMPLETE,
    reserved::RULE,
    reserved_domain::RULE,
    wrong_kind::RULE,
    unchecked_format::RULE,
    closed_set::RULE,
    nested::RULE,
    allowed::RULE,
    delegation::RULE,
    status_writer::DELEGATED,
    status_writer::STANDARD,
    status::outcome::CHANGED,
    status::outcome::BOTH,
    status::outcome::SAYS,
    status::outcome::PAIR,
    status::counters::NEGATIVE,
    status::counters::DECREASED,
    status::times::BEFORE_START,
    status::times::WITHOUT_OUTCOME,
    status::times::WITHOUT_END,
    pods::DELEGATED_OWNER,
}

/// The rule with an id.
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.into_iter().find(|rule| rule.id == id)
}
