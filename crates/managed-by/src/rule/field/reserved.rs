//! `managed-by/reserved`

use crate::description::{Anchor, Docs, Documentation, Enforcement, Example, Rule, Scope};
use crate::rule::{Check, Context, Findings, Run};
use crate::settings::ReservedValue;

pub(crate) static RULE: Check = Check {
    rule: Rule {
    id: "managed-by/reserved",
    docs: Docs::new(Documentation {
    title: "With `reserved_value: deny`, the built-in controller is meant by leaving the field out",
    text: "\
With the setting `reserved_value: deny`, checks that the value is not the kind's reserved one
(`kubernetes.io/job-controller` for a Job). For kube-apiserver the reserved value and no value mean the same, and so they
do with the default, `allow`. Deny it where tools of yours take any value for a delegation.

Runs when the value is set on create or changes on update; not for a TrainJob, which gets the value from its API.",
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
    anchor: Anchor::Ours {
        source: "API comment of JobSpec.managedBy (k8s.io/api/batch/v1): the reserved value means the built-in controller",
    },
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
