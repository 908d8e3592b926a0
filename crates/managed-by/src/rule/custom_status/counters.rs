//! What is counted.

use super::{Transition, status_update};
use crate::description::{Anchor, Docs, Documentation, Enforcement, Example, Rule, Scope};
use crate::finding::{BadValue, FieldError};
use crate::rule::{Check, Findings, Run};
use crate::sorted::Sorted;

pub(crate) static NEGATIVE: Check = Check {
    rule: Rule {
    id: "status/negative-counter",
    docs: Docs::new(Documentation {
        title: "No counter of a custom resource is negative",
        text: "\
Checks the counters of replicas, Jobs, restarts and attempts, in lists and maps too
(`status.replicaStatuses[Worker].active`). Most schemas set no minimum. Runs when a change brings the value in.",
        fix: "Write what was counted, or leave the counter out.",
        accepted: status_update!("{}", "kubeflow.org", "v1", "PyTorchJob", "{}",
            r#"{"replicaStatuses":{"Master":{"active":0},"Worker":{"active":2,"failed":1}}}"#),
        rejected: status_update!("{}", "kubeflow.org", "v1", "PyTorchJob", "{}",
            r#"{"replicaStatuses":{"Master":{"active":0},"Worker":{"active":-2,"failed":1}}}"#),
    }),
    anchor: Anchor::Ours {
        source: "the API comments: each is \"the number of\" something",
    },
    default: Enforcement::Deny,
    scope: Scope::Api,
    },
    run: Run::CustomStatus(negative),
};

fn negative<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let known = &status.before().negative;
    let paths = Sorted::of(known.iter().map(|(path, _)| &**path));
    for counter in &status.new.negative {
        let (path, value) = counter;
        let stored = paths.place(path).and_then(|place| known.get(place));
        if stored != Some(counter) {
            let detail = "must be greater than or equal to 0";
            findings.push(FieldError::invalid(
                &**path,
                BadValue::Int64(*value),
                detail,
            ));
        }
    }
}

pub(crate) static DECREASED: Check = Check {
    rule: Rule {
    id: "status/counter-decreased",
    docs: Docs::new(Documentation {
        title: "A counter of restarts or attempts does not go down",
        text: "\
Checks `restarts` and `restartsCountTowardsMax` of a JobSet, `resettingCount` of an AppWrapper, `succeeded` and `failed` of
a RayJob: their controllers only add to them. Runs on updates of the status, and not for a delegated workload: its
controller may start it over in another cluster, where it is counted anew. It warns.",
        fix: "Add to what the status says; to count anew, create the workload anew.",
        accepted: status_update!(standard "{}", "jobset.x-k8s.io", "v1alpha2", "JobSet", r#"{"restarts":1}"#, r#"{"restarts":2}"#),
        rejected: status_update!(standard r#"{"rules":{"status/counter-decreased":"deny"}}"#,
            "jobset.x-k8s.io", "v1alpha2", "JobSet", r#"{"restarts":2}"#, r#"{"restarts":1}"#),
    }),
    anchor: Anchor::Ours {
        source: "`failurePolicyRecreateAll` of JobSet, `resetOrFail` of AppWrapper, `checkBackoffLimitAndUpdateStatusIfNeeded` of KubeRay",
    },
    default: Enforcement::Warn,
    scope: Scope::Api,
    },
    run: Run::CustomStatus(decreased),
};

fn decreased<'a>(status: &Transition<'a>, findings: &mut Findings<'a>) {
    let Some(old) = status.old.filter(|_| !status.is_delegated) else {
        return;
    };
    for (index, path) in status.profile.totals.iter().enumerate() {
        let (old, new) = (old.total(index), status.new.total(index));
        if new < old {
            let detail = format!("cannot go down from {old}");
            findings.push(FieldError::invalid(*path, BadValue::Int64(new), detail));
        }
    }
}
