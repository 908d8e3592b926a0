//! Rules: one file per rule, with its documentation, its anchor and its examples beside the check.

pub(crate) mod allowed;
pub(crate) mod closed_set;
pub(crate) mod delegation;
pub(crate) mod format;
pub(crate) mod immutable;
pub(crate) mod job_status;
pub(crate) mod nested;
pub(crate) mod pods;
pub(crate) mod reserved;
pub(crate) mod reserved_domain;
pub(crate) mod status;
pub(crate) mod status_writer;
pub(crate) mod unchecked_format;
pub(crate) mod wrong_kind;

use std::fmt;

use crate::finding::{BadValue, FieldError, Finding};
use crate::kind::KindProfile;
use crate::kind::job::JobStatus;
use crate::release::Release;
use crate::request::{AdmissionRequest, Change};
use crate::settings::{Checked, Settings};
use job_status::StatusChange;
use status::Transition;

/// What happens when a rule fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    /// The request is denied.
    Deny,
    /// The client is warned.
    Warn,
    /// Nothing; the rule does not run.
    Off,
}

impl Enforcement {
    /// All of them, as settings name them.
    pub const ALL: [Self; 3] = [Self::Deny, Self::Warn, Self::Off];

    /// The word for it in settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Warn => "warn",
            Self::Off => "off",
        }
    }
}

/// Where a rule comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// A check of kube-apiserver, whose verdict and words are ours.
    Upstream {
        /// The function in `k8s.io/kubernetes` that checks it.
        function: &'static str,
        /// The option that switches it on, unless nothing does.
        option: Option<&'static str>,
        /// The first release that does.
        since: Release,
        /// The last one, unless it is still there.
        until: Option<Release>,
        /// What we do otherwise on purpose, if anything.
        deviation: Option<&'static str>,
    },
    /// A check of this project.
    Ours {
        /// The API comment, KEP section or observation that it rests on.
        source: &'static str,
    },
}

/// A request that shows what a rule does. Tests run it, on the library and in the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Example {
    /// Settings, as JSON.
    pub settings: &'static str,
    /// Admission request, as JSON.
    pub request: &'static str,
}

/// What people read about a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Documentation {
    /// One line for tables.
    pub title: &'static str,
    /// What it checks, when it runs, and why.
    pub text: &'static str,
    /// What to do about what it finds.
    pub fix: &'static str,
    /// A request that it lets pass.
    pub accepted: Example,
    /// A request that it fires on, and nothing else does.
    pub rejected: Example,
}

/// A rule's documentation where the feature `docs` asks for it. A policy has no use for it, and would be half as big
/// again with it.
pub(crate) struct Docs {
    #[cfg(feature = "docs")]
    documentation: Documentation,
}

impl Docs {
    #[cfg(feature = "docs")]
    pub(crate) const fn new(documentation: Documentation) -> Self {
        Self { documentation }
    }

    #[cfg(not(feature = "docs"))]
    pub(crate) const fn new(_: Documentation) -> Self {
        Self {}
    }
}

/// One named check.
pub struct Rule {
    /// Stable name; users write it in settings and read it in messages.
    pub id: &'static str,
    #[cfg_attr(not(feature = "docs"), expect(dead_code, reason = "holds nothing"))]
    pub(crate) docs: Docs,
    /// Where it comes from.
    pub anchor: Anchor,
    /// What happens when it fires, unless settings say otherwise.
    pub default: Enforcement,
    pub(crate) check: Check,
}

/// What a rule looks at, and how.
pub(crate) enum Check {
    /// The change as a whole.
    Change(for<'a> fn(&Context<'a>, &mut Findings<'a>)),
    /// The change in the light of what the admin chose. Not of objects on their way out, so that nothing is stuck there,
    /// and those who are exempt may do what it denies. The settings that it asks for may be bad.
    Site(for<'a> fn(&Context<'a>, &mut Findings<'a>) -> Checked<()>),
    /// A pod and the Job that controls it, which takes a question to the cluster. The admin's too.
    Pod,
    /// A Job's status: on status updates, and on creates that bring one.
    JobStatus(for<'a> fn(&StatusChange<'a>, &mut Findings<'a>)),
    /// A Job's status beside the one before: on status updates.
    JobStatusTransition(for<'a> fn(&StatusChange<'a>, &'a JobStatus<'a>, &mut Findings<'a>)),
    /// The status of a custom resource: on status updates, and on creates that bring one.
    Status(for<'a> fn(&Transition<'a>, &mut Findings<'a>)),
}

impl Rule {
    /// What people read about it.
    #[cfg(feature = "docs")]
    pub fn documentation(&self) -> &Documentation {
        &self.docs.documentation
    }

    /// Whether this is a check of kube-apiserver, so that its words are kept.
    pub fn is_upstream(&self) -> bool {
        matches!(self.anchor, Anchor::Upstream { .. })
    }

    /// Whether a release has the rule. Ours hold in all.
    pub fn holds_in(&self, release: Release) -> bool {
        match self.anchor {
            Anchor::Upstream { since, until, .. } => {
                since <= release && until.is_none_or(|until| release <= until)
            }
            Anchor::Ours { .. } => true,
        }
    }

    /// Whether this rule is the admin's to give, rather than the API's.
    pub fn is_of_site(&self) -> bool {
        matches!(self.check, Check::Site(_) | Check::Pod)
    }

    /// Adds what the rule finds, if it holds and is not off.
    #[expect(
        clippy::inline_always,
        reason = "where the rule is a constant, its check is called directly: see `catalogue`"
    )]
    #[inline(always)]
    pub(crate) fn run<'a>(
        &'static self,
        enforcement: Enforcement,
        context: &Context<'a>,
        findings: &mut Findings<'a>,
    ) -> Checked<()> {
        if enforcement == Enforcement::Off || !self.holds_in(context.settings.kubernetes_version) {
            return Ok(());
        }
        findings.begin(self, enforcement);
        match (&self.check, &context.status) {
            (Check::Change(check), _) => check(context, findings),
            (Check::Site(_), _) if context.change.is_of_deleted() => {}
            (Check::Site(check), _) => check(context, findings)?,
            (Check::JobStatus(check), Some(status)) => check(status, findings),
            (Check::JobStatusTransition(check), Some(status)) => {
                if let Some(old) = status.old {
                    check(status, old, findings);
                }
            }
            // No status, and no change of a workload is about a pod.
            (Check::JobStatus(_) | Check::JobStatusTransition(_), None) | (Check::Pod, _) => {}
            (Check::Status(check), _) => {
                if let Some(transition) = &context.transition {
                    check(transition, findings);
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

/// Rules are equal by id; the catalogue holds each id once.
impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Rule {}

/// What a rule may look at.
pub(crate) struct Context<'a> {
    pub(crate) request: &'a AdmissionRequest<'a>,
    pub(crate) kind: &'static KindProfile,
    pub(crate) change: &'a Change<'a>,
    pub(crate) settings: &'a Settings<'a>,
    /// The Job status that this change brings in, if it does.
    pub(crate) status: Option<StatusChange<'a>>,
    /// The status of a custom resource that this change brings in, if it does.
    pub(crate) transition: Option<Transition<'a>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        request: &'a AdmissionRequest<'a>,
        kind: &'static KindProfile,
        change: &'a Change<'a>,
        settings: &'a Settings<'a>,
    ) -> Self {
        Self {
            request,
            kind,
            change,
            settings,
            status: StatusChange::of(change, settings.kubernetes_version),
            transition: Transition::of(kind, change),
        }
    }

    /// The `managedBy` that this change brings in, if it does: set on create, or not what it was.
    ///
    /// Rules that judge a value ask here, so that an object that breaks one already can still be updated, finalized
    /// and deleted. A status update brings none in: kube-apiserver keeps the old spec.
    pub(crate) fn incoming(&self) -> Option<&'a str> {
        match self.change {
            Change::Create { object } => object.managed_by.as_deref(),
            Change::Update { object, old } if object.managed_by != old.managed_by => {
                object.managed_by.as_deref()
            }
            Change::Update { .. } | Change::UpdateStatus { .. } => None,
        }
    }

    /// The controller that a value hands objects of this kind to, if it does.
    pub(crate) fn delegate<'v>(&self, value: Option<&'v str>) -> Option<&'v str> {
        value.filter(|v| *v != self.kind.reserved)
    }

    /// The path of the field.
    pub(crate) fn path(&self) -> String {
        self.kind.managed_by_path()
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
    pub(crate) fn on(kind: &KindProfile) -> Self {
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

    /// Whether the running rule need not look further.
    pub(crate) fn is_full(&self) -> bool {
        self.room == 0
    }
}
