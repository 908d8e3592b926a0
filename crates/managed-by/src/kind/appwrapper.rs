//! `workload.codeflare.dev`: AppWrapper, which makes objects of any kind.

use super::status::{Exit, Outcome, StatusMatcher, StatusProfile, TerminalStates, When, is_true};
use super::{APP_WRAPPER_CONTROLLER, About, Form, Kind, KindDocs, Status, Template};

pub(super) static APP_WRAPPER: Kind<'static> = Kind {
    group: "workload.codeflare.dev",
    versions: &["v1beta2"],
    name: "AppWrapper",
    plural: "appwrappers",
    reserved: Some(APP_WRAPPER_CONTROLLER),
    form: Form::Open,
    templates: &[("spec.components[].template", Template::Any)],
    status: Status::Custom(&StatusProfile {
        outcome: Some(Outcome {
            dead_end: Some(phase(&["Terminating"])),
            deployed: Some(is_true("ResourcesDeployed")),
            exits: EXITS,
            ..Outcome::new(phase(&["Succeeded"]), phase(&["Failed"]))
        }),
        totals: &["status.resettingCount"],
        ..StatusProfile::EMPTY
    }),
    about: About::new(KindDocs {
        checks: "a webhook, which may be off, checks immutability, but neither form nor status",
        unchecked: "nothing looks into components of unknown kinds",
        source: "appwrapper_controller.go: only a deletion leads out of `Succeeded` and `Failed`. After a failure, Kueue's `Finished` comes when `ResourcesDeployed` is gone. `resettingCount` never falls",
    }),
    ..Kind::EMPTY
};

const fn phase(values: &'static [&'static str]) -> StatusMatcher<'static> {
    StatusMatcher::Field {
        path: "status.phase",
        values,
    }
}

/// Only a deletion leads on from an outcome, to `Terminating`, and nothing from there; without a deletion it is the copy
/// elsewhere that was deleted. For Kueue a failure is none until the resources are gone (`Finished`): meanwhile it may give
/// up the worker and dispatch the AppWrapper again.
const EXITS: &[Exit] = &[
    Exit {
        from: TerminalStates::DEAD_END,
        when: &[When::NotBeingDeleted],
    },
    Exit {
        from: TerminalStates::OUTCOMES,
        when: &[When::BeingDeleted, When::To(TerminalStates::DEAD_END)],
    },
    Exit {
        from: TerminalStates::FAILED,
        when: &[When::Delegated, When::StillDeployed],
    },
];
