//! `managed-by/reserved`

use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
use crate::rule::{Check, Context, Findings, Run};
use crate::settings::ReservedValue;

pub(crate) static RULE: Check = Check {
    rule: Rule {
    id: "managed-by/reserved",
    docs: Docs::new(Documentation {
    title: "With `reserved_value: deny`, `managedBy` is not the reserved value",
    text: "\
With the setting `reserved_value: deny`, checks that the value is not the reserved value of the kind
(`kubernetes.io/job-controller` for a Job). For kube-apiserver the reserved value and no value mean the same. With the
default, `allow`, the policy agrees. Choose `deny` if your tools treat every value as a delegation.

Runs on create, and on updates that change the value. Does not run for a TrainJob or an OptimizationJob, because their API
writes the reserved value itself.",
        fix: "Leave the field out.",
    accepted: Example {
        settings: r#"{"reserved_value":"allow"}"#,
        request: r#"{"operation":"CREATE","kind":{"group":"batch","version":"v1","kind":"Job"},
            "object":{"metadata":{"name":"pi"},"spec":{"managedBy":"kubernetes.io/job-controller"}}}"#,
    },
    rejected: Example {
        settings: r#"{"reserved_value":"deny"}"#,
        request: r#"{"operation":"CREATE","kind":{"group":"batch","version":"v1","kind":"Job"},
            "object":{"metadata":{"name":"pi"},"spec":{"managedBy":"kubernetes.io/job-controller"}}}"#,
    },
    }),
    anchor: Anchored::new(Anchor::Ours {
        source: "API comment of JobSpec.managedBy (k8s.io/api/batch/v1): the reserved value means the built-in controller",
    }),
    default: Enforcement::Deny,
    scope: Scope::Api,
    },
    run: Run::Change(check),
};

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let kind = context.kind;
    // Where the API itself writes the value, nobody can leave it out.
    if kind.defaulted || context.settings.reserved_value() == ReservedValue::Allow {
        return;
    }
    if let Some(value) = context.incoming().filter(|v| Some(*v) == kind.reserved) {
        let detail = "leave the field out: that means the built-in controller too".to_owned();
        findings.push(context.invalid(value, detail));
    }
}
