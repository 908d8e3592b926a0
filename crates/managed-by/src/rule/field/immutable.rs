//! `managed-by/immutable`

use crate::description::{Anchor, Docs, Documentation, Enforcement, Example, Rule, Scope};
use crate::finding::{BadValue, FieldError};
use crate::kind::{Holder, Mode};
use crate::release::Release;
use crate::request::Change;
use crate::rule::{Check, Context, Findings, Run};

pub(crate) static RULE: Check = Check {
    rule: Rule {
    id: "managed-by/immutable",
    docs: Docs::new(Documentation {
    title: "The field is not added, changed or removed after creation",
    text: "\
Checks that an update leaves the field as it was: adding it, changing it and removing it are all rejected, also between
unset and the reserved value, which mean the same. Two controllers would otherwise run one workload, or none.

Runs on updates of the main resource. Templates (a CronJob's `jobTemplate`) may change. For a Job this is kube-apiserver's
rule; of the other kinds some projects have it whole, some with holes and some not at all, and it is the same for all of
them here. A TrainJob gets the reserved value from its API where it has none: that is no change. To hand a workload to another
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
    scope: Scope::Api,
    },
    run: Run::Change(check),
};

fn check<'a>(context: &Context<'a>, findings: &mut Findings<'a>) {
    let Change::Update { object, old } = context.change else {
        return;
    };
    let kind = context.kind;
    // Where the API writes the reserved value, an object that was stored before it did gets it now.
    let is_defaulted = kind.defaulted
        && context.mode(object) == Mode::Standard
        && context.mode(old) == Mode::Standard;
    let unchanged = object.managed_by == old.managed_by || is_defaulted;
    if kind.holder == Holder::Workload && !unchanged {
        let value = BadValue::Pointer(object.managed_by.as_deref().map(Into::into));
        findings.push(FieldError::invalid(
            context.path(),
            value,
            "field is immutable",
        ));
    }
}
