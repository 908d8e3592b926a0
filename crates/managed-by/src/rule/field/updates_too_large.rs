//! `managed-by/updates-too-large`

use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
use crate::finding::FieldError;
use crate::request::Change;
use crate::rule::{Check, Context, Findings, Run};

/// What PolicyServer takes in one request: the default limit of its HTTP library, which no setting changes.
const LARGEST_REQUEST: usize = 2 << 20;

/// What an update needs beside the object that is created: the rest of the request, and the status, twice.
const ROOM: usize = 128 << 10;

/// An update carries the object twice, as it is stored and as it is to be.
const LARGEST_OBJECT: usize = (LARGEST_REQUEST - ROOM) / 2;

pub(crate) static RULE: Check = Check {
    rule: Rule {
        id: "managed-by/updates-too-large",
        docs: Docs::new(Documentation {
            title: "An object is small enough that the policy can judge its updates",
            text: "\
PolicyServer refuses a request of more than 2 MiB, and an update carries the object twice. So an object of more than 960 KiB can
be created, and then each of its status updates is refused: a Job never completes, and its pods keep their finalizers.

The size counts as kube-apiserver writes the object: `<`, `>` and `&` have six bytes. 64 KiB are left for the rest of the
request, and 64 KiB for the status. A status that grows further still makes updates too large.

Runs on create. Does not run on objects that are being deleted. The rule denies by default where the settings say who delegates:
with `role`, `controllers` or `namespaces`. Elsewhere it warns.",
            fix: "Move large data out of the object, for example into a ConfigMap. If the webhook has `failurePolicy: Ignore`, its updates go on without a check: set the rule to `warn`.",
            accepted: Example {
                settings: r#"{"role":"worker"}"#,
                request: r#"{"operation":"CREATE","kind":{"group":"batch","version":"v1","kind":"Job"},
                    "object":{"metadata":{"name":"small"},"spec":{}}}"#,
            },
            rejected: Example {
                settings: r#"{"role":"worker"}"#,
                request: r#"{"operation":"CREATE","kind":{"group":"batch","version":"v1","kind":"Job"},
                    "object":{"metadata":{"name":"large"},"spec":{"template":{"spec":{"containers":[
                        {"name":"main","args":["(1 MiB of text)"]}]}}}}}"#,
            },
        }),
        anchor: Anchored::new(Anchor::Ours {
            source: "PolicyServer answers 413 to a request of more than 2 MiB, and `failurePolicy: Fail` makes a refusal of it",
        }),
        default: Enforcement::Warn,
        scope: Scope::Guard,
    },
    run: Run::Change(check),
};

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let (Change::Create { .. } | Change::Stored { .. }) = context.change else {
        return;
    };
    let size = context.request.object_size(LARGEST_OBJECT);
    if size > LARGEST_OBJECT {
        let detail = format!(
            "the object has {size} bytes and may have at most {LARGEST_OBJECT}, because an update carries it twice and PolicyServer takes at most 2 MiB"
        );
        findings.push(FieldError::too_long("spec", detail));
    }
}
