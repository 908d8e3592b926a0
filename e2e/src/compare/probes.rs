//! What each way can do: the same requests to all, through the API server.

use anyhow::{Context as _, Result, ensure};
use managed_by_conformance::vector::{self, Answer};
use serde_json::{Value, json};

use super::ways::{SETUP, Way, Ways};
use crate::cluster::api_server::{ADMIN, ANA, KUEUE};
use crate::cluster::hook::{RELEASE, job};
use crate::http;
use crate::kube::{Client, done, jobs, path};
use crate::report::Report;

const TYPO: &str = "kueue.x-k8s.io/multikeue";
const MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";

/// A cluster as one way protects it.
struct Place<'a> {
    ways: &'a Ways,
    way: Way,
}

/// Something that a way can do or not.
type Feature = (&'static str, fn(&Place<'_>) -> Result<bool>);

const FEATURES: [Feature; 14] = [
    ("A typo and an unlisted controller are denied", |place| {
        Ok(place.denied(ANA, &place.job("typo", TYPO))?.is_some()
            && place.allowed(ANA, &place.job("good", MULTIKUEUE))?)
    }),
    ("The denial lists the allowed controllers", |place| {
        let message = place.denied(ANA, &place.job("typo", TYPO))?;
        Ok(message.is_some_and(|m| m.contains(MULTIKUEUE)))
    }),
    ("The denial suggests the probable name", |place| {
        let message = place.denied(ANA, &place.job("typo", TYPO))?;
        Ok(message.is_some_and(|m| m.contains(&format!("did you mean \"{MULTIKUEUE}\"?"))))
    }),
    ("The allow-list differs by kind", |place| {
        Ok(place.allowed(ANA, &place.job("by-kind", "acme.io/runner"))?
            && place
                .denied(
                    ANA,
                    &place.jobset("by-kind", &json!({"managedBy": "acme.io/runner"})),
                )?
                .is_some())
    }),
    (
        "Delegation is required, with exceptions by label",
        |place| {
            let mut labelled = job(&place.way.namespace(), "labelled", &json!({}));
            labelled["metadata"]["labels"] = json!({"example.com/runs-here": "true"});
            let plain = job(&place.way.namespace(), "plain", &json!({}));
            Ok(place.denied(ANA, &plain)?.is_some() && place.allowed(ANA, &labelled)?)
        },
    ),
    ("Children of delegated workloads are exempt", |place| {
        let mut child = job(&place.way.namespace(), "child", &json!({}));
        child["metadata"]["ownerReferences"] = json!([{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
            "name": "train", "uid": "0e6f1f6d-5d5c-4f0e-9a3b-2c3d4e5f6a7b", "controller": true}]);
        place.allowed(ANA, &child)
    }),
    ("`managedBy` of a custom kind cannot change", |place| {
        place.keep(&place.jobset("fixed", &json!({"managedBy": MULTIKUEUE})))?;
        let object = place.at("jobsets", "fixed");
        let other = json!({"metadata": {"labels": {"a": "b"}}});
        let change = json!({"spec": {"managedBy": null}});
        Ok(place.client(ANA).patch(&object, &other)?.code < 300
            && place.client(ANA).patch(&object, &change)?.code > 399)
    }),
    (
        "Bad objects from before the policy can be updated and deleted",
        |place| {
            let object = format!("{}/stored", jobs(&place.way.namespace()));
            let label = place
                .client(ANA)
                .patch(&object, &json!({"metadata": {"labels": {"a": "b"}}}))?;
            let delete = place.client(ANA).delete(&object)?;
            let release = place
                .client(ANA)
                .patch(&object, &json!({"metadata": {"finalizers": null}}))?;
            Ok([label, delete, release]
                .iter()
                .all(|answer| answer.code < 300))
        },
    ),
    ("Exempt users are allowed, and warned", |place| {
        let answer = place
            .client(ADMIN)
            .post(&place.dry(), &place.job("glass", TYPO))?;
        Ok(answer.code < 300
            && answer
                .warnings
                .iter()
                .any(|w| w.contains("would have been denied") || w.contains("would have denied")))
    }),
    (
        "Only the controller writes the status of a delegated workload",
        |place| {
            place.keep_job("written")?;
            let object = format!("{}/written/status", jobs(&place.way.namespace()));
            let status = json!({"status": {"active": 1, "startTime": "2026-01-01T00:00:00Z"}});
            Ok(place.client(ANA).patch(&object, &status)?.code > 399
                && place.client(KUEUE).patch(&object, &status)?.code < 300)
        },
    ),
    ("The outcome of a custom kind is final", |place| {
        let done = json!({"conditions": [{"type": "Completed", "status": "True"}], "terminalState": "Completed"});
        place.steps(
            "final",
            &[
                (&done, true),
                (&json!({"conditions": [], "terminalState": null}), false),
            ],
        )
    }),
    (
        "A custom kind has one outcome, and no negative counter",
        |place| {
            let both = json!({"conditions": [{"type": "Completed", "status": "True"}, {"type": "Failed", "status": "True"}]});
            place.steps(
                "sense",
                &[
                    (&json!({"restarts": 1}), true),
                    (&json!({"restarts": -1}), false),
                    (&both, false),
                ],
            )
        },
    ),
    ("An orphaned child in a template is warned of", |place| {
        let template = |spec: Value| json!({"managedBy": MULTIKUEUE, "replicatedJobs": [{"name": "a", "template": {"spec": spec}}]});
        let post = |spec: Value| {
            place.client(ANA).post(
                &place.dry_jobsets(),
                &place.jobset("parent", &template(spec)),
            )
        };
        let (bad, good) = (post(json!({"managedBy": MULTIKUEUE}))?, post(json!({}))?);
        Ok(bad.code < 300
            && !bad.warnings.is_empty()
            && good.code < 300
            && good.warnings.is_empty())
    }),
    (
        "The status of a Job on an API server with the rules",
        |place| {
            place.keep_job("upstream")?;
            let object = format!("{}/upstream/status", jobs(&place.way.namespace()));
            let failed = json!({"status": {"startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Failed", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
            Ok(place.client(KUEUE).patch(&object, &failed)?.code == 422)
        },
    ),
];

impl Place<'_> {
    fn client(&self, user: &str) -> Client {
        self.ways.cluster.client(user)
    }

    fn dry(&self) -> String {
        format!("{}?dryRun=All", jobs(&self.way.namespace()))
    }

    fn jobsets(&self) -> String {
        path("jobset.x-k8s.io/v1alpha2", &self.way.namespace(), "jobsets")
    }

    fn dry_jobsets(&self) -> String {
        format!("{}?dryRun=All", self.jobsets())
    }

    fn at(&self, resource: &str, name: &str) -> String {
        format!(
            "{}/{name}",
            path("jobset.x-k8s.io/v1alpha2", &self.way.namespace(), resource)
        )
    }

    fn job(&self, name: &str, managed_by: &str) -> Value {
        job(
            &self.way.namespace(),
            name,
            &json!({"managedBy": managed_by}),
        )
    }

    fn jobset(&self, name: &str, spec: &Value) -> Value {
        json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
            "metadata": {"name": name, "namespace": self.way.namespace()}, "spec": spec})
    }

    /// Asks for an object without storing it.
    fn post(&self, user: &str, object: &Value) -> Result<http::Answer> {
        let path = if object["kind"] == "JobSet" {
            self.dry_jobsets()
        } else {
            self.dry()
        };
        self.client(user).post(&path, object)
    }

    fn denied(&self, user: &str, object: &Value) -> Result<Option<String>> {
        let answer = self.post(user, object)?;
        ensure!(answer.code < 500, "{} {}", answer.code, answer.message());
        Ok((answer.code > 399).then(|| answer.message().to_owned()))
    }

    fn allowed(&self, user: &str, object: &Value) -> Result<bool> {
        Ok(self.denied(user, object)?.is_none())
    }

    /// Stores an object that every way allows.
    fn keep(&self, object: &Value) -> Result<()> {
        let path = if object["kind"] == "JobSet" {
            self.jobsets()
        } else {
            jobs(&self.way.namespace())
        };
        done(self.client(ANA).post(&path, object)?).context("an object that is fine")?;
        Ok(())
    }

    fn keep_job(&self, name: &str) -> Result<()> {
        self.keep(&self.job(name, MULTIKUEUE))
    }

    /// Statuses of a delegated JobSet, one after another, each with whether it is fine.
    fn steps(&self, name: &str, steps: &[(&Value, bool)]) -> Result<bool> {
        self.keep(&self.jobset(name, &json!({"managedBy": MULTIKUEUE})))?;
        let object = format!("{}/status", self.at("jobsets", name));
        for (status, is_fine) in steps {
            let answer = self
                .client(KUEUE)
                .patch(&object, &json!({"status": status}))?;
            ensure!(answer.code < 500, "{} {}", answer.code, answer.message());
            if (answer.code < 300) != *is_fine {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the way gives upstream's verdict on a status update, where no API server does.
    fn judges(&self, number: usize, request: &Value) -> Result<bool> {
        match self.way {
            Way::None => Ok(true),
            Way::Cel => self.unchecked(number, request),
            way => self.ways.allows(way, request),
        }
    }

    /// The same update of an object like a Job, of which the API server has no rules.
    fn unchecked(&self, number: usize, request: &Value) -> Result<bool> {
        let admin = self.client(ADMIN);
        let all = path("compare.example.com/v1", &self.way.namespace(), "jobs");
        let name = format!("case-{number}");
        let mut stored = admin.create(
            &all,
            &json!({"apiVersion": "compare.example.com/v1", "kind": "Job",
            "metadata": {"name": name, "labels": {SETUP: ""}}, "spec": request["object"]["spec"]}),
        )?;
        let (object, status) = (format!("{all}/{name}"), format!("{all}/{name}/status"));
        // With the label the policy leaves it alone: what is stored may break a rule.
        stored["status"] = request["oldObject"]["status"].clone();
        done(admin.put(&status, &stored)?)?;
        let mut stored = done(admin.patch(&object, &json!({"metadata": {"labels": null}}))?)?;
        stored["status"] = request["object"]["status"].clone();
        let answer = admin.put(&status, &stored)?;
        ensure!(answer.code < 500, "{} {}", answer.code, answer.message());
        Ok(answer.code < 400)
    }
}

/// Every feature with the ways that have it, and how many verdicts of kube-apiserver each gives.
pub(super) fn run(report: &Report, ways: &Ways) -> Result<Value> {
    let mut rows = Vec::new();
    for (title, probe) in FEATURES {
        let mut row = json!({"feature": title});
        let mut words = Vec::new();
        for way in Way::ALL {
            let can =
                probe(&Place { ways, way }).with_context(|| format!("{title}: {}", way.name()))?;
            row[way.name()] = can.into();
            words.push(format!("{} {}", way.name(), if can { "yes" } else { "no" }));
        }
        report.note(&format!("{title}: {}", words.join(", ")));
        rows.push(row);
    }
    Ok(json!({"rows": rows, "job_status": job_status(report, ways)?}))
}

/// The status updates of Jobs that kube-apiserver's own code has judged: how many each way judges as release 1.36 does.
fn job_status(report: &Report, ways: &Ways) -> Result<Value> {
    let mut cases = Vec::new();
    for file in ["job-status.ndjson", "job-status-generated.ndjson"] {
        for vector in vector::read(file)? {
            let answers = |a: &&Answer| a.releases.iter().any(|r| r == RELEASE);
            let answer = vector.answers.iter().find(answers).context("no answer")?;
            let is_update =
                vector.case.sub_resource == "status" && vector.case.old_object.is_some();
            let request = &vector.case.request();
            if is_update && !answer.unreadable && is_sent(request) {
                cases.push((
                    whole(vector.case.request()),
                    answer.errors.is_empty(),
                    vector.case.name,
                ));
            }
        }
    }
    let denied = cases
        .iter()
        .filter(|(_, is_allowed, _)| !is_allowed)
        .count();
    let mut rows = Vec::new();
    for way in Way::ALL {
        let (mut wrongly_allowed, mut wrongly_denied) = (0, 0);
        for (number, (request, is_allowed, name)) in cases.iter().enumerate() {
            let judged = Place { ways, way }.judges(number, request)?;
            if judged != *is_allowed && way != Way::None {
                let word = if judged { "allowed" } else { "denied" };
                report.note(&format!(
                    "{} {word}, unlike kube-apiserver: {name}",
                    way.name()
                ));
            }
            wrongly_allowed += usize::from(judged && !is_allowed);
            wrongly_denied += usize::from(!judged && *is_allowed);
        }
        report.note(&format!(
            "{}: {wrongly_allowed} of {denied} allowed wrongly, {wrongly_denied} of {} denied wrongly",
            way.name(),
            cases.len() - denied,
        ));
        rows.push(json!({"way": way.name(), "wrongly_allowed": wrongly_allowed, "wrongly_denied": wrongly_denied}));
    }
    Ok(json!({"cases": cases.len(), "denied": denied, "rows": rows}))
}

/// Whether an API server sends such a request: it keeps the spec on a status update, and writes each object again, without
/// what is null or empty and with times in one form.
fn is_sent(request: &Value) -> bool {
    let (new, old) = (&request["object"], &request["oldObject"]);
    let is_time = |object: &Value, key: &str| {
        object["status"][key]
            .as_str()
            .is_none_or(|t| t.len() == 20 && t.ends_with('Z'))
    };
    new["spec"] == old["spec"]
        && [new, old].iter().all(|object| {
            is_tidy(object) && is_time(object, "startTime") && is_time(object, "completionTime")
        })
}

fn is_tidy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty() && items.iter().all(is_tidy),
        Value::Object(members) => members.values().all(is_tidy),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// The request of an example with what an API server adds.
fn whole(mut request: Value) -> Value {
    let kind = request["kind"].clone();
    for (key, value) in [
        ("uid", json!("00000000-0000-4000-8000-000000000000")),
        ("requestKind", kind),
        (
            "resource",
            json!({"group": "batch", "version": "v1", "resource": "jobs"}),
        ),
        (
            "requestResource",
            json!({"group": "batch", "version": "v1", "resource": "jobs"}),
        ),
        (
            "userInfo",
            json!({"username": KUEUE, "groups": ["system:serviceaccounts"]}),
        ),
        ("name", json!("pi")),
        ("namespace", json!("team-a")),
        ("options", json!({})),
        ("dryRun", json!(false)),
    ] {
        request[key] = value;
    }
    for object in ["object", "oldObject"] {
        // k8s-openapi's types ask for these.
        request[object]["apiVersion"] = "batch/v1".into();
        request[object]["kind"] = "Job".into();
        request[object]["spec"]["template"] = json!({"spec": {"containers": []}});
    }
    request
}
