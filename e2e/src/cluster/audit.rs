//! The audit log of a kube-apiserver.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::hook::PROBE;
use crate::report;

/// The webhook in `deploy/webhook.yml`.
pub(crate) const WEBHOOK: &str = "managed-by.policies.example.com";

/// Its events, but for the probes of [`super::hook::Hook::in_force`], which are bad on purpose.
pub(crate) struct Audit {
    events: Vec<Value>,
}

impl Audit {
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let mut events = Vec::new();
        each_event(folder, |event| events.push(event))?;
        events.retain(|event| event["objectRef"]["namespace"] != PROBE);
        Ok(Self { events })
    }

    /// Those after the first ones, for looking at one part of a run.
    pub(crate) fn after(mut self, count: usize) -> Self {
        self.events.drain(..count.min(self.events.len()));
        self
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// What somebody did, judged or not.
    pub(crate) fn by(&self, user: &str) -> impl Iterator<Item = &Value> {
        let events = self.events.iter();
        events.filter(move |event| event["user"]["username"] == user)
    }

    /// What somebody wrote and the policy judged.
    pub(crate) fn judged(&self, user: &str) -> impl Iterator<Item = &Value> {
        self.by(user)
            .filter(|event| annotation(event, "mode").is_some())
    }

    /// What the policy's webhook denied or could not judge.
    pub(crate) fn denied(&self) -> impl Iterator<Item = &Value> {
        self.events.iter().filter(|event| {
            let message = event["responseStatus"]["message"].as_str();
            message.is_some_and(|m| m.contains(WEBHOOK))
        })
    }

    /// Reports that so many writes of each of these users were judged, that nobody was denied but who tries it, and that nobody was
    /// warned.
    pub(crate) fn quiet(&self, name: &str, users: &[(&str, usize)], but: &str) {
        for (user, least) in users {
            let count = self.judged(user).count();
            let what = format!("{name}: {count} writes of {} were judged", short(user));
            report::check(&what, nothing::<String>(count >= *least, []));
        }
        let denied = self.denied();
        let denied = denied.filter(|event| event["user"]["username"] != *but);
        let what = format!("{name}: no controller was denied");
        report::check(&what, nothing(true, denied.map(line)));
        let warned = self.events.iter();
        let warned = warned.filter(|event| annotation(event, "warned").is_some());
        let what = format!("{name}: nobody was warned");
        report::check(&what, nothing(true, warned.map(line)));
    }

    /// What the life of a Job has cost: how many of its writes the policy judged, and how many were updates of its status.
    /// It is an error unless the judged ones are its creation and, if they wait, those updates.
    pub(crate) fn cost(&self, job: &str, statuses_wait: bool) -> Result<(usize, usize)> {
        let of_job = |event: &&Value| {
            let (object, code) = (&event["objectRef"], &event["responseStatus"]["code"]);
            object["resource"] == "jobs" && object["name"] == job && code.as_u64() < Some(300)
        };
        let writes: Vec<_> = self.events.iter().filter(of_job).collect();
        let count = |is_it: &dyn Fn(&Value) -> bool| writes.iter().filter(|w| is_it(w)).count();
        let judged = count(&|event| annotation(event, "mode").is_some());
        let statuses = count(&|event| event["objectRef"]["subresource"] == "status");
        ensure!(
            statuses > 0 && judged == 1 + if statuses_wait { statuses } else { 0 },
            "{judged} calls for {} writes, {statuses} of them to the status",
            writes.len()
        );
        Ok((judged, statuses))
    }

    /// The last request on an object.
    pub(crate) fn last(&self, name: &str) -> Option<&Value> {
        let is_it = |event: &&Value| event["objectRef"]["name"] == name;
        self.events.iter().rev().find(is_it)
    }
}

/// An annotation of the policy's, as the API server names it after the webhook.
pub(crate) fn annotation<'e>(event: &'e Value, key: &str) -> Option<&'e str> {
    let key = format!("{WEBHOOK}/{key}");
    event["annotations"][key].as_str()
}

/// An event in a line.
pub(crate) fn line(event: &Value) -> String {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or("");
    format!(
        "{} by {}: {} {}/{} {} {}",
        text("/verb"),
        text("/user/username"),
        text("/objectRef/resource"),
        text("/objectRef/namespace"),
        text("/objectRef/name"),
        text("/objectRef/subresource"),
        text("/responseStatus/message"),
    )
}

/// The last word in the name of an account.
pub(crate) fn short(user: &str) -> &str {
    user.rsplit(':').next().unwrap_or_default()
}

/// Nothing was said, of enough.
pub(crate) fn nothing<T: Display>(enough: bool, said: impl IntoIterator<Item = T>) -> Result<()> {
    let said: Vec<_> = said.into_iter().map(|text| text.to_string()).collect();
    ensure!(enough, "too few writes were judged");
    ensure!(said.is_empty(), "{} times: {}", said.len(), said.join("\n"));
    Ok(())
}

/// All events of an audit log, also those of its older files. They may be too many for memory.
pub(crate) fn each_event(folder: &Path, mut each: impl FnMut(Value)) -> Result<()> {
    let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut files = files.collect::<Result<Vec<_>>>()?;
    // `audit-TIME.log` comes before `audit.log`.
    files.sort();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("audit") && name.ends_with(".log") {
            for line in BufReader::new(File::open(&path)?).lines() {
                // The last line may be half written.
                if let Ok(event) = serde_json::from_str(&line?) {
                    each(event);
                }
            }
        }
    }
    Ok(())
}
