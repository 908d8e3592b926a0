//! `workload.codeflare.dev`: AppWrapper, which makes objects of any kind.

use super::custom::{Both, ENDLESS, Outcome, StatusProfile, Step, fact};
use super::parts::{self, Part, Template};
use super::{APP_WRAPPER_CONTROLLER, About, Form, Holder, KindDocs, KindProfile};

pub(super) static APP_WRAPPER: KindProfile = KindProfile {
    group: "workload.codeflare.dev",
    versions: &["v1beta2"],
    kind: "AppWrapper",
    plural: "appwrappers",
    managed_by: &["spec", "managedBy"],
    reserved: APP_WRAPPER_CONTROLLER,
    holder: Holder::Workload,
    form: Form::Open,
    defaulted: false,
    steps_back: true,
    spec: Part::Fields(&[
        ("managedBy", Part::ManagedBy),
        (
            "components",
            Part::Each(&Part::Fields(&[(
                "template",
                Part::Template(Template::Any),
            )])),
        ),
    ]),
    status: Some(&STATUS),
    read: parts::read,
    about: About::new(KindDocs {
        checks: "a webhook, which may be off: immutability; nothing of the form or the status",
        unchecked: "components of kinds that this policy does not know",
        source: "appwrapper_controller.go: from `Succeeded` and `Failed` only a deletion leads on, to `Terminating`; `resettingCount` is only added to",
    }),
};

static STATUS: StatusProfile = StatusProfile {
    parts: Part::Fields(&[
        (
            "phase",
            Part::Word(&[
                ("Succeeded", fact::SUCCEEDED),
                ("Failed", fact::FAILED),
                ("Terminating", fact::DEAD_END),
            ]),
        ),
        ("resettingCount", Part::Total(0)),
    ]),
    outcome: Some(Outcome {
        path: "status.phase",
        success: "Succeeded",
        failure: "Failed",
        dead_end: Some("Terminating"),
        detail: None,
        both: Both::Unsayable,
        taken_back,
    }),
    totals: &["status.resettingCount"],
    ..ENDLESS
};

/// Only a deletion leads on from an outcome, to `Terminating`, and nothing from there. Of a delegated AppWrapper it may be
/// the copy elsewhere that was deleted.
fn taken_back(step: &Step<'_>) -> u16 {
    match step.old.has(fact::DEAD_END) {
        false if step.is_being_deleted && step.new.has(fact::DEAD_END) => {
            fact::SUCCEEDED | fact::FAILED
        }
        true if step.delegated || !step.is_being_deleted => fact::DEAD_END,
        _ => 0,
    }
}
