//! The registry: every rule, in the order in which findings are reported, and what runs them.

#[cfg(feature = "docs")]
use crate::description::Scope;
use crate::description::{Enforcement, Rule};
use crate::finding::Finding;
#[cfg(feature = "docs")]
use crate::kind::{Kind, is_job, kinds};
#[cfg(feature = "docs")]
use crate::rule::Check;
use crate::rule::job_status::{conditions, counters, indexes, times, uncounted};
use crate::rule::{Context, Findings, custom_status, field, job_spec, pods, status_writer};
use crate::settings::{Problems, Settings};

/// Makes the registry, and what runs it, of one list.
///
/// The rules are called one after another, not through the table: wasmtime fills a module's table of functions when they
/// are first called through it, which in an instance that serves one request costs more than most rules (0.1 us each).
macro_rules! catalogue {
    ($($check:path,)*) => {
        static RULES: &[&Rule] = &[$(&$check.rule),*];

        #[cfg(feature = "docs")]
        static CHECKS: &[&Check] = &[$(&$check),*];

        /// The findings of all rules that exist in the release and are not off, each with `deny` or `warn`; of those on which
        /// the releases disagree alone, if only they are asked.
        pub(crate) fn run<'a>(
            context: &Context<'a>,
            disputed_alone: bool,
        ) -> Result<Vec<(Enforcement, Finding<'a>)>, Problems> {
            let mut choices = context.settings.choices();
            let mut findings = Findings::on(context.kind);
            $(
                $check.run(choices.next().flatten(), disputed_alone, context, &mut findings)?;
            )*
            Ok(findings.list)
        }
    };
}

catalogue! {
    field::format::RULE,
    job_spec::SCHEDULING_DIRECTIVES,
    field::immutable::RULE,
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
    field::reserved::RULE,
    field::reserved_domain::RULE,
    field::wrong_kind::RULE,
    field::unchecked_format::RULE,
    field::pruned_version::RULE,
    field::updates_too_large::RULE,
    field::closed_set::RULE,
    field::nested::RULE,
    field::allowed::RULE,
    field::delegation::RULE,
    status_writer::DELEGATED,
    status_writer::STANDARD,
    custom_status::outcome::CHANGED,
    custom_status::outcome::BOTH,
    custom_status::outcome::TERMINAL_STATE,
    custom_status::outcome::EXCLUSIVE,
    custom_status::counters::NEGATIVE,
    custom_status::counters::DECREASED,
    custom_status::times::BEFORE_START,
    custom_status::times::WITHOUT_OUTCOME,
    custom_status::times::WITHOUT_END,
    pods::DELEGATED_OWNER,
}

/// All rules. kube-apiserver's come first, in its order: the spec (`validateJobSpec`, `ValidateJobSpecUpdate`), then the
/// status (`validateJobStatus`, `ValidateJobStatusUpdate`).
pub fn rules() -> &'static [&'static Rule] {
    RULES
}

/// The rule with an id.
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.id == id)
}

/// The rules about what a controller writes that judge objects of a change's kind, each with whether the change exercises it.
#[cfg(feature = "docs")]
pub(crate) fn exercised(context: &Context<'_>) -> Vec<(&'static Rule, bool)> {
    let judging = CHECKS
        .iter()
        .filter(|check| check.rule.applies_to(context.kind));
    let asked = judging.map(|check| Some((&check.rule, check.is_exercised(context)?)));
    asked.flatten().collect()
}

#[cfg(feature = "docs")]
impl Kind<'_> {
    /// The ids of the rules that judge its field, its templates and its status, beside those for all kinds and those that an
    /// admin asks for. A Job's status has a family of rules of its own, which is left out.
    pub fn rules(&self) -> Vec<&'static str> {
        let custom = || kinds().iter().filter(|kind| !is_job(kind));
        let is_shared = |rule: &Rule| kinds().iter().all(|kind| rule.applies_to(kind));
        let is_of_jobs = |rule: &Rule| !custom().any(|kind| rule.applies_to(kind));
        let of_it = RULES.iter().filter(|rule| rule.applies_to(self));
        let own =
            of_it.filter(|rule| rule.scope != Scope::Site && !is_shared(rule) && !is_of_jobs(rule));
        own.map(|rule| rule.id).collect()
    }
}

/// The place of a rule in the order in which findings are reported.
pub(crate) fn place(rule: &Rule) -> Option<usize> {
    RULES.iter().position(|known| *known == rule)
}

/// The settings that `{}` means. They are here because settings learn the rules from the catalogue.
impl Default for Settings<'_> {
    fn default() -> Self {
        Self::of_rules(RULES)
    }
}
