//! `managed-by/wrong-kind`

use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
use crate::kind::RESERVED;
use crate::rule::{Check, Context, Findings, Run};

pub(crate) static RULE: Check = Check {
    rule: Rule {
    id: "managed-by/wrong-kind",
    docs: Docs::new(Documentation {
    title: "`managedBy` is not the reserved value of another kind",
    text: "\
Checks that the value is not the reserved value of another kind, such as JobSet's value on a Job. The named controller only
runs its own kind, and the controller of this kind ignores the workload. The workload is orphaned.

Runs on create, and on updates that change the value.",
        fix: "Leave the field out to choose the built-in controller. Or name a controller that runs this kind.",
    accepted: Example {
        settings: "{}",
        request: r#"{"operation":"CREATE","kind":{"group":"batch","version":"v1","kind":"Job"},
            "object":{"metadata":{"name":"pi"},"spec":{"managedBy":"kubernetes.io/job-controller"}}}"#,
    },
    rejected: Example {
        settings: r#"{"rules":{"managed-by/wrong-kind":"deny"}}"#,
        request: r#"{"operation":"CREATE","kind":{"group":"batch","version":"v1","kind":"Job"},
            "object":{"metadata":{"name":"pi"},"spec":{"managedBy":"jobset.sigs.k8s.io/jobset-controller"}}}"#,
    },
    }),
    anchor: Anchored::new(Anchor::Ours {
        source: "the reserved values in the projects' APIs; each controller compares with its own alone",
    }),
    default: Enforcement::Warn,
    scope: Scope::Api,
    },
    run: Run::Change(check),
};

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let Some(value) = context
        .incoming()
        .filter(|v| Some(*v) != context.kind.reserved)
    else {
        return;
    };
    if let Some((_, runs)) = RESERVED.iter().find(|(name, _)| *name == value) {
        let so = if context.kind.steps_back {
            "so nobody would run this"
        } else {
            "and this kind's own controller does not look here"
        };
        findings.push(context.invalid(value, format!("it runs {runs} only, {so}")));
    }
}
