//! What people read about the kinds, beside their profiles.

use std::fmt;

use super::status::{FailureReasons, TerminalStates, When};
use super::{Kind, KindDocs, Template};

impl Kind<'_> {
    /// What people read about it.
    pub fn docs(&self) -> &KindDocs {
        &self.about.docs
    }

    /// The paths that the rule `managed-by/nested` reads, lists with `[]`: the field in each template, and a template of any kind
    /// as a whole, as in `spec.components[].template`.
    pub fn nested_paths(&self) -> impl Iterator<Item = String> {
        let templates = self.templates.iter();
        templates.map(|(path, template)| match template {
            Template::Object(kind) => format!("{path}.{}", kind.managed_by),
            Template::Spec(kind) => {
                format!("{path}.{}", kind.managed_by.trim_start_matches("spec."))
            }
            Template::Any => (*path).to_owned(),
        })
    }

    /// The ways out of an outcome that the kind's own controller takes: which outcome, and when.
    pub fn exits(&self) -> Vec<(String, String)> {
        let Some(outcome) = self.status_profile().and_then(|s| s.outcome) else {
            return Vec::new();
        };
        let matchers = outcome.terminal_states();
        let names = |ends: TerminalStates| {
            let meant = matchers.iter().filter(|(end, _)| ends.contains(*end));
            let meant = meant.filter_map(|(_, matcher)| matcher.as_ref());
            let names: Vec<_> = meant
                .map(|matcher| format!("`{}`", outcome.name(matcher)))
                .collect();
            names.join(", ")
        };
        let rows = outcome.exits.iter();
        rows.map(|exit| {
            let when = exit.when.iter().map(|when| match when {
                When::To(ends) => format!("it becomes {}", names(*ends)),
                other => other.to_string(),
            });
            let when: Vec<_> = when.collect();
            (names(exit.from), when.join(", and "))
        })
        .collect()
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Delegated => "the object is delegated",
            Self::Standard => "the object is not delegated",
            Self::BeingDeleted => "the object is being deleted",
            Self::NotBeingDeleted => "the object is not being deleted",
            Self::WithoutEnd => "the stored status has no end time",
            Self::KeepsEnd => "the status keeps its end time",
            Self::To(_) => "it reaches another outcome",
            Self::TriedAgain => "the update adds an attempt, and `spec.retries` allows it",
            Self::NotTriedAgain => "the update adds no attempt",
            Self::KeepsAttempts => "the update removes no attempt",
            Self::Noting(FailureReasons::STOP_SIDECAR_FAILED) => {
                "the failure is that the sidecars could not be stopped"
            }
            Self::Noting(FailureReasons::LAST_ATTEMPT_STOP_SIDECAR_FAILED) => {
                "the last attempt failed because the sidecars could not be stopped"
            }
            Self::Noting(_) => "the status reports the failure beside the success",
            Self::UnlessNoted(_) => "the reason of the failure is not a deadline",
            Self::StillDeployed => "its resources are still deployed",
        })
    }
}
