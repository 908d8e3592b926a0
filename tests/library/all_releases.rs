//! Evaluating a request for all releases at once gives the same findings as evaluating it for each release.

use std::collections::BTreeSet;

use managed_by::{
    AdmissionRequest, Evaluation, EvaluationResult, MergedFinding, NoCluster, Release, ReleaseSet,
    Settings, Verdict, evaluate_with_cluster, review_with_cluster, rules,
};
use managed_by_offline::Evaluator;
use managed_by_parity::trace;
use managed_by_parity::vector::{self, Vector};
use managed_by_testing::library::DocumentedCluster;
use managed_by_testing::{examples, expected};
use serde_json::{Value, json};

/// A finding of one release: release, rule, level, path, index among findings with the same rule and path, text.
type ReleaseFinding = (Release, &'static str, &'static str, String, usize, String);

/// Returns the findings of a verdict for one release.
fn findings_of(release: Release, verdict: &Verdict<'_>) -> BTreeSet<ReleaseFinding> {
    let mut findings: BTreeSet<ReleaseFinding> = BTreeSet::new();
    for (enforcement, finding) in &verdict.findings {
        let (rule, path) = (finding.rule().id(), finding.error().path());
        let same = |other: &&ReleaseFinding| (other.1, &*other.3) == (rule, path);
        let index = findings.iter().filter(same).count();
        let text = finding.error().message(release);
        let level = enforcement.as_str();
        findings.insert((release, rule, level, path.to_owned(), index, text));
    }
    assert_eq!(findings.len(), verdict.findings.len());
    findings
}

/// Splits a finding of several releases into one finding per release, and checks that it has the message of the newest one.
fn split_by_release(finding: &MergedFinding<'_>) -> Vec<ReleaseFinding> {
    let (rule, path) = (finding.rule().id(), finding.path());
    let level = finding.enforcement().as_str();
    let messages = finding.messages();
    let newest = messages.iter().max_by_key(|m| m.releases.newest()).unwrap();
    assert_eq!(finding.message(), newest.message);
    let mut findings = Vec::new();
    for message in messages {
        findings.extend(message.releases.iter().map(|release| {
            let (path, text) = (path.to_owned(), message.message.clone());
            (release, rule, level, path, finding.ordinal(), text)
        }));
    }
    findings
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
        let evaluation =
            evaluate_with_cluster(&request, &settings, Some(ReleaseSet::all()), &NoCluster);
        let mut suggested: Vec<_> = evaluation
            .findings()
            .iter()
            .map(|found| (found.rule().id(), found.error().suggestion()))
            .collect();
        suggested.sort_unstable();
        expected.sort_unstable();
        assert_eq!(suggested, expected, "{value}");
        let json = serde_json::to_value(&evaluation).unwrap();
        let offline = EvaluationResult::from(&evaluation);
        for (index, found) in evaluation.findings().iter().enumerate() {
            let suggestion = found.error().suggestion();
            let json_suggestion = json["findings"][index].get("suggestion");
            assert_eq!(
                json_suggestion.map(|value| value.as_str().unwrap()),
                suggestion
            );
            assert_eq!(offline.findings[index].suggestion.as_deref(), suggestion);
            let in_detail = |value: &str| found.detail().contains(&format!("mean \"{value}\"?"));
            assert!(suggestion.is_none_or(in_detail), "{}", found.detail());
        }
    }
}

/// Checks that the JSON has the same findings and verdicts, and each annotation once.
fn assert_json_matches(
    name: &str,
    evaluation: &Evaluation<'_>,
    expected: &BTreeSet<ReleaseFinding>,
) {
    let json = serde_json::to_value(evaluation).unwrap();
    let rows = expected
        .iter()
        .map(|(release, rule, level, path, _, text)| {
            [release.as_str(), rule, level, path, text].map(str::to_owned)
        });
    let json_rows = expected::finding_rows(&json["findings"]);
    assert_eq!(json_rows, rows.collect(), "{name}");
    let release_verdicts = json["releaseVerdicts"].as_array().unwrap();
    assert_eq!(release_verdicts.len(), evaluation.release_verdicts().len());
    for (release_verdict, json) in evaluation.release_verdicts().iter().zip(release_verdicts) {
        assert_eq!(
            json["allowed"],
            release_verdict.verdict.decision.is_allowed()
        );
    }
    for (finding, json) in evaluation
        .findings()
        .iter()
        .zip(json["findings"].as_array().unwrap())
    {
        let has_messages = json.get("messages").is_some();
        assert_eq!(has_messages, finding.messages().len() > 1, "{name}");
    }
    let annotations = json["auditAnnotations"].as_object().unwrap();
    assert_eq!(
        annotations.len(),
        evaluation.verdict().audit_annotations.len(),
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
        let evaluation = evaluate_with_cluster(&request, &settings, all, &DocumentedCluster);
        let mut expected = BTreeSet::new();
        let mut warnings = Vec::new();
        for &release in Release::ALL {
            let settings_of_release = settings.clone().with_kubernetes_version(release);
            let verdict = review_with_cluster(&request, &settings_of_release, &DocumentedCluster);
            expected.append(&mut findings_of(release, &verdict));
            for warning in &verdict.warnings {
                if !warnings.contains(warning) {
                    warnings.push(warning.clone());
                }
            }
            let only = evaluation.for_release(release).unwrap();
            assert_eq!(only.verdict(), &verdict, "{name} {release}");
            let is_allowed = verdict.decision.is_allowed();
            assert_eq!(evaluation.denied_by().contains(release), !is_allowed);
            assert_eq!(evaluation.allowed_by().contains(release), is_allowed);
            let one = evaluate_with_cluster(
                &request,
                &settings,
                Some(release.into()),
                &DocumentedCluster,
            );
            assert_eq!(one.verdict(), &verdict, "{name} {release}");
        }
        let actual = evaluation.findings().iter().flat_map(split_by_release);
        assert_eq!(actual.collect::<BTreeSet<_>>(), expected, "{name}");
        assert_eq!(evaluation.verdict().warnings, warnings, "{name}");
        let findings = evaluation.findings().iter();
        let rank =
            |found: &MergedFinding<'_>| rules().iter().position(|rule| *rule == found.rule());
        assert!(findings.map(rank).is_sorted(), "{name}");
        // The message of a denial contains every finding that denies, unless the user is forbidden to write.
        let verdict = evaluation.verdict();
        if verdict.decision.code() == Some(422) {
            for finding in evaluation.findings() {
                let is_denial = finding.enforcement() == managed_by::Enforcement::Deny;
                let message = verdict.decision.message().unwrap();
                assert!(!is_denial || message.contains(&finding.message()), "{name}");
                for release_message in finding.messages() {
                    // Only path and error type, because newer releases may use another detail.
                    let error_type = release_message.error_type.as_str();
                    let prefix = format!("{}: {error_type}", finding.path());
                    assert!(release_message.message.starts_with(&prefix), "{name}");
                    assert!(!is_denial || message.contains(&prefix), "{name}");
                }
            }
        }

        assert_json_matches(name, &evaluation, &expected);

        // The offline tools report the same findings.
        let evaluation = evaluate_with_cluster(&request, &settings, all, &NoCluster);
        let findings = evaluation.findings().iter().flat_map(split_by_release);
        let findings: Vec<_> = findings
            .map(|(release, rule, level, path, _, text)| (release, rule, level, path, text))
            .collect();
        let tool = Evaluator::new(settings.clone(), Some(ReleaseSet::all()))
            .evaluate(&request)
            .unwrap();
        let tool_findings = tool.findings.iter().flat_map(|found| {
            let texts = match &*found.messages {
                [] => vec![(found.releases.unwrap(), found.message.clone())],
                texts => {
                    let texts = texts.iter();
                    texts.map(|s| (s.releases, s.message.clone())).collect()
                }
            };
            let each = texts.into_iter().flat_map(|(releases, text)| {
                let each = releases.iter().collect::<Vec<_>>().into_iter();
                each.map(move |release| (release, text.clone()))
            });
            each.map(|(release, text)| {
                let level = found.enforcement.as_str();
                (release, found.rule.id(), level, found.path.clone(), text)
            })
        });
        assert_eq!(tool_findings.collect::<Vec<_>>(), findings, "{name}");
        let decisions = tool.releases().unwrap();
        assert_eq!(decisions.allowed, evaluation.allowed_by(), "{name}");
        assert_eq!(decisions.denied, evaluation.denied_by(), "{name}");

        self.requests += 1;
        self.findings += expected.len();
        self.version_dependent += usize::from(evaluation.release_verdicts().len() > 1);
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
    let evaluation = evaluate_with_cluster(&request, &settings, all, &NoCluster);
    assert_eq!(evaluation.verdict().warnings.len(), 16);
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
    for counts in [&examples, &vectors, &traces] {
        assert!(counts.requests > 50 && counts.findings > 100 && counts.version_dependent > 10);
    }
}
