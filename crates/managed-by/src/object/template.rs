//! What the pod template of a Job says of where its pods go: the parts that may change while the Job is suspended, and the
//! rest of `affinity`, which may not.
//!
//! Two templates are compared as kube-apiserver compares them (`Semantic.DeepEqual` on the API's types): an empty list is an
//! absent one, a member at its zero value too, and an absent struct is an empty one only where the API has no pointer.

use std::borrow::Cow;

use crate::decode::{Raw, Type};
use crate::release::Release;
use crate::sorted::Sorted;

/// The parts of a pod template that are compared, as their text; `null` is an absent one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Directives<'a> {
    labels: Option<Raw<'a>>,
    annotations: Option<Raw<'a>>,
    node_selector: Option<Raw<'a>>,
    tolerations: Option<Raw<'a>>,
    scheduling_gates: Option<Raw<'a>>,
    affinity: Option<Raw<'a>>,
}

impl<'a> Directives<'a> {
    /// Reads a pod template. What is of another type than the API has is passed over: kube-apiserver has decoded it.
    pub(crate) fn read(template: Option<Raw<'a>>) -> Self {
        let mut directives = Self::default();
        for (name, part) in template.into_iter().flat_map(Raw::members) {
            match &*name {
                "metadata" => {
                    directives.labels = None;
                    directives.annotations = None;
                    for (name, value) in part.members() {
                        match &*name {
                            "labels" => directives.labels = set(value),
                            "annotations" => directives.annotations = set(value),
                            _ => {}
                        }
                    }
                }
                "spec" => {
                    directives = Self {
                        labels: directives.labels,
                        annotations: directives.annotations,
                        ..Self::default()
                    };
                    for (name, value) in part.members() {
                        match &*name {
                            "nodeSelector" => directives.node_selector = set(value),
                            "tolerations" => directives.tolerations = set(value),
                            "schedulingGates" => directives.scheduling_gates = set(value),
                            "affinity" => directives.affinity = set(value),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        directives
    }

    /// Whether the two say the same of where pods go.
    pub(crate) fn same(&self, other: &Self, release: Release) -> bool {
        let same = |a, b, shape| Comparison { release }.same(a, b, shape);
        same(self.labels, other.labels, &Shape::Map)
            && same(self.annotations, other.annotations, &Shape::Map)
            && same(self.node_selector, other.node_selector, &Shape::Map)
            && same(self.tolerations, other.tolerations, &TOLERATIONS)
            && same(self.scheduling_gates, other.scheduling_gates, &GATES)
            && same(self.affinity, other.affinity, &AFFINITY)
    }

    /// Whether the two say the same of what never changes: which pods theirs seek and shun.
    pub(crate) fn same_for_good(&self, other: &Self, release: Release) -> bool {
        Comparison { release }.same_members(self.affinity, other.affinity, POD_AFFINITIES)
    }
}

/// A value, unless it is `null`.
fn set(value: Raw<'_>) -> Option<Raw<'_>> {
    Some(value).filter(|value| value.json_type() != Type::Null)
}

/// The Go type of a value, as far as its equality depends on it.
enum Shape {
    /// A string or an integer: the zero value is an absent one.
    Scalar,
    /// A pointer to an integer.
    OptionalInt,
    /// `map[string]string`.
    Map,
    /// A slice.
    List(&'static Shape),
    /// A struct.
    Struct(Fields),
    /// A pointer to a struct.
    Pointer(Fields),
}

type Fields = &'static [(&'static str, Shape)];

/// `core/v1`: `Affinity` and what is in it, `Toleration`, `PodSchedulingGate`.
const AFFINITY: Shape = Shape::Pointer(&[
    ("nodeAffinity", NODE_AFFINITY),
    ("podAffinity", POD_AFFINITY),
    ("podAntiAffinity", POD_AFFINITY),
]);

const POD_AFFINITIES: Fields = &[
    ("podAffinity", POD_AFFINITY),
    ("podAntiAffinity", POD_AFFINITY),
];

const NODE_AFFINITY: Shape = Shape::Pointer(&[
    (
        "requiredDuringSchedulingIgnoredDuringExecution",
        Shape::Pointer(&[("nodeSelectorTerms", Shape::List(&NODE_SELECTOR_TERM))]),
    ),
    (
        "preferredDuringSchedulingIgnoredDuringExecution",
        Shape::List(&Shape::Struct(&[
            ("weight", Shape::Scalar),
            ("preference", NODE_SELECTOR_TERM),
        ])),
    ),
]);

const NODE_SELECTOR_TERM: Shape = Shape::Struct(&[
    ("matchExpressions", Shape::List(&REQUIREMENT)),
    ("matchFields", Shape::List(&REQUIREMENT)),
]);

const REQUIREMENT: Shape = Shape::Struct(&[
    ("key", Shape::Scalar),
    ("operator", Shape::Scalar),
    ("values", STRINGS),
]);

const STRINGS: Shape = Shape::List(&Shape::Scalar);

const POD_AFFINITY: Shape = Shape::Pointer(&[
    (
        "requiredDuringSchedulingIgnoredDuringExecution",
        Shape::List(&POD_AFFINITY_TERM),
    ),
    (
        "preferredDuringSchedulingIgnoredDuringExecution",
        Shape::List(&Shape::Struct(&[
            ("weight", Shape::Scalar),
            ("podAffinityTerm", POD_AFFINITY_TERM),
        ])),
    ),
]);

const POD_AFFINITY_TERM: Shape = Shape::Struct(&[
    ("labelSelector", LABEL_SELECTOR),
    ("namespaces", STRINGS),
    ("topologyKey", Shape::Scalar),
    ("namespaceSelector", LABEL_SELECTOR),
    (MATCH_LABEL_KEYS, STRINGS),
    (MISMATCH_LABEL_KEYS, STRINGS),
]);

/// The gate `MatchLabelKeysInPodAffinity` is off in 1.30: kube-apiserver drops these.
const MATCH_LABEL_KEYS: &str = "matchLabelKeys";
const MISMATCH_LABEL_KEYS: &str = "mismatchLabelKeys";

const LABEL_SELECTOR: Shape = Shape::Pointer(&[
    ("matchLabels", Shape::Map),
    ("matchExpressions", Shape::List(&REQUIREMENT)),
]);

const TOLERATIONS: Shape = Shape::List(&Shape::Struct(&[
    ("key", Shape::Scalar),
    ("operator", Shape::Scalar),
    ("value", Shape::Scalar),
    ("effect", Shape::Scalar),
    ("tolerationSeconds", Shape::OptionalInt),
]));

const GATES: Shape = Shape::List(&Shape::Struct(&[("name", Shape::Scalar)]));

/// Compares values of one type.
#[derive(Clone, Copy)]
struct Comparison {
    release: Release,
}

impl Comparison {
    fn same(self, a: Option<Raw<'_>>, b: Option<Raw<'_>>, shape: &Shape) -> bool {
        let (a, b) = (a.and_then(set), b.and_then(set));
        if a.map(Raw::as_str) == b.map(Raw::as_str) {
            return true;
        }
        match shape {
            Shape::Scalar => scalar(a) == scalar(b),
            Shape::OptionalInt => a.and_then(Raw::number) == b.and_then(Raw::number),
            Shape::Map => {
                let (a, b) = (members(a), members(b));
                let (a, b) = (in_order(&a), in_order(&b));
                let same = |a: Raw<'_>, b: Raw<'_>| {
                    a.string().unwrap_or_default() == b.string().unwrap_or_default()
                };
                let mut pairs = a.iter().zip(&b);
                a.len() == b.len() && pairs.all(|(a, b)| a.0 == b.0 && same(a.1, b.1))
            }
            Shape::List(element) => {
                let (a, b) = (elements(a), elements(b));
                let mut pairs = a.iter().zip(&b);
                a.len() == b.len() && pairs.all(|(a, b)| self.same(Some(*a), Some(*b), element))
            }
            Shape::Struct(fields) => self.same_members(a, b, fields),
            Shape::Pointer(fields) => a.is_some() == b.is_some() && self.same_members(a, b, fields),
        }
    }

    fn same_members(self, a: Option<Raw<'_>>, b: Option<Raw<'_>>, fields: Fields) -> bool {
        let (a, b) = (members(a), members(b));
        fields.iter().all(|(name, shape)| {
            let dropped = self.release < Release::V1_31
                && [MATCH_LABEL_KEYS, MISMATCH_LABEL_KEYS].contains(name);
            dropped || self.same(get(&a, name), get(&b, name), shape)
        })
    }
}

/// A member of an object. Of those with one name the last counts.
type Member<'a> = (Cow<'a, str>, Raw<'a>);

fn members(object: Option<Raw<'_>>) -> Vec<Member<'_>> {
    object.map(Raw::members).unwrap_or_default()
}

fn get<'a>(members: &[Member<'a>], name: &str) -> Option<Raw<'a>> {
    let mut members = members.iter().rev();
    let found = members.find(|(known, _)| known == name);
    found.map(|(_, value)| *value)
}

/// The members in the order of their names, each name once.
fn in_order<'m, 'a>(members: &'m [Member<'a>]) -> Vec<(&'m str, Raw<'a>)> {
    let sorted = Sorted::of(members.iter().map(|(name, _)| &**name));
    let mut ordered: Vec<(&str, Raw<'a>)> = Vec::new();
    for (name, place) in sorted.iter() {
        let Some((_, value)) = members.get(place) else {
            continue;
        };
        match ordered.last_mut() {
            Some((known, last)) if *known == name => *last = *value,
            _ => ordered.push((name, *value)),
        }
    }
    ordered
}

/// The elements of a list.
fn elements(list: Option<Raw<'_>>) -> Vec<Raw<'_>> {
    list.map(Raw::elements).unwrap_or_default()
}

/// A string or an integer, nothing for the zero value.
fn scalar(value: Option<Raw<'_>>) -> Option<Cow<'_, str>> {
    let value = value?;
    let text = value.string().unwrap_or(Cow::Borrowed(value.as_str()));
    Some(text).filter(|text| !text.is_empty() && *text != "0")
}

#[cfg(test)]
mod tests {
    use super::Directives;
    use crate::decode::Raw;
    use crate::release::Release;

    fn read(json: &str) -> Directives<'_> {
        Directives::read(Some(Raw::document(json.as_bytes()).unwrap()))
    }

    /// What the vectors cannot say: JSON that kube-apiserver never sends to a webhook.
    #[test]
    fn templates_are_compared_as_go_does() {
        let long = "requiredDuringSchedulingIgnoredDuringExecution";
        let pod = |inner: &str| {
            format!(r#"{{"spec":{{"affinity":{{"podAffinity":{{"{long}":[{inner}]}}}}}}}}"#)
        };
        for (a, b, same) in [
            ("{}", "null", true),
            ("5", "{}", true),
            (
                r#"{"metadata":null,"spec":null}"#,
                r#"{"metadata":{"labels":{}}}"#,
                true,
            ),
            (
                r#"{"spec":{"nodeSelector":{"a":""}}}"#,
                r#"{"spec":{}}"#,
                false,
            ),
            (
                r#"{"spec":{"nodeSelector":{"a":null}}}"#,
                r#"{"spec":{"nodeSelector":{"a":""}}}"#,
                true,
            ),
            (
                r#"{"spec":{"nodeSelector":{"b":"1","a":"\u0031"}}}"#,
                r#"{"spec":{"nodeSelector":{"a":"2","b":"1","a":"1"}}}"#,
                true,
            ),
            (
                r#"{"spec":{"nodeSelector":{"a":"0"}}}"#,
                r#"{"spec":{"nodeSelector":{"a":""}}}"#,
                false,
            ),
            (
                r#"{"spec":{"nodeSelector":{"a":"1"}},"spec":{}}"#,
                "{}",
                true,
            ),
            (
                r#"{"spec":{"tolerations":[{"key":"a","operator":""}]}}"#,
                r#"{"spec":{"tolerations":[{"key":"a","value":null}]}}"#,
                true,
            ),
            (
                r#"{"spec":{"tolerations":[{"tolerationSeconds":0}]}}"#,
                r#"{"spec":{"tolerations":[{}]}}"#,
                false,
            ),
            (
                r#"{"spec":{"tolerations":[{}]}}"#,
                r#"{"spec":{"tolerations":[]}}"#,
                false,
            ),
            (
                r#"{"spec":{"tolerations":[]}}"#,
                r#"{"spec":{"schedulingGates":[]}}"#,
                true,
            ),
            (r#"{"spec":{"affinity":{}}}"#, r#"{"spec":{}}"#, false),
            (
                r#"{"spec":{"affinity":{"nodeAffinity":null}}}"#,
                r#"{"spec":{"affinity":{}}}"#,
                true,
            ),
            (
                &pod(r#"{"topologyKey":"a","labelSelector":{}}"#),
                &pod(r#"{"topologyKey":"a"}"#),
                false,
            ),
            (
                &pod(r#"{"labelSelector":{"matchLabels":{}}}"#),
                &pod(r#"{"labelSelector":{"matchExpressions":[]},"namespaces":null}"#),
                true,
            ),
        ] {
            for (a, b) in [(a, b), (b, a)] {
                assert_eq!(read(a).same(&read(b), Release::V1_37), same, "{a} and {b}");
            }
        }
    }
}
