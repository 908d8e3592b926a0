//! How a workload ends.

use super::{Transition, status_update};
use crate::finding::{BadValue, FieldError};
use crate::kind::custom::{Both, fact};
use crate::rule::{Anchor, Check, Docs, Documentation, Enforcement, Example, Findings, Rule};

pub(crate) static CHANGED: Rule = Rule {
    id: "status/outcome-changed",
    docs: Docs::new(Documentation {
        title: "An outcome is final",
        text: "\
Checks that a workload that has succeeded or failed stays so, with its end and, of a RayJob, its `jobStatus`: clients, quotas
and whoever made it act on an outcome once. Runs on updates of the status. What the kinds' own controllers do is let pass:

- an AppWrapper that is being deleted goes to `Terminating`, and stays there;
- a TaskRun that has failed runs again, with a new entry in `retriesStatus`, at most `spec.retries` times; one that has
  succeeded fails where its sidecars cannot be stopped;
- an MPIJob that has failed without a completion time may yet succeed;
- a TrainJob takes a failure back, unless a deadline was the reason;
- a RayJob that a newer operator refuses becomes `ValidationFailed`, unless it is delegated, and stays there.

A status that goes back while there is no outcome (a second dispatch, a resume) is no finding.",
        fix: "Leave the outcome as it is; to run the workload again, create it anew.",
        accepted: status_update!("{}", "kubeflow.org", "v2beta1", "MPIJob",
            r#"{"conditions":[{"type":"Failed","status":"True","reason":"MPIJobEvicted"}]}"#,
            r#"{"conditions":[{"type":"Failed","status":"False"},{"type":"Succeeded","status":"True"}],"completionTime":"2026-01-01T00:00:00Z"}"#),
        rejected: status_update!("{}", "jobset.x-k8s.io", "v1alpha2", "JobSet",
            r#"{"conditions":[{"type":"Failed","status":"True"}],"terminalState":"Failed"}"#,
            r#"{"conditions":[{"type":"Failed","status":"False"}]}"#),
    }),
    anchor: Anchor::Ours {
        source: "`jobSetFinished`, `IsTrainJobFinished`, `IsJobDeploymentTerminal`, the phases of AppWrapper, `IsDone` of Tekton, `IsFinished` of kubeflow.org: each controller returns there",
    },
    default: Enforcement::Deny,
    check: Check::Status(changed),
};

fn changed<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let (Some(outcome), Some(old)) = (&status.profile.outcome, status.old) else {
        return;
    };
    let new = status.new;
    if old.facts & ENDS == 0 {
        return;
    }
    let ends = old.facts & ENDS & !(outcome.taken_back)(&status.step());
    let lost = ends & !new.facts;
    let dead_end = outcome.dead_end.unwrap_or_default();
    for (fact, what, name) in [
        (fact::SUCCEEDED, "take back the outcome", outcome.success),
        (fact::FAILED, "take back the outcome", outcome.failure),
        (fact::DEAD_END, "leave", dead_end),
    ] {
        if lost & fact != 0 {
            let detail = format!("cannot {what} {name}");
            findings.push(FieldError::invalid(outcome.path, BadValue::Omitted, detail));
        }
    }
    if ends & new.facts == 0 {
        return;
    }
    let end = status.profile.end.as_ref().map(|end| end.path);
    let detail = outcome.detail;
    let says = old.facts & DETAILS;
    for (path, changed) in [
        (end, old.end.is_some() && new.end.is_none()),
        (detail, says != 0 && new.facts & DETAILS != says),
        (detail, new.attempts < old.attempts),
    ] {
        if let Some(path) = path.filter(|_| changed) {
            let detail = "cannot change once there is an outcome";
            findings.push(FieldError::invalid(path, BadValue::Omitted, detail));
        }
    }
}

const OUTCOMES: u16 = fact::SUCCEEDED | fact::FAILED;
/// The states that a workload does not leave.
const ENDS: u16 = OUTCOMES | fact::DEAD_END;
const DETAILS: u16 = fact::SAYS_SUCCEEDED | fact::SAYS_FAILED | fact::SAYS_STOPPED;

pub(crate) static BOTH: Rule = Rule {
    id: "status/two-outcomes",
    docs: Docs::new(Documentation {
        title: "A workload has not both succeeded and failed",
        text: "\
Checks that a status does not say both. Runs when a change brings that in. What the kinds' own controllers write is let
pass: a TrainJob may fail by its deadline or for want of its runtime when it is Complete already, an MPIJob by an evicted
worker; the Training Operator may note both outcomes of one of its jobs in one update, so that they are not judged.",
        fix: "Set the condition of the other outcome to False, or leave it out.",
        accepted: status_update!("{}", "jobset.x-k8s.io", "v1alpha2", "JobSet", "{}",
            r#"{"conditions":[{"type":"Failed","status":"False"},{"type":"Completed","status":"True"}],"terminalState":"Completed"}"#),
        rejected: status_update!("{}", "jobset.x-k8s.io", "v1alpha2", "JobSet", "{}",
            r#"{"conditions":[{"type":"Failed","status":"True"},{"type":"Completed","status":"True"}],"terminalState":"Failed"}"#),
    }),
    anchor: Anchor::Ours {
        source: "pkg/controllers of JobSet, trainjob_controller.go of Trainer, `setCondition` of the mpi-operator; for Tekton one condition says both",
    },
    default: Enforcement::Deny,
    check: Check::Status(both),
};

fn both<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let Some(outcome) = status
        .profile
        .outcome
        .as_ref()
        .filter(|o| o.both == Both::Never)
    else {
        return;
    };
    let both = OUTCOMES;
    let (new, old) = (status.new, status.before());
    if new.has(both) && !old.has(both) && !new.has(fact::BESIDE_SUCCESS) {
        let detail = format!("cannot be both {} and {}", outcome.success, outcome.failure);
        findings.push(FieldError::invalid(outcome.path, BadValue::Omitted, detail));
    }
}

pub(crate) static SAYS: Rule = Rule {
    id: "status/terminal-state",
    docs: Docs::new(Documentation {
        title: "The terminal state of a JobSet is that of its true condition",
        text: "\
Checks that `terminalState`, where it is set, is `Completed` or `Failed`, and that the condition of that name is true. Runs
when either changes. A JobSet from before the field may have the condition alone.",
        fix: "Write the word and the condition in one update.",
        accepted: status_update!("{}", "jobset.x-k8s.io", "v1alpha2", "JobSet", "{}",
            r#"{"conditions":[{"type":"Completed","status":"True"}],"terminalState":"Completed"}"#),
        rejected: status_update!("{}", "jobset.x-k8s.io", "v1alpha2", "JobSet", "{}",
            r#"{"conditions":[{"type":"Completed","status":"True"}],"terminalState":"Failed"}"#),
    }),
    anchor: Anchor::Ours {
        source: "API comment of `JobSetStatus.terminalState`; `setJobSetCompletedCondition` and `setJobSetFailedCondition` set both",
    },
    default: Enforcement::Deny,
    check: Check::Status(says),
};

fn says<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let (Some(path), Some(outcome)) = (status.profile.says, &status.profile.outcome) else {
        return;
    };
    let (new, old) = (status.new, status.before());
    let Some(word) = new.word.as_deref().filter(|word| !word.is_empty()) else {
        return;
    };
    if old.word == new.word && old.facts & OUTCOMES == new.facts & OUTCOMES {
        return;
    }
    let agrees = (new.has(fact::SAYS_SUCCEEDED) && new.has(fact::SUCCEEDED))
        || (new.has(fact::SAYS_FAILED) && new.has(fact::FAILED));
    if !agrees {
        let (success, failure) = (outcome.success, outcome.failure);
        let detail =
            format!("must be {success} or {failure}, with the condition of that name true");
        findings.push(FieldError::invalid(
            path,
            BadValue::String(word.into()),
            detail,
        ));
    }
}

pub(crate) static PAIR: Rule = Rule {
    id: "status/exclusive-conditions",
    docs: Docs::new(Documentation {
        title: "Conditions that exclude each other are not true at once",
        text: "\
Checks `StartupPolicyInProgress` and `StartupPolicyCompleted` of a JobSet, and `RayClusterSuspending` and
`RayClusterSuspended` of a RayCluster. Runs when a change brings both in.",
        fix: "Set the one to False as you set the other to True.",
        accepted: status_update!("{}", "ray.io", "v1", "RayCluster",
            r#"{"conditions":[{"type":"RayClusterSuspending","status":"True"}]}"#,
            r#"{"conditions":[{"type":"RayClusterSuspending","status":"False"},{"type":"RayClusterSuspended","status":"True"}]}"#),
        rejected: status_update!("{}", "ray.io", "v1", "RayCluster",
            r#"{"conditions":[{"type":"RayClusterSuspending","status":"True"}]}"#,
            r#"{"conditions":[{"type":"RayClusterSuspending","status":"True"},{"type":"RayClusterSuspended","status":"True"}]}"#),
    }),
    anchor: Anchor::Ours {
        source: "`exclusiveConditions` of JobSet; raycluster_types.go of KubeRay (\"cannot both be true at the same time\"), which its controller refuses to go on with",
    },
    default: Enforcement::Deny,
    check: Check::Status(pair),
};

fn pair<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let Some((first, second)) = status.profile.pair else {
        return;
    };
    let both = fact::FIRST | fact::SECOND;
    if status.new.has(both) && !status.before().has(both) {
        let detail = format!("{first} and {second} cannot be true at the same time");
        findings.push(FieldError::invalid(
            "status.conditions",
            BadValue::Omitted,
            detail,
        ));
    }
}
