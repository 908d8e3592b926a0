//! What the policy says to each file of `examples/`, word for word, on every front end.

mod custom;
mod field;
mod kinds;
mod site;
mod status;

use crate::support::{everywhere, pointer, root};
use xtask::examples;

#[derive(Clone)]
struct Expected {
    name: &'static str,
    denied: &'static [&'static str],
    warned: &'static [&'static str],
    message: &'static str,
    warnings: &'static [&'static str],
}

const QUIET: Expected = Expected {
    name: "",
    denied: &[],
    warned: &[],
    message: "",
    warnings: &[],
};

const TOPICS: [&[Expected]; 5] = [
    custom::EXPECTED,
    field::EXPECTED,
    kinds::EXPECTED,
    site::EXPECTED,
    status::EXPECTED,
];

#[test]
fn each_example_gets_its_answer() {
    let examples = examples::read(&root("examples")).unwrap();
    let expected = TOPICS.concat();
    let names: Vec<_> = examples.iter().map(|e| &*e.name).collect();
    assert_eq!(names, expected.iter().map(|e| e.name).collect::<Vec<_>>());
    for (example, expected) in examples.iter().zip(expected) {
        let answer = everywhere(&example.request, &example.settings);
        let name = expected.name;
        assert_eq!(answer.denied(), expected.denied, "{name}");
        assert_eq!(answer.warned(), expected.warned, "{name}");
        assert_eq!(answer.message(), expected.message, "{name}");
        let mut warnings: Vec<_> = expected.warnings.iter().map(ToString::to_string).collect();
        // The rules of kube-apiserver on other kinds than its own speak for themselves.
        if example.request["kind"]["group"] == "batch" {
            warnings.extend(pointer(expected.denied));
        }
        assert_eq!(answer.warnings, warnings, "{name}");
        assert_eq!(answer.allowed, expected.denied.is_empty(), "{name}");
        let forbidden = expected.message.contains(" is forbidden: ");
        let code = if forbidden { 403 } else { 422 };
        assert_eq!(answer.code, (!answer.allowed).then_some(code), "{name}");
    }
}
