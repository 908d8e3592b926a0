//! `managed-by/unchecked-format`

use super::format;
use crate::description::{Anchor, Docs, Documentation, Enforcement, Example, Rule, Scope};
use crate::kind::Form;
use crate::rule::{Check, Context, Findings, Run};

pub(crate) static RULE: Check = Check {
    rule: Rule {
    id: "managed-by/unchecked-format",
    docs: Docs::new(Documentation {
    title: "The value has the form of a controller's name, where the kind's own API takes any string",
    text: "\
AppWrapper, PipelineRun, TaskRun, JAXJob and MPIJob take any string for the field, `\"\"` too. Checks there what
`managed-by/format` checks elsewhere, in the same words: a value such as `typo` or `\"\"` is accepted, and then nobody runs
the workload. It warns, for their own documentation has names without a domain.

Runs when the value is set on create or changes on update.",
        fix: "Write a domain, a slash and a name, such as `acme.io/runner`; or leave the field out.",
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
    anchor: Anchor::Ours {
        source: "the field has no check in these projects' schemas and webhooks; recorded: an AppWrapper with `typo`, an MPIJob with a misspelt name, no status ever",
    },
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
