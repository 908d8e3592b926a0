//! Builds a custom resource from the values at the leaf paths.

use std::borrow::Cow;

use super::conditions::ConditionMatchers;
use super::paths::Leaf;
use crate::decode::{Path, Raw};
use crate::kind::Kind;
use crate::object::custom::{CustomResource, EMPTY_STATUS, MAX_NESTED, NestedManagedBy, Status};
use crate::object::{Metadata, Object};
use crate::upstream::time::Time;

/// Values decoded so far.
#[derive(Default)]
pub(super) struct ObjectBuilder<'a> {
    pub(super) metadata: Metadata<'a>,
    /// `managedBy` of the current object: the outer one or a nested one.
    pub(super) managed_by: Option<Cow<'a, str>>,
    pub(super) nested: Vec<NestedManagedBy<'a>>,
    /// Number of templates so far.
    pub(super) templates: usize,
    retries: usize,
    template_labels: Option<Raw<'a>>,
    ttl: Option<i64>,
    status: Status<'a>,
    /// Kind of the current nested object.
    pub(super) kind: Option<&'a Kind<'a>>,
    pub(super) depth: usize,
}

impl<'a> ObjectBuilder<'a> {
    pub(super) fn build(self) -> Object<'a> {
        let custom = CustomResource {
            nested: self.nested,
            status: self.status,
            retries: self.retries,
            template_labels: self.template_labels,
            ttl: self.ttl,
        };
        let is_empty = custom.nested.is_empty()
            && custom.template_labels.is_none()
            && custom.ttl.is_none()
            && custom.status == EMPTY_STATUS;
        Object {
            metadata: self.metadata,
            managed_by: self.managed_by,
            job: None,
            custom: (!is_empty).then(|| Box::new(custom)),
        }
    }

    /// Decodes a value from raw JSON, except templates.
    pub(super) fn set(&mut self, leaf: Leaf<'a>, raw: Raw<'a>, path: &Path<'_>) {
        match leaf {
            Leaf::ManagedBy => self.managed_by = raw.string(),
            // Decoded by the walk.
            Leaf::Metadata | Leaf::Template(_) => {}
            Leaf::TemplateLabels => self.template_labels = Some(raw),
            Leaf::Ttl => self.ttl = raw.number(),
            Leaf::Retries => {
                let retries = raw.number().unwrap_or_default().max(0);
                self.retries = retries.try_into().unwrap_or(usize::MAX);
            }
            Leaf::Conditions(profile) => {
                ConditionMatchers::from_profile(profile).read(raw, &mut self.status);
            }
            Leaf::State(path, outcome) => {
                let value = raw.string().unwrap_or_default();
                self.status
                    .add(outcome, |m| m.path() == path && m.has_value(&value));
            }
            Leaf::TerminalState => self.status.terminal_state = raw.string(),
            Leaf::Reason(matcher) => {
                self.status.reason = raw.string().filter(|value| matcher.has_value(value));
            }
            Leaf::Attempts(attempts) => {
                let (mut count, mut last) = (0_usize, None);
                raw.for_each(|attempt: Raw<'a>| {
                    count = count.saturating_add(1);
                    last = Some(attempt);
                });
                self.status.attempts = count;
                let conditions = last.and_then(|attempt| attempt.member("conditions"));
                if let Some(list) = conditions {
                    let conditions = ConditionMatchers {
                        failure_reasons: attempts.failure_reasons,
                        ..ConditionMatchers::default()
                    };
                    conditions.read(list, &mut self.status);
                }
            }
            Leaf::Start => self.status.start = raw.string().and_then(|text| Time::parse(&text)),
            Leaf::End => self.status.end = raw.string().and_then(|text| Time::parse(&text)),
            Leaf::Counter => self.add_if_negative(raw.number(), path),
            Leaf::MonotonicCounter(index) => {
                let total = raw.number();
                self.add_if_negative(total, path);
                if let Some(total) = total {
                    let monotonic_counters = &mut self.status.monotonic_counters;
                    monotonic_counters
                        .resize(monotonic_counters.len().max(index.saturating_add(1)), 0);
                    monotonic_counters.splice(index..=index, [total]);
                }
            }
        }
    }

    fn add_if_negative(&mut self, count: Option<i64>, path: &Path<'_>) {
        let negative = count.filter(|count| *count < 0);
        if let Some(count) = negative.filter(|_| self.status.negative.len() < MAX_NESTED) {
            self.status.negative.push((path.to_string(), count));
        }
    }
}
