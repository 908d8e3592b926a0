//! What is skipped in one object is not looked at again where the other repeats it. Where the kind comes last, each object
//! is read on its own: the answers must be the same, whatever is in the objects and however they differ.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

use managed_by::AdmissionRequest;
use managed_by::request::{Change, Subject};
use proptest::prelude::*;
use serde_json::{Value, json};

const KIND: &str = r#""kind":{"group":"batch","version":"v1","kind":"Job"}"#;

/// A Job with containers that no rule reads, long enough to be remembered, some of them alike.
fn job(env: &[(String, String)], labels: usize, managed_by: &str) -> Value {
    let label = |i: usize| (format!("label-{i}"), Value::from("value"));
    let labels: serde_json::Map<_, _> = (0..labels).map(label).collect();
    let pod = json!({"spec": {"containers": [{"name": "pi", "image": "perl", "env": env}]}});
    json!({
        "metadata": {"name": "pi", "labels": labels, "annotations": labels},
        "spec": {"managedBy": managed_by, "podFailurePolicy": pod, "selector": labels, "template": pod},
        "status": {"active": 1, "conditions": [{"type": "Suspended", "status": "False"}]},
    })
}

/// A change of the text of an object at a place.
#[derive(Debug, Clone)]
enum Edit {
    None,
    Replace(prop::sample::Index, u8),
    Remove(prop::sample::Index),
    Double(prop::sample::Index),
    Cut(prop::sample::Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        2 => Just(Edit::None),
        4 => (at(), prop::sample::select(br#"x"{}[],:\0 "#.to_vec())).prop_map(|(at, byte)| Edit::Replace(at, byte)),
        2 => at().prop_map(Edit::Remove),
        2 => at().prop_map(Edit::Double),
        1 => at().prop_map(Edit::Cut),
    ]
}

impl Edit {
    fn apply(&self, mut text: Vec<u8>) -> Vec<u8> {
        let length = text.len();
        match self {
            Self::None => {}
            Self::Replace(at, byte) => *text.get_mut(at.index(length)).unwrap() = *byte,
            Self::Remove(at) => {
                text.remove(at.index(length));
            }
            Self::Double(at) => {
                let at = at.index(length);
                text.insert(at, *text.get(at).unwrap());
            }
            Self::Cut(at) => text.truncate(at.index(length)),
        }
        text
    }
}

/// What is read of a request, if anything.
fn read(request: &[u8]) -> Option<Change<'_>> {
    match AdmissionRequest::from_json(request).ok()?.subject {
        Subject::Change(_, change) => Some(change),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn objects_that_repeat_each_other_read_as_on_their_own(
        env in prop::collection::vec(("[a-zé]{0,9}", ".{0,9}"), 0..8),
        labels in 0..12_usize,
        names in [prop::sample::select(vec!["acme.io/a", "acme.io/b"]), prop::sample::select(vec!["acme.io/a", "acme.io/b"])],
        edits in [edit(), edit()],
    ) {
        let [first, second] = [0, 1].map(|i: usize| {
            let text = job(&env, labels, names.get(i).unwrap()).to_string();
            String::from_utf8_lossy(&edits.get(i).unwrap().apply(text.into_bytes())).into_owned()
        });
        let objects = format!(r#""object":{first},"oldObject":{second},"operation":"UPDATE""#);
        let together = format!("{{{KIND},{objects}}}");
        let alone = format!("{{{objects},{KIND}}}");
        prop_assert_eq!(read(together.as_bytes()), read(alone.as_bytes()));
        // The stored object first.
        let objects = format!(r#""oldObject":{second},"object":{first},"operation":"UPDATE""#);
        let turned = format!("{{{KIND},{objects}}}");
        prop_assert_eq!(read(turned.as_bytes()), read(alone.as_bytes()));
    }
}
