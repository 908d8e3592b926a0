//! `job-spec/immutable-field`: compares two manifests of a Job as kube-apiserver does, which stores them with defaults. A change is
//! decided only if `kubectl apply` and `kubectl replace` have the same result.

use serde_json::{Map, Value};

use super::fields::{field, scalar};
use super::{POD_SPEC, SuspendedJobUpdate, TEMPLATE};
use crate::finding::{BadValue, FieldError};
use crate::kind::QUEUE_NAME;
use crate::release::Release;
use crate::request::{Change, ManifestTexts};
use crate::rule::Context;

/// Result of comparing two manifests.
#[derive(Default)]
pub(crate) struct Comparison {
    /// kube-apiserver's errors, in its order.
    pub(crate) errors: Vec<FieldError<'static>>,
    /// Paths of the changes that kube-apiserver may accept or reject.
    pub(crate) undecided: Vec<String>,
}

/// Detail of apimachinery's `ValidateImmutableField`.
const IMMUTABLE: &str = "field is immutable";

/// Labels that kube-apiserver adds to the selector and to the template.
const GENERATED_LABELS: [&str; 4] = [
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "controller-uid",
    "job-name",
];

/// Members of the template that a queue may change while the Job is suspended. `job-spec/scheduling-directives` checks them if the
/// status is known.
const DIRECTIVES: [(&str, &str); 6] = [
    ("metadata", "annotations"),
    ("metadata", "labels"),
    ("spec", "affinity"),
    ("spec", "nodeSelector"),
    ("spec", "schedulingGates"),
    ("spec", "tolerations"),
];

/// Fields that [`compare`] compares.
const IMMUTABLE_FIELDS: [&str; 7] = [
    "completions",
    "selector",
    "template",
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "successPolicy",
];

/// Annotation with the manifest that `kubectl apply` applied last.
const LAST_APPLIED: &str =
    "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";

/// Default of `completionMode`.
const NON_INDEXED: &str = "NonIndexed";

/// Detail of `validateCompletions`.
const IN_TANDEM: &str = "can only be modified in tandem with spec.parallelism";

/// Up to this count, no limit of kube-apiserver depends on another field.
const MAX_COUNT: i64 = 10_000;

/// Error of `validateCompletions`, or [`None`] if it accepts the change.
type CompletionsError = Option<(&'static str, BadValue<'static>)>;

/// Compares the specs of a Job, except `managedBy`, which has a rule of its own.
pub(crate) fn compare(context: &Context<'_>, texts: ManifestTexts<'_>) -> Comparison {
    let (Change::Update { .. }, Some(old), true) =
        (context.change, texts.old, context.kind.is_job())
    else {
        return Comparison::default();
    };
    let [mut old, mut new] =
        [old, texts.object].map(|text| serde_json::from_str::<Value>(text).unwrap_or_default());
    let is_queued = |job: &Value| {
        let labels = job.pointer("/metadata/labels");
        labels.is_some_and(|labels| labels.get(QUEUE_NAME).is_some())
    };
    // A queue suspends the Job when it is created.
    let may_be_suspended = !is_stored(&old) && (is_queued(&old) || is_queued(&new));
    let is_status_known = is_status_known(&old);
    let spec = old.get_mut("spec").map(Value::take).unwrap_or_default();
    let mut manifests = Manifests {
        applied: if is_stored(&old) {
            last_applied(&old)
        } else {
            spec.clone()
        },
        is_old_stored: is_stored(&old),
        is_new_stored: false,
        // Without a release, the oldest one decides whether a field is known.
        oldest: context
            .settings
            .kubernetes_version()
            .unwrap_or(Release::V1_30),
        old: spec,
        new: new.get_mut("spec").map(Value::take).unwrap_or_default(),
        found: Comparison::default(),
    };
    if manifests.is_old_stored {
        manifests.ignore_generated_selector();
    }
    manifests.check_mutable_fields();
    if manifests.is_old_stored && manifests.is_stored_from_applied() {
        manifests.is_old_stored = false;
        manifests.old = manifests.applied.clone();
    }
    manifests.check_completions();
    manifests.check_selector();
    let release = context.release;
    match SuspendedJobUpdate::from_change(context.change) {
        // `job-spec/scheduling-directives` leaves manifests for stored objects to this rule.
        Some(job) if is_stored(&old) && !is_stored(&new) && !job.may_change(release) => {
            manifests.check("template", TEMPLATE, BadValue::Omitted);
        }
        Some(job) => {
            let may_change = is_status_known.then(|| job.may_change(release));
            manifests.check_suspended_template(release, may_change);
        }
        None if may_be_suspended => manifests.check_suspended_template(Release::V1_30, None),
        None => manifests.check("template", TEMPLATE, BadValue::Omitted),
    }
    manifests.check_generated_labels();
    let mode = member(&manifests.new, "completionMode").and_then(Value::as_str);
    let mode = BadValue::NamedString(mode.unwrap_or(NON_INDEXED).to_owned().into());
    manifests.check("completionMode", "spec.completionMode", mode);
    manifests.check(
        "podFailurePolicy",
        "spec.podFailurePolicy",
        BadValue::Omitted,
    );
    let limit = count(&manifests.new, "backoffLimitPerIndex");
    let limit = limit.map_or(BadValue::Pointer(None), BadValue::Int64);
    manifests.check("backoffLimitPerIndex", "spec.backoffLimitPerIndex", limit);
    manifests.check("successPolicy", "spec.successPolicy", BadValue::Omitted);
    manifests.found
}

/// The `spec` of two manifests.
struct Manifests {
    /// True if the old manifest is a stored object with all defaults. A field that the new manifest omits then keeps its value, unless it
    /// was applied before.
    is_old_stored: bool,
    /// True in [`Self::is_stored_from_applied`].
    is_new_stored: bool,
    /// Release that must know a field.
    oldest: Release,
    old: Value,
    new: Value,
    /// What kubectl applied before, as far as it is known: an apply deletes the parts of it that the new manifest omits.
    applied: Value,
    found: Comparison,
}

impl Manifests {
    fn deny(&mut self, path: &'static str, value: BadValue<'static>, detail: &'static str) {
        let error = FieldError::invalid(path, value, detail);
        self.found.errors.push(error);
    }

    fn leave(&mut self, path: impl Into<String>) -> bool {
        self.found.undecided.push(path.into());
        false
    }

    /// Checks an immutable field.
    fn check(&mut self, name: &str, path: &'static str, value: BadValue<'static>) {
        if self.differs(name) {
            self.deny(path, value, IMMUTABLE);
        }
    }

    fn differs(&mut self, name: &str) -> bool {
        let (old, new) = (self.old.clone(), self.new.clone());
        self.decide(|manifests| manifests.member("JobSpec", "spec", name, &old, &new))
    }

    /// Drops the undecided parts of a change that another part decides.
    fn decide(&mut self, differs: impl FnOnce(&mut Self) -> bool) -> bool {
        let before = self.found.undecided.len();
        let changed = differs(self);
        if changed {
            self.found.undecided.truncate(before);
        }
        changed
    }

    /// Checks `completions`, whose default depends on `parallelism` (`validateCompletions`). Where it is missing, `kubectl replace` sets
    /// the default, and `kubectl apply` keeps the stored value.
    fn check_completions(&mut self) {
        let defaulted = |completions: Option<i64>, parallelism: Option<i64>| match parallelism {
            None => (completions.or(Some(1)), Some(1)),
            Some(_) => (completions, parallelism),
        };
        let (old, new) = (&self.old, &self.new);
        let pair = |spec| (count(spec, "completions"), count(spec, "parallelism"));
        let was = pair(old);
        let was = defaulted(was.0, was.1);
        let error = |keeps: bool| -> Option<CompletionsError> {
            let is_kept = |name| {
                let is_owned = !self.is_old_stored && old.get(name).is_some();
                keeps && new.get(name).is_none() && !is_owned
            };
            let mut now = pair(new);
            now.0 = if is_kept("completions") { was.0 } else { now.0 };
            now.1 = if is_kept("parallelism") { was.1 } else { now.1 };
            let now = defaulted(now.0, now.1);
            let mode = member(new, "completionMode").or_else(|| {
                let old = member(old, "completionMode");
                old.filter(|_| is_kept("completionMode"))
            });
            let is_indexed = mode.is_some_and(|mode| mode == "Indexed");
            match now.0 {
                Some(count) if is_indexed && now.0 != was.0 => {
                    if now.0 != now.1 {
                        return Some(Some((IN_TANDEM, BadValue::Int64(count))));
                    }
                    let depends =
                        ["successPolicy", "maxFailedIndexes"].map(|name| member(new, name));
                    let is_valid = (0..=MAX_COUNT).contains(&count) && depends == [None, None];
                    is_valid.then_some(None)
                }
                None if is_indexed => None,
                now if now == was.0 => Some(None),
                now => Some(Some((
                    IMMUTABLE,
                    now.map_or(BadValue::Pointer(None), BadValue::Int64),
                ))),
            }
        };
        match error(false) {
            Some(None) if error(true) == Some(None) => {}
            Some(Some((detail, value))) if error(true) == Some(Some((detail, value.clone()))) => {
                self.deny("spec.completions", value, detail);
            }
            _ => drop(self.leave("spec.completions")),
        }
    }

    /// Ignores the selector of the stored object if kube-apiserver generated it.
    fn ignore_generated_selector(&mut self) {
        let labels = self.old.pointer("/selector/matchLabels");
        let mut keys = labels
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::keys);
        let is_generated = keys.all(|key| GENERATED_LABELS.contains(&&**key))
            && self.old.pointer("/selector/matchExpressions").is_none()
            && self.old.get("manualSelector") != Some(&true.into());
        if is_generated
            && self.new.get("selector").is_none()
            && self.applied.get("selector").is_none()
            && let Some(old) = self.old.as_object_mut()
        {
            old.remove("selector");
            old.remove("manualSelector");
        }
    }

    /// Returns true if the stored object is what kube-apiserver makes of the manifest that kubectl applied.
    fn is_stored_from_applied(&self) -> bool {
        let mut stored = Self {
            is_old_stored: false,
            is_new_stored: true,
            oldest: self.oldest,
            old: self.applied.clone(),
            new: self.old.clone(),
            applied: Value::Null,
            found: Comparison::default(),
        };
        !self.applied.is_null()
            && IMMUTABLE_FIELDS.iter().all(|name| !stored.differs(name))
            && stored.found.undecided.is_empty()
    }

    /// Checks the selector, which kube-apiserver generates unless `manualSelector` is set.
    fn check_selector(&mut self) {
        let added = self.new.get("selector").cloned();
        if let (None, Some(selector)) = (member(&self.old, "selector"), added)
            && !self.compare("LabelSelector", "spec.selector", None, Some(&selector))
        {
            self.leave("spec.selector");
            return;
        }
        self.check("selector", "spec.selector", BadValue::Omitted);
    }

    /// Checks the template of a suspended Job. Unless the status rules a change out, it is unknown whether the scheduling directives may
    /// change to the new values, and since 1.36 the resources of containers.
    fn check_suspended_template(&mut self, release: Release, may_change: Option<bool>) {
        let specs = [&self.old, &self.new];
        let [mut old, mut new] =
            specs.map(|spec| member(spec, "template").cloned().unwrap_or_default());
        for (parent, name) in DIRECTIVES {
            let take = |template: &mut Value| {
                let parent = template.get_mut(parent).and_then(Value::as_object_mut);
                parent
                    .and_then(|parent| parent.remove(name))
                    .unwrap_or_default()
            };
            let values = [take(&mut old), take(&mut new)];
            let [before, after] = values.map(|value| Value::from_iter([(name, value)]));
            let structure = if parent == "spec" {
                "PodSpec"
            } else {
                "ObjectMeta"
            };
            let path = format!("{TEMPLATE}.{parent}");
            if may_change != Some(false)
                && self
                    .decide(|manifests| manifests.member(structure, &path, name, &before, &after))
            {
                self.leave(format!("{path}.{name}"));
            }
        }
        let mut differs = |old: &Value, new: &Value| {
            self.decide(|manifests| {
                manifests.compare("PodTemplateSpec", TEMPLATE, Some(old), Some(new))
            })
        };
        if !differs(&old, &new) {
            return;
        }
        if release.minor() < 36 || may_change == Some(false) {
            return self.deny(TEMPLATE, BadValue::Omitted, IMMUTABLE);
        }
        for template in [&mut old, &mut new] {
            for list in ["containers", "initContainers"] {
                let list = template.pointer_mut(&format!("/spec/{list}"));
                for container in list.and_then(Value::as_array_mut).into_iter().flatten() {
                    container
                        .as_object_mut()
                        .map(|container| container.remove("resources"));
                }
            }
        }
        let [old, new] = [old, new].map(|template| template.get("spec").cloned());
        if self
            .decide(|manifests| manifests.compare("PodSpec", POD_SPEC, old.as_ref(), new.as_ref()))
        {
            self.deny(POD_SPEC, BadValue::Omitted, IMMUTABLE);
        } else {
            self.leave(TEMPLATE);
        }
    }

    /// Leaves a template without labels undecided: an apply that deletes them deletes the generated ones too.
    fn check_generated_labels(&mut self) {
        let is_denied = self
            .found
            .errors
            .iter()
            .any(|error| error.path().starts_with(TEMPLATE));
        let deletes = |pointer| match self.new.pointer(pointer) {
            Some(new) => new.is_null(),
            None => self.applied.pointer(pointer).is_some(),
        };
        if !is_denied
            && ["/template/metadata", "/template/metadata/labels"]
                .into_iter()
                .any(deletes)
        {
            self.leave("spec.template.metadata.labels");
        }
    }

    /// Leaves new values of the other fields undecided, unless they are certainly valid.
    fn check_mutable_fields(&mut self) {
        let names =
            [&self.old, &self.new].map(|spec| spec.as_object().cloned().unwrap_or_default());
        let [old, new] = names;
        let added = new.keys().filter(|name| !old.contains_key(*name));
        for name in old.keys().chain(added) {
            let value = new.get(name).filter(|value| !value.is_null());
            let count = value.map_or(Some(0), Value::as_i64);
            let limit = match &**name {
                "managedBy" | "suspend" => continue,
                name if IMMUTABLE_FIELDS.contains(&name) => continue,
                "activeDeadlineSeconds" | "backoffLimit" | "ttlSecondsAfterFinished" => {
                    i64::from(i32::MAX)
                }
                "parallelism" => MAX_COUNT,
                "podReplacementPolicy" if value.is_none_or(|value| value == "Failed") => continue,
                _ => -1,
            };
            let is_valid = count.is_some_and(|count| (0..=limit).contains(&count));
            if old.get(name) != new.get(name) && !is_valid {
                self.leave(format!("spec.{name}"));
            }
        }
    }

    /// Compares a member of a struct. Returns true if kube-apiserver certainly stores another value.
    fn member(
        &mut self,
        structure: &str,
        path: &str,
        name: &str,
        old: &Value,
        new: &Value,
    ) -> bool {
        let path = format!("{path}.{name}");
        let values = [member(old, name), member(new, name)];
        if is_same(values[0], values[1]) {
            return false;
        }
        let Some(field) = field(structure, name).filter(|field| field.since <= self.oldest.minor())
        else {
            return self.leave(path);
        };
        if structure == "PodSpec" && name.starts_with("serviceAccount") {
            return self.service_account(path, old, new);
        }
        let defaults = [old, new].map(|parent| field.default(structure, parent));
        let is_value = |value: &&Value| !field.is_zero(value);
        let was = values[0].filter(is_value).or(defaults[0].as_ref());
        let now = values[1].filter(is_value).or(defaults[1].as_ref());
        if let Some(key) = field.key
            && !(has_unique(values[0], key) && has_unique(values[1], key))
        {
            return self.leave(path);
        }
        let differs = self.decide(|manifests| manifests.compare(field.of, &path, was, now));
        // An apply may keep the stored value.
        if differs && self.is_old_stored && values[1].is_none() {
            return self.leave(path);
        }
        differs
    }

    /// Compares the name of the service account and its alias. An apply keeps the alias that kube-apiserver stored for a name.
    fn service_account(&mut self, path: String, old: &Value, new: &Value) -> bool {
        let name = |spec| member(spec, "serviceAccountName").filter(|name| *name != "");
        let [was, now] = [old, new].map(|spec| name(spec).or(member(spec, "serviceAccount")));
        let is_kept =
            name(new).is_none() && (now.is_none() || name(old).is_none() && was.is_some());
        if was == now {
            false
        } else if is_kept || self.is_old_stored {
            self.leave(path)
        } else {
            self.compare("string", &path, was, now)
        }
    }

    /// Compares two values of a Go type as `Semantic.DeepEqual` does: missing ones equal zero values, except for pointers.
    fn compare(&mut self, of: &str, path: &str, old: Option<&Value>, new: Option<&Value>) -> bool {
        if is_same(old, new) {
            return false;
        }
        if let Some(of) = of.strip_prefix('*') {
            let before = self.found.undecided.len();
            let differs = self.compare(of, path, old, new);
            // Without an undecided field, kube-apiserver may drop its parent.
            let may_be_dropped = self.found.undecided.len() > before;
            return differs || !may_be_dropped && old.is_some() != new.is_some();
        }
        if let Some(of) = of.strip_prefix('[') {
            let (Some(old), Some(new)) = (array(old), array(new)) else {
                return self.leave(path);
            };
            // Other clients may have added elements, which an apply keeps. A directive of a patch, such as `$patch`, changes the list.
            let has_directive = |value: &Value| {
                let mut names = value.as_object().into_iter().flat_map(Map::keys);
                names.any(|name| name.starts_with('$'))
            };
            if self.is_old_stored && old.len() > new.len() || new.iter().any(has_directive) {
                return self.leave(path);
            }
            let pairs = old.iter().zip(new).enumerate();
            let differs = pairs.fold(false, |differs, (index, (old, new))| {
                self.compare(of, &format!("{path}[{index}]"), Some(old), Some(new)) || differs
            });
            return differs || old.len() != new.len();
        }
        if matches!(
            of,
            "string" | "bool" | "int32" | "int64" | "quantity" | "number-or-name" | "time"
        ) {
            return match [old, new].map(|value| scalar(of, value)) {
                [Some(old), Some(new)] => old != new,
                _ => self.leave(path),
            };
        }
        let (Some(old), Some(new)) = (members(old), members(new)) else {
            return self.leave(path);
        };
        let added = new.keys().filter(|name| !old.contains_key(*name));
        old.keys().chain(added).fold(false, |differs, name| {
            let differs_here = match of.strip_prefix('{') {
                Some(of) => self.entry(
                    of,
                    &format!("{path}[{name}]"),
                    name,
                    [old.get(name), new.get(name)],
                ),
                None => self.member(of, path, name, &old.clone().into(), &new.clone().into()),
            };
            differs_here || differs
        })
    }

    /// Compares an entry of a map.
    fn entry(&mut self, of: &str, path: &str, key: &str, [old, new]: [Option<&Value>; 2]) -> bool {
        let is_generated = path.starts_with(TEMPLATE)
            && GENERATED_LABELS.contains(&key)
            && (self.is_old_stored && new.is_none() || self.is_new_stored && old.is_none());
        if is_generated || is_same(old, new) {
            return false;
        }
        let is_null = |value: Option<&Value>| value.is_some_and(Value::is_null);
        let is_kept = self.is_old_stored && new.is_none();
        if is_kept || GENERATED_LABELS.contains(&key) || is_null(old) || is_null(new) {
            return self.leave(path);
        }
        self.compare(of, path, old, new) || old.is_some() != new.is_some()
    }
}

/// Returns true if two values are equal, and no part of them is null: kube-apiserver stores a null entry of a map as an empty string,
/// and an apply deletes it.
fn is_same(old: Option<&Value>, new: Option<&Value>) -> bool {
    old == new && !new.is_some_and(has_null)
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(has_null),
        Value::Object(members) => members.values().any(has_null),
        value => value.is_null(),
    }
}

/// Returns true if each element of a list has the key, with another value than the others.
fn has_unique(list: Option<&Value>, key: &str) -> bool {
    let elements = list.and_then(Value::as_array).into_iter().flatten();
    let keys: Vec<_> = elements
        .map(|element| {
            if key == "-" {
                Some(element)
            } else {
                member(element, key)
            }
        })
        .collect();
    let is_unique = |(index, key): (usize, &Option<_>)| {
        key.is_some() && !keys.iter().take(index).any(|k| k == key)
    };
    keys.iter().enumerate().all(is_unique)
}

/// Returns the elements of a list, which may be missing.
fn array(value: Option<&Value>) -> Option<&[Value]> {
    value.map_or(Some(&[]), |value| value.as_array().map(Vec::as_slice))
}

/// Returns the members of an object, which may be missing.
fn members(value: Option<&Value>) -> Option<Map<String, Value>> {
    value.map_or_else(|| Some(Map::new()), |value| value.as_object().cloned())
}

/// Returns the spec of the manifest that `kubectl apply` applied last, or null.
fn last_applied(job: &Value) -> Value {
    let text = job.pointer(LAST_APPLIED).and_then(Value::as_str);
    let manifest = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let spec = manifest.and_then(|mut manifest| Some(manifest.get_mut("spec")?.take()));
    spec.unwrap_or_default()
}

fn count(spec: &Value, name: &str) -> Option<i64> {
    spec.get(name)?.as_i64()
}

fn member<'v>(parent: &'v Value, name: &str) -> Option<&'v Value> {
    parent.get(name).filter(|value| !value.is_null())
}

/// Returns true if a manifest shows the status of the stored object, which may be empty.
pub(crate) fn is_status_known(manifest: &Value) -> bool {
    let is_empty =
        |status: &Value| status.is_null() || status.as_object().is_some_and(Map::is_empty);
    is_stored(manifest)
        || manifest
            .get("status")
            .is_some_and(|status| !is_empty(status))
}

/// Returns true if a manifest is a stored object, as `kubectl get` prints it.
pub(crate) fn is_stored(manifest: &Value) -> bool {
    let metadata = manifest.get("metadata");
    let has = |field: &str| metadata.is_some_and(|metadata| metadata.get(field).is_some());
    has("uid") || has("resourceVersion") || has("creationTimestamp")
}
