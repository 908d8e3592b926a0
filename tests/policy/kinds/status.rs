//! What real controllers do with the status that looks as if it broke a rule: each has a test of its name.

use super::{NOON, ONE, all, condition, conditions, find, request, silent, status, strict, when};
use crate::support::everywhere;
use serde_json::{Value, json};

#[test]
fn ray_job_retry() {
    let attempt = json!({"jobDeploymentStatus": "Running", "jobStatus": "FAILED", "startTime": NOON, "failed": 0});
    let retrying = json!({"jobDeploymentStatus": "Retrying", "jobStatus": "FAILED", "startTime": NOON, "failed": 1});
    let fresh = json!({"jobDeploymentStatus": "", "jobStatus": "", "startTime": NOON, "failed": 1});
    let again = json!({"jobDeploymentStatus": "Initializing", "jobStatus": "", "startTime": ONE, "failed": 1});
    for (old, new) in [(&attempt, &retrying), (&retrying, &fresh), (&fresh, &again)] {
        silent(&status("RayJob", old, new));
    }
}

#[test]
fn ray_job_suspend_and_resume() {
    let running =
        json!({"jobDeploymentStatus": "Running", "jobStatus": "RUNNING", "startTime": NOON});
    let suspending =
        json!({"jobDeploymentStatus": "Suspending", "jobStatus": "RUNNING", "startTime": NOON});
    let suspended = json!({"jobDeploymentStatus": "Suspended", "jobStatus": "", "startTime": NOON});
    let resumed = json!({"jobDeploymentStatus": "Initializing", "jobStatus": "", "startTime": ONE});
    for (old, new) in [
        (&running, &suspending),
        (&suspending, &suspended),
        (&suspended, &resumed),
    ] {
        silent(&status("RayJob", old, new));
    }
}

/// The first look at a suspended cluster takes the condition back, whatever its comment says.
#[test]
fn ray_cluster_provisioned_is_taken_back_on_suspend() {
    let old = conditions(&[when("RayClusterProvisioned"), when("RayClusterSuspending")]);
    let new = conditions(&[
        condition(
            "RayClusterProvisioned",
            "False",
            "RayClusterPodsProvisioning",
        ),
        condition("RayClusterSuspending", "False", ""),
        when("RayClusterSuspended"),
    ]);
    silent(&status("RayCluster", &old, &new));
}

/// docs/taskruns.md: an error that may pass.
#[test]
fn task_run_failed_without_completion_time() {
    let failed = conditions(&[condition("Succeeded", "False", "Failed")]);
    silent(&status("TaskRun", &json!({"startTime": NOON}), &failed));
    let answer = status("PipelineRun", &json!({"startTime": NOON}), &failed);
    let expected = ["status/outcome-without-end status.completionTime"];
    assert_eq!(
        (answer.denied(), answer.warned()),
        (vec![], expected.to_vec())
    );
}

#[test]
fn start_time_reset_on_resume() {
    for kind in [
        "MPIJob v2beta1",
        "MPIJob v1",
        "PyTorchJob",
        "TFJob",
        "XGBoostJob",
        "PaddleJob",
        "JAXJob",
    ] {
        let old = json!({"startTime": NOON, "conditions": [when("Suspended")]});
        let new = json!({"startTime": ONE, "conditions": [condition("Suspended", "False", "")]});
        silent(&status(kind, &old, &new));
        silent(&status(
            kind,
            &old,
            &json!({"conditions": [when("Suspended")]}),
        ));
    }
}

/// A single Job's restart counts towards the maximum, and is no restart of the JobSet.
#[test]
fn job_set_restarts_count_towards_max_beyond_its_restarts() {
    let new = json!({"restarts": 0, "restartsCountTowardsMax": 2});
    silent(&status("JobSet", &json!({"restarts": 0}), &new));
}

#[test]
fn job_set_counters_change_after_it_has_finished() {
    let job_set = |active: i64| {
        let mut status = conditions(&[when("Completed")]);
        status["terminalState"] = "Completed".into();
        status["replicatedJobsStatus"] = json!([{"name": "a", "active": active, "succeeded": 1}]);
        status
    };
    silent(&status("JobSet", &job_set(1), &job_set(0)));
}

/// A JobSet from before `terminalState` has the condition alone.
#[test]
fn job_set_without_terminal_state() {
    silent(&status(
        "JobSet",
        &json!({}),
        &conditions(&[when("Completed")]),
    ));
    for (state, wrong) in [("Failed", "Failed"), ("Done", "Done")] {
        let mut new = conditions(&[when("Completed")]);
        new["terminalState"] = state.into();
        let answer = status("JobSet", &json!({}), &new);
        let expected = format!(
            r#"JobSet.jobset.x-k8s.io "x" is invalid: status.terminalState: Invalid value: "{wrong}": must be Completed or Failed, with the condition of that name true [status/terminal-state]"#
        );
        assert_eq!(answer.message(), expected);
    }
}

/// Evicted on one worker and dispatched to another, the status starts over: but for an outcome, all of it may.
#[test]
fn status_goes_back_on_multikueue_s_second_dispatch() {
    let delegated = |status: Value| json!({"metadata": {"name": "x"}, "spec": {"managedBy": "kueue.x-k8s.io/multikueue"}, "status": status});
    let update = |kind: &str, old: Value, new: Value| {
        let request = request(
            find(kind),
            "UPDATE",
            "status",
            &delegated(old),
            &delegated(new),
        );
        everywhere(&request, &json!({}))
    };
    let running = json!({"restarts": 2, "restartsCountTowardsMax": 2, "replicatedJobsStatus": [{"name": "a", "active": 1}]});
    silent(&update("JobSet", running.clone(), json!({})));
    silent(&update("JobSet", running.clone(), json!({"restarts": 0})));
    let ray = json!({"jobDeploymentStatus": "Running", "jobStatus": "RUNNING", "failed": 1, "startTime": ONE});
    silent(&update(
        "RayJob",
        ray,
        json!({"jobDeploymentStatus": "", "failed": 0}),
    ));
    silent(&update(
        "AppWrapper",
        json!({"phase": "Running", "resettingCount": 2}),
        json!({"phase": "Suspended"}),
    ));
    // Not delegated, nobody but its own controller counts.
    let answer = status("JobSet", &running, &json!({"restarts": 0}));
    let expected = [
        "status.restarts: 0: cannot go down from 2 [status/counter-decreased]",
        "status.restartsCountTowardsMax: 0: cannot go down from 2 [status/counter-decreased]",
    ];
    assert_eq!(answer.warnings, expected);
    assert!(answer.allowed);
}

/// Two machines wrote the two times.
#[test]
fn clocks_that_differ_by_less_than_a_minute() {
    let ended = |end: &str| json!({"startTime": NOON, "completionTime": end, "conditions": [condition("Succeeded", "False", "")]});
    silent(&status(
        "PipelineRun",
        &json!({}),
        &ended("2026-01-01T11:59:00Z"),
    ));
    assert_eq!(
        status("PipelineRun", &json!({}), &ended("2026-01-01T11:58:59Z")).message(),
        r#"PipelineRun.tekton.dev "x" is invalid: status.completionTime: Invalid value: "2026-01-01T11:58:59Z": must be equal to or after `startTime` [status/end-before-start]"#
    );
}

#[test]
fn end_without_outcome_is_warned_of() {
    let answer = status(
        "TFJob",
        &json!({"startTime": NOON}),
        &json!({"startTime": NOON, "completionTime": ONE}),
    );
    assert_eq!(
        answer.warnings,
        [
            r#"status.completionTime: "2026-01-01T13:00:00Z": must not be set before there is an outcome [status/end-without-outcome]"#
        ]
    );
    assert!(answer.allowed);
}

#[test]
fn a_pair_that_excludes_each_other() {
    let both = conditions(&[
        when("StartupPolicyInProgress"),
        when("StartupPolicyCompleted"),
    ]);
    assert_eq!(
        status("JobSet", &json!({}), &both).message(),
        r#"JobSet.jobset.x-k8s.io "x" is invalid: status.conditions: Invalid value: StartupPolicyInProgress and StartupPolicyCompleted cannot be true at the same time [status/exclusive-conditions]"#
    );
}

#[test]
fn counters_in_lists_and_maps() {
    for (kind, new, path) in [
        (
            "JobSet",
            json!({"replicatedJobsStatus": [{}, {"jobRestarts": [0, -1]}]}),
            "status.replicatedJobsStatus[1].jobRestarts[1]",
        ),
        (
            "TrainJob",
            json!({"jobsStatus": [{"active": -1}]}),
            "status.jobsStatus[0].active",
        ),
        (
            "TFJob",
            json!({"replicaStatuses": {"PS": {"failed": -1}}}),
            "status.replicaStatuses[PS].failed",
        ),
        (
            "RayCluster",
            json!({"availableWorkerReplicas": -1}),
            "status.availableWorkerReplicas",
        ),
        (
            "RayService",
            json!({"numServeEndpoints": -1}),
            "status.numServeEndpoints",
        ),
        ("RayJob", json!({"succeeded": -1}), "status.succeeded"),
        (
            "AppWrapper",
            json!({"resettingCount": -1}),
            "status.resettingCount",
        ),
    ] {
        let (kind_profile, _) = find(kind);
        let answer = status(kind, &json!({}), &new);
        let expected = format!(
            "{kind}.{} \"x\" is invalid: {path}: Invalid value: -1: must be greater than or equal to 0 [status/negative-counter]",
            kind_profile.group()
        );
        assert_eq!(answer.message(), expected);
    }
}

/// Whatever a stored status breaks, the rest of it can still be written, and so can the object.
#[test]
fn what_is_stored_is_not_judged_again() {
    for (kind, old, new) in [
        (
            "JobSet",
            json!({"restarts": -1, "conditions": [when("Completed"), when("Failed")], "terminalState": "Done"}),
            json!({"extra": 1}),
        ),
        (
            "JobSet",
            conditions(&[
                when("StartupPolicyInProgress"),
                when("StartupPolicyCompleted"),
            ]),
            json!({"extra": 1}),
        ),
        (
            "PipelineRun",
            json!({"startTime": ONE, "completionTime": NOON}),
            json!({"extra": 1}),
        ),
        (
            "PipelineRun",
            conditions(&[when("Succeeded")]),
            json!({"extra": 1}),
        ),
    ] {
        let mut next = old.clone();
        next.as_object_mut()
            .unwrap()
            .extend(new.as_object().unwrap().clone());
        silent(&status(kind, &old, &next));
        let object =
            |status: &Value| json!({"metadata": {"name": "x"}, "spec": {}, "status": status});
        let main = request(find(kind), "UPDATE", "", &object(&old), &object(&next));
        silent(&everywhere(&main, &json!({})));
    }
}

/// The background audit shows stored objects as creates: what can be seen in one status is.
#[test]
fn the_audit_finds_two_outcomes() {
    let object = json!({"metadata": {"name": "x"}, "spec": {}, "status": conditions(&[when("Completed"), when("Failed")])});
    let answer = everywhere(
        &request(find("JobSet"), "CREATE", "", &Value::Null, &object),
        &strict(),
    );
    assert_eq!(answer.denied(), ["status/two-outcomes status.conditions"]);
    // A TrainJob that was Complete may have failed since.
    let object = json!({"metadata": {"name": "x"}, "spec": {}, "status": conditions(&[when("Complete"), when("Failed")])});
    let request = request(find("TrainJob"), "CREATE", "", &Value::Null, &object);
    silent(&everywhere(&request, &strict()));
}

/// No status at all is nothing to judge, whatever the kind.
#[test]
fn no_status_is_accepted() {
    for (kind, version) in all() {
        let object = json!({"metadata": {"name": "x"}, "spec": {}});
        let update = request((kind, version), "UPDATE", "status", &object, &object);
        let answer = everywhere(&update, &json!({}));
        if kind.pruned_in().contains(&version) {
            // The write itself drops the field.
            assert_eq!(
                answer.warned(),
                [format!(
                    "managed-by/pruned-version {}",
                    kind.managed_by_path()
                )]
            );
        } else {
            silent(&answer);
        }
    }
}

/// Workers are looked at only while the launcher runs: no eviction is noted beside a success.
#[test]
fn mpi_job_has_not_both_outcomes() {
    for kind in ["MPIJob v1", "MPIJob v2beta1"] {
        for reason in ["MPIJobEvicted", "BackoffLimitExceeded"] {
            let mut both = conditions(&[when("Succeeded"), condition("Failed", "True", reason)]);
            both["completionTime"] = ONE.into();
            let answer = status(kind, &json!({"startTime": NOON}), &both);
            assert_eq!(answer.denied(), ["status/two-outcomes status.conditions"]);
        }
    }
}

/// A replica type that has succeeded does not end the walk over the others, but for the kinds that return there.
#[test]
fn training_operator_notes_both_outcomes_of_two_kinds_at_once() {
    let mut both = conditions(&[when("Succeeded"), when("Failed")]);
    both["completionTime"] = ONE.into();
    for (kind, may) in [
        ("PyTorchJob", true),
        ("TFJob", true),
        ("XGBoostJob", false),
        ("PaddleJob", false),
        ("JAXJob", false),
    ] {
        let answer = status(kind, &json!({"startTime": NOON}), &both);
        assert_eq!(answer.allowed, may, "{answer:?}");
        let denied: &[_] = if may {
            &[]
        } else {
            &["status/two-outcomes status.conditions"]
        };
        assert_eq!(answer.denied(), denied);
    }
}

/// Trainer 2.1 makes the JobSet of a Complete TrainJob anew when it is gone, and that one may fail (#3013); a deadline may
/// pass while the JobSet completes.
#[test]
fn train_job_fails_when_it_is_complete_already() {
    let complete = conditions(&[when("Complete")]);
    let both = |reason: &str| conditions(&[when("Complete"), condition("Failed", "True", reason)]);
    silent(&status("TrainJob", &complete, &both("FailedJobs")));
    silent(&status("TrainJob", &json!({}), &both("DeadlineExceeded")));
    assert_eq!(
        status("TrainJob", &json!({}), &both("FailedJobs")).message(),
        r#"TrainJob.trainer.kubeflow.org "x" is invalid: status.conditions: Invalid value: cannot be both Complete and Failed [status/two-outcomes]"#
    );
}

/// KubeRay 1.3 to 1.5.0 lets the sum of many groups' `maxReplicas` run over, 2147483647 each where they are left out.
#[test]
fn ray_cluster_s_most_replicas_run_over() {
    let new = json!({"maxWorkerReplicas": -2, "desiredWorkerReplicas": 2, "minWorkerReplicas": 0});
    silent(&status("RayCluster", &json!({}), &new));
}
