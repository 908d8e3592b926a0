//! What real controllers do with an outcome that looks as if they took it back, and the ways round that are none: no way
//! of several steps leads from an outcome that one step does not.

use super::{NOON, ONE, condition, conditions, silent, status, status_of, when};
use serde_json::{Value, json};

const DENIED: &str = "status/outcome-changed status.conditions";

/// A status with conditions and an end.
fn ended(list: &[Value]) -> Value {
    json!({"conditions": list, "completionTime": ONE})
}

/// An object that its own controller does not run.
fn delegated() -> Value {
    json!({"metadata": {"name": "x"}, "spec": {"managedBy": "kueue.x-k8s.io/multikueue"}})
}

#[test]
fn mpi_job_failed_without_completion_time_may_yet_succeed() {
    let evicted = conditions(&[condition("Failed", "True", "MPIJobEvicted")]);
    let succeeded = ended(&[condition("Failed", "False", ""), when("Succeeded")]);
    let none = json!({"startTime": NOON});
    silent(&status("MPIJob v2beta1", &none, &evicted));
    silent(&status("MPIJob v2beta1", &evicted, &succeeded));
    // The Training Operator writes the time with either outcome of an MPIJob.
    let answer = status("MPIJob v1", &none, &evicted);
    let expected = ["status/outcome-without-end status.completionTime"];
    assert_eq!(answer.warned(), expected);
    let answer = status("MPIJob v1", &evicted, &succeeded);
    assert_eq!(answer.denied(), [DENIED]);
}

#[test]
fn mpi_job_failed_with_completion_time_is_final() {
    let succeeded = ended(&[condition("Failed", "False", ""), when("Succeeded")]);
    let answer = status("MPIJob v2beta1", &ended(&[when("Failed")]), &succeeded);
    assert_eq!(
        answer.message(),
        r#"MPIJob.kubeflow.org "x" is invalid: status.conditions: Invalid value: cannot take back the outcome Failed [status/outcome-changed]"#
    );
}

/// First the completion time, then the outcome: the first step is denied. A success is final with it or without.
#[test]
fn mpi_job_does_not_lose_its_completion_time() {
    for kind in ["MPIJob v1", "MPIJob v2beta1"] {
        for outcome in ["Failed", "Succeeded"] {
            let without = conditions(&[when(outcome)]);
            let answer = status(kind, &ended(&[when(outcome)]), &without);
            let expected = ["status/outcome-changed status.completionTime"];
            assert_eq!(answer.denied(), expected);
        }
        let answer = status(kind, &conditions(&[when("Succeeded")]), &json!({}));
        assert_eq!(answer.denied(), [DENIED]);
    }
    let answer = status(
        "MPIJob",
        &ended(&[when("Failed")]),
        &conditions(&[when("Failed")]),
    );
    assert_eq!(
        answer.message(),
        r#"MPIJob.kubeflow.org "x" is invalid: status.completionTime: Invalid value: cannot be taken away from an outcome [status/outcome-changed]"#
    );
}

fn ray_job(deployment: &str, job: &str) -> Value {
    json!({"jobDeploymentStatus": deployment, "jobStatus": job, "endTime": ONE})
}

/// The operator validates before it looks at the state, and has no branch that leads on.
#[test]
fn ray_job_that_no_longer_validates() {
    for (outcome, job) in [("Complete", "SUCCEEDED"), ("Failed", "FAILED")] {
        let old = ray_job(outcome, job);
        let refused = ray_job("ValidationFailed", job);
        silent(&status("RayJob", &old, &refused));
        assert_eq!(
            status("RayJob", &refused, &ray_job("Running", "RUNNING")).message(),
            r#"RayJob.ray.io "x" is invalid: status.jobDeploymentStatus: Invalid value: cannot leave ValidationFailed [status/outcome-changed]"#
        );
        // Not with the end left behind, either, by which it is known to have ended.
        let mut endless = refused.clone();
        endless["endTime"] = Value::Null;
        let answer = status("RayJob", &old, &endless);
        let expected = "status/outcome-changed status.jobDeploymentStatus";
        assert_eq!(answer.denied(), [expected]);
        // Nor with another word for how it ended.
        let mut other = refused.clone();
        other["jobStatus"] = "STOPPED".into();
        let answer = status("RayJob", &old, &other);
        assert_eq!(answer.denied(), ["status/outcome-changed status.jobStatus"]);
        // Whoever else runs it does not look again.
        let answer = status_of("RayJob", &delegated(), &old, &refused);
        assert_eq!(answer.denied(), [expected]);
    }
}

/// One that has not ended may be started by hand, and a delegated one be dispatched anew.
#[test]
fn ray_job_refused_before_it_ended_may_start_over() {
    let refused = json!({"jobDeploymentStatus": "ValidationFailed"});
    let fresh = json!({"jobDeploymentStatus": ""});
    silent(&status("RayJob", &refused, &fresh));
    let refused = ray_job("ValidationFailed", "FAILED");
    for next in [&fresh, &ray_job("Complete", "SUCCEEDED")] {
        silent(&status_of("RayJob", &delegated(), &refused, next));
    }
}

/// `jobStatus` repeats the outcome, and nothing writes it after.
#[test]
fn ray_job_status_is_final_with_the_outcome() {
    for (outcome, from, to) in [
        ("Complete", "SUCCEEDED", "FAILED"),
        ("Complete", "STOPPED", "SUCCEEDED"),
        ("Failed", "FAILED", ""),
    ] {
        let answer = status("RayJob", &ray_job(outcome, from), &ray_job(outcome, to));
        assert_eq!(
            answer.message(),
            r#"RayJob.ray.io "x" is invalid: status.jobStatus: Invalid value: cannot change once there is an outcome [status/outcome-changed]"#
        );
    }
    // Its submitter has yet to end: the operator looks again.
    silent(&status(
        "RayJob",
        &ray_job("Running", "SUCCEEDED"),
        &ray_job("Failed", "FAILED"),
    ));
}

/// A schedule in the RayJob itself was taken out of KubeRay before it was released (#3911).
#[test]
fn ray_job_has_no_schedule_of_its_own() {
    for state in ["Scheduling", "Scheduled", "Running", ""] {
        let answer = status(
            "RayJob",
            &ray_job("Complete", "SUCCEEDED"),
            &ray_job(state, "SUCCEEDED"),
        );
        assert_eq!(
            answer.message(),
            r#"RayJob.ray.io "x" is invalid: status.jobDeploymentStatus: Invalid value: cannot take back the outcome Complete [status/outcome-changed]"#
        );
    }
}

/// A TaskRun that may be tried again a number of times.
fn task_run(retries: i64) -> Value {
    let spec = json!({"retries": retries, "managedBy": "kueue.x-k8s.io/multikueue"});
    json!({"metadata": {"name": "x"}, "spec": spec})
}

/// A TaskRun that is to run again, after attempts that failed for these reasons.
fn tried_again_after(reasons: &[&str]) -> Value {
    let attempt = |reason: &&str| ended(&[condition("Succeeded", "False", reason)]);
    let mut status = conditions(&[condition("Succeeded", "Unknown", "ToBeRetried")]);
    status["retriesStatus"] = reasons.iter().map(attempt).collect();
    status
}

#[test]
fn task_run_retries() {
    let failed = ended(&[condition("Succeeded", "False", "Failed")]);
    silent(&status_of(
        "TaskRun",
        &task_run(1),
        &failed,
        &tried_again_after(&["Failed"]),
    ));
    // Seen from afar, two steps are one.
    silent(&status_of(
        "TaskRun",
        &task_run(2),
        &failed,
        &tried_again_after(&["Failed", "Failed"]),
    ));
    for (retries, new) in [
        (1, tried_again_after(&[])),
        (1, tried_again_after(&["Failed", "Failed"])),
        (0, tried_again_after(&["Failed"])),
    ] {
        let answer = status_of("TaskRun", &task_run(retries), &failed, &new);
        assert_eq!(answer.denied(), [DENIED]);
    }
}

/// What has succeeded is not tried again, whatever is listed.
#[test]
fn task_run_that_has_succeeded_is_not_tried_again() {
    let done = ended(&[when("Succeeded")]);
    let answer = status_of(
        "TaskRun",
        &task_run(1),
        &done,
        &tried_again_after(&["Failed"]),
    );
    assert_eq!(answer.denied(), [DENIED]);
}

/// `stopSidecars` runs when the TaskRun is done, and `finishReconcileUpdateEmitEvents` tries it again at once.
#[test]
fn task_run_sidecars_that_cannot_be_stopped() {
    let done = ended(&[when("Succeeded")]);
    let reason = "TaskRunStopSidecarFailed";
    let failed = ended(&[condition("Succeeded", "False", reason)]);
    silent(&status("TaskRun", &done, &failed));
    silent(&status_of(
        "TaskRun",
        &task_run(1),
        &done,
        &tried_again_after(&[reason]),
    ));
    for (retries, new) in [
        (0, tried_again_after(&[reason])),
        (2, tried_again_after(&[reason, "Failed"])),
    ] {
        let answer = status_of("TaskRun", &task_run(retries), &done, &new);
        assert_eq!(answer.denied(), [DENIED]);
    }
    let failed = ended(&[condition("Succeeded", "False", "Failed")]);
    let answer = status("TaskRun", &done, &failed);
    assert_eq!(answer.denied(), [DENIED]);
}

#[test]
fn app_wrapper_is_terminating_once_it_is_deleted() {
    let phase = |phase: &str| json!({"phase": phase});
    let deleted = json!({"metadata": {"name": "x", "deletionTimestamp": NOON}, "spec": {}});
    let denied = ["status/outcome-changed status.phase"];
    for outcome in ["Succeeded", "Failed"] {
        silent(&status_of(
            "AppWrapper",
            &deleted,
            &phase(outcome),
            &phase("Terminating"),
        ));
        for other in ["Terminating", "Running"] {
            let answer = status("AppWrapper", &phase(outcome), &phase(other));
            assert_eq!(answer.denied(), denied);
        }
    }
    let answer = status_of(
        "AppWrapper",
        &deleted,
        &phase("Terminating"),
        &phase("Running"),
    );
    assert_eq!(
        answer.message(),
        r#"AppWrapper.workload.codeflare.dev "x" is invalid: status.phase: Invalid value: cannot leave Terminating [status/outcome-changed]"#
    );
    // The copy on one worker was deleted, and another is made.
    silent(&status_of(
        "AppWrapper",
        &delegated(),
        &phase("Terminating"),
        &phase("Suspended"),
    ));
    silent(&status(
        "AppWrapper",
        &phase("Terminating"),
        &phase("Running"),
    ));
}

/// Trainer 2.1 to 2.3 clears a failure on a later reconcile, and runs the `TrainJob` again where its `JobSet` is gone; a
/// deadline's it keeps, with the reason.
#[test]
fn train_job_failure_is_taken_back_by_remove_failed_condition() {
    let running = json!({"conditions": []});
    let failed = conditions(&[condition("Failed", "True", "FailedJobs")]);
    silent(&status("TrainJob", &failed, &running));
    let late = conditions(&[condition("Failed", "True", "DeadlineExceeded")]);
    assert_eq!(
        status("TrainJob", &late, &failed).message(),
        r#"TrainJob.trainer.kubeflow.org "x" is invalid: status.conditions: Invalid value: cannot become an outcome that may be taken back [status/outcome-changed]"#
    );
    for outcome in [
        when("Complete"),
        condition("Failed", "True", "DeadlineExceeded"),
    ] {
        let answer = status("TrainJob", &conditions(&[outcome]), &running);
        assert_eq!(answer.denied(), [DENIED]);
    }
}

/// For Kueue a failure is none until the resources are gone: a worker that is lost before makes it dispatch the AppWrapper
/// anew.
#[test]
fn app_wrapper_that_failed_and_has_resources_may_be_dispatched_anew() {
    let phase = |phase: &str, deployed: &str| {
        let mut status = conditions(&[condition("ResourcesDeployed", deployed, "")]);
        status["phase"] = phase.into();
        status
    };
    let failing = phase("Failed", "True");
    for next in ["Suspended", "Terminating", "Succeeded"] {
        let next = phase(next, "False");
        silent(&status_of("AppWrapper", &delegated(), &failing, &next));
        let denied = ["status/outcome-changed status.phase"];
        assert_eq!(status("AppWrapper", &failing, &next).denied(), denied);
        let failed = phase("Failed", "False");
        for next in [&next, &failing] {
            let answer = status_of("AppWrapper", &delegated(), &failed, next);
            assert_eq!(answer.denied(), denied);
        }
    }
}

/// Whoever looks a condition up takes the first of its type.
#[test]
fn a_condition_is_not_hidden_behind_another_of_its_type() {
    for kind in ["PipelineRun", "TaskRun"] {
        let done = ended(&[when("Succeeded")]);
        let hidden = ended(&[condition("Succeeded", "Unknown", ""), when("Succeeded")]);
        assert_eq!(status(kind, &done, &hidden).denied(), [DENIED]);
        let first = ended(&[when("Succeeded"), condition("Succeeded", "Unknown", "")]);
        silent(&status(kind, &done, &first));
    }
}

/// By the attempts it is known how often a TaskRun may be tried again.
#[test]
fn task_run_attempts_are_not_lost() {
    let plain = json!({"metadata": {"name": "x"}, "spec": {"retries": 1}});
    let answer = status_of(
        "TaskRun",
        &plain,
        &tried_again_after(&["Failed"]),
        &tried_again_after(&[]),
    );
    assert_eq!(
        answer.message(),
        r#"TaskRun.tekton.dev "x" is invalid: status.retriesStatus: Invalid value: cannot lose an attempt [status/outcome-changed]"#
    );
    // Dispatched anew.
    silent(&status_of(
        "TaskRun",
        &delegated(),
        &tried_again_after(&["Failed"]),
        &tried_again_after(&[]),
    ));
}

/// The end goes with the outcome.
#[test]
fn an_outcome_keeps_its_end() {
    for kind in ["PipelineRun", "TaskRun", "PyTorchJob"] {
        let done = ended(&[when("Succeeded")]);
        let endless = conditions(&[when("Succeeded")]);
        let answer = status(kind, &done, &endless);
        assert_eq!(
            answer.denied(),
            ["status/outcome-changed status.completionTime"]
        );
        // One that had none gets it late.
        silent(&status(kind, &endless, &done));
    }
}
