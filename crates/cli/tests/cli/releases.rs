//! A report that asks only some releases.

use serde_json::{Value, json};

use crate::support::run;

/// A report since a release has no other one, and its cells are those of the whole report.
#[test]
fn a_report_since_a_release_leaves_older_ones_out() {
    let report = |more: &[&str]| -> Value {
        let trace = "conformance/traces/multikueue-0.14-hub.ndjson";
        let controller = "kueue.x-k8s.io/multikueue";
        let args = [
            &[
                "conformance",
                trace,
                "--controller",
                controller,
                "-o",
                "json",
            ][..],
            more,
        ]
        .concat();
        serde_json::from_str(&run(&args, b"").out).unwrap()
    };
    let all = report(&[]);
    let since = report(&["--since", "1.36"]);
    assert_eq!(since["releases"], json!(["1.36", "1.37"]));
    assert_eq!(since["conformsTo"], json!(["1.36", "1.37"]));
    assert_eq!(since["timelines"], json!([]));
    let rows = |report: &Value| report["rows"].as_array().unwrap().clone();
    for (some, all) in rows(&since).iter().zip(rows(&all)) {
        let cells = all["cells"].as_array().unwrap();
        assert_eq!(some["cells"].as_array().unwrap()[..], cells[6..], "{some}");
    }
    assert_eq!(rows(&since).len(), rows(&all).len());
}
