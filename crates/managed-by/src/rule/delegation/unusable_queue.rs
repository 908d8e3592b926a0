//! `delegation/unusable-queue`, which follows the queue of a workload to the worker clusters of `MultiKueue`.

use std::borrow::Cow;

use super::{Delegated, workload_labels};
use crate::cluster::{Lookup, LookupError, QueueCluster, QueueKind};
use crate::decode::{Raw, Type};
use crate::description::{Enforcement, Rule, RuleCategory};
use crate::finding::{BadValue, FieldError, RuleFinding};
use crate::kind::{MULTIKUEUE, QUEUE_NAME};
use crate::rule::Context;
use crate::upstream::go;
use crate::upstream::names::{MAX_SUBDOMAIN, is_subdomain};
use QueueKind::{AdmissionCheck, ClusterQueue, LocalQueue};

/// Not in the catalog: only a policy with access to a cluster has the rule, and settings can't make it deny.
pub(crate) static RULE: Rule = Rule::policy(
    "delegation/unusable-queue",
    include_str!("unusable-queue.md"),
)
.with_category(RuleCategory::ClusterSpecific)
.with_default(Enforcement::Warn);

/// Returns the rule `delegation/unusable-queue`, which [`rules`](crate::rules) doesn't list.
pub fn queue_rule() -> &'static Rule {
    &RULE
}

/// Maximum number of admission checks to look up. Kueue deactivates a `ClusterQueue` with two checks of `MultiKueue`, or with one and a
/// check of a `ProvisioningRequest`, so that a usable queue rarely has more than one.
const MAX_CHECKS: usize = 2;

/// Maximum length of a problem in bytes, so that the warning is not truncated before the id of the rule.
const MAX_PROBLEM: usize = 140;

/// Texts about what keeps the workloads of a queue from a worker cluster.
pub mod queue_problem {
    use super::printable;

    /// The `LocalQueue` of a workload doesn't exist.
    pub fn no_local_queue(name: &str, namespace: &str) -> String {
        let (name, namespace) = (printable(name), printable(namespace));
        format!("LocalQueue {name} does not exist in {namespace}")
    }

    /// The `ClusterQueue` of a `LocalQueue` doesn't exist.
    pub fn no_cluster_queue(name: &str, local_queue: &str) -> String {
        let (name, local) = (printable(name), printable(local_queue));
        format!("ClusterQueue {name} of LocalQueue {local} does not exist")
    }

    /// No admission check of the `ClusterQueue` belongs to `MultiKueue`.
    pub fn no_multikueue_check(cluster_queue: &str) -> String {
        let name = printable(cluster_queue);
        format!("ClusterQueue {name} has no MultiKueue check")
    }
}

/// Returns a text, quoted if it is empty or contains control characters: kube-apiserver drops a warning with one.
fn printable(text: &str) -> Cow<'_, str> {
    if text.is_empty() || text.contains(char::is_control) {
        go::quote(text).into()
    } else {
        text.into()
    }
}

/// Failed lookup of an object of Kueue.
pub(crate) struct QueueLookupFailed {
    /// Kind and name of the object.
    pub(crate) object: String,
    pub(crate) error: LookupError,
}

/// Checks the queue of a new workload, or of a template, that is delegated to `MultiKueue`.
///
/// # Errors
/// Fails if an object can't be looked up or decoded.
pub(crate) fn check<'a>(
    context: &Context<'a>,
    cluster: &dyn QueueCluster,
) -> Result<Option<RuleFinding<'a>>, QueueLookupFailed> {
    let delegated = Delegated::from_context(context).filter(|d| d.controller == MULTIKUEUE);
    let namespace = &*context.request.namespace;
    let (Some(delegated), Some(path)) = (delegated, context.kind.workload_labels_path()) else {
        return Ok(None);
    };
    if namespace.is_empty() || context.change.is_being_deleted() || delegated.is_owned() {
        return Ok(None);
    }
    let labels = workload_labels(context.kind, delegated.object);
    let name = labels.and_then(|labels| labels.member(QUEUE_NAME));
    // `delegation/missing-label` warns about a workload without a queue.
    let Some(name) = name.and_then(Raw::string).filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let problem = find_problem(cluster, namespace, &name)?;
    Ok(problem.map(|mut detail| {
        if detail.len() > MAX_PROBLEM {
            detail.truncate(go::prefix(&detail, MAX_PROBLEM).len());
            detail.push_str("...");
        }
        let path = format!("{path}[{QUEUE_NAME}]");
        let error = FieldError::invalid(path, BadValue::Omitted, detail);
        RuleFinding::new(&RULE, error, false)
    }))
}

/// Object of Kueue.
struct Object {
    kind: QueueKind,
    json: Vec<u8>,
}

impl Object {
    /// Returns the value at a path. The object is JSON: see [`get`].
    fn field(&self, path: [&str; 2]) -> Option<Raw<'_>> {
        let json = Raw::document(&self.json).ok()?;
        path.iter().try_fold(json, |json, name| json.member(name))
    }

    /// Returns a string in the spec, or an empty string.
    fn spec(&self, name: &str) -> Cow<'_, str> {
        let field = self.field(["spec", name]);
        field.and_then(Raw::string).unwrap_or_default()
    }

    /// Returns the problem of an object that Kueue reports as inactive. A queue that an admin stopped is as intended.
    fn inactive(&self, name: &str) -> Option<String> {
        let is = |condition: Raw<'_>, member, wanted| {
            let value = condition.member(member).and_then(Raw::string);
            value.is_some_and(|value| value == wanted)
        };
        let conditions = self.field(["status", "conditions"])?.elements();
        let mut conditions = conditions.into_iter().map(|(_, condition)| condition);
        let active = conditions.find(|condition| is(*condition, "type", "Active"))?;
        let is_stopped = !matches!(&*self.spec("stopPolicy"), "" | "None");
        if is_stopped || !is(active, "status", "False") {
            return None;
        }
        let message = active.member("message").and_then(Raw::string);
        let (kind, message) = (self.kind.as_str(), message.unwrap_or_default());
        let (name, message) = (printable(name), printable(&message));
        Some(format!("{kind} {name} is inactive: {message}"))
    }
}

/// Follows a queue, with one lookup per object. Returns the first problem.
fn find_problem(
    cluster: &dyn QueueCluster,
    namespace: &str,
    queue: &str,
) -> Result<Option<String>, QueueLookupFailed> {
    let Some(local) = get(cluster, LocalQueue, Some(namespace), queue)? else {
        return Ok(Some(queue_problem::no_local_queue(queue, namespace)));
    };
    let name = &*local.spec("clusterQueue");
    let Some(cluster_queue) = get(cluster, ClusterQueue, None, name)? else {
        return Ok(Some(queue_problem::no_cluster_queue(name, queue)));
    };
    // A `LocalQueue` is also inactive if its `ClusterQueue` is, and a `ClusterQueue` if one of its checks is. Report the cause.
    let inactive = cluster_queue.inactive(name);
    let strategy = cluster_queue.field(["spec", "admissionChecksStrategy"]);
    let checks = strategy.and_then(|strategy| strategy.member("admissionChecks"));
    let checks = checks.map(Raw::elements).unwrap_or_default();
    for (_, check) in checks.iter().take(MAX_CHECKS) {
        let name = check
            .member("name")
            .and_then(Raw::string)
            .unwrap_or_default();
        let check = get(cluster, AdmissionCheck, None, &name)?;
        let check = check.filter(|check| check.spec("controllerName") == MULTIKUEUE);
        if let Some(check) = check {
            // False if no worker cluster is active. The message names the clusters.
            return Ok(check.inactive(&name).or(inactive));
        }
    }
    if inactive.is_none() && checks.len() <= MAX_CHECKS {
        return Ok(Some(queue_problem::no_multikueue_check(name)));
    }
    Ok(inactive)
}

/// Returns an object, or [`None`] if it doesn't exist. Does not look up an invalid name, which could address another path of the API.
fn get(
    cluster: &dyn QueueCluster,
    kind: QueueKind,
    namespace: Option<&str>,
    name: &str,
) -> Result<Option<Object>, QueueLookupFailed> {
    if name.len() > MAX_SUBDOMAIN || !is_subdomain(name) {
        return Ok(None);
    }
    let found = cluster.queue_object(kind, namespace, name);
    let object = found.and_then(|found| match found {
        Lookup::NotFound => Ok(None),
        Lookup::Found(json) => match Raw::document(&json).map(Raw::json_type) {
            Ok(Type::Object) => Ok(Some(Object { kind, json })),
            _ => Err(LookupError::Unreadable("not an object".to_owned())),
        },
    });
    object.map_err(|error| QueueLookupFailed {
        object: format!("{} {name}", kind.as_str()),
        error,
    })
}
