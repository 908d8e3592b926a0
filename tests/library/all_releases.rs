//! Evaluating a request for all releases at once gives the same findings as evaluating it for each release.

use std::collections::BTreeSet;

use managed_by::{
    AdmissionRequest, Cluster, Evaluation, Finding, Release, ReleaseSet, Settings, evaluate,
    resolve, rules,
};
use managed_by_offline::Evaluator;
use managed_by_parity::trace;
use managed_by_parity::vector::{self, Vector};
use managed_by_testing::library::DocumentedCluster;
use managed_by_testing::{examples, expected};
use serde_json::{Value, json};

/// A finding of one release: release, rule, level, path, index among findings with the same rule and path, text.
type ReleaseFinding = (Release, &'static str, &'static str, String, usize, String);

fn evaluate_in(
    cluster: &dyn Cluster,
    request: &AdmissionRequest<'_>,
    settings: &Settings<'_>,
    releases: Option<ReleaseSet>,
) -> Evaluation {
    resolve(request, settings, |resolved| {
        resolved.evaluate(releases, cluster)
    })
}

/// Adds the finding of one release, with its index among those with the same rule and path.
fn add(findings: &mut BTreeSet<ReleaseFinding>, release: Release, finding: &Finding, text: &str) {
    let (rule, path) = (finding.rule.id(), &finding.path);
    let same = |other: &&ReleaseFinding| (other.0, other.1, &other.3) == (release, rule, path);
    let index = findings.iter().filter(same).count();
    let level = finding.enforcement.as_str();
    let is_new = findings.insert((release, rule, level, path.clone(), index, text.to_owned()));
    assert!(is_new);
}

/// Splits findings of several releases into one finding per release, and checks that each has the message of the newest one.
fn split_by_release(findings: &[Finding]) -> BTreeSet<ReleaseFinding> {
    let mut split = BTreeSet::new();
    for finding in findings {
        let texts = finding.texts();
        let newest = texts.iter().max_by_key(|(releases, _)| releases.newest());
        assert_eq!(finding.message, newest.unwrap().1);
        for (releases, text) in texts {
            for release in releases.iter() {
                add(&mut split, release, finding, text);
            }
        }
    }
    split
}

/// The suggestion is present in the library's data and in the JSON, and the detail quotes it.
#[test]
fn typo_has_a_suggestion() {
    let settings = br#"{"controllers":{"acme.io/runner":"any","kueue.x-k8s.io/multikueue":"any"}}"#;
    let settings = Settings::from_json(settings).unwrap();
    let (reserved_domain, allowed) = ("managed-by/reserved-domain", "managed-by/allowed");
    let multikueue = Some("kueue.x-k8s.io/multikueue");
    let both = vec![(allowed, multikueue), (reserved_domain, multikueue)];
    for (value, mut expected) in [
        ("kueue.x-k8s.io/multikeueu", both),
        ("acme.io/runer", vec![(allowed, Some("acme.io/runner"))]),
        ("acme.io/other-program", vec![(allowed, None)]),
        (
            "jobset.sigs.k8s.io/jobset-controller",
            vec![(allowed, None), ("managed-by/wrong-kind", None)],
        ),
        ("typo", vec![(allowed, None), ("managed-by/format", None)]),
    ] {
        let request = json!({
            "kind": {"group": "batch", "version": "v1", "kind": "Job"}, "operation": "CREATE",
            "object": {"metadata": {"name": "pi"}, "spec": {"managedBy": value}},
        });
        let request = request.to_string();
        let request = AdmissionRequest::from_json(request.as_bytes()).unwrap();
        let evaluation = evaluate(&request, &settings, Some(ReleaseSet::all()));
        let mut suggested: Vec<_> = evaluation
            .findings
            .iter()
            .map(|found| (found.rule.id(), found.suggestion.as_deref()))
            .collect();
        suggested.sort_unstable();
        expected.sort_unstable();
        assert_eq!(suggested, expected, "{value}");
        let json = serde_json::to_value(&evaluation).unwrap();
        for (index, found) in evaluation.findings.iter().enumerate() {
            let suggestion = found.suggestion.as_deref();
            let json_suggestion = json["findings"][index].get("suggestion");
            assert_eq!(
                json_suggestion.map(|value| value.as_str().unwrap()),
                suggestion
            );
            let in_detail = |value: &str| found.detail.contains(&format!("mean \"{value}\"?"));
            assert!(suggestion.is_none_or(in_detail), "{}", found.detail);
        }
    }
}

/// Checks that the JSON has the same findings and verdicts, and each annotation once.
fn assert_json_matches(name: &str, evaluation: &Evaluation, expected: &BTreeSet<ReleaseFinding>) {
    let json = serde_json::to_value(evaluation).unwrap();
    let rows = expected
        .iter()
        .map(|(release, rule, level, path, _, text)| {
            [release.as_str(), rule, level, path, text].map(str::to_owned)
        });
    let json_rows = expected::finding_rows(&json["findings"]);
    assert_eq!(json_rows, rows.collect(), "{name}");
    let release_verdicts = json["releaseVerdicts"].as_array().unwrap();
    assert_eq!(release_verdicts.len(), evaluation.release_verdicts.len());
    for (release_verdict, json) in evaluation.release_verdicts.iter().zip(release_verdicts) {
        assert_eq!(
            json["allowed"],
            release_verdict.verdict.decision.is_allowed()
        );
    }
    let annotations = json["auditAnnotations"].as_object().unwrap();
    assert_eq!(
        annotations.len(),
        evaluation.verdict.audit_annotations.len(),
        "{name}"
    );
}

/// Counts of the compared requests.
#[derive(Default)]
struct Counts {
    requests: usize,
    findings: usize,
    /// Requests with different verdicts in different releases.
    version_dependent: usize,
}

impl Counts {
    fn compare(&mut self, name: &str, request: &Value, settings: &Value) {
        let (request, settings) = (request.to_string(), settings.to_string());
        let Ok(request) = AdmissionRequest::from_json(request.as_bytes()) else {
            return;
        };
        let settings = Settings::from_json(settings.as_bytes()).unwrap();
        let all = Some(ReleaseSet::all());
        let evaluation = evaluate_in(&DocumentedCluster, &request, &settings, all);
        let mut expected = BTreeSet::new();
        let mut warnings = Vec::new();
        for &release in Release::ALL {
            let settings_of_release = settings.clone().with_kubernetes_version(release);
            let of_release = evaluate_in(&DocumentedCluster, &request, &settings_of_release, None);
            for finding in &of_release.findings {
                add(&mut expected, release, finding, &finding.message);
            }
            let verdict = &of_release.verdict;
            for warning in &verdict.warnings {
                if !warnings.contains(warning) {
                    warnings.push(warning.clone());
                }
            }
            let mut shared = evaluation.release_verdicts.iter();
            let shared = shared.find(|shared| shared.releases.contains(release));
            assert_eq!(&shared.unwrap().verdict, verdict, "{name} {release}");
            let is_allowed = verdict.decision.is_allowed();
            assert_eq!(evaluation.denied_by().contains(release), !is_allowed);
            assert_eq!(evaluation.allowed_by().contains(release), is_allowed);
            let one = Some(release.into());
            let one = evaluate_in(&DocumentedCluster, &request, &settings, one);
            assert_eq!(&one.verdict, verdict, "{name} {release}");
        }
        assert_eq!(split_by_release(&evaluation.findings), expected, "{name}");
        assert_eq!(evaluation.verdict.warnings, warnings, "{name}");
        let findings = evaluation.findings.iter();
        let rank = |found: &Finding| rules().iter().position(|rule| *rule == found.rule);
        assert!(findings.map(rank).is_sorted(), "{name}");
        // The message of a denial contains every finding that denies, unless the user is forbidden to write.
        let verdict = &evaluation.verdict;
        if verdict.decision.code() == Some(422) {
            for finding in &evaluation.findings {
                let is_denial = finding.enforcement == managed_by::Enforcement::Deny;
                let message = verdict.decision.message().unwrap();
                assert!(!is_denial || message.contains(&finding.message), "{name}");
                for release_message in &finding.messages {
                    // Only path and error type, because newer releases may use another detail.
                    let error_type = release_message.error_type.as_str();
                    let prefix = format!("{}: {error_type}", finding.path);
                    assert!(release_message.message.starts_with(&prefix), "{name}");
                    assert!(!is_denial || message.contains(&prefix), "{name}");
                }
            }
        }

        assert_json_matches(name, &evaluation, &expected);

        // The offline tools report the same.
        let evaluation = evaluate(&request, &settings, all);
        let tool = Evaluator::new(settings.clone(), all).evaluate(&request);
        assert_eq!(tool.unwrap(), evaluation, "{name}");

        self.requests += 1;
        self.findings += expected.len();
        self.version_dependent += usize::from(evaluation.release_verdicts.len() > 1);
    }
}

/// A release has at most 15 warnings about findings, and one with the ids of the rules that deny.
#[test]
fn merged_verdicts_have_the_warnings_of_each_release() {
    let uids = vec!["a"; 20];
    let request = json!({
        "kind": {"group": "batch", "version": "v1", "kind": "Job"}, "operation": "UPDATE", "subResource": "status",
        "oldObject": {"metadata": {"name": "pi"}, "spec": {"managedBy": "acme.io/runner"}},
        "object": {
            "metadata": {"name": "pi"}, "spec": {"managedBy": "acme.io/runner"},
            "status": {"ready": 1, "uncountedTerminatedPods": {"succeeded": uids}},
        },
    });
    let settings = json!({"rules": {"job-status/uncounted-uids": "warn"}});
    let mut counts = Counts::default();
    counts.compare("16 warnings", &request, &settings);
    assert_eq!(counts.version_dependent, 1);
    let (request, settings) = (request.to_string(), settings.to_string());
    let request = AdmissionRequest::from_json(request.as_bytes()).unwrap();
    let settings = Settings::from_json(settings.as_bytes()).unwrap();
    let all = Some(ReleaseSet::all());
    let evaluation = evaluate(&request, &settings, all);
    assert_eq!(evaluation.verdict.warnings.len(), 16);
}

#[test]
fn all_releases_report_the_findings_of_each_release() {
    let mut examples = Counts::default();
    for example in examples::all().unwrap() {
        examples.compare(&example.name, &example.request, &example.settings);
    }
    let mut vectors = Counts::default();
    for Vector { case, .. } in vector::all().unwrap() {
        vectors.compare(&case.name, &case.request(), &json!({}));
    }
    let mut traces = Counts::default();
    for stream in trace::JOBS.iter().chain(&trace::CUSTOM) {
        for case in trace::requests(stream).unwrap() {
            traces.compare(&case.name, &case.request(), &json!({}));
        }
    }
    for (counts, version_dependent) in [(&examples, 5), (&vectors, 10), (&traces, 10)] {
        assert!(counts.requests > 50 && counts.findings > 100);
        assert!(counts.version_dependent > version_dependent);
    }
}
