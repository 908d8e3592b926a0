//! Paths of a kind, with the value to read at each.

use crate::kind::status::{Attempts, CONDITIONS, OutcomeProfile, StatusMatcher, StatusProfile};
use crate::kind::{Kind, METADATA_LABELS, Template};

/// Value at the end of a path.
#[derive(Clone, Copy)]
pub(super) enum Leaf<'k> {
    Metadata,
    /// `managedBy`.
    ManagedBy,
    /// A template: an object or the spec of an object.
    Template(&'k Template<'k>),
    Retries,
    Ttl,
    /// Labels of the objects that are created from the template.
    TemplateLabels,
    /// List of conditions. The profile selects them.
    Conditions(&'k StatusProfile<'k>),
    /// State of the workload, with its path.
    State(&'k str, &'k OutcomeProfile<'k>),
    /// Field that repeats the outcome.
    TerminalState,
    /// Reason of the outcome, with its final values.
    Reason(&'k StatusMatcher<'k>),
    /// List of earlier attempts, each with a status.
    Attempts(Attempts<'k>),
    Start,
    End,
    /// Counter that is never negative.
    Counter,
    /// Counter that never decreases, with its index in the profile.
    MonotonicCounter(usize),
}

pub(super) type LeafPath<'k> = (&'k str, Leaf<'k>);

pub(super) fn for_kind<'k>(kind: &'k Kind<'k>) -> Vec<LeafPath<'k>> {
    let mut paths = for_spec(kind);
    paths.push(("metadata", Leaf::Metadata));
    // The metadata has the object's own labels.
    let template_labels = kind
        .template_labels_path
        .filter(|path| *path != METADATA_LABELS);
    paths.extend(template_labels.map(|path| (path, Leaf::TemplateLabels)));
    paths.extend(kind.ttl_path.map(|path| (path, Leaf::Ttl)));
    paths.extend(kind.retries_path.map(|path| (path, Leaf::Retries)));
    if let Some(status) = kind.status_profile() {
        let mut has_conditions = status.exclusive.is_some();
        if let Some(outcome) = &status.outcome {
            let outcomes = [outcome.success, outcome.failure];
            let others = [outcome.dead_end, outcome.deployed];
            for matcher in outcomes.into_iter().chain(others).flatten() {
                match matcher {
                    StatusMatcher::Condition { .. } => has_conditions = true,
                    StatusMatcher::Field { path, .. }
                        if paths.iter().all(|(known, _)| *known != path) =>
                    {
                        paths.push((path, Leaf::State(path, outcome)));
                    }
                    StatusMatcher::Field { .. } => {}
                }
            }
            let reason = outcome.reason.as_ref();
            paths.extend(reason.map(|matcher| (matcher.path(), Leaf::Reason(matcher))));
            let attempts = outcome.attempts;
            paths.extend(attempts.map(|attempts| (attempts.path, Leaf::Attempts(attempts))));
        }
        if has_conditions {
            paths.push((CONDITIONS, Leaf::Conditions(status)));
        }
        let state = status.terminal_state;
        paths.extend(state.map(|path| (path, Leaf::TerminalState)));
        paths.extend(status.start.map(|path| (path, Leaf::Start)));
        paths.extend(status.end.map(|end| (end.path, Leaf::End)));
        paths.extend(status.counters.iter().map(|path| (*path, Leaf::Counter)));
        let monotonic_counters = status.monotonic_counters.iter().enumerate();
        paths
            .extend(monotonic_counters.map(|(index, path)| (*path, Leaf::MonotonicCounter(index))));
    }
    paths
}

/// Returns the paths of `managedBy` and the templates, which are all in the spec.
pub(super) fn for_spec<'k>(kind: &'k Kind<'k>) -> Vec<LeafPath<'k>> {
    // Enough for most kinds, so that the list rarely grows.
    let mut paths = Vec::with_capacity(24);
    paths.push((kind.managed_by_path, Leaf::ManagedBy));
    let templates = kind.templates.iter();
    paths.extend(templates.map(|(path, template)| (*path, Leaf::Template(template))));
    paths
}

/// Path step for each element of a list or value of a map.
pub(super) const EACH: &str = "[]";

/// First segment of the paths in a spec.
pub(super) const SPEC: &str = "spec";

#[cfg(test)]
mod tests {
    use super::for_kind;
    use crate::kind::KINDS;

    #[test]
    fn paths_are_well_formed() {
        for kind in KINDS {
            let mut paths: Vec<&str> = for_kind(kind).iter().map(|(path, _)| *path).collect();
            assert!(paths.len() <= 64, "{kind:?}");
            for path in &paths {
                let is_known = path.starts_with("spec.") || path.starts_with("status.");
                assert!(is_known || *path == "metadata", "{path}");
                let mut names = path.split('.').map(|step| step.trim_end_matches("[]"));
                let is_name = |name: &str| {
                    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric())
                };
                assert!(names.all(is_name), "{path}");
            }
            paths.sort_unstable();
            assert!(paths.windows(2).all(|pair| pair[0] != pair[1]), "{kind:?}");
        }
    }
}
