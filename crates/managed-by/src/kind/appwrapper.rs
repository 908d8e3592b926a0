//! `workload.codeflare.dev`: AppWrapper, which creates objects of any kind.

use super::status::{OutcomeProfile, StatusMatcher, StatusProfile, TerminalStates, condition_true};
use super::transitions::{AllowedTransition, ReconciledBy, TransitionCondition, TransitionSource};
use super::{
    APP_WRAPPER_CONTROLLER, Kind, KindDocs, OptionalDocs, StatusRules, Template, ValueConstraint,
};

pub(super) static APP_WRAPPER: Kind<'static> = Kind {
    group: "workload.codeflare.dev",
    versions: &["v1beta2"],
    name: "AppWrapper",
    plural: "appwrappers",
    reserved_value: Some(APP_WRAPPER_CONTROLLER),
    constraint: ValueConstraint::Any,
    templates: &[("spec.components[].template", Template::Any)],
    status: StatusRules::Custom(&StatusProfile {
        outcome: Some(OutcomeProfile {
            dead_end: Some(phase(&["Terminating"])),
            deployed: Some(condition_true("ResourcesDeployed")),
            allowed_transitions: TRANSITIONS,
            ..OutcomeProfile::new(phase(&["Succeeded"]), phase(&["Failed"]))
        }),
        monotonic_counters: &["status.resettingCount"],
        ..StatusProfile::EMPTY
    }),
    docs: OptionalDocs::new(KindDocs {
        checks: "a webhook, which may be disabled, checks immutability, but neither the format nor the status",
        unchecked: "components of unknown kinds are not validated",
        source: "appwrapper_controller.go: an AppWrapper leaves `Succeeded` and `Failed` only when it is deleted. After a failure, Kueue's `Finished` returns true only when `ResourcesDeployed` is no longer True. `resettingCount` never decreases",
    }),
    ..Kind::EMPTY
};

const fn phase(values: &'static [&'static str]) -> StatusMatcher<'static> {
    StatusMatcher::Field {
        path: "status.phase",
        values,
    }
}

/// An AppWrapper moves from an outcome to `Terminating` only when it is deleted, and then never leaves `Terminating`. An AppWrapper
/// that is `Terminating` but not being deleted has the status of a deleted copy on another cluster, and may start again. Kueue's
/// `Finished` ignores a failure while resources are deployed: until the resources are deleted, MultiKueue may release the worker
/// and dispatch the AppWrapper again.
const TRANSITIONS: &[AllowedTransition] = &[
    AllowedTransition {
        from: TerminalStates::DEAD_END,
        to: None,
        reconciled_by: ReconciledBy::Any,
        condition: TransitionCondition::NotBeingDeleted,
        source: TransitionSource::new(
            "a copy on another cluster was deleted (appwrapper_multikueue_adapter.go)",
        ),
    },
    AllowedTransition {
        from: TerminalStates::OUTCOMES,
        to: Some(TerminalStates::DEAD_END),
        reconciled_by: ReconciledBy::Any,
        condition: TransitionCondition::BeingDeleted,
        source: TransitionSource::new("appwrapper_controller.go"),
    },
    AllowedTransition {
        from: TerminalStates::FAILED,
        to: None,
        reconciled_by: ReconciledBy::External,
        condition: TransitionCondition::ResourcesDeployed,
        source: TransitionSource::new("Kueue's `Finished` of AppWrapper"),
    },
];
