//! The file of `docs/tutorials/controller-test.md`, with the fix that the page describes.

include!("tutorial/status.rs");

#[test]
fn page_shows_the_findings_of_its_first_example() {
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/tutorials/controller-test.md"
    );
    let page = std::fs::read_to_string(page).unwrap();
    let corrected = include_str!("tutorial/status.rs");
    let omitted = "condition(\"SuccessCriteriaMet\"), ";
    let (line, _) = corrected.split_once(omitted).unwrap();
    let line = line.lines().next_back().unwrap().trim_start();
    let shown = corrected.replacen(omitted, "", 1);
    assert!(page.contains(&format!("```rust\n{shown}```")), "{shown}");
    assert!(page.contains(&format!("{line}{omitted}")), "{line}");

    let spec = JobSpec {
        managed_by: Some("acme.io/runner".to_owned()),
        ..JobSpec::default()
    };
    let [start, end] = [0, 3600].map(|second| Time(Timestamp::from_second(second).unwrap()));
    let status = JobStatus {
        start_time: Some(start),
        active: Some(1),
        ..JobStatus::default()
    };
    let old = Job {
        spec: Some(spec),
        status: Some(status.clone()),
        ..Job::default()
    };
    let mut incomplete = finished(&status, &end);
    incomplete.conditions.as_mut().unwrap().remove(0);
    let new = Job {
        status: Some(incomplete),
        ..old.clone()
    };
    let found = JobChecker::new(Release::V1_36).status_update(&old, &new);
    assert!(page.contains(&format!("left: {found:?}\n")), "{found:?}");
}
