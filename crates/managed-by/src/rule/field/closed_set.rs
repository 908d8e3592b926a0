//! `managed-by/closed-set`

use crate::description::{Anchor, Docs, Documentation, Enforcement, Example, Rule, Scope};
use crate::kind::Form;
use crate::rule::{Check, Context, Findings, Run};
use crate::upstream::go;

pub(crate) static RULE: Check = Check {
    rule: Rule {
    id: "managed-by/closed-set",
    docs: Docs::new(Documentation {
    title: "The value is one that the kind's own API accepts, where that names them",
    text: "\
TrainJob, the Ray kinds and the Training Operator's jobs (but for JAXJob and MPIJob) accept their own controller and
Kueue's MultiKueue, and refuse every other value. Checks that, and names the values. Where the API server serves such a
kind with its schema and its webhooks, a bad value does not come this far: this is for files, and for clusters where a
webhook is missing.

Runs when the value is set on create or changes on update.",
        fix: "Write one of the values that the message names, or leave the field out.",
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
    anchor: Anchor::Ours {
        source: "CEL rules in the CRDs of Trainer and KubeRay; `ValidateRunPolicy` of the Training Operator's webhooks",
    },
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
