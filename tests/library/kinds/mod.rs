//! Tests that run for every built-in kind: its `managedBy` field, its rules and its status transitions.

mod invalid_requests;
mod managed_by_field;
mod matrix;
mod mutations;
mod transitions;

use managed_by::{FieldLocation, Kind, ValueConstraint, kinds};
use serde_json::Value;

use crate::support::{ValidationResponse, review};
use managed_by_testing::objects::{object_with_managed_by, request};

pub(crate) use invalid_requests::strict;

fn all() -> impl Iterator<Item = (&'static Kind<'static>, &'static str)> {
    let versions = |kind: &'static Kind<'static>| kind.versions().iter().map(move |v| (kind, *v));
    kinds().iter().copied().flat_map(versions)
}

fn find(kind: &str) -> (&'static Kind<'static>, &'static str) {
    let (name, version) = kind.split_once(' ').unwrap_or((kind, ""));
    let wanted = |(kind, v): &(&Kind<'_>, &str)| {
        kind.name() == name && (version.is_empty() || *v == version)
    };
    all().find(wanted).unwrap()
}

fn create(kind: &'static Kind<'static>, object: &Value) -> ValidationResponse {
    let version = kind.versions()[0];
    let request = request((kind, version), "CREATE", "", &Value::Null, object);
    review(&request, &strict())
}

#[track_caller]
fn assert_silent(response: &ValidationResponse) {
    assert!(
        response.allowed && response.warnings.is_empty(),
        "{response:?}"
    );
}

/// Each kind has documentation and an example, and the chart selects its status if the kind has status rules.
///
/// `make mutation-test` needs this test: other tests of the rules run against the built module only.
#[test]
fn each_kind_is_documented_and_in_the_chart() {
    let examples = managed_by_testing::examples::all().unwrap();
    let path = "charts/managed-by-policy/files/library.yaml";
    let library: Value = serde_yaml_ng::from_str(&managed_by_testing::read(path).unwrap()).unwrap();
    for (kind, row) in kinds().iter().zip(library["kinds"].as_array().unwrap()) {
        let name = kind.name();
        assert_eq!(row["kind"], name, "{path} (make generate)");
        assert_eq!(row["status"], kind.has_status_rules(), "{path}: {name}");
        let has_example = examples.iter().any(|example| {
            let text = |key: &str| example.request["kind"][key].as_str().unwrap();
            Kind::find(text("group"), text("version"), text("kind"))
                .is_some_and(|k| std::ptr::eq(k, *kind))
        });
        assert!(has_example, "examples/kinds/ has no {name}");
        let docs = kind.docs();
        for text in [docs.checks, docs.unchecked, docs.source] {
            assert!(!text.is_empty(), "`docs` of {name} has an empty text");
        }
        let mut workloads = kinds()
            .iter()
            .filter(|k| k.field_location() == FieldLocation::Workload);
        let workload = kind.workload_kind();
        assert!(workloads.any(|k| k.name() == workload), "{kind:?}");
        if let ValueConstraint::OneOf(values) = kind.value_constraint() {
            assert_eq!(values.len(), 2, "{kind:?}");
        }
    }
}
