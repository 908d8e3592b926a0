//! Rules: one module per rule family. Each rule's documentation page (`.md`) is next to its check. [`crate::catalog`] lists the
//! checks and runs them.

pub(crate) mod delegation;
pub(crate) mod job_conventions;
pub(crate) mod job_spec;
pub(crate) mod job_status;
pub(crate) mod managed_by;
#[cfg(feature = "manifests")]
pub(crate) mod manifest;
mod owner;
pub(crate) mod pods;
pub(crate) mod status;
pub(crate) mod status_writer;
#[cfg(all(test, feature = "coverage"))]
mod tests;

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::description::{Enforcement, Rule, RuleCategory};
use crate::finding::{BadValue, FieldError, RuleFinding};
use crate::kind::{Kind, Reconciler};
use crate::object::Object;
use crate::object::job::JobStatus;
use crate::release::Release;
use crate::request::{AdmissionRequest, Change};
use crate::settings::{Settings, SettingsErrors};
use crate::upstream::go;
use job_conventions::conditions::ChangedConditions;
use job_status::{ChangedFields, JobStatusChange};
use status::CustomStatusChange;

/// A rule with its implementation.
pub(crate) struct Check {
    /// Description of the rule: id, source, defaults and documentation.
    pub(crate) rule: Rule,
    run: CheckFn,
    applies_when: Option<fn(&ChangedFields) -> bool>,
    applies_during_deletion: bool,
    /// Used only by reports. Builds that enforce the rules don't have this field.
    #[cfg(feature = "coverage")]
    exercised_when: Option<Exercised>,
}

/// Predicate for the changes that exercise a rule in a controller report: changes that could have violated the rule. Rules without a
/// predicate are not in the report. [`CheckFn::CustomStatus`] rules count every [`CustomStatusChange`].
#[cfg(feature = "coverage")]
enum Exercised {
    Change(fn(&Change<Object<'_>>) -> bool),
    Status(fn(&JobStatusChange<'_>) -> bool),
}

/// Check function of a rule, by its input.
#[derive(Clone, Copy)]
pub(crate) enum CheckFn {
    /// Checks a change.
    Change(for<'a> fn(&Context<'a>, &mut Findings<'a>)),
    /// Checks a change against settings, which may be invalid.
    Configured(for<'a> fn(&Context<'a>, &mut Findings<'a>) -> Result<(), SettingsErrors>),
    /// Checks a pod and the Job that controls it. This needs a cluster lookup, so [`pods::run`] runs it.
    Pod,
    /// Checks the text of a manifest, which an admission request does not contain. [`manifest::run`] runs it.
    Manifest,
    /// Checks the status of a Job, in status updates and stored objects.
    JobStatus(for<'a> fn(&JobStatusChange<'a>, &mut Findings<'a>)),
    /// Compares the old and new status of a Job, in status updates.
    JobStatusTransition(for<'a> fn(&JobStatusChange<'a>, &'a JobStatus<'a>, &mut Findings<'a>)),
    /// Checks the status of a custom resource, in status updates and stored objects.
    CustomStatus(for<'a> fn(&CustomStatusChange<'a>, &mut Findings<'a>)),
}

impl Check {
    pub(crate) const fn new(rule: Rule, run: CheckFn) -> Self {
        Self {
            rule,
            run,
            applies_when: None,
            applies_during_deletion: false,
            #[cfg(feature = "coverage")]
            exercised_when: None,
        }
    }

    /// Restricts the check to changes of certain parts of the Job's status, like kube-apiserver's option in
    /// `getStatusValidationOptions`.
    pub(crate) const fn applies_when(self, changed: fn(&ChangedFields) -> bool) -> Self {
        Self {
            applies_when: Some(changed),
            ..self
        }
    }

    /// Also applies a cluster-specific rule to objects that are being deleted. Other cluster-specific rules must not block finalization.
    pub(crate) const fn applies_during_deletion(self) -> Self {
        Self {
            applies_during_deletion: true,
            ..self
        }
    }

    /// Counts a change in reports if it satisfies a predicate. Does not affect the verdict.
    pub(crate) const fn exercised_when_change(
        self,
        #[cfg_attr(not(feature = "coverage"), expect(unused, reason = "only for reports"))]
        predicate: fn(&Change<Object<'_>>) -> bool,
    ) -> Self {
        Self {
            #[cfg(feature = "coverage")]
            exercised_when: Some(Exercised::Change(predicate)),
            ..self
        }
    }

    /// Counts a Job status change in reports if the rule applies to it and it satisfies a predicate: for example, a running Job
    /// doesn't exercise rules about finished ones. Does not affect the verdict.
    pub(crate) const fn exercised_when(
        self,
        #[cfg_attr(not(feature = "coverage"), expect(unused, reason = "only for reports"))]
        predicate: fn(&JobStatusChange<'_>) -> bool,
    ) -> Self {
        Self {
            #[cfg(feature = "coverage")]
            exercised_when: Some(Exercised::Status(predicate)),
            ..self
        }
    }

    /// Returns true if reports count the change for the rule, or [`None`] if the rule is not in reports.
    #[cfg(feature = "coverage")]
    pub(crate) fn is_exercised(&self, context: &Context<'_>) -> Option<bool> {
        if let CheckFn::CustomStatus(_) = self.run {
            return Some(context.custom_status.is_some());
        }
        Some(match self.exercised_when.as_ref()? {
            Exercised::Change(predicate) => predicate(context.change),
            Exercised::Status(predicate) => self
                .applicable_status_change(context)
                .is_some_and(predicate),
        })
    }

    /// Returns the Job status change if it satisfies the rule's `applies_when` predicate.
    #[expect(clippy::inline_always, reason = "see `Check::run`")]
    #[inline(always)]
    fn applicable_status_change<'c, 'a>(
        &self,
        context: &'c Context<'a>,
    ) -> Option<&'c JobStatusChange<'a>> {
        let status = context.status.as_ref();
        status.filter(|status| self.applies_when.is_none_or(|when| when(&status.changed)))
    }

    /// Runs the check and adds its findings, unless the rule is off or doesn't exist in the release. With `version_dependent_only`,
    /// skips rules that are the same in all releases.
    ///
    /// # Errors
    /// Fails if the settings that the rule needs are invalid.
    #[expect(
        clippy::inline_always,
        reason = "lets the compiler call the check of a constant rule directly, see `catalog`"
    )]
    #[inline(always)]
    pub(crate) fn run<'a>(
        &'static self,
        enforcement: Option<Enforcement>,
        version_dependent_only: bool,
        context: &Context<'a>,
        findings: &mut Findings<'a>,
    ) -> Result<(), SettingsErrors> {
        let enforcement = enforcement.unwrap_or_else(|| self.default_enforcement(context));
        if enforcement == Enforcement::Off || !self.rule.exists_in(context.release) {
            return Ok(());
        }
        if version_dependent_only && !self.rule.is_version_dependent() {
            return Ok(());
        }
        // Cluster-specific rules must not block deletion.
        if self.rule.is_cluster_specific()
            && !self.applies_during_deletion
            && context.change.is_being_deleted()
        {
            return Ok(());
        }
        let mut start_rule = || findings.start_rule(&self.rule, enforcement);
        match &self.run {
            CheckFn::Change(check) => {
                start_rule();
                check(context, findings);
            }
            CheckFn::Configured(check) => {
                start_rule();
                check(context, findings)?;
            }
            CheckFn::JobStatus(check) => {
                if let Some(status) = self.applicable_status_change(context) {
                    start_rule();
                    check(status, findings);
                }
            }
            CheckFn::JobStatusTransition(check) => {
                if let Some(status) = self.applicable_status_change(context)
                    && let Some(old) = status.old
                {
                    start_rule();
                    check(status, old, findings);
                }
            }
            // `pods::run` and `manifest::run` run these.
            CheckFn::Pod | CheckFn::Manifest => {}
            CheckFn::CustomStatus(check) => {
                if let Some(change) = &context.custom_status {
                    start_rule();
                    check(change, findings);
                }
            }
        }
        Ok(())
    }

    /// Returns the default enforcement, for rules that the settings don't configure. By default, a rule never denies a built-in
    /// controller's status update of a custom resource: rules about custom status deny only for delegated objects. Rules that are based
    /// on the behavior of a known project only warn for kinds from `custom_kinds`.
    fn default_enforcement(&self, context: &Context<'_>) -> Enforcement {
        let is_built_in_controller = || {
            context
                .custom_status
                .as_ref()
                .is_some_and(|t| !t.is_delegated)
        };
        match (&self.run, context.settings.default_enforcement(&self.rule)) {
            (CheckFn::CustomStatus(_), Enforcement::Deny) if is_built_in_controller() => {
                Enforcement::Warn
            }
            (_, Enforcement::Deny)
                if context.kind.is_declared && self.rule.category == RuleCategory::Api =>
            {
                Enforcement::Warn
            }
            (_, default) => default,
        }
    }
}

pub(crate) struct Context<'a> {
    pub(crate) request: &'a AdmissionRequest<'a>,
    pub(crate) kind: &'a Kind<'a>,
    pub(crate) change: &'a Change<Object<'a>>,
    pub(crate) settings: &'a Settings<'a>,
    pub(crate) release: Release,
    /// The Job status change, if this is one.
    pub(crate) status: Option<JobStatusChange<'a>>,
    /// The status change of a custom resource, if this is one.
    pub(crate) custom_status: Option<CustomStatusChange<'a>>,
    /// Read by the rules about conditions, which are off by default.
    changed_conditions: OnceCell<ChangedConditions>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        request: &'a AdmissionRequest<'a>,
        kind: &'a Kind<'a>,
        change: &'a Change<Object<'a>>,
        settings: &'a Settings<'a>,
        release: Release,
    ) -> Self {
        Self {
            request,
            kind,
            change,
            settings,
            release,
            status: JobStatusChange::from_change(change, release),
            custom_status: CustomStatusChange::from_change(kind, change),
            changed_conditions: OnceCell::new(),
        }
    }

    /// Returns true if the template of a suspended Job is validated. The verdict then depends on the release.
    pub(crate) fn validates_template(&self) -> bool {
        let is_enabled = || {
            let enforcement = self
                .settings
                .enforcement(job_spec::SCHEDULING_DIRECTIVES.rule.id);
            enforcement != Some(Enforcement::Off)
        };
        job_spec::SuspendedJobUpdate::from_change(self.change).is_some() && is_enabled()
    }

    /// Returns the `managedBy` of a created or stored object, or of an update that changes it.
    ///
    /// Rules about the value use this, so that existing objects with a bad value can still be updated, finalized and deleted.
    /// Returns [`None`] for status updates, because kube-apiserver keeps the old spec.
    pub(crate) fn new_managed_by(&self) -> Option<&'a str> {
        match self.change {
            Change::Create { object } | Change::Stored { object } => object.managed_by.as_deref(),
            Change::Update { object, old } if object.managed_by != old.managed_by => {
                object.managed_by.as_deref()
            }
            Change::Update { .. } | Change::UpdateStatus { .. } => None,
        }
    }

    pub(crate) fn reconciler<'o>(&self, object: &'o Object<'_>) -> Reconciler<'o> {
        object.reconciler(self.kind)
    }

    /// Returns the path of `managedBy`.
    pub(crate) fn path(&self) -> &'a str {
        self.kind.managed_by_path
    }

    /// Creates an error about the value of `managedBy`.
    pub(crate) fn invalid(&self, value: &'a str, detail: String) -> FieldError<'a> {
        FieldError::invalid(self.path(), BadValue::String(value.into()), detail)
    }
}

/// Findings of all rules that ran so far.
#[derive(Default)]
pub(crate) struct Findings<'a> {
    current: Option<(&'static Rule, Enforcement)>,
    /// Number of findings that the current rule may still add.
    remaining: usize,
    /// True if kube-apiserver itself validates the kind.
    is_built_in: bool,
    pub(crate) list: Vec<(Enforcement, RuleFinding<'a>)>,
}

/// Maximum number of findings per rule: a list of a million bad values would otherwise result in a message of 100 MB. The limit is
/// per rule, so that one rule can't hide the findings of another.
const MAX_FINDINGS_PER_RULE: usize = 100;

impl<'a> Findings<'a> {
    /// Creates an empty collection for an object of the given kind.
    pub(crate) fn new(kind: &Kind<'_>) -> Self {
        Self {
            is_built_in: kind.is_built_in(),
            ..Self::default()
        }
    }

    fn start_rule(&mut self, rule: &'static Rule, enforcement: Enforcement) {
        self.current = Some((rule, enforcement));
        self.remaining = MAX_FINDINGS_PER_RULE;
    }

    pub(crate) fn push(&mut self, error: FieldError<'a>) {
        let Some((rule, enforcement)) = self.current else {
            debug_assert!(false, "a check adds findings only while its rule runs");
            return;
        };
        if let Some(remaining) = self.remaining.checked_sub(1) {
            self.remaining = remaining;
            let upstream = self.is_built_in && rule.is_upstream();
            let finding = RuleFinding::new(rule, error, upstream);
            self.list.push((enforcement, finding));
        }
    }

    /// Adds an error about an invalid value.
    pub(crate) fn invalid(
        &mut self,
        path: impl Into<Cow<'a, str>>,
        value: BadValue<'a>,
        detail: impl Into<Cow<'a, str>>,
    ) {
        self.push(FieldError::invalid(path, value, detail));
    }

    /// Adds an error as a warning, even if the rule's enforcement is deny.
    pub(crate) fn warn(&mut self, error: FieldError<'a>) {
        let current = self.current;
        self.current = current.map(|(rule, _)| (rule, Enforcement::Warn));
        self.push(error);
        self.current = current;
    }

    /// Returns true if the current rule can't add more findings.
    pub(crate) fn is_full(&self) -> bool {
        self.remaining == 0
    }
}

/// Returns ` in namespace "team-a"`, or nothing for an object without a namespace.
fn in_namespace(namespace: &str) -> String {
    if namespace.is_empty() {
        return String::new();
    }
    format!(" in namespace {}", go::quote(namespace))
}

/// Prefixes the name of a kind with "a" or "an".
fn with_article(kind: &str) -> String {
    // The article depends on pronunciation: "an em-pee-eye Job", "an ex-gee-boost Job".
    let starts_with_vowel_sound =
        kind.starts_with(['A', 'E', 'I', 'O', 'U', 'X']) || kind.starts_with("MPI");
    format!(
        "{} {kind}",
        if starts_with_vowel_sound { "an" } else { "a" }
    )
}
