//! What people read about the kinds, beside their profiles.

use std::fmt;

use super::status::{Both, Ends, FailureNotes, StatusProfile, When};
use super::{Form, Holder, Kind, KindDocs};

impl Kind<'_> {
    /// What people read about it.
    pub fn docs(&self) -> &KindDocs {
        &self.about.docs
    }

    /// The ids of the rules that judge its field, its templates and its status, beside those for all kinds. A Job's
    /// status has a family of rules of its own, which is left out.
    pub fn rules(&self) -> Vec<&'static str> {
        let form = match self.form {
            Form::Path => "managed-by/format",
            Form::OneOf(_) => "managed-by/closed-set",
            Form::Open => "managed-by/unchecked-format",
        };
        let mut rules = vec![form];
        if self.holder == Holder::Workload {
            rules.push("managed-by/immutable");
        }
        if !self.templates.is_empty() {
            rules.push("managed-by/nested");
        }
        if !self.pruned_in.is_empty() {
            rules.push("managed-by/pruned-version");
        }
        if let Some(status) = self.status_profile() {
            rules.extend(status.rules());
        }
        rules
    }

    /// The ways out of an outcome that the kind's own controller takes: which outcome, and when.
    pub fn exits(&self) -> Vec<(String, String)> {
        let Some(outcome) = self.status_profile().and_then(|s| s.outcome) else {
            return Vec::new();
        };
        let signs = [
            (Ends::SUCCESS, outcome.success),
            (Ends::FAILURE, outcome.failure),
            (Ends::DEAD_END, outcome.dead_end),
        ];
        let names = |ends: Ends| {
            let meant = signs.iter().filter(|(end, _)| ends.contains(*end));
            let meant = meant.filter_map(|(_, sign)| sign.as_ref());
            let names: Vec<_> = meant
                .map(|sign| format!("`{}`", outcome.name(sign)))
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

impl StatusProfile<'_> {
    fn rules(&self) -> Vec<&'static str> {
        let end = self.end.as_ref();
        let excluded = self
            .outcome
            .is_some_and(|o| o.can_be_both() && matches!(o.both, Both::Never | Both::AfterSuccess));
        let counts = !self.counters.is_empty() || !self.totals.is_empty();
        [
            ("status/outcome-changed", self.outcome.is_some()),
            ("status/two-outcomes", excluded),
            ("status/terminal-state", self.terminal_state.is_some()),
            ("status/exclusive-conditions", self.exclusive.is_some()),
            ("status/negative-counter", counts),
            ("status/counter-decreased", !self.totals.is_empty()),
            ("status/end-before-start", end.is_some()),
            (
                "status/end-without-outcome",
                end.is_some_and(|e| e.needs_outcome),
            ),
            (
                "status/outcome-without-end",
                end.is_some_and(|e| !e.required_by.is_empty()),
            ),
        ]
        .into_iter()
        .filter_map(|(rule, applies)| applies.then_some(rule))
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
            Self::Noting(FailureNotes::AFTER_SUCCESS) => {
                "the failure is that the sidecars could not be stopped"
            }
            Self::Noting(FailureNotes::ATTEMPT_AFTER_SUCCESS) => {
                "the last attempt failed because the sidecars could not be stopped"
            }
            Self::Noting(_) => "the status reports the failure beside the success",
            Self::UnlessNoted(_) => "the reason of the failure is not a deadline",
            Self::StillDeployed => "its resources are still deployed",
        })
    }
}
