//! `workload.codeflare.dev`: AppWrapper, which makes objects of any kind.

use super::custom::{Both, ENDLESS, Outcome, Sign, StatusProfile, Step, fact};
use super::parts::{self, Part, Template};
use super::{APP_WRAPPER_CONTROLLER, About, Form, Holder, KindDocs, KindProfile};

pub(super) static APP_WRAPPER: KindProfile = KindProfile {
    group: "workload.codeflare.dev",
    versions: &["v1beta2"],
    pruned_in: &[],
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
        source: "appwrapper_controller.go: from `Succeeded` and `Failed` only a deletion leads on, to `Terminating`; Kueue's `Finished` waits for `ResourcesDeployed` to be gone after a failure; `resettingCount` is only added to",
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
        (
            "conditions",
            Part::Conditions(&[Sign::when("ResourcesDeployed", fact::DEPLOYED)]),
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

/// Only a deletion leads on from an outcome, to `Terminating`, and nothing from there; without one it is the copy elsewhere
/// that was deleted. For Kueue a failure is none until the resources are gone (`Finished`): meanwhile it may give up the
/// worker and dispatch the AppWrapper anew.
fn taken_back(step: &Step<'_>) -> u16 {
    let (old, new) = (step.old, step.new);
    if old.has(fact::DEAD_END) {
        return if step.is_being_deleted {
            0
        } else {
            fact::DEAD_END
        };
    }
    if step.is_being_deleted && new.has(fact::DEAD_END) {
        return fact::SUCCEEDED | fact::FAILED;
    }
    if step.delegated && old.has(fact::DEPLOYED) {
        return fact::FAILED;
    }
    0
}
