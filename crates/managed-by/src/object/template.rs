//! Scheduling directives in the pod template of a Job: the parts that may change while the Job is suspended, and the rest of
//! `affinity`, which may not.
//!
//! Two templates are compared as kube-apiserver compares them (`Semantic.DeepEqual` on the API's types): an empty list is an
//! absent one, a member at its zero value too, and an absent struct is an empty one only where the API has no pointer.

use std::borrow::Cow;

use crate::decode::{Parts, Raw, Type};
use crate::release::Release;
use crate::sorted::Sorted;

/// Returns true if two pod templates have the same scheduling directives. Values of a wrong type are skipped, because kube-apiserver has
/// decoded the template before.
pub(crate) fn same_directives(
    new: Option<Raw<'_>>,
    old: Option<Raw<'_>>,
    release: Release,
) -> bool {
    Comparison::with(old, release).same(new, old, &TEMPLATE)
}

/// Returns true if two pod templates have the same pod affinity and anti-affinity, which never change.
pub(crate) fn same_for_good(new: Option<Raw<'_>>, old: Option<Raw<'_>>, release: Release) -> bool {
    Comparison::with(old, release).same(new, old, &FOR_GOOD)
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

/// `core/v1`: the parts of `PodTemplateSpec` that may change in a suspended Job, and what is in them.
const TEMPLATE: Shape = Shape::Struct(&[
    (
        "metadata",
        Shape::Struct(&[("labels", Shape::Map), ("annotations", Shape::Map)]),
    ),
    (
        "spec",
        Shape::Struct(&[
            ("nodeSelector", Shape::Map),
            ("tolerations", TOLERATIONS),
            ("schedulingGates", GATES),
            ("affinity", AFFINITY),
        ]),
    ),
]);

/// The parts of the scheduling directives that may not. Whether there is an `affinity` at all does not matter.
const FOR_GOOD: Shape = Shape::Struct(&[(
    "spec",
    Shape::Struct(&[(
        "affinity",
        Shape::Struct(&[
            ("podAffinity", POD_AFFINITY),
            ("podAntiAffinity", POD_AFFINITY),
        ]),
    )]),
)]);

const AFFINITY: Shape = Shape::Pointer(&[
    ("nodeAffinity", NODE_AFFINITY),
    ("podAffinity", POD_AFFINITY),
    ("podAntiAffinity", POD_AFFINITY),
]);

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

const NODE_AFFINITY: Shape = Shape::Pointer(&[
    (
        REQUIRED,
        Shape::Pointer(&[("nodeSelectorTerms", Shape::List(&NODE_SELECTOR_TERM))]),
    ),
    (
        PREFERRED,
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
    (REQUIRED, Shape::List(&POD_AFFINITY_TERM)),
    (
        PREFERRED,
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

/// The gate `MatchLabelKeysInPodAffinity` is off in 1.30: kube-apiserver drops these, unless the stored object has some.
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
    /// True if label keys in pod affinity do not count.
    drops_keys: bool,
}

impl Comparison {
    fn with(old: Option<Raw<'_>>, release: Release) -> Self {
        let drops_keys = release < Release::V1_31 && !uses_keys(old);
        Self { drops_keys }
    }

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
                let (a, b) = (by_name(&a), by_name(&b));
                let value = |of: &(&str, Raw<'_>)| of.1.string().unwrap_or_default().into_owned();
                let mut pairs = a.iter().zip(&b);
                a.len() == b.len() && pairs.all(|(a, b)| a.0 == b.0 && value(a) == value(b))
            }
            Shape::List(element) => {
                let (a, b) = (elements(a), elements(b));
                let mut pairs = a.iter().zip(&b);
                a.len() == b.len()
                    && pairs.all(|((_, a), (_, b))| self.same(Some(*a), Some(*b), element))
            }
            Shape::Struct(fields) => self.same_members(a, b, fields),
            Shape::Pointer(fields) => a.is_some() == b.is_some() && self.same_members(a, b, fields),
        }
    }

    fn same_members(self, a: Option<Raw<'_>>, b: Option<Raw<'_>>, fields: Fields) -> bool {
        let (a, b) = (members(a), members(b));
        fields.iter().all(|(name, shape)| {
            let dropped = self.drops_keys && [MATCH_LABEL_KEYS, MISMATCH_LABEL_KEYS].contains(name);
            dropped || self.same(find(&a, name), find(&b, name), shape)
        })
    }
}

fn members(object: Option<Raw<'_>>) -> Parts<'_> {
    object.map(Raw::members).unwrap_or_default()
}

/// The member with a name; if it occurs twice, the last one.
fn find<'a>(members: &Parts<'a>, name: &str) -> Option<Raw<'a>> {
    let found = members.iter().rfind(|(known, _)| known == name);
    found.map(|(_, value)| *value)
}

/// Sorts the members by name.
fn by_name<'m, 'a>(members: &'m Parts<'a>) -> Vec<(&'m str, Raw<'a>)> {
    let sorted = Sorted::of(members.iter().map(|(name, _)| &**name));
    let value = |place: usize| members.get(place).map(|(_, value)| *value);
    let members = sorted.iter();
    members
        .filter_map(|(name, place)| Some((name, value(place)?)))
        .collect()
}

/// Returns true if a template has label keys in a term of its pod affinity.
fn uses_keys(template: Option<Raw<'_>>) -> bool {
    let affinity = get(get(template, "spec"), "affinity");
    ["podAffinity", "podAntiAffinity"].iter().any(|kind| {
        let terms = get(affinity, kind);
        let required = elements(get(terms, REQUIRED)).into_iter();
        let required = required.map(|(_, term)| Some(term));
        let preferred = elements(get(terms, PREFERRED)).into_iter();
        let preferred = preferred.map(|(_, term)| get(Some(term), "podAffinityTerm"));
        let mut terms = required.chain(preferred);
        terms.any(|term| {
            let keys = [MATCH_LABEL_KEYS, MISMATCH_LABEL_KEYS];
            keys.iter()
                .any(|name| !elements(get(term, name)).is_empty())
        })
    })
}

/// The member with a name of an object that may be absent.
fn get<'a>(object: Option<Raw<'a>>, name: &str) -> Option<Raw<'a>> {
    object?.member(name).and_then(set)
}

/// The elements of a list.
fn elements(list: Option<Raw<'_>>) -> Parts<'_> {
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
    use super::same_directives;
    use crate::decode::Raw;
    use crate::release::Release;

    fn same(a: &str, b: &str, release: Release) -> bool {
        let [a, b] = [a, b].map(|json| Raw::document(json.as_bytes()).unwrap());
        same_directives(Some(a), Some(b), release)
    }

    #[test]
    fn templates_are_compared_as_go_does() {
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
