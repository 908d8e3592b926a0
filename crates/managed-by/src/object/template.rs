//! Comparison of pod templates, for the rule `job-spec/scheduling-directives`: the scheduling directives, which are mutable while a
//! Job is suspended, and the rest of `affinity`, which is not.
//!
//! Templates are compared as in kube-apiserver (`Semantic.DeepEqual` on the API types): an absent list equals an empty one, an
//! absent member equals its zero value, and an absent struct equals an empty one unless the API has a pointer.

use std::borrow::Cow;

use Shape::{List, Map, OptionalInt, Pointer, Scalar, Struct};

use crate::decode::{Raw, Type};
use crate::release::Release;
use crate::sorted::Sorted;

/// Returns true if two templates have equal scheduling directives and pod affinity. Skips values of the wrong type: kube-apiserver
/// has already decoded the template.
pub(crate) fn has_same_directives(
    new: Option<Raw<'_>>,
    old: Option<Raw<'_>>,
    release: Release,
) -> bool {
    Comparison::new(old, release).is_equal(new, old, &TEMPLATE)
}

/// Returns true if two pod templates have the same pod affinity and anti-affinity, which are immutable.
pub(crate) fn has_same_affinity(
    new: Option<Raw<'_>>,
    old: Option<Raw<'_>>,
    release: Release,
) -> bool {
    Comparison::new(old, release).is_equal(new, old, &IMMUTABLE)
}

/// Go type of a value, as far as it affects equality.
enum Shape {
    /// A string or an integer: an absent one equals the zero value.
    Scalar,
    /// A pointer to an integer.
    OptionalInt,
    /// `map[string]string`.
    Map,
    List(&'static Shape),
    Struct(Fields),
    /// A pointer to a struct.
    Pointer(Fields),
}

type Fields = &'static [(&'static str, Shape)];

/// Scheduling directives and pod affinity in `PodTemplateSpec` of `core/v1`.
const TEMPLATE: Shape = Struct(&[("metadata", OBJECT_META), ("spec", POD_SPEC)]);

/// Pod affinity in `PodTemplateSpec`. An absent `affinity` equals an empty one.
const IMMUTABLE: Shape = Struct(&[("spec", Struct(&[("affinity", Struct(POD_AFFINITIES))]))]);

const OBJECT_META: Shape = Struct(&[("labels", Map), ("annotations", Map)]);

const POD_SPEC: Shape = Struct(&[
    ("nodeSelector", Map),
    ("tolerations", List(&TOLERATION)),
    ("schedulingGates", List(&Struct(&[("name", Scalar)]))),
    ("affinity", AFFINITY),
]);

const TOLERATION: Shape = Struct(&[
    ("key", Scalar),
    ("operator", Scalar),
    ("value", Scalar),
    ("effect", Scalar),
    ("tolerationSeconds", OptionalInt),
]);

const AFFINITY: Shape = Pointer(&[
    ("nodeAffinity", NODE_AFFINITY),
    ("podAffinity", POD_AFFINITY),
    ("podAntiAffinity", POD_AFFINITY),
]);

const POD_AFFINITIES: Fields = &[
    ("podAffinity", POD_AFFINITY),
    ("podAntiAffinity", POD_AFFINITY),
];

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

const NODE_AFFINITY: Shape = Pointer(&[
    (REQUIRED, NODE_SELECTOR),
    (PREFERRED, List(&PREFERRED_TERM)),
]);

const NODE_SELECTOR: Shape = Pointer(&[("nodeSelectorTerms", List(&NODE_SELECTOR_TERM))]);

const PREFERRED_TERM: Shape = Struct(&[("weight", Scalar), ("preference", NODE_SELECTOR_TERM)]);

const NODE_SELECTOR_TERM: Shape = Struct(&[
    ("matchExpressions", List(&REQUIREMENT)),
    ("matchFields", List(&REQUIREMENT)),
]);

const REQUIREMENT: Shape = Struct(&[("key", Scalar), ("operator", Scalar), ("values", STRINGS)]);

const STRINGS: Shape = List(&Scalar);

const POD_AFFINITY: Shape = Pointer(&[
    (REQUIRED, List(&POD_AFFINITY_TERM)),
    (PREFERRED, List(&WEIGHTED_TERM)),
]);

const WEIGHTED_TERM: Shape = Struct(&[("weight", Scalar), ("podAffinityTerm", POD_AFFINITY_TERM)]);

const POD_AFFINITY_TERM: Shape = Struct(&[
    ("labelSelector", LABEL_SELECTOR),
    ("namespaces", STRINGS),
    ("topologyKey", Scalar),
    ("namespaceSelector", LABEL_SELECTOR),
    ("matchLabelKeys", STRINGS),
    ("mismatchLabelKeys", STRINGS),
]);

/// Fields that 1.30 drops, because the feature gate `MatchLabelKeysInPodAffinity` is disabled, unless the stored object has some.
const LABEL_KEYS: [&str; 2] = ["matchLabelKeys", "mismatchLabelKeys"];

const LABEL_SELECTOR: Shape = Pointer(&[
    ("matchLabels", Map),
    ("matchExpressions", List(&REQUIREMENT)),
]);

/// Semantic comparison of values.
#[derive(Clone, Copy)]
struct Comparison {
    /// True to ignore label keys in pod affinity.
    drops_keys: bool,
}

impl Comparison {
    fn new(old: Option<Raw<'_>>, release: Release) -> Self {
        let affinity = member(member(old, "spec"), "affinity");
        let mut affinities = POD_AFFINITIES.iter();
        let uses_keys = |(name, _): &(&str, _)| member(affinity, name).is_some_and(uses_keys);
        Self {
            drops_keys: release.minor() < 31 && !affinities.any(uses_keys),
        }
    }

    fn is_equal(self, a: Option<Raw<'_>>, b: Option<Raw<'_>>, shape: &Shape) -> bool {
        let (a, b) = (a.filter(is_set), b.filter(is_set));
        if a.map(Raw::as_str) == b.map(Raw::as_str) {
            return true;
        }
        match shape {
            Scalar => scalar(a) == scalar(b),
            OptionalInt => a.and_then(Raw::number) == b.and_then(Raw::number),
            Map => strings(a) == strings(b),
            List(element) => {
                let [a, b] = [a, b].map(|list| list.map(Raw::elements).unwrap_or_default());
                let mut pairs = a.iter().zip(&b);
                a.len() == b.len()
                    && pairs.all(|((_, a), (_, b))| self.is_equal(Some(*a), Some(*b), element))
            }
            Struct(fields) => self.has_equal_members(a, b, fields),
            Pointer(fields) => a.is_some() == b.is_some() && self.has_equal_members(a, b, fields),
        }
    }

    fn has_equal_members(self, a: Option<Raw<'_>>, b: Option<Raw<'_>>, fields: Fields) -> bool {
        fields.iter().all(|(name, shape)| {
            self.drops_keys && LABEL_KEYS.contains(name)
                || self.is_equal(member(a, name), member(b, name), shape)
        })
    }
}

fn is_set(value: &Raw<'_>) -> bool {
    value.json_type() != Type::Null
}

fn member<'a>(object: Option<Raw<'a>>, name: &str) -> Option<Raw<'a>> {
    object?.member(name)
}

/// Returns the strings of a map, sorted by name.
fn strings(map: Option<Raw<'_>>) -> Vec<(String, String)> {
    let members = map.map(Raw::members).unwrap_or_default();
    let sorted = Sorted::new(members.iter().map(|(name, _)| &**name));
    let sorted = sorted.iter().filter_map(|(_, index)| members.get(index));
    sorted
        .map(|(name, value)| (name.to_string(), value.string().unwrap_or_default().into()))
        .collect()
}

/// Returns true if any term of a pod affinity has label keys.
fn uses_keys(affinity: Raw<'_>) -> bool {
    let entries = affinity.entries(affinity.json_type());
    entries.iter().any(|(name, value)| {
        LABEL_KEYS.contains(&&**name) && !value.elements().is_empty() || uses_keys(*value)
    })
}

/// Returns a string or an integer, or [`None`] for the zero value.
fn scalar(value: Option<Raw<'_>>) -> Option<Cow<'_, str>> {
    let value = value?;
    match value.string() {
        Some(text) => Some(text).filter(|text| !text.is_empty()),
        None => Some(Cow::Borrowed(value.as_str())).filter(|number| *number != "0"),
    }
}

#[cfg(test)]
mod tests {
    use super::has_same_directives;
    use crate::decode::Raw;
    use crate::release::Release;

    fn same(a: &str, b: &str, release: Release) -> bool {
        let [a, b] = [a, b].map(|json| Raw::document(json.as_bytes()).unwrap());
        has_same_directives(Some(a), Some(b), release)
    }

    #[test]
    fn templates_are_compared_like_in_go() {
        let mut are_same = true;
        for line in include_str!("templates.tsv").lines() {
            if line == "# not the same" {
                are_same = false;
            }
            if let Some((a, b)) = line.split_once('\t') {
                for (a, b) in [(a, b), (b, a)] {
                    assert_eq!(same(a, b, Release::V1_37), are_same, "{a} and {b}");
                }
            }
        }
        assert!(!are_same);
    }

    #[test]
    fn release_1_30_drops_label_keys_unless_the_stored_template_has_some() {
        let with = |keys: &str| {
            let terms = "requiredDuringSchedulingIgnoredDuringExecution";
            let term = format!(r#"[{{"topologyKey":"a"{keys}}}]"#);
            format!(r#"{{"spec":{{"affinity":{{"podAffinity":{{"{terms}":{term}}}}}}}}}"#)
        };
        let (plain, keys) = (with(""), with(r#","matchLabelKeys":["b"]"#));
        assert!(same(&keys, &plain, Release::V1_30));
        assert!(!same(&plain, &keys, Release::V1_30));
    }
}
