//! `managed-by/updates-too-large`

use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
use crate::finding::FieldError;
use crate::kind::Holder;
use crate::object::Object;
use crate::request::Change;
use crate::rule::{Check, Context, Findings, Run};
use crate::settings::Problems;

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

The size counts as kube-apiserver writes the object: `<`, `>` and `&` have six bytes. Of the 2 MiB, 128 KiB are left for the rest of
the request and for the status, which an update carries twice too. A status that grows further still makes updates too large.

Runs on create, and on updates that make the object too large. With the `matchConditions` of the manifests, the API server does not
ask about an update that leaves `managedBy` alone, so a user can still make an own object too large. Does not run on objects that
are being deleted.

The rule denies by default where the settings say who delegates: with `role`, `controllers` or `namespaces`. Elsewhere it warns. It
only warns about an object whose status updates need no verdict: one that is not delegated, of a kind without
`standard_status_writers`, or a template such as a CronJob.",
            fix: "Move large data out of the object, for example into a ConfigMap. If the webhook has `failurePolicy: Ignore`, its updates go on without a check: set the rule to `warn`.",
            accepted: Example {
                settings: r#"{"role":"worker"}"#,
                request: r#"{"operation":"CREATE","kind":{"group":"batch","version":"v1","kind":"Job"},
                    "object":{"metadata":{"name":"small"},"spec":{}}}"#,
            },
            rejected: Example {
                settings: r#"{"role":"hybrid"}"#,
                request: r#"{"operation":"CREATE","kind":{"group":"batch","version":"v1","kind":"Job"},
                    "object":{"metadata":{"name":"large"},"spec":{"managedBy":"kueue.x-k8s.io/multikueue","template":{"spec":{"containers":[
                        {"name":"main","args":["(1 MiB of text)"]}]}}}}}"#,
            },
        }),
        anchor: Anchored::new(Anchor::Ours {
            source: "PolicyServer answers 413 to a request of more than 2 MiB, and `failurePolicy: Fail` makes a refusal of it",
        }),
        default: Enforcement::Warn,
        scope: Scope::Guard,
    },
    run: Run::Configured(check),
};

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) -> Result<(), Problems> {
    let object = match context.change {
        Change::Create { object } | Change::Stored { object } | Change::Update { object, .. } => {
            object
        }
        Change::UpdateStatus { .. } => return Ok(()),
    };
    let [size, stored] = context.request.object_sizes(LARGEST_OBJECT);
    if size <= LARGEST_OBJECT || stored > LARGEST_OBJECT {
        return Ok(());
    }
    let detail = format!(
        "the object has {size} bytes and may have at most {LARGEST_OBJECT}, because an update carries it twice and PolicyServer takes at most 2 MiB"
    );
    let error = FieldError::too_long("spec", detail);
    if is_status_judged(context, object)? {
        findings.push(error);
    } else {
        findings.warn(error);
    }
    Ok(())
}

/// Whether somebody waits for the verdict on each status update: of a delegated workload, and of a kind with listed writers. The
/// others can live on without a policy that takes their updates.
fn is_status_judged(context: &Context<'_>, object: &Object<'_>) -> Result<bool, Problems> {
    if context.kind.holder != Holder::Workload {
        return Ok(false);
    }
    Ok(context.mode(object).is_delegated()
        || context
            .settings
            .standard_writers(context.kind.name)?
            .is_some())
}
