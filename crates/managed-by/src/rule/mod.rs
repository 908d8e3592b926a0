//! Rules: one file for each rule or small family, with its documentation, its anchor and its examples beside the check.

pub(crate) mod custom_status;
pub(crate) mod field;
pub(crate) mod job_spec;
pub(crate) mod job_status;
mod owner;
pub(crate) mod pods;
pub(crate) mod status_writer;
#[cfg(all(test, feature = "docs"))]
mod tests;

use std::borrow::Cow;

use crate::description::{Enforcement, Rule, Scope};
use crate::finding::{BadValue, FieldError, Finding};
use crate::kind::{Kind, Mode};
use crate::object::Object;
use crate::object::job::JobStatus;
use crate::release::Release;
use crate::request::{AdmissionRequest, Change};
use crate::settings::{Problems, Settings};
use custom_status::Transition;
use job_status::{Changed, StatusChange};

/// A rule and what it does.
pub(crate) struct Check {
    /// The rule as people know it.
    pub(crate) rule: Rule,
    run: Run,
    applies_when: Option<fn(&Changed) -> bool>,
    /// Only reports read this. Enforcement can't: the policy is built without the field.
    #[cfg(feature = "docs")]
    exercised_when: Option<Exercised>,
}

/// The changes that a report on a controller counts for a rule: those that could have broken it. A rule without is not about what
/// a controller writes, and is in no report. A rule on the status of custom resources counts every [`Transition`].
#[cfg(feature = "docs")]
enum Exercised {
    Change(fn(&Change<Object<'_>>) -> bool),
    Status(fn(&StatusChange<'_>) -> bool),
}

/// What a rule looks at, and how.
pub(crate) enum Run {
    /// The change as a whole.
    Change(for<'a> fn(&Context<'a>, &mut Findings<'a>)),
    /// The change in the light of settings, which may be bad.
    Configured(for<'a> fn(&Context<'a>, &mut Findings<'a>) -> Result<(), Problems>),
    /// A pod and the Job that controls it. This takes a question to the cluster, so it is asked in another way.
    Pod,
    /// A Job's status: on status updates, and of stored objects.
    JobStatus(for<'a> fn(&StatusChange<'a>, &mut Findings<'a>)),
    /// A Job's status beside the one before: on status updates.
    JobStatusTransition(for<'a> fn(&StatusChange<'a>, &'a JobStatus<'a>, &mut Findings<'a>)),
    /// The status of a custom resource: on status updates, and of stored objects.
    CustomStatus(for<'a> fn(&Transition<'a>, &mut Findings<'a>)),
}

impl Check {
    pub(crate) const fn new(rule: Rule, run: Run) -> Self {
        Self {
            rule,
            run,
            applies_when: None,
            #[cfg(feature = "docs")]
            exercised_when: None,
        }
    }

    /// Runs the check only if certain parts of the Job's status have changed: the switch of kube-apiserver's option in
    /// `getStatusValidationOptions`.
    pub(crate) const fn applies_when(self, changed: fn(&Changed) -> bool) -> Self {
        Self {
            applies_when: Some(changed),
            ..self
        }
    }

    /// Counts a change in reports if it satisfies a predicate. It has no influence on the verdict.
    pub(crate) const fn exercised_when_change(
        self,
        #[cfg_attr(not(feature = "docs"), expect(unused, reason = "only reports ask"))]
        counts: fn(&Change<Object<'_>>) -> bool,
    ) -> Self {
        Self {
            #[cfg(feature = "docs")]
            exercised_when: Some(Exercised::Change(counts)),
            ..self
        }
    }

    /// Counts a change of a Job's status in reports if the rule applies to it and it satisfies a predicate: a running Job exercises
    /// no rule on finished ones. It has no influence on the verdict.
    pub(crate) const fn exercised_when(
        self,
        #[cfg_attr(not(feature = "docs"), expect(unused, reason = "only reports ask"))]
        counts: fn(&StatusChange<'_>) -> bool,
    ) -> Self {
        Self {
            #[cfg(feature = "docs")]
            exercised_when: Some(Exercised::Status(counts)),
            ..self
        }
    }

    /// Returns whether a report counts a change for the rule, if it counts any.
    #[cfg(feature = "docs")]
    pub(crate) fn is_exercised(&self, context: &Context<'_>) -> Option<bool> {
        if let Run::CustomStatus(_) = self.run {
            return Some(context.transition.is_some());
        }
        Some(match self.exercised_when.as_ref()? {
            Exercised::Change(counts) => counts(context.change),
            Exercised::Status(counts) => self.status_in(context).is_some_and(counts),
        })
    }

    /// The Job's status, if it has changed as the rule wants.
    #[expect(clippy::inline_always, reason = "as of `Check::run`")]
    #[inline(always)]
    fn status_in<'c, 'a>(&self, context: &'c Context<'a>) -> Option<&'c StatusChange<'a>> {
        let status = context.status.as_ref();
        status.filter(|status| self.applies_when.is_none_or(|when| when(&status.changed)))
    }

    /// Adds what the rule finds, if it holds and is not off, and if it is disputed where only such rules are asked.
    ///
    /// # Errors
    /// If the settings that it asks for are bad.
    #[expect(
        clippy::inline_always,
        reason = "where the rule is a constant, its check is called directly: see `catalogue`"
    )]
    #[inline(always)]
    pub(crate) fn run<'a>(
        &'static self,
        chosen: Option<Enforcement>,
        disputed_alone: bool,
        context: &Context<'a>,
        findings: &mut Findings<'a>,
    ) -> Result<(), Problems> {
        let enforcement = chosen.unwrap_or_else(|| self.default_on(context));
        if enforcement == Enforcement::Off || !self.rule.holds_in(context.release) {
            return Ok(());
        }
        if disputed_alone && !self.rule.is_disputed() {
            return Ok(());
        }
        // An admin's rule must not keep an object from being deleted.
        if self.rule.is_site_specific() && context.change.is_of_deleted() {
            return Ok(());
        }
        let mut begin = || findings.begin(&self.rule, enforcement);
        match &self.run {
            Run::Change(check) => {
                begin();
                check(context, findings);
            }
            Run::Configured(check) => {
                begin();
                check(context, findings)?;
            }
            Run::JobStatus(check) => {
                if let Some(status) = self.status_in(context) {
                    begin();
                    check(status, findings);
                }
            }
            Run::JobStatusTransition(check) => {
                if let Some(status) = self.status_in(context)
                    && let Some(old) = status.old
                {
                    begin();
                    check(status, old, findings);
                }
            }
            // No change of a workload is about a pod.
            Run::Pod => {}
            Run::CustomStatus(check) => {
                if let Some(transition) = &context.transition {
                    begin();
                    check(transition, findings);
                }
            }
        }
        Ok(())
    }

    /// What the rule does where the settings choose nothing. By default no rule comes between a project's own controller
    /// and its own objects: of a custom resource's status it denies only what is written to a delegated object.
    fn default_on(&self, context: &Context<'_>) -> Enforcement {
        let is_own = || context.transition.as_ref().is_some_and(|t| !t.is_delegated);
        match (&self.run, context.settings.default_of(&self.rule)) {
            (Run::CustomStatus(_), Enforcement::Deny) if is_own() => Enforcement::Warn,
            (_, Enforcement::Deny) if context.kind.is_declared && self.rule.scope == Scope::Api => {
                Enforcement::Warn
            }
            (_, default) => default,
        }
    }
}

/// What a rule may look at.
pub(crate) struct Context<'a> {
    pub(crate) request: &'a AdmissionRequest<'a>,
    pub(crate) kind: &'a Kind<'a>,
    pub(crate) change: &'a Change<Object<'a>>,
    pub(crate) settings: &'a Settings<'a>,
    /// The release whose rules are asked.
    pub(crate) release: Release,
    /// The Job status that this change brings in, if it does.
    pub(crate) status: Option<StatusChange<'a>>,
    /// The status of a custom resource that this change brings in, if it does.
    pub(crate) transition: Option<Transition<'a>>,
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
            status: StatusChange::of(change, release),
            transition: Transition::of(kind, change),
        }
    }

    /// Whether the template of a suspended Job is judged, on which the releases disagree.
    pub(crate) fn judges_template(&self) -> bool {
        let is_on = || {
            let enforcement = self
                .settings
                .enforcement(job_spec::SCHEDULING_DIRECTIVES.rule.id);
            enforcement != Some(Enforcement::Off)
        };
        job_spec::Suspended::of(self.change).is_some() && is_on()
    }

    /// The `managedBy` of a create, or of an update that changes it.
    ///
    /// Rules that judge a value ask here, so that an object that breaks one already can still be updated, finalized
    /// and deleted. A status update brings none in: kube-apiserver keeps the old spec.
    pub(crate) fn incoming(&self) -> Option<&'a str> {
        match self.change {
            Change::Create { object } | Change::Stored { object } => object.managed_by.as_deref(),
            Change::Update { object, old } if object.managed_by != old.managed_by => {
                object.managed_by.as_deref()
            }
            Change::Update { .. } | Change::UpdateStatus { .. } => None,
        }
    }

    /// Who reconciles an object of this kind.
    pub(crate) fn mode<'o>(&self, object: &'o Object<'_>) -> Mode<'o> {
        object.mode(self.kind)
    }

    /// The path of the field.
    pub(crate) fn path(&self) -> &'a str {
        self.kind.managed_by
    }

    /// An error on the field's value.
    pub(crate) fn invalid(&self, value: &'a str, detail: String) -> FieldError<'a> {
        FieldError::invalid(self.path(), BadValue::String(value.into()), detail)
    }
}

/// Collects what the rule that is running finds.
#[derive(Default)]
pub(crate) struct Findings<'a> {
    running: Option<(&'static Rule, Enforcement)>,
    /// How many findings the running rule may still add.
    room: usize,
    /// Whether kube-apiserver has a say in the kind.
    built_in: bool,
    pub(crate) list: Vec<(Enforcement, Finding<'a>)>,
}

/// No rule reports more: a list of a million bad values would make a message of a hundred megabytes. Each rule has its own
/// share, so that none can hide what another one finds.
const MAX_FINDINGS_OF_A_RULE: usize = 100;

impl<'a> Findings<'a> {
    /// None yet, on an object of a kind.
    pub(crate) fn on(kind: &Kind<'_>) -> Self {
        let built_in = kind.is_built_in();
        Self {
            built_in,
            ..Self::default()
        }
    }

    fn begin(&mut self, rule: &'static Rule, enforcement: Enforcement) {
        self.running = Some((rule, enforcement));
        self.room = MAX_FINDINGS_OF_A_RULE;
    }

    pub(crate) fn push(&mut self, error: FieldError<'a>) {
        if let Some((rule, enforcement)) = self.running
            && let Some(room) = self.room.checked_sub(1)
        {
            self.room = room;
            let upstream = self.built_in && rule.is_upstream();
            let finding = Finding::new(rule, error, upstream);
            self.list.push((enforcement, finding));
        }
    }

    /// As [`Findings::push`], for a value that is not allowed; `detail` says why.
    pub(crate) fn invalid(
        &mut self,
        path: impl Into<Cow<'a, str>>,
        value: BadValue<'a>,
        detail: impl Into<Cow<'a, str>>,
    ) {
        self.push(FieldError::invalid(path, value, detail));
    }

    /// As [`Findings::push`], for what the rule cannot be sure of: it warns at most.
    pub(crate) fn warn(&mut self, error: FieldError<'a>) {
        let running = self.running;
        self.running = running.map(|(rule, _)| (rule, Enforcement::Warn));
        self.push(error);
        self.running = running;
    }

    /// Whether the running rule need not look further.
    pub(crate) fn is_full(&self) -> bool {
        self.room == 0
    }
}
