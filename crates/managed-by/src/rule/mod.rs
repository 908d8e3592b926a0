//! Rules: one file for each rule or small family, with its documentation, its anchor and its examples beside the check.

pub(crate) mod custom_status;
pub(crate) mod field;
pub(crate) mod job_spec;
pub(crate) mod job_status;
mod owner;
pub(crate) mod pods;
pub(crate) mod status_writer;

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
use job_status::StatusChange;

/// A rule and what it does.
pub(crate) struct Check {
    /// The rule as people know it.
    pub(crate) rule: Rule,
    run: Run,
    exercised: Option<Exercised>,
}

/// Which changes exercise a rule: it looks at them, and they could break it. The rule runs on these alone, so its check does not
/// ask this again, and a report on a controller counts them. A rule that says nothing here is about somebody else's writes: it
/// runs on every change, and is in no report. What exercises a rule on the status of custom resources is a [`Transition`].
enum Exercised {
    By(fn(&Change<Object<'_>>) -> bool),
    /// For a check of kube-apiserver that is its switch (`getStatusValidationOptions`: what must have changed) together with
    /// what the rule is about: a running Job exercises no rule on finished ones.
    ByStatus(fn(&StatusChange<'_>) -> bool),
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
            exercised: None,
        }
    }

    /// Says which changes exercise it.
    pub(crate) const fn exercised_by_change(self, by: fn(&Change<Object<'_>>) -> bool) -> Self {
        Self {
            exercised: Some(Exercised::By(by)),
            ..self
        }
    }

    /// Says which changes of a Job's status exercise it.
    pub(crate) const fn exercised_by(self, by: fn(&StatusChange<'_>) -> bool) -> Self {
        Self {
            exercised: Some(Exercised::ByStatus(by)),
            ..self
        }
    }

    /// Whether a change exercises it, if it is about what a controller writes.
    #[expect(clippy::inline_always, reason = "as of `Check::run`")]
    #[inline(always)]
    pub(crate) fn is_exercised(&self, context: &Context<'_>) -> Option<bool> {
        if let Run::CustomStatus(_) = self.run {
            return Some(context.transition.is_some());
        }
        Some(match self.exercised.as_ref()? {
            Exercised::By(by) => by(context.change),
            Exercised::ByStatus(by) => context.status.as_ref().is_some_and(by),
        })
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
        if self.is_exercised(context) == Some(false) {
            return Ok(());
        }
        findings.begin(&self.rule, enforcement);
        match (&self.run, &context.status) {
            (Run::Change(check), _) => check(context, findings),
            (Run::Configured(check), _) => check(context, findings)?,
            (Run::JobStatus(check), Some(status)) => check(status, findings),
            (Run::JobStatusTransition(check), Some(status)) => {
                if let Some(old) = status.old {
                    check(status, old, findings);
                }
            }
            // No status, and no change of a workload is about a pod.
            (Run::JobStatus(_) | Run::JobStatusTransition(_), None) | (Run::Pod, _) => {}
            (Run::CustomStatus(check), _) => {
                if let Some(transition) = &context.transition {
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
