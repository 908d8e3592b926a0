//! No way of several steps, each of them allowed, leads from an outcome: searched through all the states that a kind's
//! rules tell apart.

use std::collections::BTreeSet;

use super::{ONE, condition, find, request};
use crate::support::natively;
use managed_by::rules;
use serde_json::{Map, Value, json};

/// An outcome that is in one state and not in another, which can be reached from it.
struct Loss<'a> {
    outcome: &'static str,
    from: &'a Value,
    to: &'a Value,
}

/// The product of lists of members: one object for each choice of one from each list.
fn product(lists: &[Vec<Value>]) -> Vec<Value> {
    let mut all = vec![json!({})];
    for list in lists {
        let extend = |state: &Value| -> Vec<Value> {
            let with = |members: &Value| {
                let mut state = state.clone();
                let members = members.as_object().unwrap().clone();
                state.as_object_mut().unwrap().extend(members);
                state
            };
            list.iter().map(with).collect()
        };
        all = all.iter().flat_map(extend).collect();
    }
    all
}

fn words(field: &str, words: &[&str]) -> Vec<Value> {
    words.iter().map(|word| json!({field: word})).collect()
}

/// Each set of conditions.
fn conditions(sets: &[&[(&str, &str, &str)]]) -> Vec<Value> {
    let one = |(name, status, reason): &(&str, &str, &str)| condition(name, status, reason);
    let set = |set: &&[_]| json!({"conditions": set.iter().map(one).collect::<Value>()});
    sets.iter().map(set).collect()
}

fn end(field: &str) -> Vec<Value> {
    vec![json!({}), json!({field: ONE})]
}

/// The outcomes that a state says.
fn outcomes(state: &Value) -> BTreeSet<&'static str> {
    let mut said = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for condition in state["conditions"].as_array().into_iter().flatten() {
        if !seen.insert(condition["type"].as_str()) {
            continue;
        }
        let word = |key: &str| condition[key].as_str().unwrap();
        match (word("type"), word("status")) {
            ("Completed" | "Complete" | "Succeeded", "True") => said.insert("success"),
            ("Failed", "True") | ("Succeeded", "False") => said.insert("failure"),
            _ => false,
        };
    }
    let word = ["phase", "jobDeploymentStatus"]
        .iter()
        .find_map(|field| state[*field].as_str());
    let ended = match word {
        Some("Complete" | "Succeeded") => said.insert("success"),
        Some("Failed") => said.insert("failure"),
        _ => false,
    };
    let jobs = [
        ("SUCCEEDED", "jobStatus SUCCEEDED"),
        ("FAILED", "jobStatus FAILED"),
        ("STOPPED", "jobStatus STOPPED"),
    ];
    for (job, outcome) in jobs {
        // Before, the operator looks again; after, so that nobody runs it, it is the last word.
        if state["jobStatus"] == job && (ended || word == Some("ValidationFailed")) {
            said.insert(outcome);
        }
    }
    said
}

/// Searches through all steps between the states of an object; returns how many are allowed.
fn search(
    kind: &str,
    object: &Value,
    states: &[Value],
    allowed: impl Fn(&Loss<'_>) -> bool,
) -> usize {
    let with = |status: &Value| {
        let mut object = object.clone();
        object["status"] = status.clone();
        object
    };
    // Set to deny, the rules hold for objects that are not delegated too.
    let rules = rules().iter().map(|rule| rule.id());
    let rules: Map<_, _> = rules
        .filter(|id| id.starts_with("status/outcome-changed") || *id == "status/two-outcomes")
        .map(|id| (id.to_owned(), "deny".into()))
        .collect();
    let settings = json!({ "rules": rules });
    let may = |old: &Value, new: &Value| {
        let request = request(find(kind), "UPDATE", "status", &with(old), &with(new));
        natively(&request, &settings).allowed
    };
    let steps: Vec<Vec<usize>> = states
        .iter()
        .map(|old| {
            (0..states.len())
                .filter(|new| may(old, &states[*new]))
                .collect()
        })
        .collect();
    let reached_from = |start: usize| {
        let mut reached = BTreeSet::from([start]);
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            open.extend(steps[at].iter().filter(|next| reached.insert(**next)));
        }
        reached
    };
    // The first state is that of a new object. What can be reached from there may be stored, and the background audit
    // replays what is stored as a create.
    for index in reached_from(0) {
        let request = request(
            find(kind),
            "CREATE",
            "",
            &Value::Null,
            &with(&states[index]),
        );
        let answer = natively(&request, &settings);
        assert!(
            answer.allowed,
            "{kind}: {} is denied: {answer:?}",
            states[index]
        );
    }
    for (start, from) in states.iter().enumerate() {
        let reached = reached_from(start);
        for outcome in outcomes(from) {
            for to in reached.iter().map(|index| &states[*index]) {
                let loss = Loss { outcome, from, to };
                assert!(
                    outcomes(to).contains(outcome) || allowed(&loss),
                    "{kind}: {from} leads to {to}"
                );
            }
        }
    }
    steps.iter().map(Vec::len).sum()
}

fn never(_: &Loss<'_>) -> bool {
    false
}

fn plain() -> Value {
    json!({"metadata": {"name": "x"}, "spec": {}})
}

fn delegated() -> Value {
    json!({"metadata": {"name": "x"}, "spec": {"managedBy": "kueue.x-k8s.io/multikueue",
        "runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}}})
}

fn deleted(mut object: Value) -> Value {
    object["metadata"]["deletionTimestamp"] = ONE.into();
    object
}

/// An object of each sort that decides which outcomes are final.
fn objects() -> [Value; 4] {
    [plain(), delegated(), deleted(plain()), deleted(delegated())]
}

const TRUE: &str = "True";

#[test]
fn outcomes_of_a_job_set_and_a_pipeline_run_are_never_lost() {
    let states = product(&[
        conditions(&[
            &[],
            &[("Completed", TRUE, "")],
            &[("Failed", TRUE, "")],
            &[("Completed", TRUE, ""), ("Failed", TRUE, "")],
        ]),
        words("terminalState", &["", "Completed", "Failed"]),
    ]);
    for object in objects() {
        assert!(search("JobSet", &object, &states, never) > states.len());
    }
    let states = product(&[
        conditions(&[
            &[],
            &[("Succeeded", "Unknown", "")],
            &[("Succeeded", TRUE, "")],
            &[("Succeeded", "False", "Failed")],
            &[("Succeeded", "Unknown", ""), ("Succeeded", TRUE, "")],
            &[("Succeeded", TRUE, ""), ("Succeeded", "Unknown", "")],
        ]),
        end("completionTime"),
    ]);
    // Tekton overwrites an outcome of its own, whichever it is.
    let any = |_: &Loss<'_>| true;
    for object in [plain(), deleted(plain())] {
        assert!(search("PipelineRun", &object, &states, any) > states.len());
    }
    for object in [delegated(), deleted(delegated())] {
        assert!(search("PipelineRun", &object, &states, never) > states.len());
    }
}

#[test]
fn outcomes_of_kubeflow_s_jobs_are_lost_by_an_mpi_job_that_failed_for_the_time_being() {
    let states = product(&[
        conditions(&[
            &[],
            &[("Succeeded", TRUE, "")],
            &[("Failed", TRUE, "")],
            &[("Failed", TRUE, "MPIJobEvicted")],
            &[("Failed", "False", ""), ("Succeeded", TRUE, "")],
            &[("Failed", TRUE, "MPIJobEvicted"), ("Succeeded", TRUE, "")],
        ]),
        end("completionTime"),
    ]);
    let evicted =
        |loss: &Loss<'_>| loss.outcome == "failure" && loss.from["completionTime"].is_null();
    for object in objects() {
        for kind in [
            "PyTorchJob",
            "TFJob",
            "XGBoostJob",
            "PaddleJob",
            "JAXJob",
            "MPIJob v1",
        ] {
            assert!(search(kind, &object, &states, never) > states.len());
        }
        assert!(search("MPIJob v2beta1", &object, &states, evicted) > states.len());
    }
}

/// All but a deadline's.
#[test]
fn outcomes_of_a_train_job_are_lost_where_it_failed() {
    let states = conditions(&[
        &[],
        &[("Complete", TRUE, "")],
        &[("Failed", TRUE, "FailedJobs")],
        &[("Failed", TRUE, "DeadlineExceeded")],
        &[("Complete", TRUE, ""), ("Failed", TRUE, "FailedJobs")],
        &[("Complete", TRUE, ""), ("Failed", TRUE, "DeadlineExceeded")],
    ]);
    let is_late = |state: &Value| {
        let list = state["conditions"].as_array().unwrap();
        list.iter().any(|c| c["reason"] == "DeadlineExceeded")
    };
    let failure = move |loss: &Loss<'_>| loss.outcome == "failure" && !is_late(loss.from);
    for object in objects() {
        assert!(search("TrainJob", &object, &states, failure) > states.len());
    }
}

#[test]
fn outcomes_of_a_ray_job_are_lost_to_the_operator_s_refusal_alone() {
    let states = product(&[
        words(
            "jobDeploymentStatus",
            &[
                "",
                "Running",
                "Retrying",
                "Suspended",
                "Scheduled",
                "ValidationFailed",
                "Complete",
                "Failed",
            ],
        ),
        words(
            "jobStatus",
            &["", "RUNNING", "SUCCEEDED", "FAILED", "STOPPED"],
        ),
        end("endTime"),
    ]);
    // Refused before it ended, it may start over, or be dispatched anew.
    let unended = |state: &Value| {
        state["jobDeploymentStatus"] == "ValidationFailed" && state["endTime"].is_null()
    };
    let refused = move |loss: &Loss<'_>| {
        loss.to["jobDeploymentStatus"] == "ValidationFailed" || unended(loss.from)
    };
    let dispatched = |loss: &Loss<'_>| loss.from["jobDeploymentStatus"] == "ValidationFailed";
    for (object, allowed) in [
        (plain(), &refused as &dyn Fn(&Loss<'_>) -> bool),
        (delegated(), &dispatched),
    ] {
        for object in [deleted(object.clone()), object] {
            assert!(search("RayJob", &object, &states, allowed) > states.len());
        }
    }
}

#[test]
fn outcomes_of_an_app_wrapper_are_lost_to_its_deletion_alone() {
    let phases = [
        "",
        "Suspended",
        "Running",
        "Resetting",
        "Succeeded",
        "Failed",
        "Terminating",
    ];
    let deployed = ["True", "False"]
        .map(|status| json!({"conditions": [condition("ResourcesDeployed", status, "")]}));
    let states = product(&[words("phase", &phases), deployed.to_vec()]);
    let has_resources = |state: &Value| state["conditions"][0]["status"] == "True";
    // Kueue's own time of grace; whoever may take the condition back may end it, and nobody begin it.
    let failing = move |loss: &Loss<'_>| loss.outcome == "failure" && has_resources(loss.from);
    let terminating = |loss: &Loss<'_>| loss.to["phase"] == "Terminating";
    assert!(search("AppWrapper", &plain(), &states, never) > states.len());
    assert!(search("AppWrapper", &delegated(), &states, failing) > states.len());
    assert!(search("AppWrapper", &deleted(plain()), &states, terminating) > states.len());
    let both = move |loss: &Loss<'_>| failing(loss) || terminating(loss);
    assert!(search("AppWrapper", &deleted(delegated()), &states, both) > states.len());
}

#[test]
fn outcomes_of_a_task_run_are_lost_to_its_sidecars_and_its_retries() {
    let sidecars = "TaskRunStopSidecarFailed";
    let attempt = |reason: &str| json!({"conditions": [condition("Succeeded", "False", reason)]});
    let states = product(&[
        conditions(&[
            &[],
            &[("Succeeded", "Unknown", "")],
            &[("Succeeded", TRUE, "")],
            &[("Succeeded", "False", "Failed")],
            &[("Succeeded", "False", sidecars)],
        ]),
        end("completionTime"),
        vec![
            json!({}),
            json!({"retriesStatus": [attempt("Failed")]}),
            json!({"retriesStatus": [attempt(sidecars)]}),
            json!({"retriesStatus": [attempt("Failed"), attempt("Failed")]}),
        ],
    ]);
    let of = |retries: u8| {
        let spec = json!({"retries": retries, "managedBy": "kueue.x-k8s.io/multikueue"});
        json!({"metadata": {"name": "x"}, "spec": spec})
    };
    let failed =
        |loss: &Loss<'_>| loss.outcome == "success" && outcomes(loss.to).contains("failure");
    assert!(search("TaskRun", &of(0), &states, failed) > states.len());
    let retried = |loss: &Loss<'_>| {
        let attempts = loss.from["retriesStatus"].as_array().map_or(0, Vec::len);
        let failed = loss.outcome == "success" && outcomes(loss.to).contains("failure");
        attempts < 2 || failed
    };
    assert!(search("TaskRun", &of(2), &states, retried) > states.len());
}
