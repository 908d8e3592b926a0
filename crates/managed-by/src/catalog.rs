//! Registry of all rules, in the order of their findings. `review` runs the checks through it.

#[cfg(feature = "docs")]
use crate::description::RuleCategory;
use crate::description::{Enforcement, Rule};
use crate::finding::RuleFinding;
#[cfg(feature = "docs")]
use crate::kind::{Kind, kinds};
#[cfg(feature = "coverage")]
use crate::rule::Check;
use crate::rule::job_status::{conditions, counters, indexes, times, uncounted};
use crate::rule::{
    Context, Findings, delegation, job_conventions, job_spec, managed_by, pods, status,
    status_writer,
};
use crate::settings::{Settings, SettingsErrors};

/// Defines the registry and the function that runs it from one list.
///
/// The function calls each rule directly: wasmtime initializes a module's function table on its first indirect call, which costs
/// more than most rules in an instance that serves one request. A loop over the rules makes the module smaller, and slower.
macro_rules! catalog {
    ($($check:path,)*) => {
        static RULES: &[&Rule] = &[$(&$check.rule),*];

        #[cfg(feature = "coverage")]
        static CHECKS: &[&Check] = &[$(&$check),*];

        /// Returns the findings of all rules that exist in the release and are enabled. With `version_dependent_only`, skips rules
        /// that are the same in all releases.
        pub(crate) fn run<'a>(
            context: &Context<'a>,
            version_dependent_only: bool,
        ) -> Result<Vec<(Enforcement, RuleFinding<'a>)>, SettingsErrors> {
            let mut configured_enforcements = context.settings.configured_enforcements();
            let mut findings = Findings::new(context.kind);
            $(
                $check.run(configured_enforcements.next().flatten(), version_dependent_only, context, &mut findings)?;
            )*
            #[cfg(feature = "manifests")]
            if !version_dependent_only {
                crate::rule::manifest::run(context, &mut findings);
            }
            Ok(findings.list)
        }
    };
}

catalog! {
    managed_by::format::RULE,
    job_spec::SCHEDULING_DIRECTIVES,
    managed_by::immutable::RULE,
    counters::NEGATIVE,
    uncounted::UIDS,
    conditions::COMPLETE_AND_FAILED,
    conditions::COMPLETE_AND_FAILURE_TARGET,
    times::COMPLETION_WITHOUT_COMPLETE,
    times::COMPLETE_WITHOUT_COMPLETION,
    times::COMPLETION_BEFORE_START,
    conditions::FAILED_WITHOUT_FAILURE_TARGET,
    conditions::COMPLETE_WITHOUT_SUCCESS_CRITERIA_MET,
    counters::FINISHED_WITH_ACTIVE_PODS,
    times::FINISHED_WITHOUT_START,
    uncounted::FINISHED_WITH_UNCOUNTED_PODS,
    indexes::INVALID_COMPLETED,
    indexes::INVALID_FAILED,
    indexes::COMPLETED_INDEXES_NON_INDEXED,
    indexes::FAILED_WITHOUT_LIMIT,
    indexes::FAILED_INDEXES_OVERLAP_COMPLETED,
    counters::FINISHED_WITH_TERMINATING_PODS,
    counters::READY_EXCEEDS_ACTIVE,
    conditions::SUCCESS_CRITERIA_MET_NON_INDEXED,
    conditions::SUCCESS_CRITERIA_MET_AND_FAILED,
    conditions::SUCCESS_CRITERIA_MET_AND_FAILURE_TARGET,
    conditions::SUCCESS_CRITERIA_MET_WITHOUT_SUCCESS_POLICY,
    conditions::SUCCESS_POLICY_WITHOUT_SUCCESS_CRITERIA_MET,
    conditions::TERMINAL_CONDITION_DISABLED,
    counters::FAILED_DECREASED,
    counters::SUCCEEDED_DECREASED,
    times::COMPLETION_CHANGED,
    times::START_CHANGED,
    conditions::SUCCESS_CRITERIA_MET_DISABLED,
    conditions::SUCCESS_CRITERIA_MET_AFTER_COMPLETE,
    managed_by::reserved::RULE,
    managed_by::reserved_domain::RULE,
    managed_by::wrong_kind::RULE,
    managed_by::recommended_format::RULE,
    managed_by::pruned_version::RULE,
    managed_by::object_too_large::RULE,
    managed_by::unsupported_value::RULE,
    managed_by::template::RULE,
    managed_by::allowed::RULE,
    managed_by::delegation::RULE,
    delegation::missing_label::RULE,
    delegation::short_ttl::RULE,
    delegation::ignored_field::RULE,
    job_conventions::conditions::DUPLICATE,
    job_conventions::conditions::TYPE,
    job_conventions::conditions::UNKNOWN_STATUS,
    job_conventions::conditions::TRANSITION_TIME,
    job_conventions::succeeded_exceeds_completions::RULE,
    job_conventions::suspended_with_active_pods::RULE,
    job_conventions::indexes_decreased::RULE,
    job_conventions::future_time::RULE,
    job_conventions::UNKNOWN_FIELD,
    status_writer::DELEGATED,
    status_writer::BUILTIN,
    status::outcome::CHANGED,
    status::outcome::SUCCEEDED_AND_FAILED,
    status::outcome::TERMINAL_STATE,
    status::outcome::EXCLUSIVE,
    status::counters::NEGATIVE,
    status::counters::DECREASED,
    status::times::COMPLETION_TIME_BEFORE_START_TIME,
    status::times::UNFINISHED_WITH_COMPLETION_TIME,
    status::times::FINISHED_WITHOUT_COMPLETION_TIME,
    pods::DELEGATED_OWNER,
    job_spec::IMMUTABLE_FIELD,
    managed_by::UNKNOWN_FIELD,
    delegation::NO_REQUESTS,
    delegation::UNSUPPORTED_FIELD,
}

/// Returns all rules. kube-apiserver's rules are first, in its order: the spec (`validateJobSpec`, `ValidateJobSpecUpdate`), then
/// the status (`validateJobStatus`, `ValidateJobStatusUpdate`).
pub fn rules() -> &'static [&'static Rule] {
    RULES
}

/// Returns the rule with the given id.
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.id == id)
}

/// Returns the rules in conformance reports that apply to the change's kind, each with true if the change exercises it.
#[cfg(feature = "coverage")]
pub(crate) fn exercised_rules(context: &Context<'_>) -> Vec<(&'static Rule, bool)> {
    let applicable = CHECKS
        .iter()
        .filter(|check| check.rule.applies_to(context.kind));
    let exercised = applicable.map(|check| Some((&check.rule, check.is_exercised(context)?)));
    exercised.flatten().collect()
}

#[cfg(feature = "docs")]
impl Kind<'_> {
    /// Returns the ids of the rules that are specific to the kind. Excludes rules for all kinds, rules that apply only to Jobs, and
    /// cluster-specific rules, unless they [prevent a bypass](Rule::prevents_bypass).
    pub fn specific_rule_ids(&self) -> Vec<&'static str> {
        let custom = || kinds().iter().filter(|kind| !kind.is_job());
        let is_shared = |rule: &Rule| kinds().iter().all(|kind| rule.applies_to(kind));
        let is_for_jobs_only = |rule: &Rule| !custom().any(|kind| rule.applies_to(kind));
        let applicable = RULES.iter().filter(|rule| rule.applies_to(self));
        let own = applicable.filter(|rule| {
            rule.category != RuleCategory::ClusterSpecific
                && !is_shared(rule)
                && !is_for_jobs_only(rule)
        });
        own.map(|rule| rule.id).collect()
    }
}

pub(crate) fn position(rule: &Rule) -> Option<usize> {
    RULES.iter().position(|known| *known == rule)
}

/// Default settings, equal to `{}`. Implemented here because the defaults depend on the list of rules.
impl Default for Settings<'_> {
    fn default() -> Self {
        Self::with_rules(RULES)
    }
}
