//! `managed-by/immutable`

use crate::description::{
    Anchor, Anchored, Docs, Documentation, Enforcement, Example, Rule, Scope,
};
use crate::finding::{BadValue, FieldError};
use crate::kind::{Holder, Mode};
use crate::release::Release;
use crate::request::Change;
use crate::rule::{Check, Context, Findings, Run};

pub(crate) static RULE: Check = Check {
    rule: Rule {
    id: "managed-by/immutable",
    docs: Docs::new(Documentation {
    title: "`managedBy` cannot be added, changed or removed after creation",
    text: "\
Checks that an update leaves the field as it was. An update that adds, changes or removes the field is denied. This includes
a change between unset and the reserved value, although both mean the built-in controller. Without this rule, two
controllers could run one workload, or none.

Runs on updates of the main resource. Templates, such as a CronJob's `jobTemplate`, may change. kube-apiserver has this rule
for Jobs. Of the projects of the other kinds, some have the whole rule, some have a part of it, and some have none. This
policy applies the whole rule to all kinds. The API of TrainJob adds the reserved value where the field is unset: that is no
change.",
        fix: "Delete the workload and create it again with the value that you want. Or create a second workload.",
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
    anchor: Anchored::new(Anchor::Upstream {
        function: "ValidateJobSpecUpdate (pkg/apis/batch/validation)",
        option: None,
        since: Release::V1_30,
        until: None,
        deviation: None,
    }),
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
