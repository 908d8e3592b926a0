//! The verdict on one workload.

use chrono::{DateTime, TimeDelta, Utc};
use managed_by::MULTIKUEUE;

use super::lease::{Heartbeat, managers};
use super::multikueue::{follow, rejected};
use super::object::{StoredObject, shorten_to};
use super::time::duration;
use super::{ClusterState, Limits, Link, ObjectStatus, StatusFinding, StatusVerdict, StatusWrite};
use StatusVerdict::{
    Contradicting, Finished, ForeignWriter, Healthy, Orphaned, Stalled, Unchecked,
};

/// Field manager of the Job controller: the name of its program in the releases of Kubernetes.
const KUBE_CONTROLLER_MANAGER: &str = "kube-controller-manager";
/// Factor by which a controller that writes to other workloads may be late. Anyone may forge such a write, so it must not be an excuse
/// for ever. In a recording, Tekton needs 64 s for the first status of a run in a backlog of 150.
const BACKLOG: i32 = 5;
/// Maximum length of a reason in characters: a message, and what it is about.
const MAX_TEXT: usize = 900;
/// Programs that people use, and controllers don't. `kubectl` is also a prefix: `kubectl-edit`.
const CLIENTS: [&str; 6] = ["kubectl", "oc", "curl", "k9s", "helm", "Mozilla"];

pub(crate) fn assess(
    object: StoredObject,
    cluster: &ClusterState,
    limits: &Limits,
) -> ObjectStatus {
    let mut chain = Vec::new();
    let StatusFinding {
        verdict,
        state,
        reason,
        action,
    } = find(&object, cluster, limits, &mut chain);
    let last_status_write = object.last_status_write(limits.now).cloned();
    ObjectStatus {
        controller: object.controller().to_owned(),
        delegated: object.delegated_to.is_some(),
        object: object.object,
        uid: object.uid,
        state,
        verdict,
        // They contain names that anyone may have written.
        reason: shorten_to(MAX_TEXT, reason),
        action: shorten_to(MAX_TEXT, action),
        created: object.created,
        last_status_write,
        chain,
    }
}

/// Returns the first finding, in the order of severity.
fn find(
    object: &StoredObject,
    cluster: &ClusterState,
    limits: &Limits,
    chain: &mut Vec<Link>,
) -> StatusFinding {
    let state = state(object);
    let name = &object.argument;
    let write = object.last_status_write(limits.now);
    let delegated_to = object.delegated_to.as_deref();
    let is_for_multikueue = delegated_to == Some(MULTIKUEUE);
    if object.is_being_deleted {
        return StatusFinding::new(Healthy, "Terminating", "is being deleted");
    }
    if let Some(text) = &object.violation {
        let action = format!("find the writer in the audit log, then delete and recreate {name}");
        return StatusFinding::new(Contradicting, state, text).action(action);
    }
    // The outcome is final, so it does not matter which client wrote it.
    if object.outcome.is_some() {
        return StatusFinding::new(Finished, state, "");
    }
    let foreign = write.and_then(|write| foreign_writer(object, write, state, limits));
    if let Some(finding) = foreign {
        return finding;
    }
    if let Some((text, is_in_settings)) = &object.unknown_name
        && (*is_in_settings || !object.has_status)
    {
        let action = format!("recreate {name} with the name of a controller, or without managedBy");
        return match write {
            Some(StatusWrite { manager, .. }) if object.has_status => {
                let reason = format!("{manager} writes its status, but: {text}");
                let action = format!("allow the controller in the settings, or {action}");
                StatusFinding::new(Contradicting, state, reason).action(action)
            }
            _ => StatusFinding::new(Orphaned, state, text).action(action),
        };
    }
    let finding = if is_for_multikueue {
        follow(object, state, cluster, limits, chain)
    } else {
        rejected(object, cluster).unwrap_or_else(|| progress(object, state, cluster, limits))
    };
    if finding.verdict == Healthy {
        return liveness(object, finding.state, cluster, limits).unwrap_or(finding);
    }
    finding
}

fn progress(
    object: &StoredObject,
    state: &'static str,
    cluster: &ClusterState,
    limits: &Limits,
) -> StatusFinding {
    if !object.has_status && !object.is_suspended {
        // Before the last change, it may have been suspended.
        let age = limits.age_of_evidence(object.last_change(limits.now).max(object.created));
        let is_busy = cluster.busy.contains(object.controller());
        let patience = limits.after.checked_mul(BACKLOG).filter(|_| is_busy);
        if let Some(age) = age.filter(|age| patience.is_none_or(|patience| *age > patience)) {
            let reason = format!("no status in {}", duration(age));
            let action = match &object.delegated_to {
                Some(controller) => format!("check that {controller} is installed and running"),
                None => format!(
                    "check that the controller of {} is running",
                    object.object.kind
                ),
            };
            return StatusFinding::new(Orphaned, state, reason).action(action);
        }
        return StatusFinding::new(Healthy, state, "new");
    }
    let unheeded = match (object.is_suspended, object.suspended_condition) {
        (false, Some(true)) => Some("resumed"),
        (true, Some(false)) => Some("suspended"),
        (true, None) if object.active.is_some() => Some("suspended"),
        _ => None,
    };
    let age = limits.age_of_evidence(object.last_change(limits.now));
    if let Some((change, age)) = unheeded.zip(age) {
        let reason = format!(
            "{change} at least {} ago, and the status does not show it",
            duration(age)
        );
        let action = format!("check that {} is running", named(object));
        return StatusFinding::new(Stalled, state, reason).action(action);
    }
    StatusFinding::new(Healthy, state, "")
}

fn state(object: &StoredObject) -> &'static str {
    match object.outcome {
        Some(managed_by::Outcome::Succeeded) => "Complete",
        Some(managed_by::Outcome::Failed) => "Failed",
        Some(managed_by::Outcome::DeadEnd) => "Ended",
        None if object.is_suspended || object.suspended_condition == Some(true) => "Suspended",
        None if object.has_status => "Running",
        None => "Pending",
    }
}

fn named(object: &StoredObject) -> String {
    match object.controller() {
        MULTIKUEUE => "Kueue".to_owned(),
        "" => format!("the controller of {}", object.object.kind),
        controller => controller.to_owned(),
    }
}

/// Finds a last writer of the status that is not the controller.
fn foreign_writer(
    object: &StoredObject,
    write: &StatusWrite,
    state: &'static str,
    limits: &Limits,
) -> Option<StatusFinding> {
    let manager = &*write.manager;
    let age = duration(limits.now.signed_duration_since(write.time));
    let controller = object.controller();
    let foreign = |expected: &str| {
        let reason = format!("{manager} wrote the status {age} ago, expected {expected}");
        let action = "find the user in the audit log, and restrict who may write the status";
        Some(StatusFinding::new(ForeignWriter, state, reason).action(action))
    };
    let writers = limits.writers(controller);
    if writers.contains(&manager) {
        return None;
    } else if !writers.is_empty() {
        return foreign(&writers.join(" or "));
    }
    let is_client = |client: &str| {
        let rest = manager.strip_prefix(client);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    if CLIENTS.into_iter().any(is_client) {
        return foreign(&named(object));
    }
    if object.delegated_to.is_some() && manager == KUBE_CONTROLLER_MANAGER {
        let reason = format!("delegated to {controller}, but {manager} wrote the status {age} ago");
        let action = "enable the feature gate JobManagedBy in kube-controller-manager";
        return Some(StatusFinding::new(Contradicting, state, reason).action(action));
    }
    if object.delegated_to.as_deref() == Some(MULTIKUEUE)
        && !managers(MULTIKUEUE).contains(&manager)
    {
        return foreign(&managers(MULTIKUEUE).join(" or "));
    }
    None
}

/// Finds a controller that no longer renews the Lease of its leader election, or whose Lease is unknown. A write of the controller to
/// the same object shows that it runs: without leader election, if the Lease is older. Writes to other objects show nothing, because
/// their owners may forge them.
fn liveness(
    object: &StoredObject,
    state: &'static str,
    cluster: &ClusterState,
    limits: &Limits,
) -> Option<StatusFinding> {
    let controller = object.controller();
    let writers = limits.writers(controller);
    let own = if writers.is_empty() {
        managers(controller)
    } else {
        &writers
    };
    let write = object.last_status_write(limits.now);
    let write = write.filter(|write| own.contains(&&*write.manager));
    let written = write.map(|write| write.time);
    let name = named(object);
    match cluster.leases.heartbeat(controller, limits)? {
        Heartbeat::Renewed(renewal) => {
            let age = limits.age_of_evidence(Some(renewal))?;
            // The leader renews the Lease every two seconds by default, for ten seconds at most.
            let is_newer =
                |time: DateTime<Utc>| time.signed_duration_since(renewal) > TimeDelta::seconds(15);
            if written.is_some_and(is_newer) {
                return None;
            }
            let reason = format!("{name} renewed its Lease {} ago", duration(age));
            let finding = StatusFinding::new(Stalled, state, reason);
            Some(finding.action(format!("check that {name} is running")))
        }
        Heartbeat::Unread => {
            let is_recent = |time| limits.age_of_evidence(Some(time)).is_none();
            let reason = format!("cannot tell whether {name} runs: its Lease was not read");
            let finding = StatusFinding::new(Unchecked, state, reason);
            (!written.is_some_and(is_recent)).then_some(finding)
        }
    }
}
