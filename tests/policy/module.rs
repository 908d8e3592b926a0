//! The built module as a file: its imports and metadata, and files that PolicyServer would reject.

use crate::support::{GUEST, module, root};
use managed_by_testing::metadata::{self, Metadata};
use managed_by_testing::{Policy, module as inspect, readme};
use serde_json::Value;

#[test]
fn module_imports_only_wapc() {
    let imports = inspect::imports(&module("annotated-policy.wasm")).unwrap();
    assert!(
        imports.iter().any(|i| i == "wapc.__guest_request"),
        "{imports:?}"
    );
    assert_eq!(imports.iter().find(|i| !i.starts_with("wapc.")), None);
}

#[test]
fn metadata_can_be_read_back() {
    for (built, metadata, usage) in [
        (
            "annotated-policy.wasm",
            "policy-metadata.yml",
            "src/usage.md",
        ),
        (
            "annotated-pods-policy.wasm",
            "pods/metadata.yml",
            "pods/README.md",
        ),
    ] {
        let written = inspect::metadata(&module(built)).unwrap().unwrap();
        let source = crate::support::metadata(metadata);
        assert_eq!(written["protocolVersion"], "v1");
        for key in [
            "rules",
            "mutating",
            "backgroundAudit",
            "contextAwareResources",
            "hostCapabilities",
            "executionMode",
            "policyType",
        ] {
            assert_eq!(written[key], source[key], "{built}: {key}");
        }
        let annotations = &written["annotations"];
        let usage = readme::with_absolute_links(usage).unwrap();
        assert_eq!(annotations["io.kubewarden.policy.usage"], *usage);
        for (key, value) in source["annotations"].as_object().unwrap() {
            assert_eq!(annotations[key], *value, "{built}: {key}");
        }
    }
}

/// `kwctl inspect` prints the usage text in a terminal.
#[test]
fn usage_is_short_and_its_examples_work() {
    for file in ["src/usage.md", "pods/README.md"] {
        let usage = readme::with_absolute_links(file).unwrap();
        assert!(usage.lines().count() <= 120, "{file}");
        for markup in ["<!--", "<details", "![", "badge"] {
            assert!(!usage.contains(markup), "{file}: {markup}");
        }
    }
    let usage = std::fs::read_to_string(root("src/usage.md")).unwrap();
    for key in managed_by::settings_keys() {
        assert!(usage.contains(&format!("- `{key}`: ")), "{key}");
    }
    let block = |language: &str| {
        let (_, rest) = usage.split_once(&format!("```{language}\n")).unwrap();
        rest.split_once("\n```").unwrap().0
    };
    let settings: Value = serde_yaml_ng::from_str(block("yaml")).unwrap();
    let response = GUEST.validate_settings(&settings).unwrap();
    assert_eq!(response.message, None);

    let request: Value = serde_json::from_str(block("json")).unwrap();
    let (_, command) = usage.split_once("--settings-json '").unwrap();
    let settings: Value = serde_json::from_str(command.split('\'').next().unwrap()).unwrap();
    let response = GUEST.validate(&request, &settings).unwrap();
    assert_eq!(response.message(), block("text"));
}

#[test]
fn protocol_version_is_v1() {
    assert_eq!(GUEST.protocol_version().unwrap(), "v1");
}

#[test]
fn module_without_metadata_is_rejected() {
    let error = Policy::load(&module("policy.wasm")).err().unwrap();
    assert_eq!(error.to_string(), "Policy is missing protocol version");
    assert!(inspect::metadata(&module("policy.wasm")).unwrap().is_none());
}

#[test]
fn a_module_is_annotated_once() {
    let yaml = std::fs::read_to_string(root("policy-metadata.yml")).unwrap();
    let again = metadata::annotate(
        &module("annotated-policy.wasm"),
        Metadata::from_yaml(&yaml).unwrap(),
        "",
    );
    assert_eq!(
        again.unwrap_err().to_string(),
        "the module is annotated already"
    );
}

#[test]
fn metadata_with_a_misspelled_field_is_rejected() {
    let error =
        Metadata::from_yaml("rules: []\nmutating: false\nbackgroundAdit: true\n").unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains("backgroundAdit"), "{error}");
}

/// The module reports an operation that it does not implement as an error, instead of trapping.
#[test]
fn unknown_operation_is_an_error() {
    let error = GUEST.call("mutate", b"{}").unwrap_err().to_string();
    assert!(error.contains("mutate"), "{error}");
}
