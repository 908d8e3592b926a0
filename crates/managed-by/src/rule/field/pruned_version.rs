//! `managed-by/pruned-version`

use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
use crate::finding::{BadValue, FieldError};
use crate::request::Change;
use crate::rule::{Check, Context, Findings, Run};
use crate::upstream::go;

pub(crate) static RULE: Check = Check {
    rule: Rule {
        id: "managed-by/pruned-version",
        docs: Docs::new(Documentation {
            title: "The API version of a write has the field `managedBy`",
            text: "\
Checks the version that the client wrote (`requestKind`, else `kind`). KubeRay also serves `ray.io/v1alpha1`. The schema of
that version has no `managedBy`, so the API server drops the field. A client that reads and writes a delegated RayJob through
`v1alpha1` takes it away from its external controller. If the API server converts the object before it calls the policy, the
field is missing in both objects, and no other rule can see the change.

A status update through such a version drops the field too, and the policy cannot see whose status it is.

Runs on create, and on updates of the object and of its status. Does not run on objects that are being deleted. The rule denies
updates by default where the settings say who delegates: with `role`, `controllers` or `namespaces`. Elsewhere, and on create, it
warns. KubeRay before 1.0 writes through `v1alpha1` itself: set the rule to `warn` there.",
            fix: "Write through `ray.io/v1`. Stop serving `v1alpha1` in the CustomResourceDefinition.",
            accepted: Example {
                settings: "{}",
                request: r#"{"operation":"CREATE","kind":{"group":"ray.io","version":"v1","kind":"RayJob"},
                    "requestKind":{"group":"ray.io","version":"v1","kind":"RayJob"},
                    "object":{"metadata":{"name":"tune"},"spec":{"managedBy":"kueue.x-k8s.io/multikueue"}}}"#,
            },
            rejected: Example {
                settings: r#"{"role":"hybrid"}"#,
                request: r#"{"operation":"UPDATE","kind":{"group":"ray.io","version":"v1","kind":"RayJob"},
                    "requestKind":{"group":"ray.io","version":"v1alpha1","kind":"RayJob"},
                    "oldObject":{"metadata":{"name":"tune"},"spec":{}},
                    "object":{"metadata":{"name":"tune","labels":{"a":"b"}},"spec":{}}}"#,
            },
        }),
        anchor: Anchored::new(Anchor::Ours {
            source: "the CustomResourceDefinitions of KubeRay: `v1alpha1` has no such field, and unknown fields are pruned",
        }),
        default: Enforcement::Warn,
        scope: Scope::Guard,
    },
    run: Run::Change(check),
};

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let pruned_in = context.kind.pruned_in;
    if pruned_in.is_empty() {
        return;
    }
    let version = context.request.written_version();
    if pruned_in.contains(&&*version) {
        let group_version = go::quote(&format!("{}/{version}", context.kind.group));
        let detail = format!(
            "{group_version} has no such field, so this write drops it: write through another version"
        );
        let error = FieldError::invalid(context.path(), BadValue::Omitted, detail);
        if matches!(
            context.change,
            Change::Create { .. } | Change::Stored { .. }
        ) {
            // Nothing is taken from an object, and the audit shows stored objects in every version.
            findings.warn(error);
        } else {
            findings.push(error);
        }
    }
}
