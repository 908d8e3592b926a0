//! Large, long and deeply nested input: the response is correct, and messages and annotations stay within limits.

use managed_by::{Kind, kinds};
use managed_by_testing::objects::request;
use serde_json::{Value, json};

use crate::support::{ValidationResponse, review, validate_payload};

const CONTROLLER: &str = "acme.io/runner";

fn find(name: &str) -> (&'static Kind<'static>, &'static str) {
    let kind = kinds().iter().find(|kind| kind.name() == name).unwrap();
    (kind, kind.versions()[0])
}

fn object(spec: &Value) -> Value {
    json!({"metadata": {"name": "x"}, "spec": spec})
}

fn create(kind: &str, spec: &Value, settings: &Value) -> ValidationResponse {
    review(
        &request(find(kind), "CREATE", "", &Value::Null, &object(spec)),
        settings,
    )
}

/// Reviews a status update of a Job with the given spec.
fn status(spec: &Value, old: &Value, new: &Value, settings: &Value) -> ValidationResponse {
    let with = |status: &Value| json!({"metadata": {"name": "x"}, "spec": spec, "status": status});
    review(
        &request(find("Job"), "UPDATE", "status", &with(old), &with(new)),
        settings,
    )
}

/// Reviews the creation of a Job with a member of the spec, given as text.
fn create_job(member: &str) -> ValidationResponse {
    let kind = r#"{"group":"batch","version":"v1","kind":"Job"}"#;
    let payload = format!(
        r#"{{"request":{{"kind":{kind},"operation":"CREATE","object":{{"spec":{{{member}}}}}}},"settings":{{}}}}"#
    );
    validate_payload(payload.as_bytes())
}

#[test]
fn managed_by_of_1_mib_is_denied_with_a_bounded_message() {
    let long = "x".repeat(1 << 20);
    let response = create_job(&format!(r#""managedBy":"acme.io/{long}""#));
    assert_eq!(response.denied(), ["managed-by/format spec.managedBy"]);
    assert_eq!(
        response.message(),
        r#"Job.batch "" is invalid: spec.managedBy: Too long: may not be more than 63 bytes"#
    );
    assert!(response.annotations.values().all(|v| v.len() <= 1024));
    // kube-apiserver quotes the whole invalid value, the policy quotes 64 KiB of it.
    let response = create_job(&format!(r#""managedBy":"{long}""#));
    assert_eq!(response.denied(), ["managed-by/format spec.managedBy"]);
    let shown = format!(": \"{}...\": must be", &long[..64 * 1024]);
    assert!(response.message().contains(&shown));
}

#[test]
fn request_of_2_mib_is_accepted() {
    let filler = format!(r#","{}""#, "y".repeat(100)).repeat(20_359);
    let member = format!(r#""a":["x"{filler}],"managedBy":"acme.io/x""#);
    assert!((2 << 20) - 2000 < member.len() && member.len() < (2 << 20));
    let response = create_job(&member);
    assert!(response.allowed, "{response:?}");
    assert_eq!(response.annotations["controller"], r#""acme.io/x""#);
}

/// The decoder doesn't recurse into values that it skips, so deep nesting can't overflow the stack.
#[test]
fn nesting_of_100_000_levels_is_accepted() {
    let n = 100_000;
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = format!(r#""a":{}1{}"#, open.repeat(n), close.repeat(n));
        assert!(create_job(&nested).allowed);
    }
    // A container that is never closed.
    let response = validate_payload("[".repeat(2 * n).as_bytes());
    assert_eq!((response.allowed, response.code), (false, Some(400)));
}

#[test]
fn invalid_completed_indexes_of_1_mb_are_denied() {
    let spec = json!({"completionMode": "Indexed", "completions": 5});
    let long = json!({"completedIndexes": "0,".repeat(500_000)});
    let response = status(&spec, &json!({}), &long, &json!({}));
    assert_eq!(
        response.denied(),
        ["job-status/invalid-completed-indexes status.completedIndexes"]
    );
    assert!(response.message().ends_with(
        "error parsing completedIndexes: non-increasing order, previous: 0, current: 0"
    ));
}

#[test]
fn hundred_thousand_conditions_are_accepted() {
    let condition = json!({"type": "Complete", "status": "Unknown"});
    let many = json!({"conditions": vec![condition; 100_000]});
    let response = status(&json!({}), &json!({}), &many, &json!({}));
    assert!(
        response.allowed && response.warnings.is_empty(),
        "{response:?}"
    );
}

/// kube-apiserver lists every error, the policy the first 100.
#[test]
fn hundred_thousand_duplicate_uids_are_denied_with_100_errors() {
    let uids = |uid: &str| {
        let many = json!({"uncountedTerminatedPods": {"failed": vec![uid; 100_001]}});
        status(&json!({}), &json!({}), &many, &json!({}))
    };
    let response = uids("a");
    let error = |i| format!(r#"status.uncountedTerminatedPods.failed[{i}]: Duplicate value: "a""#);
    let errors: Vec<_> = (1..=100).map(error).collect();
    let message = format!(r#"Job.batch "x" is invalid: [{}]"#, errors.join(", "));
    assert_eq!(response.message(), message);
    assert!(response.annotations["denied"].ends_with("..."));
    let response = uids("");
    assert!(!response.allowed);
    let last =
        r#"status.uncountedTerminatedPods.failed[99]: Invalid value: "": must not be empty]"#;
    assert!(response.message().ends_with(last));
}

/// The limit on errors applies per rule, so thousands of warnings do not suppress the denial of another rule.
#[test]
fn many_warnings_do_not_suppress_a_denial() {
    let failed = json!({"conditions": [{"type": "Failed", "status": "True"}]});
    let many = json!({"uncountedTerminatedPods": {"succeeded": vec!["a"; 2000]}});
    let settings = json!({"rules": {"job-status/uncounted-uids": "warn"}});
    let response = status(&json!({}), &failed, &many, &settings);
    assert_eq!(
        response.denied(),
        ["job-status/terminal-condition-disabled status.conditions"]
    );
    assert_eq!(response.warnings.len(), 16);
}

#[test]
fn warnings_and_annotations_stay_within_limits() {
    let long = format!("k8s.io/{}", "x<é\u{0}".repeat(500));
    let settings = json!({"rules": {"managed-by/format": "warn"}});
    let response = create("Job", &json!({"managedBy": long}), &settings);
    assert!(response.allowed);
    assert_eq!(response.warnings.len(), 3);
    let is_short = |warning: &String| warning.len() <= 256 && !warning.contains('\0');
    assert!(response.warnings.iter().all(is_short), "{response:?}");
    assert!(response.annotations.values().all(|v| v.len() <= 1024));
}

/// An `AppWrapper` can contain `AppWrapper`s. The policy reads eight levels.
#[test]
fn components_are_read_up_to_eight_levels() {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"managedBy": CONTROLLER}});
    let wrapped = |levels: usize, job: &Value| {
        (0..levels).fold(job.clone(), |template, _| {
            json!({"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper",
                "spec": {"components": [{"template": template}]}})
        })
    };
    let response = create("AppWrapper", &wrapped(8, &job)["spec"], &json!({}));
    let path = format!("spec{}.managedBy", ".components[0].template.spec".repeat(8));
    assert_eq!(response.warned(), [format!("managed-by/template {path}")]);
    let empty = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": null});
    let response = create("AppWrapper", &wrapped(9, &empty)["spec"], &json!({}));
    assert_eq!(response.warned(), Vec::<&str>::new());
    let response = create("AppWrapper", &wrapped(9, &job)["spec"], &json!({}));
    let path = format!("spec{}", ".components[0].template.spec".repeat(9));
    let expected = format!(
        "{path}: Invalid value: not validated: nested too deeply, or after the first 1000 templates"
    );
    assert_eq!(response.denied(), Vec::<&str>::new());
    assert_eq!(response.warned(), [format!("managed-by/template {path}")]);
    let [warning] = &response.warnings[..] else {
        panic!("{response:?}");
    };
    assert_eq!(*warning, format!("{}...", &expected[..253]));
}

#[test]
fn templates_beyond_the_limit_are_reported() {
    let job = json!({"template": {"spec": {"managedBy": CONTROLLER}}});
    let many = vec![job; 1500];
    let response = create("JobSet", &json!({"replicatedJobs": many}), &json!({}));
    assert_eq!(response.warnings.len(), 15);
    assert!(
        response.warnings[0]
            .contains("replicatedJobs[1000].template: Invalid value: not validated"),
        "{response:?}"
    );
    // With the parent's controller, the first thousand templates are valid, except for the last one here.
    let mut spec = json!({"managedBy": CONTROLLER, "replicatedJobs": many});
    spec["replicatedJobs"][999]["template"]["spec"]["managedBy"] = json!("acme.io/other");
    let response = create("JobSet", &spec, &json!({}));
    assert_eq!(
        response.warned(),
        [
            "managed-by/template spec.replicatedJobs[1000].template",
            "managed-by/template spec.replicatedJobs[999].template.spec.managedBy",
        ]
    );
    // Likewise, the policy reads only the first thousand counters.
    let counting = |many: usize| {
        let status = json!({"replicatedJobsStatus": vec![json!({"failed": -1}); many]});
        json!({"metadata": {"name": "x"}, "spec": {"managedBy": CONTROLLER}, "status": status})
    };
    let (old, new) = (counting(999), counting(1001));
    let update = request(find("JobSet"), "UPDATE", "status", &old, &new);
    assert_eq!(
        review(&update, &json!({})).denied(),
        ["status/negative-counter status.replicatedJobsStatus[999].failed"]
    );
}

/// The limit on templates does not affect other lists.
#[test]
fn status_after_too_many_templates_is_validated() {
    let many = vec![json!({"template": {"spec": {"managedBy": CONTROLLER}}}); 1500];
    let spec = json!({"managedBy": CONTROLLER, "replicatedJobs": many});
    let with = |failed: i64| {
        let status = json!({"replicatedJobsStatus": [{"failed": failed}]});
        json!({"metadata": {"name": "x"}, "spec": spec, "status": status})
    };
    let update = request(find("JobSet"), "UPDATE", "status", &with(0), &with(-1));
    assert_eq!(
        review(&update, &json!({})).denied(),
        ["status/negative-counter status.replicatedJobsStatus[0].failed"]
    );
}

/// Returns settings that configure delegation, each with a different key.
fn settings_with_delegation() -> [Value; 4] {
    [
        json!({"role": "hybrid"}),
        json!({"role": "worker"}),
        json!({"controllers": {"acme.io/runner": "any"}}),
        json!({"namespaces": [{"match": ["lab"], "delegation": "required"}]}),
    ]
}

/// PolicyServer accepts requests up to 2 MiB. An update contains the object twice, with Go's escapes.
#[test]
fn object_too_large_to_update_is_denied_if_settings_configure_delegation() {
    let with = |text: String| json!({"managedBy": CONTROLLER, "template": {"spec": {"containers": [{"args": [text]}]}}});
    let size = |spec: &Value| object(spec).to_string().len();
    let empty = size(&with(String::new()));
    let fired = ["managed-by/object-too-large spec"];
    for (spec, is_too_large) in [
        (with("x".repeat(983_040 - empty)), false),
        (with("x".repeat(983_041 - empty)), true),
        // kube-apiserver sends each `<` as six bytes, and PolicyServer passes it on as one.
        (with("<".repeat(150_000)), false),
        (with("<".repeat(190_000)), true),
        (with("\u{2028}".repeat(170_000)), true),
        (with("é".repeat(400_000)), false),
    ] {
        for settings in settings_with_delegation() {
            let mut settings = settings;
            settings["rules"] = json!({"managed-by/delegation": "off"});
            let response = create("Job", &spec, &settings);
            let expected = if is_too_large { &fired[..] } else { &[] };
            assert_eq!(
                response.denied(),
                expected,
                "{settings}, {} bytes",
                size(&spec)
            );
        }
        let response = create("Job", &spec, &json!({}));
        assert!(response.allowed);
        assert_eq!(response.warned().len(), usize::from(is_too_large));
    }
    // A stored object that is too large can be updated unless it grows.
    let [small, limit, large] =
        [empty, 983_040, 990_000].map(|size| with("x".repeat(size - empty)));
    let settings = json!({"role": "hybrid"});
    for (sub_resource, old, new, expected) in [
        ("", &large, &large, &[][..]),
        ("status", &large, &large, &[]),
        ("", &small, &large, &fired),
        ("", &limit, &large, &fired),
        ("", &large, &small, &[]),
    ] {
        let update = request(
            find("Job"),
            "UPDATE",
            sub_resource,
            &object(old),
            &object(new),
        );
        let response = review(&update, &settings);
        assert!(
            response.denied().contains(&fired[0]) != expected.is_empty(),
            "{:?}",
            response.denied()
        );
    }
    // For a Job that is not delegated the webhook is not called on status updates, unless the settings list its writers.
    let mut own = with("x".repeat(990_000));
    own.as_object_mut().unwrap().remove("managedBy");
    let response = create("Job", &own, &settings);
    assert_eq!(
        (response.allowed, response.warned()),
        (true, fired.to_vec())
    );
    let listed = json!({"role": "hybrid", "builtin_status_writers": {"Job": ["ana"]}});
    assert_eq!(create("Job", &own, &listed).denied(), fired);
}
