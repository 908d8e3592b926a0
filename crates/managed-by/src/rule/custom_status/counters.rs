//! What is counted.

use super::{Transition, status_update};
use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
use crate::finding::{BadValue, FieldError};
use crate::rule::{Check, Findings, Run};
use crate::sorted::Sorted;

pub(crate) static NEGATIVE: Check = Check {
    rule: Rule {
        id: "status/negative-counter",
        docs: Docs::new(Documentation {
            title: "Counters of a custom resource are not negative",
            text: "\
Checks the counters of replicas, Jobs, restarts and attempts, including those in lists and maps
(`status.replicaStatuses[Worker].active`). Most schemas set no minimum.

Runs when a change adds a negative value.",
            fix: "Write the real count, or leave the counter out.",
            accepted: status_update!(
                "{}",
                "kubeflow.org",
                "v1",
                "PyTorchJob",
                "{}",
                r#"{"replicaStatuses":{"Master":{"active":0},"Worker":{"active":2,"failed":1}}}"#
            ),
            rejected: status_update!(
                "{}",
                "kubeflow.org",
                "v1",
                "PyTorchJob",
                "{}",
                r#"{"replicaStatuses":{"Master":{"active":0},"Worker":{"active":-2,"failed":1}}}"#
            ),
        }),
        anchor: Anchored::new(Anchor::Ours {
            source: "the API comments: each is \"the number of\" something",
        }),
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
        title: "Counters of restarts and attempts cannot decrease",
        text: "\
Checks `restarts` and `restartsCountTowardsMax` of a JobSet, `resettingCount` of an AppWrapper, and `succeeded` and `failed`
of a RayJob. The built-in controllers only add to these counters.

Runs on status updates of workloads that are not delegated. The controller of a delegated workload may start it again in
another cluster, where the count starts at zero. The rule warns.",
        fix: "Add to the stored value. To count from zero, create a new workload.",
        accepted: status_update!(standard "{}", "jobset.x-k8s.io", "v1alpha2", "JobSet", r#"{"restarts":1}"#, r#"{"restarts":2}"#),
        rejected: status_update!(standard r#"{"rules":{"status/counter-decreased":"deny"}}"#,
            "jobset.x-k8s.io", "v1alpha2", "JobSet", r#"{"restarts":2}"#, r#"{"restarts":1}"#),
    }),
    anchor: Anchored::new(Anchor::Ours {
        source: "`failurePolicyRecreateAll` of JobSet, `resetOrFail` of AppWrapper, `checkBackoffLimitAndUpdateStatusIfNeeded` of KubeRay",
    }),
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
