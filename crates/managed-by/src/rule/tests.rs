use super::{Check, CheckFn, Context, Findings};
use crate::description::{Rule, Upstream};
use crate::finding::BadValue;
use crate::release::Release;
use crate::request::{AdmissionRequest, RequestTarget};
use crate::settings::Settings;

const fn rule() -> Check {
    let page = include_str!("job_status/negative-counter.md");
    let rule = Rule::upstream("test/status", page, Upstream::in_function("none"));
    let reject = CheckFn::JobStatus(|_, findings| {
        findings.invalid("status", BadValue::Omitted, "rejected");
    });
    Check::new(rule, reject)
}

#[test]
fn exercised_when_does_not_change_verdicts() {
    static ALWAYS: Check = rule().exercised_when(|_| true);
    static NEVER: Check = rule().exercised_when(|_| false);
    static ALWAYS_UNCHANGED: Check = rule()
        .applies_when(|changed| changed.active)
        .exercised_when(|_| true);
    let json = r#"{"operation": "UPDATE", "subResource": "status",
                   "kind": {"group": "batch", "version": "v1", "kind": "Job"},
                   "oldObject": {"metadata": {}}, "object": {"metadata": {}}}"#;
    let request = AdmissionRequest::from_json(json.as_bytes()).unwrap();
    let RequestTarget::Change(kind, change) = &request.target else {
        panic!("{request:?}");
    };
    let settings = Settings::default();
    let context = Context::new(&request, kind, change, &settings, Release::default());
    for (check, is_exercised, found) in [
        (&ALWAYS, true, 1),
        (&NEVER, false, 1),
        (&ALWAYS_UNCHANGED, false, 0),
    ] {
        let mut findings = Findings::new(kind);
        let run = check.run(None, false, &context, &mut findings);
        assert!(run.is_ok());
        assert_eq!(check.is_exercised(&context), Some(is_exercised));
        assert_eq!(findings.list.len(), found);
    }
}
