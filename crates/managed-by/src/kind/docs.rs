//! Documentation of the kinds, for the generated pages.

use super::status::TerminalStates;
use super::transitions::{ReconciledBy, TransitionCondition};
use super::{Kind, KindDocs, Template};

impl Kind<'_> {
    /// Returns the documentation of the kind.
    pub fn docs(&self) -> &KindDocs {
        &self.docs.docs
    }

    /// Returns the paths that the rule `managed-by/template` reads, with `[]` for lists: `managedBy` in each template, or the whole
    /// template if it may be of any kind, as in `spec.components[].template`.
    pub fn nested_paths(&self) -> impl Iterator<Item = String> {
        let templates = self.templates.iter();
        templates.map(|(path, template)| match template {
            Template::Object(kind) => format!("{path}.{}", kind.managed_by_path),
            Template::Spec(kind) => {
                format!(
                    "{path}.{}",
                    kind.managed_by_path.trim_start_matches("spec.")
                )
            }
            Template::Any => (*path).to_owned(),
        })
    }

    /// Returns the kind's state table: the transitions out of terminal states that `status/outcome-changed` allows.
    pub fn allowed_transitions(&self) -> Vec<TransitionDocs> {
        let Some(outcome) = self.status_profile().and_then(|s| s.outcome) else {
            return Vec::new();
        };
        let names = |states: TerminalStates| {
            let matchers = outcome.terminal_states().into_iter();
            let names = matchers
                .filter(|(state, _)| states.contains(*state))
                .filter_map(|(_, matcher)| Some(format!("`{}`", outcome.name(&matcher?))));
            names.collect::<Vec<_>>().join(", ")
        };
        let rows = outcome.allowed_transitions.iter();
        rows.map(|row| TransitionDocs {
            from: names(row.from),
            to: row.to.map_or_else(|| "any state".to_owned(), names),
            reconciled_by: row.reconciled_by.as_str(),
            condition: row.condition.as_str(),
            source: row.source.text,
        })
        .collect()
    }
}

/// Row of a kind's state table, as the documentation shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransitionDocs {
    /// The terminal states that a status may leave.
    pub from: String,
    /// The states that the new status must be in.
    pub to: String,
    /// The controller that runs the object, according to `managedBy`.
    pub reconciled_by: &'static str,
    /// A further condition on the update.
    pub condition: &'static str,
    /// Upstream functions, files and recordings that show the transition.
    pub source: &'static str,
}

impl ReconciledBy {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::BuiltIn => "built-in",
            Self::External => "external",
        }
    }
}

impl TransitionCondition {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Always => "none",
            Self::BeingDeleted => "the object is being deleted",
            Self::NotBeingDeleted => "the object is not being deleted",
            Self::NoEndTime => "the stored status has no end time",
            Self::EndTimeKept => "the status keeps its end time",
            Self::Retry => "a retry: the update adds an attempt, and `spec.retries` allows it",
            Self::RetryAfterStopSidecarFailed => {
                "a retry, and the last attempt has the reason `TaskRunStopSidecarFailed`"
            }
            Self::StopSidecarFailed => {
                "the reason is `TaskRunStopSidecarFailed`, and the update neither retries nor removes an attempt"
            }
            Self::NotDeadlineExceeded => "the reason of the failure is not `DeadlineExceeded`",
            Self::ResourcesDeployed => "`ResourcesDeployed` is True in the stored status",
        }
    }
}
