//! State tables of custom resources: the transitions out of terminal states that controllers make. The rule
//! `status/outcome-changed` reads them.

use bitflags::bitflags;

bitflags! {
    /// Set of terminal states, which a workload leaves only by an [`AllowedTransition`].
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub(crate) struct TerminalStates: u8 {
        const SUCCEEDED = 1;
        const FAILED = 2;
        /// Not an outcome, but the built-in controller never leaves it: `ValidationFailed` of a RayJob, `Terminating` of
        /// an AppWrapper.
        const DEAD_END = 4;
        /// The states that clients act on.
        const OUTCOMES = Self::SUCCEEDED.bits() | Self::FAILED.bits();
    }
}

/// Row of a kind's state table: a transition out of a terminal state that `status/outcome-changed` allows.
///
/// A terminal state is final unless a row of the kind allows the update to leave it. The rows list only transitions that the
/// projects' own controllers make, that MultiKueue copies from other clusters, or that are harmless because no outcome is lost.
/// On the site, the page of `status/outcome-changed` has the rows of all kinds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AllowedTransition {
    /// The states that the update may leave.
    pub(crate) from: TerminalStates,
    /// The terminal states that the new status must be in, or [`None`] for any state.
    pub(crate) to: Option<TerminalStates>,
    pub(crate) reconciled_by: ReconciledBy,
    pub(crate) condition: TransitionCondition,
    /// The upstream code or page that documents the transition.
    #[cfg_attr(
        not(feature = "docs"),
        expect(dead_code, reason = "empty without the feature `docs`")
    )]
    pub(crate) source: TransitionSource,
}

/// Controller that runs the object, and so writes its status, according to `managedBy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReconciledBy {
    Any,
    BuiltIn,
    /// An external controller: the object is delegated.
    External,
}

/// Condition of a transition, in addition to its states and writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransitionCondition {
    Always,
    /// The object has a `deletionTimestamp`.
    BeingDeleted,
    /// The object has no `deletionTimestamp`.
    NotBeingDeleted,
    /// The stored status has no end time.
    NoEndTime,
    /// Both the stored and the new status have an end time.
    EndTimeKept,
    /// The update adds an attempt, and `spec.retries` allows it.
    Retry,
    /// `Retry`, and the last attempt has the reason `TaskRunStopSidecarFailed`.
    RetryAfterStopSidecarFailed,
    /// Not `Retry`, no attempt is removed, and the new status has the reason `TaskRunStopSidecarFailed`.
    StopSidecarFailed,
    /// The reason of the stored failure is not `DeadlineExceeded`.
    NotDeadlineExceeded,
    /// The resources that the workload created still exist in the stored status.
    ResourcesDeployed,
}

/// Upstream functions, files and recordings that show a transition. Empty without the feature `docs`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TransitionSource {
    #[cfg(feature = "docs")]
    pub(super) text: &'static str,
}

impl TransitionSource {
    #[cfg(feature = "docs")]
    pub(super) const fn new(text: &'static str) -> Self {
        Self { text }
    }

    #[cfg(not(feature = "docs"))]
    pub(super) const fn new(_: &'static str) -> Self {
        Self {}
    }
}
