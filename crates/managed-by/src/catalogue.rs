//! The registry: every rule, in the order in which findings are reported.

use crate::rule::{Rule, format, immutable, reserved, reserved_domain, wrong_kind};

/// All rules. kube-apiserver's come first, in its order.
pub static RULES: [&Rule; 5] = [
    &format::RULE,
    &immutable::RULE,
    &reserved::RULE,
    &reserved_domain::RULE,
    &wrong_kind::RULE,
];

/// The rule with an id.
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.into_iter().find(|rule| rule.id == id)
}
