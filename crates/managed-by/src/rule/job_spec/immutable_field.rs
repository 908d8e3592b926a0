//! `job-spec/immutable-field`: compares two manifests of a Job. The stored Job also has the API server's defaults and the changes of
//! other clients, so a change is decided only if these don't matter.

use std::cmp::Ordering;

use serde_json::Value;

use crate::finding::{BadValue, FieldError};
use crate::kind::Kind;
use crate::object::Object;
use crate::request::{Change, ManifestTexts};

/// Result of comparing two manifests.
#[derive(Default)]
pub(crate) struct Comparison {
    /// kube-apiserver's errors, in its order.
    pub(crate) errors: Vec<FieldError<'static>>,
    /// Paths of the changes that kube-apiserver may accept or reject.
    pub(crate) undecided: Vec<&'static str>,
}

/// Effect of a change on the stored object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    Unchanged,
    /// The new value may be the one that is stored.
    Undecided,
    Changed,
}

/// Detail of apimachinery's `ValidateImmutableField`.
const IMMUTABLE: &str = "field is immutable";

/// Members whose values are quantities, or maps of them: `1` and `"1000m"` are equal.
const QUANTITIES: [&str; 4] = ["resources", "overhead", "sizeLimit", "divisor"];

/// Members of a stored Job that the API server adds if a manifest omits them, each with its default as JSON (`SetDefaults_PodSpec` and
/// related functions in `pkg/apis/core/v1`, 1.37). An empty default stands for any value.
const DEFAULTS: [(&str, &str); 21] = [
    ("apiVersion", "\"v1\""),
    ("completionMode", "\"NonIndexed\""),
    ("completions", "1"),
    ("creationTimestamp", ""),
    ("defaultMode", "420"),
    ("dnsPolicy", "\"ClusterFirst\""),
    ("failureThreshold", "3"),
    ("imagePullPolicy", ""),
    ("labels", ""),
    ("periodSeconds", "10"),
    ("protocol", "\"TCP\""),
    ("schedulerName", "\"default-scheduler\""),
    ("scheme", "\"HTTP\""),
    ("selector", ""),
    ("serviceAccount", ""),
    ("successThreshold", "1"),
    ("template", ""),
    ("terminationGracePeriodSeconds", "30"),
    ("terminationMessagePath", "\"/dev/termination-log\""),
    ("terminationMessagePolicy", "\"File\""),
    ("timeoutSeconds", "1"),
];

/// Members whose empty object equals a missing one. Others are pointers, for which both differ.
const STRUCTS: [&str; 6] = [
    "annotations",
    "labels",
    "metadata",
    "nodeSelector",
    "resources",
    "securityContext",
];

/// Members of the template that a queue may change while the Job is suspended. `job-spec/scheduling-directives` checks them.
const DIRECTIVES: [(&str, &[&str]); 2] = [
    ("metadata", &["labels", "annotations"]),
    (
        "spec",
        &["affinity", "nodeSelector", "schedulingGates", "tolerations"],
    ),
];

/// Compares the fields of a Job that an update must not change, except `managedBy`, which has a rule of its own.
pub(crate) fn compare(
    kind: &Kind<'_>,
    change: &Change<Object<'_>>,
    texts: ManifestTexts<'_>,
) -> Comparison {
    let mut found = Comparison::default();
    let (Change::Update { object, old }, Some(old_text), true) = (change, texts.old, kind.is_job())
    else {
        return found;
    };
    let (Some(new_job), Some(old_job)) = (&object.job, &old.job) else {
        return found;
    };
    let parse = |text| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (mut new, mut old) = (parse(texts.object), parse(old_text));
    let manifests = Manifests {
        is_old_stored: is_stored(&old),
        is_status_known: is_status_known(&old),
        new: new.get_mut("spec").map(Value::take).unwrap_or_default(),
        old: old.get_mut("spec").map(Value::take).unwrap_or_default(),
    };
    let (new_spec, old_spec) = (&new_job.spec, &old_job.spec);
    let mut add = |path, value, detail, effect| match effect {
        Effect::Unchanged => {}
        Effect::Undecided => found.undecided.push(path),
        Effect::Changed => found.errors.push(FieldError::invalid(path, value, detail)),
    };

    let completions = BadValue::Int(new_spec.completions.unwrap_or_default());
    let effect = manifests.field("completions", true);
    let keeps_mode = new_spec.completion_mode.is_none() && old_spec.is_indexed();
    let (detail, effect) = match (effect, new_spec.parallelism) {
        (Effect::Changed, parallelism) if new_spec.is_indexed() || keeps_mode => {
            let effect = match parallelism {
                None => Effect::Undecided,
                Some(_) if parallelism == new_spec.completions => Effect::Unchanged,
                Some(_) => Effect::Changed,
            };
            (
                "can only be modified in tandem with spec.parallelism",
                effect,
            )
        }
        (effect, _) => (IMMUTABLE, effect),
    };
    add("spec.completions", completions, detail, effect);
    let selector = manifests.field("selector", true);
    add("spec.selector", BadValue::Omitted, IMMUTABLE, selector);
    let template = manifests.template(old_spec.suspend);
    add("spec.template", BadValue::Omitted, IMMUTABLE, template);
    let mode = new_spec.completion_mode.as_deref().unwrap_or_default();
    let mode = BadValue::NamedString(mode.to_owned().into());
    let effect = manifests.field("completionMode", true);
    add("spec.completionMode", mode, IMMUTABLE, effect);
    let failure_policy = manifests.field("podFailurePolicy", false);
    add(
        "spec.podFailurePolicy",
        BadValue::Omitted,
        IMMUTABLE,
        failure_policy,
    );
    let limit = BadValue::Int(new_spec.backoff_limit_per_index.unwrap_or_default());
    let effect = manifests.field("backoffLimitPerIndex", false);
    add("spec.backoffLimitPerIndex", limit, IMMUTABLE, effect);
    let success_policy = match manifests.field("successPolicy", false) {
        // 1.30 drops a new policy, because its feature gate is off by default.
        Effect::Changed if !old_spec.has_success_policy => Effect::Undecided,
        effect => effect,
    };
    add(
        "spec.successPolicy",
        BadValue::Omitted,
        IMMUTABLE,
        success_policy,
    );
    found
}

/// The `spec` of two manifests.
struct Manifests {
    /// True if the old manifest is a stored object with all defaults. A field that the new manifest omits then keeps its value, as far
    /// as it was defaulted.
    is_old_stored: bool,
    /// True if the old manifest has the status of the stored object.
    is_status_known: bool,
    new: Value,
    old: Value,
}

impl Manifests {
    /// Compares a field of the spec. The server sets a missing field if it `has_default`.
    fn field(&self, name: &str, has_default: bool) -> Effect {
        let [old, new] = [&self.old, &self.new].map(|spec| spec.get(name).unwrap_or(&Value::Null));
        match (old, new) {
            (Value::Null, Value::Null) => Effect::Unchanged,
            (Value::Null, new) if has_default || is_empty(new) && !new.is_number() => {
                Effect::Undecided
            }
            (Value::Null, _) => Effect::Changed,
            // The default of `completions` is 1 only without `parallelism`.
            (_, Value::Null) if name == "completions" && self.new.get("parallelism").is_some() => {
                Effect::Undecided
            }
            (old, Value::Null) if self.is_old_stored && is_default(name, old) => Effect::Unchanged,
            (_, Value::Null) => Effect::Undecided,
            // Both are pointers to numbers, so 0 is a value of its own.
            (Value::Number(old), Value::Number(new)) if old != new => Effect::Changed,
            (old, new) => self.effect(old, new),
        }
    }

    /// Compares the template of a Job that is suspended in the old manifest, or not.
    fn template(&self, is_suspended: bool) -> Effect {
        let mut templates = [&self.old, &self.new].map(|spec| spec.get("template").cloned());
        let mut directives = Effect::Unchanged;
        for (parent, members) in DIRECTIVES {
            for member in members {
                let mut values = templates.iter_mut().map(|template| {
                    let parent = template.as_mut()?.get_mut(parent)?.as_object_mut()?;
                    parent.remove(*member)
                });
                let [old, new] = [(); 2].map(|()| values.next().flatten());
                directives = directives.max(self.member(member, old.as_ref(), new.as_ref()));
            }
        }
        let [old, new] = templates;
        let rest = self.member("template", old.as_ref(), new.as_ref());
        if is_suspended {
            // If the status of the stored Job is known, `job-spec/scheduling-directives` decides on the directives.
            let effect = if self.is_status_known {
                rest
            } else {
                rest.max(directives)
            };
            // The path of the error depends on the release.
            return effect.min(Effect::Undecided);
        }
        // A queue may have suspended the stored Job.
        let most = if self.is_old_stored {
            Effect::Changed
        } else {
            Effect::Undecided
        };
        rest.max(directives.min(most))
    }

    /// Compares a member of an object in both manifests.
    fn member(&self, name: &str, old: Option<&Value>, new: Option<&Value>) -> Effect {
        let [old, new] = [old, new].map(|value| value.filter(|value| !value.is_null()));
        let is_nothing = |value: &Value| match value {
            Value::Array(_) | Value::String(_) => is_empty(value),
            Value::Object(members) => members.is_empty() && STRUCTS.contains(&name),
            _ => false,
        };
        match (old, new) {
            (None, None) => Effect::Unchanged,
            (Some(old), Some(new)) => self.effect(old, new),
            (None, Some(value)) | (Some(value), None) if is_nothing(value) => Effect::Unchanged,
            (Some(value), None) if self.is_old_stored && is_default(name, value) => {
                Effect::Unchanged
            }
            (None, Some(_)) | (Some(_), None) => Effect::Undecided,
        }
    }

    fn effect(&self, old: &Value, new: &Value) -> Effect {
        if old == new {
            return Effect::Unchanged;
        }
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => {
                let added = new.keys().filter(|key| !old.contains_key(*key));
                let effects = old.keys().chain(added).map(|key| {
                    let effect = self.member(key, old.get(key), new.get(key));
                    if QUANTITIES.contains(&&**key) {
                        effect.min(Effect::Undecided)
                    } else {
                        effect
                    }
                });
                effects.max().unwrap_or(Effect::Unchanged)
            }
            // A default may replace an empty value.
            _ if is_empty(old) || is_empty(new) => Effect::Undecided,
            (Value::Array(old), Value::Array(new)) => match old.len().cmp(&new.len()) {
                // Other clients may have added elements, which an apply keeps.
                Ordering::Greater if self.is_old_stored => Effect::Undecided,
                Ordering::Less | Ordering::Greater => Effect::Changed,
                Ordering::Equal => {
                    let pairs = old.iter().zip(new);
                    let effects = pairs.map(|(old, new)| self.effect(old, new));
                    effects.max().unwrap_or(Effect::Unchanged)
                }
            },
            (Value::Number(old), Value::Number(new)) if old.as_f64() == new.as_f64() => {
                Effect::Undecided
            }
            (Value::String(_), Value::String(_)) | (Value::Number(_), Value::Number(_)) => {
                Effect::Changed
            }
            // The API server converts or rejects values of another type.
            _ => Effect::Undecided,
        }
    }
}

/// Returns true if the API server adds a member with this value.
fn is_default(name: &str, value: &Value) -> bool {
    let value = value.to_string();
    let is_same = |default: &str| default.is_empty() || value == default;
    DEFAULTS
        .iter()
        .any(|(member, default)| *member == name && is_same(default))
}

/// Returns true if a manifest shows the status of the stored object, which may be empty.
pub(crate) fn is_status_known(manifest: &Value) -> bool {
    is_stored(manifest)
        || manifest
            .get("status")
            .is_some_and(|status| !is_empty(status))
}

/// Returns true if a manifest is a stored object, as `kubectl get` prints it.
fn is_stored(manifest: &Value) -> bool {
    let metadata = manifest.get("metadata");
    let has = |field: &str| metadata.is_some_and(|metadata| metadata.get(field).is_some());
    has("uid") || has("resourceVersion") || has("creationTimestamp")
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}
