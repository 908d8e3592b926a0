//! What people read about the kinds, beside their profiles.

use super::custom::{Both, StatusProfile};
use super::parts::Part;
use super::{Form, Holder, KindDocs, KindProfile};

impl KindProfile {
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
        if self.spec.any(&|part| matches!(part, Part::Template(_))) {
            rules.push("managed-by/nested");
        }
        if let Some(status) = self.status {
            rules.extend(status.rules());
        }
        rules
    }
}

impl Part {
    fn any(&self, wanted: &dyn Fn(&Self) -> bool) -> bool {
        wanted(self)
            || match self {
                Self::Fields(fields) => fields.iter().any(|(_, part)| part.any(wanted)),
                Self::Each(part) => part.any(wanted),
                _ => false,
            }
    }
}

impl StatusProfile {
    fn rules(&self) -> Vec<&'static str> {
        let counts = |part: &Part| matches!(part, Part::Counter | Part::Total(_));
        let end = self.end.as_ref();
        [
            ("status/outcome-changed", self.outcome.is_some()),
            (
                "status/two-outcomes",
                self.outcome
                    .as_ref()
                    .is_some_and(|o| matches!(o.both, Both::Never | Both::AfterSuccess)),
            ),
            ("status/terminal-state", self.says.is_some()),
            ("status/exclusive-conditions", self.pair.is_some()),
            ("status/negative-counter", self.parts.any(&counts)),
            ("status/counter-decreased", !self.totals.is_empty()),
            ("status/end-before-start", end.is_some()),
            (
                "status/end-without-outcome",
                end.is_some_and(|e| e.only_with_outcome),
            ),
            ("status/outcome-without-end", end.is_some_and(|e| e.of != 0)),
        ]
        .into_iter()
        .filter_map(|(rule, applies)| applies.then_some(rule))
        .collect()
    }
}
