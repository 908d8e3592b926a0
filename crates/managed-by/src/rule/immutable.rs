//! `managed-by/immutable`

use super::{Anchor, Check, Context, Docs, Documentation, Enforcement, Example, Findings, Rule};
use crate::finding::{BadValue, FieldError};
use crate::kind::Holder;
use crate::release::Release;
use crate::request::Change;

pub(crate) static RULE: Rule = Rule {
    id: "managed-by/immutable",
    docs: Docs::new(Documentation {
    title: "The field is not added, changed or removed after creation",
    text: "\
Checks that an update leaves the field as it was: adding it, changing it and removing it are all rejected, also between
unset and the reserved value, which mean the same. Two controllers would otherwise run one workload, or none.

Runs on updates of the main resource. Templates (a CronJob's `jobTemplate`) may change. To hand a workload to another
controller, delete it and create it anew.",
        fix: "Delete the workload and create it anew with the value that you want, or create another one beside it.",
    accepted: Example {
        settings: "{}",
        request: r#"{"operation":"UPDATE","kind":{"group":"batch","version":"v1","kind":"Job"},
            "oldObject":{"metadata":{"name":"pi"},"spec":{"managedBy":"acme.io/runner","suspend":true}},
            "object":{"metadata":{"name":"pi"},"spec":{"managedBy":"acme.io/runner","suspend":false}}}"#,
    },
    rejected: Example {
        settings: "{}",
        request: r#"{"operation":"UPDATE","kind":{"group":"batch","version":"v1","kind":"Job"},
            "oldObject":{"metadata":{"name":"pi"},"spec":{"managedBy":"acme.io/runner"}},
            "object":{"metadata":{"name":"pi"},"spec":{}}}"#,
    },
    }),
    anchor: Anchor::Upstream {
        function: "ValidateJobSpecUpdate (pkg/apis/batch/validation)",
        option: None,
        since: Release::V1_30,
        until: None,
        deviation: None,
    },
    default: Enforcement::Deny,
    check: Check::Change(check),
};

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let Change::Update { object, old } = context.change else {
        return;
    };
    if context.kind.holder == Holder::Workload && object.managed_by != old.managed_by {
        let value = BadValue::Pointer(object.managed_by.as_deref().map(Into::into));
        findings.push(FieldError::invalid(
            context.path(),
            value,
            "field is immutable",
        ));
    }
}
