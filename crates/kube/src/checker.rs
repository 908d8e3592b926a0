//! Evaluation of writes, and the record of the results.

use std::sync::{Mutex, MutexGuard, PoisonError};

use http::StatusCode;
use managed_by::{
    AdmissionRequest, Decision, Enforcement, Evaluation, NoCluster, OwnedSettings, ReleaseSet,
    UncheckedReason, resolve,
};
use serde_json::{Value, json};

use crate::write::{ResultSource, Write, with_status_of};

/// Evaluates writes under a set of releases, and records the results.
#[derive(Debug)]
pub(crate) struct Checker {
    pub(crate) options: Options,
    record: Mutex<Record>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    pub(crate) releases: ReleaseSet,
    /// `None` for the default settings.
    pub(crate) settings: Option<OwnedSettings>,
    pub(crate) username: String,
    pub(crate) groups: Vec<String>,
    pub(crate) controller: Option<String>,
    pub(crate) allow_no_writes: bool,
}

/// Results that the layer reports to the test.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) evaluated_count: usize,
    pub(crate) failures: Vec<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) not_evaluated: Vec<String>,
}

pub(crate) struct Denial {
    pub(crate) code: u16,
    pub(crate) message: String,
    pub(crate) details: Value,
}

impl Checker {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            options,
            record: Mutex::default(),
        }
    }

    pub(crate) fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if the write may be of a kind with rules. A kind that the settings declare is looked up by the object's `kind`.
    pub(crate) fn applies_to(&self, write: &Write) -> bool {
        write.known_kind().is_some() || self.options.settings.is_some()
    }

    pub(crate) fn add_failure(&self, write: &Write, text: &str) {
        let line = format!("{} {}: {text}", write.method, write.path);
        self.record().failures.push(line);
    }

    fn add_warning(&self, write: &Write, text: &str) {
        let line = format!("{} {}: {text}", write.method, write.path);
        self.record().warnings.push(line);
    }

    pub(crate) fn add_not_evaluated(&self, write: &Write, reason: &str) {
        let line = format!("{} {}: {reason}", write.method, write.path);
        self.record().not_evaluated.push(line);
    }

    /// Evaluates a write that sends an object, and returns the response of the newest release that denies it.
    pub(crate) fn check(
        &self,
        write: &Write,
        old: Option<&Value>,
        sent: &Value,
        new: &Value,
    ) -> Option<Denial> {
        let kind = match write.known_kind() {
            Some(kind) => kind.name(),
            None => kind_of(old.unwrap_or(new)).unwrap_or_default(),
        };
        let name = name_of(new).or(old.and_then(name_of)).unwrap_or_default();
        let request_json = self
            .admission_request(write, kind, name, old, new)
            .to_string();
        let request = match AdmissionRequest::from_json(request_json.as_bytes()) {
            Ok(request) => request,
            Err(malformed) => {
                self.add_not_evaluated(write, &malformed.to_string());
                return None;
            }
        };
        let settings = self.options.settings.as_ref().map(OwnedSettings::get);
        let settings = settings.unwrap_or_default().for_tools();
        let (evaluation, has_kind) = resolve(&request, &settings, |resolved| {
            let evaluation = resolved.evaluate(Some(self.options.releases), &NoCluster);
            (evaluation, resolved.kind().is_some())
        });
        for unchecked in &evaluation.unchecked {
            // With settings, the layer also sees writes of kinds without rules. Ignore them.
            if unchecked.reason != UncheckedReason::UnsupportedKind {
                self.add_not_evaluated(write, &unchecked.to_string());
            }
        }
        if !has_kind {
            return None;
        }
        self.add(write, &evaluation);
        let annotations = &evaluation.verdict.audit_annotations;
        let named = annotations.iter().find(|(name, _)| *name == "controller");
        let named = named.map_or("\"\"", |(_, name)| name);
        if let (Some(controller), Some(_)) = (&self.options.controller, old)
            && format!("{controller:?}") != named
        {
            let text = format!("the object names the controller {named}, not {controller:?}");
            self.add_failure(write, &text);
        }
        let version = sent.pointer("/metadata/resourceVersion");
        if write.source == ResultSource::Replace && write.is_status && version.is_none() {
            let lost = "no resourceVersion: the write overwrites changes since the object was read";
            self.add_warning(write, lost);
        }
        if let Some(part) = old.and_then(|old| ignored_change(write, old, sent)) {
            let other = if write.is_status { "object" } else { "status" };
            let warning = format!("the changed {part} is ignored: write the {other}");
            self.add_warning(write, &warning);
        }
        let newest = evaluation.denied_by().newest()?;
        let mut verdicts = evaluation.release_verdicts.iter();
        let verdict = verdicts.find(|v| v.releases.contains(newest))?;
        match &verdict.verdict.decision {
            Decision::Denied { code, message } => Some(Denial {
                code: *code,
                message: message.clone(),
                details: json!({"group": write.group, "kind": kind, "name": name}),
            }),
            Decision::Allowed => None,
        }
    }

    /// Records an evaluation. An upstream finding is a failure even if it only warns, because some patch release of kube-apiserver
    /// denies the write.
    fn add(&self, write: &Write, evaluation: &Evaluation) {
        let mut record = self.record();
        record.evaluated_count = record.evaluated_count.saturating_add(1);
        for found in &evaluation.findings {
            let line = format!("{} {}: {found}", write.method, write.path);
            if found.enforcement == Enforcement::Deny || found.is_upstream {
                record.failures.push(line);
            } else {
                record.warnings.push(line);
            }
        }
    }

    /// Returns the admission request that the API server would send to a webhook.
    fn admission_request(
        &self,
        write: &Write,
        kind: &str,
        name: &str,
        old: Option<&Value>,
        new: &Value,
    ) -> Value {
        // The API server takes the status only from writes of the status, and everything else only from the other writes.
        let object = match old {
            Some(old) if write.is_status => with_status_of(old, Some(new)),
            _ => with_status_of(new, old),
        };
        let (group, version) = (&write.group, &write.version);
        json!({
            "operation": if old.is_some() { "UPDATE" } else { "CREATE" },
            "kind": {"group": group, "version": version, "kind": kind},
            "resource": {"group": group, "version": version, "resource": write.plural},
            "subResource": if write.is_status { "status" } else { "" },
            "name": name,
            "namespace": write.namespace,
            "userInfo": {"username": self.options.username, "groups": self.options.groups},
            "object": object,
            "oldObject": old,
        })
    }
}

/// Returns true if the API server rejects the write before it validates the object: it is based on an older version, or on an object that
/// was deleted and created again, or names another object.
pub(crate) fn is_stale(old: &Value, new: &Value) -> bool {
    ["resourceVersion", "uid", "name"].iter().any(|field| {
        let value = |object: &Value| object.get("metadata")?.get(field).cloned();
        let sent = value(new).filter(|sent| sent != "" && !sent.is_null());
        sent.is_some() && sent != value(old)
    })
}

/// Returns the part of an object that the API server ignores in a write, if the write changes it. Code that did not read the object sends
/// a placeholder as its spec.
fn ignored_change(write: &Write, old: &Value, new: &Value) -> Option<&'static str> {
    let part = if write.is_status { "spec" } else { "status" };
    let sent = new.get(part)?.as_object()?;
    let is_read = new.pointer("/metadata/resourceVersion").is_some();
    let differs = !sent.is_empty() && new.get(part) != old.get(part);
    (differs && (is_read || !write.is_status)).then_some(part)
}

pub(crate) fn kind_of(object: &Value) -> Option<&str> {
    object.get("kind").and_then(Value::as_str)
}

fn name_of(object: &Value) -> Option<&str> {
    object.pointer("/metadata/name").and_then(Value::as_str)
}

impl Denial {
    /// Returns the `Status` that the API server returns.
    pub(crate) fn status(&self) -> Value {
        let reason = match StatusCode::from_u16(self.code) {
            Ok(StatusCode::UNPROCESSABLE_ENTITY) => "Invalid",
            Ok(StatusCode::FORBIDDEN) => "Forbidden",
            Ok(StatusCode::BAD_REQUEST) => "BadRequest",
            _ => "",
        };
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "reason": reason, "code": self.code, "message": self.message, "details": self.details,
        })
    }
}
