//! `managed-by/nested`: who makes a child, and where.

use super::{create, find, request, silent};
use crate::support::{Answer, everywhere};
use serde_json::{Value, json};

const MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";
const OWN: &str = "acme.io/runner";

/// An object with `spec`.
fn of(spec: &Value) -> Value {
    json!({"metadata": {"name": "x"}, "spec": spec})
}

fn job_set(value: &Value, job: &Value) -> Value {
    of(&json!({"managedBy": value, "replicatedJobs": [
        {"name": "a", "template": {"spec": {}}}, {"name": "b"},
        {"name": "c", "template": {"spec": {"managedBy": job}}}]}))
}

const OF_JOB: &str = "spec.replicatedJobs[2].template.spec.managedBy";

#[track_caller]
fn warns(answer: &Answer, path: &str, value: &str, detail: &str) {
    assert_eq!(
        answer.warnings,
        [format!("{path}: {value:?}: {detail} [managed-by/nested]")]
    );
    assert_eq!(answer.warned(), [format!("managed-by/nested {path}")]);
    assert!(answer.allowed);
    assert!(answer.warnings[0].len() <= 256);
}

/// Recorded: accepted by every webhook, and then the JobSet never moves.
#[test]
fn a_job_set_that_is_run_here_waits_for_jobs_that_are_not() {
    warns(
        &create("JobSet", &job_set(&Value::Null, &OWN.into())),
        OF_JOB,
        OWN,
        "the JobSet makes the Job here and nobody but this controller would run it",
    );
}

/// Recorded: the RayCluster is never reconciled, and the RayJob fails at its deadline.
#[test]
fn a_ray_job_that_is_run_here_waits_for_its_cluster() {
    let spec = json!({"rayClusterSpec": {"managedBy": MULTIKUEUE}});
    warns(
        &create("RayJob", &of(&spec)),
        "spec.rayClusterSpec.managedBy",
        MULTIKUEUE,
        "the RayJob makes the RayCluster here and nobody but this controller would run it",
    );
    let spec = json!({"rayClusterConfig": {"managedBy": MULTIKUEUE}});
    warns(
        &create("RayService", &of(&spec)),
        "spec.rayClusterConfig.managedBy",
        MULTIKUEUE,
        "the RayService makes the RayCluster here and nobody but this controller would run it",
    );
}

/// Recorded: the AppWrapper waits, gives up after its warm-up time, and fails without saying why.
#[test]
fn an_app_wrapper_that_is_run_here_waits_for_its_components() {
    let spec = json!({"components": [{}, {"template":
        {"apiVersion": "batch/v1", "kind": "Job", "spec": {"managedBy": OWN}}}]});
    warns(
        &create("AppWrapper", &of(&spec)),
        "spec.components[1].template.spec.managedBy",
        OWN,
        "the AppWrapper makes the Job here and nobody but this controller would run it",
    );
}

#[test]
fn a_child_of_a_delegated_workload_belongs_to_the_same_controller() {
    silent(&create("JobSet", &job_set(&OWN.into(), &OWN.into())));
    warns(
        &create("JobSet", &job_set(&MULTIKUEUE.into(), &OWN.into())),
        OF_JOB,
        OWN,
        "the JobSet is delegated to another controller, which would not run the Job",
    );
}

/// Kueue takes out the outer field alone.
#[test]
fn multikueue_s_copy_keeps_the_inner_field() {
    warns(
        &create("JobSet", &job_set(&MULTIKUEUE.into(), &MULTIKUEUE.into())),
        OF_JOB,
        MULTIKUEUE,
        "Kueue keeps this in its copy of the JobSet, so the worker never runs the Job",
    );
}

#[test]
fn a_child_that_its_api_refuses_cannot_be_made() {
    let long = format!("acme.io/{}", "x".repeat(56));
    for value in [
        "typo",
        "",
        "acme.io/",
        "/x",
        "Acme.io/x",
        "acme.io/ä",
        &long,
    ] {
        warns(
            &create("JobSet", &job_set(&OWN.into(), &value.into())),
            OF_JOB,
            value,
            "no Job is accepted with this value",
        );
    }
    let spec = json!({"managedBy": MULTIKUEUE, "rayClusterSpec": {"managedBy": OWN}});
    warns(
        &create("RayJob", &of(&spec)),
        "spec.rayClusterSpec.managedBy",
        OWN,
        r#"RayCluster accepts only "ray.io/kuberay-operator" or "kueue.x-k8s.io/multikueue""#,
    );
}

#[test]
fn no_value_and_the_child_s_own_are_fine() {
    for outer in [Value::Null, OWN.into(), MULTIKUEUE.into()] {
        for inner in [Value::Null, "kubernetes.io/job-controller".into()] {
            silent(&create("JobSet", &job_set(&outer, &inner)));
        }
    }
}

/// What a CronJob, a RayCronJob and an OptimizationJob make stands on its own, and may be delegated like any other.
#[test]
fn templates_of_workloads_that_stand_on_their_own_are_no_trap() {
    for (kind, spec) in [
        (
            "CronJob",
            json!({"jobTemplate": {"spec": {"managedBy": MULTIKUEUE}}}),
        ),
        (
            "RayCronJob",
            json!({"jobTemplate": {"managedBy": MULTIKUEUE, "rayClusterSpec": {}}}),
        ),
        (
            "OptimizationJob",
            json!({"trainJobTemplate": {"spec": {"managedBy": MULTIKUEUE}}}),
        ),
    ] {
        silent(&create(kind, &of(&spec)));
    }
    let spec = json!({"components": [{"template": {"apiVersion": "batch/v1", "kind": "CronJob",
        "spec": {"jobTemplate": {"spec": {"managedBy": MULTIKUEUE}}}}}]});
    silent(&create("AppWrapper", &of(&spec)));
}

/// The RayJob that a RayCronJob makes has a RayCluster of its own.
#[test]
fn a_ray_cron_job_s_cluster_is_judged_by_the_ray_job_between() {
    let spec = |job: Value| {
        of(&json!({"jobTemplate": {"managedBy": job, "rayClusterSpec": {"managedBy": MULTIKUEUE}}}))
    };
    let path = "spec.jobTemplate.rayClusterSpec.managedBy";
    let here = "the RayJob makes the RayCluster here and nobody but this controller would run it";
    warns(
        &create("RayCronJob", &spec(Value::Null)),
        path,
        MULTIKUEUE,
        here,
    );
    let copy =
        "Kueue keeps this in its copy of the RayJob, so the worker never runs the RayCluster";
    warns(
        &create("RayCronJob", &spec(MULTIKUEUE.into())),
        path,
        MULTIKUEUE,
        copy,
    );
}

fn wrapped(template: &Value) -> Value {
    json!({"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": {"name": "x"},
        "spec": {"components": [{"template": template}]}})
}

/// Components hold components: each is judged by the one that makes it, down to the eighth.
#[test]
fn components_are_read_eight_levels_deep() {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"managedBy": OWN}});
    let mut object = job.clone();
    for _ in 0..8 {
        object = wrapped(&object);
    }
    let answer = create("AppWrapper", &object);
    let path = format!("spec{}.managedBy", ".components[0].template.spec".repeat(8));
    assert_eq!(answer.warned(), [format!("managed-by/nested {path}")]);
    let answer = create("AppWrapper", &wrapped(&object));
    let path = format!("spec{}", ".components[0].template.spec".repeat(9));
    let expected =
        format!("{path}: Invalid value: not looked at: too deep down, or after a thousand others");
    assert_eq!(answer.denied(), Vec::<&str>::new());
    assert_eq!(answer.warned(), [format!("managed-by/nested {path}")]);
    assert_eq!(answer.warnings.len(), 1);
    let shown = answer.warnings[0].trim_end_matches("...");
    assert!(
        expected.starts_with(shown) || shown.starts_with(&expected),
        "{shown}"
    );
}

#[test]
fn of_many_some_are_reported_and_what_was_not_read_is_said() {
    let job = json!({"template": {"spec": {"managedBy": OWN}}});
    let spec = json!({"replicatedJobs": vec![job; 1500]});
    let answer = create("JobSet", &of(&spec));
    assert_eq!(answer.warnings.len(), 15);
    assert!(
        answer.warnings[0].contains("replicatedJobs[1000].template: Invalid value: not looked at"),
        "{answer:?}"
    );
    // Under the same controller all of the first thousand are fine: that the rest was not read is still said.
    let job = json!({"template": {"spec": {"managedBy": OWN}}});
    let spec = json!({"managedBy": OWN, "replicatedJobs": vec![job; 1500]});
    let answer = create("JobSet", &of(&spec));
    assert_eq!(
        answer.warned(),
        ["managed-by/nested spec.replicatedJobs[1000].template"]
    );
}

/// What the object said before is not judged again; what it says anew is.
#[test]
fn an_update_is_judged_for_what_it_brings_in() {
    let update = |old: &Value, new: &Value| {
        everywhere(&request(find("JobSet"), "UPDATE", "", old, new), &json!({}))
    };
    let bad = job_set(&Value::Null, &OWN.into());
    let mut same = bad.clone();
    same["metadata"]["finalizers"] = json!([]);
    silent(&update(&bad, &same));
    let worse = job_set(&Value::Null, &"b.io/y".into());
    let answer = update(&bad, &worse);
    assert_eq!(answer.warned(), [format!("managed-by/nested {OF_JOB}")]);
    silent(&update(&worse, &job_set(&Value::Null, &Value::Null)));
}

/// Whoever runs it does so whatever the field says, or never sees it.
#[test]
fn components_whose_field_nobody_sees_are_no_trap() {
    for (api_version, kind, spec) in [
        (
            "kubeflow.org/v1",
            "JAXJob",
            json!({"runPolicy": {"managedBy": MULTIKUEUE}}),
        ),
        (
            "ray.io/v1alpha1",
            "RayCluster",
            json!({"managedBy": MULTIKUEUE}),
        ),
    ] {
        let template = json!({"apiVersion": api_version, "kind": kind, "spec": spec});
        let spec = json!({"components": [{"template": template}]});
        silent(&create("AppWrapper", &of(&spec)));
    }
}

/// The same value at the same place, in another kind.
#[test]
fn an_update_is_judged_for_a_component_of_another_kind() {
    let object = |api_version: &str, kind: &str| {
        let template =
            json!({"apiVersion": api_version, "kind": kind, "spec": {"managedBy": "typo"}});
        of(&json!({"components": [{"template": template}]}))
    };
    let (job, run) = (
        object("batch/v1", "Job"),
        object("tekton.dev/v1", "PipelineRun"),
    );
    let answer = everywhere(
        &request(find("AppWrapper"), "UPDATE", "", &job, &run),
        &json!({}),
    );
    warns(
        &answer,
        "spec.components[0].template.spec.managedBy",
        "typo",
        "the AppWrapper makes the PipelineRun here and nobody but this controller would run it",
    );
}

/// The value is the same; who makes the Job is not.
#[test]
fn an_update_is_judged_for_a_trap_that_the_parent_makes() {
    let object = |job_set: Value| {
        let template = json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {
            "managedBy": job_set, "replicatedJobs": [{"template": {"spec": {"managedBy": OWN}}}]}});
        of(&json!({"managedBy": OWN, "components": [{"template": template}]}))
    };
    let update = |old: &Value, new: &Value| {
        everywhere(
            &request(find("AppWrapper"), "UPDATE", "", old, new),
            &json!({}),
        )
    };
    let (fine, trap) = (object(OWN.into()), object(Value::Null));
    silent(&create("AppWrapper", &fine));
    warns(
        &update(&fine, &trap),
        "spec.components[0].template.spec.replicatedJobs[0].template.spec.managedBy",
        OWN,
        "the JobSet makes the Job here and nobody but this controller would run it",
    );
    let mut same = trap.clone();
    same["metadata"]["finalizers"] = json!([]);
    silent(&update(&trap, &same));
}
