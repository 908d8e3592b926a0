//! `managed-by/closed-set`

use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
use crate::kind::Form;
use crate::rule::{Check, Context, Findings, Run};
use crate::upstream::go;

pub(crate) static RULE: Check = Check {
    rule: Rule {
    id: "managed-by/closed-set",
    docs: Docs::new(Documentation {
    title: "`managedBy` is one of the values that the kind's own API accepts",
    text: "\
TrainJob, the Ray kinds and the Training Operator's jobs accept two values: the reserved value and Kueue's MultiKueue. (JAXJob
and MPIJob accept any string.) This rule checks that, and its message lists the two values. An API server with the kind's
schema and webhooks refuses other values before the policy sees them. The rule is for files, and for clusters where a
webhook is missing.

Runs on create, and on updates that change the value.",
        fix: "Write one of the values in the message, or leave the field out.",
    accepted: Example {
        settings: "{}",
        request: r#"{"operation":"CREATE","kind":{"group":"ray.io","version":"v1","kind":"RayJob"},
            "object":{"metadata":{"name":"tune"},"spec":{"managedBy":"kueue.x-k8s.io/multikueue"}}}"#,
    },
    rejected: Example {
        settings: r#"{"rules":{"managed-by/closed-set":"deny"}}"#,
        request: r#"{"operation":"CREATE","kind":{"group":"ray.io","version":"v1","kind":"RayJob"},
            "object":{"metadata":{"name":"tune"},"spec":{"managedBy":"acme.io/runner"}}}"#,
    },
    }),
    anchor: Anchored::new(Anchor::Ours {
        source: "CEL rules in the CRDs of Trainer and KubeRay; `ValidateRunPolicy` of the Training Operator's webhooks",
    }),
    default: Enforcement::Warn,
    scope: Scope::Api,
    },
    run: Run::Change(check),
};

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let Form::OneOf(values) = context.kind.form else {
        return;
    };
    if let Some(value) = context.incoming().filter(|v| !values.contains(v)) {
        findings.push(context.invalid(value, accepts(context.kind.name, values)));
    }
}

/// `RayJob accepts only "a" or "b"`
pub(super) fn accepts(kind: &str, values: &[&str]) -> String {
    let quoted: Vec<String> = values.iter().map(|value| go::quote(value)).collect();
    format!("{kind} accepts only {}", quoted.join(" or "))
}
