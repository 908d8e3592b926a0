//! `managed-by/unchecked-format`

use super::format;
use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
use crate::kind::Form;
use crate::rule::{Check, Context, Findings, Run};

pub(crate) static RULE: Check = Check {
    rule: Rule {
    id: "managed-by/unchecked-format",
    docs: Docs::new(Documentation {
    title: "`managedBy` has the form of a controller's name, where the kind's own API accepts any string",
    text: "\
The APIs of AppWrapper, PipelineRun, TaskRun, JAXJob and MPIJob accept any string, including `\"\"`. For these kinds this rule
checks the form that `managed-by/format` checks for others, with the same error text. The API accepts a value such as `typo`
or `\"\"`. The workload is then orphaned, except a JAXJob, whose controller ignores the field. The rule warns, because the
documentation of these projects shows names without a domain.

Runs on create, and on updates that change the value.",
        fix: "Write a domain, a slash and a name, such as `acme.io/runner`. Or leave the field out.",
    accepted: Example {
        settings: "{}",
        request: r#"{"operation":"CREATE","kind":{"group":"workload.codeflare.dev","version":"v1beta2","kind":"AppWrapper"},
            "object":{"metadata":{"name":"batch"},"spec":{"managedBy":"kueue.x-k8s.io/multikueue"}}}"#,
    },
    rejected: Example {
        settings: r#"{"rules":{"managed-by/unchecked-format":"deny"}}"#,
        request: r#"{"operation":"CREATE","kind":{"group":"workload.codeflare.dev","version":"v1beta2","kind":"AppWrapper"},
            "object":{"metadata":{"name":"batch"},"spec":{"managedBy":"typo"}}}"#,
    },
    }),
    anchor: Anchored::new(Anchor::Ours {
        source: "the field has no check in these projects' schemas and webhooks; recorded: an AppWrapper with `typo`, an MPIJob with a misspelt name, no status ever",
    }),
    default: Enforcement::Warn,
    scope: Scope::Api,
    },
    run: Run::Change(check),
};

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    if context.kind.form != Form::Open {
        return;
    }
    match context.incoming() {
        Some("") => {
            let detail = "names nobody, and is not the same as no value: leave the field out";
            findings.push(context.invalid("", detail.to_owned()));
        }
        Some(value) => format::judge(context, value, findings),
        None => {}
    }
}
