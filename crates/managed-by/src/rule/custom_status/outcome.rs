//! How a workload ends.

use std::borrow::Cow;

use super::{Transition, status_update};
use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
use crate::finding::{BadValue, FieldError};
use crate::kind::status::{Both, CONDITIONS, Ends, FailureNotes};
use crate::object::custom::{NO_STATUS, Step};
use crate::rule::{Check, Findings, Run};

pub(crate) static CHANGED: Check = Check {
    rule: Rule {
    id: "status/outcome-changed",
    docs: Docs::new(Documentation {
        title: "An outcome cannot be changed",
        text: "\
Checks that a workload that has succeeded or failed keeps this outcome and its end time. A RayJob also keeps its `jobStatus`,
and a TaskRun keeps its attempts. Clients, quotas and other controllers act on an outcome only once.

Runs on status updates. A status without an outcome may go back to an earlier state, for example after a second dispatch or
a resume. If several conditions have the same type, the first one counts, as in the projects' own code.

Some controllers change an outcome of their own. The rule accepts these steps:",
        fix: "Leave the outcome as it is. To run the workload again, create a new one.",
        accepted: status_update!("{}", "kubeflow.org", "v2beta1", "MPIJob",
            r#"{"conditions":[{"type":"Failed","status":"True","reason":"MPIJobEvicted"}]}"#,
            r#"{"conditions":[{"type":"Failed","status":"False"},{"type":"Succeeded","status":"True"}],"completionTime":"2026-01-01T00:00:00Z"}"#),
        rejected: status_update!("{}", "jobset.x-k8s.io", "v1alpha2", "JobSet",
            r#"{"conditions":[{"type":"Failed","status":"True"}],"terminalState":"Failed"}"#,
            r#"{"conditions":[{"type":"Failed","status":"False"}]}"#),
    }),
    anchor: Anchored::new(Anchor::Ours {
        source: "`jobSetFinished`, `IsTrainJobFinished`, `IsJobDeploymentTerminal`, the phases of AppWrapper, `IsDone` of Tekton, `IsFinished` of kubeflow.org: each controller returns there",
    }),
    default: Enforcement::Deny,
    scope: Scope::Api,
    },
    run: Run::CustomStatus(changed),
};

fn changed<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let (Some(outcome), Some(old)) = (&status.profile.outcome, status.old) else {
        return;
    };
    let (new, step) = (status.new, status.step());
    let mut invalid = |path: &'a str, detail: Cow<'static, str>| {
        findings.push(FieldError::invalid(path, BadValue::Omitted, detail));
    };
    // A status that another controller copies may start over, with its attempts, unless it has an outcome.
    let is_new_run = status.is_delegated && !old.ends.intersects(new.ends);
    if let Some(attempts) = outcome.attempts
        && new.attempts < old.attempts
        && !is_new_run
    {
        invalid(attempts.path, "cannot lose an attempt".into());
    }
    if old.ends.is_empty() {
        return;
    }
    let is_final = old.ends.difference(step.leaves(outcome.exits));
    let lost = is_final.difference(new.ends);
    for (end, what, sign) in [
        (Ends::SUCCESS, "take back the outcome", outcome.success),
        (Ends::FAILURE, "take back the outcome", outcome.failure),
        (Ends::DEAD_END, "leave", outcome.dead_end),
    ] {
        if let Some(sign) = sign.filter(|_| lost.contains(end)) {
            let name = outcome.name(&sign);
            invalid(outcome.path(), format!("cannot {what} {name}").into());
        }
    }
    // What goes with an outcome is lost with it, or was never final.
    let was_outcome = old.ends.intersects(Ends::OUTCOMES) || !is_final.is_empty();
    if !lost.is_empty() || new.ends.is_empty() || !was_outcome {
        return;
    }
    if let Some(reason) = &outcome.reason
        && old.reason.is_some()
        && new.reason != old.reason
    {
        let detail = "cannot change once there is an outcome";
        invalid(reason.path(), detail.into());
    }
    if let Some(end) = &status.profile.end
        && !is_final.is_empty()
        && old.end.is_some()
        && new.end.is_none()
    {
        invalid(end.path, "cannot be taken away from an outcome".into());
        return;
    }
    // The first of two steps: by the second the outcome would be gone.
    let next = Step {
        old: new,
        new: &NO_STATUS,
        ..step
    };
    if (is_final & new.ends).intersects(next.leaves(outcome.exits)) {
        let detail = "cannot become an outcome that may be taken back";
        invalid(outcome.path(), detail.into());
    }
}

pub(crate) static BOTH: Check = Check {
    rule: Rule {
    id: "status/two-outcomes",
    docs: Docs::new(Documentation {
        title: "Success and failure exclude each other",
        text: "\
Checks that a status does not report both success and failure.

Runs when a change makes both true. The rule accepts what the built-in controllers write. A Complete TrainJob may fail later,
or in the same update when its deadline is over. The Training Operator may report both outcomes of a TFJob or a PyTorchJob,
so the rule does not judge these kinds.",
        fix: "Set the condition of the other outcome to False, or remove it.",
        accepted: status_update!("{}", "jobset.x-k8s.io", "v1alpha2", "JobSet", "{}",
            r#"{"conditions":[{"type":"Failed","status":"False"},{"type":"Completed","status":"True"}],"terminalState":"Completed"}"#),
        rejected: status_update!("{}", "jobset.x-k8s.io", "v1alpha2", "JobSet", "{}",
            r#"{"conditions":[{"type":"Failed","status":"True"},{"type":"Completed","status":"True"}],"terminalState":"Failed"}"#),
    }),
    anchor: Anchored::new(Anchor::Ours {
        source: "pkg/controllers of JobSet, trainjob_controller.go of Trainer, `UpdateJobStatus` and `setCondition` of the Training Operator, `setCondition` of the mpi-operator; for Tekton one condition says both",
    }),
    default: Enforcement::Deny,
    scope: Scope::Api,
    },
    run: Run::CustomStatus(both),
};

fn both<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let Some(outcome) = status.profile.outcome.as_ref().filter(|o| o.can_be_both()) else {
        return;
    };
    let (new, old) = (status.new, status.before());
    match outcome.both {
        Both::Never => {}
        // An object that is replayed as a create does not say which outcome came first.
        Both::AfterSuccess if status.old.is_some() && !old.ends.contains(Ends::SUCCESS) => {}
        Both::AfterSuccess | Both::Allowed => return,
    }
    let both = Ends::OUTCOMES;
    let is_noted = new.notes.contains(FailureNotes::BESIDE_SUCCESS);
    if let (Some(success), Some(failure)) = (outcome.success, outcome.failure)
        && new.ends.contains(both)
        && !old.ends.contains(both)
        && !is_noted
    {
        let (success, failure) = (outcome.name(&success), outcome.name(&failure));
        let detail = format!("cannot be both {success} and {failure}");
        findings.push(FieldError::invalid(
            outcome.path(),
            BadValue::Omitted,
            detail,
        ));
    }
}

pub(crate) static TERMINAL_STATE: Check = Check {
    rule: Rule {
    id: "status/terminal-state",
    docs: Docs::new(Documentation {
        title: "`terminalState` of a JobSet names its true condition",
        text: "\
Checks that `terminalState`, if it is set, is `Completed` or `Failed`, and that the condition with this name is True.

Runs when one of the two changes. An older JobSet may have the condition without `terminalState`.",
        fix: "Write `terminalState` and the condition in the same update.",
        accepted: status_update!("{}", "jobset.x-k8s.io", "v1alpha2", "JobSet", "{}",
            r#"{"conditions":[{"type":"Completed","status":"True"}],"terminalState":"Completed"}"#),
        rejected: status_update!("{}", "jobset.x-k8s.io", "v1alpha2", "JobSet", "{}",
            r#"{"conditions":[{"type":"Completed","status":"True"}],"terminalState":"Failed"}"#),
    }),
    anchor: Anchored::new(Anchor::Ours {
        source: "API comment of `JobSetStatus.terminalState`; `setJobSetCompletedCondition` and `setJobSetFailedCondition` set both",
    }),
    default: Enforcement::Deny,
    scope: Scope::Api,
    },
    run: Run::CustomStatus(terminal_state),
};

fn terminal_state<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let profile = status.profile;
    let (Some(path), Some(outcome)) = (profile.terminal_state, &profile.outcome) else {
        return;
    };
    let (new, old) = (status.new, status.before());
    let word = new
        .terminal_state
        .as_deref()
        .filter(|word| !word.is_empty());
    let Some(word) = word else {
        return;
    };
    if old.terminal_state == new.terminal_state && old.ends == new.ends {
        return;
    }
    let (Some(success), Some(failure)) = (outcome.success, outcome.failure) else {
        return;
    };
    let names = [(Ends::SUCCESS, success), (Ends::FAILURE, failure)];
    let agrees = names
        .iter()
        .any(|(end, sign)| outcome.name(sign) == word && new.ends.contains(*end));
    if !agrees {
        let [success, failure] = names.map(|(_, sign)| outcome.name(&sign));
        let detail =
            format!("must be {success} or {failure}, with the condition of that name true");
        findings.push(FieldError::invalid(
            path,
            BadValue::String(word.into()),
            detail,
        ));
    }
}

pub(crate) static EXCLUSIVE: Check = Check {
    rule: Rule {
    id: "status/exclusive-conditions",
    docs: Docs::new(Documentation {
        title: "Two conditions that exclude each other are not both True",
        text: "\
Checks `StartupPolicyInProgress` and `StartupPolicyCompleted` of a JobSet, and `RayClusterSuspending` and
`RayClusterSuspended` of a RayCluster.

Runs when a change makes both True.",
        fix: "Set one condition to False in the update that sets the other to True.",
        accepted: status_update!("{}", "ray.io", "v1", "RayCluster",
            r#"{"conditions":[{"type":"RayClusterSuspending","status":"True"}]}"#,
            r#"{"conditions":[{"type":"RayClusterSuspending","status":"False"},{"type":"RayClusterSuspended","status":"True"}]}"#),
        rejected: status_update!("{}", "ray.io", "v1", "RayCluster",
            r#"{"conditions":[{"type":"RayClusterSuspending","status":"True"}]}"#,
            r#"{"conditions":[{"type":"RayClusterSuspending","status":"True"},{"type":"RayClusterSuspended","status":"True"}]}"#),
    }),
    anchor: Anchored::new(Anchor::Ours {
        source: "`exclusiveConditions` of JobSet; raycluster_types.go of KubeRay (\"cannot both be true at the same time\"), which its controller refuses to go on with",
    }),
    default: Enforcement::Deny,
    scope: Scope::Api,
    },
    run: Run::CustomStatus(exclusive),
};

fn exclusive<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let Some((first, second)) = status.profile.exclusive else {
        return;
    };
    let both = (true, true);
    if status.new.exclusive == both && status.before().exclusive != both {
        let detail = format!("{first} and {second} cannot be true at the same time");
        findings.push(FieldError::invalid(CONDITIONS, BadValue::Omitted, detail));
    }
}
