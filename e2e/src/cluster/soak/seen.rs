//! What is said of a run when it is over: how the workloads ended, how long each fault was felt, and what the audit logs hold.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};

use super::{CLUSTERS, Past, Run, SOON, rule};
use crate::cluster::api_server::{ANA, ApiServer};
use crate::cluster::audit::{WEBHOOK, annotation, each_event, line, short};
use crate::cluster::hook::TEAM;

impl Run {
    /// How each of them ended, by cluster and name.
    pub(super) fn outcomes(&self) -> BTreeMap<String, String> {
        let notes = self.notes();
        let all = self.workloads.iter().enumerate();
        let outcomes = all.map(|(number, (cluster, workload))| {
            let end = notes.ends.get(&number);
            let outcome = match (notes.taken.get(&number), end) {
                (_, Some((end, _))) if *end == workload.end => (*end).to_owned(),
                (_, Some((end, _))) => format!("{end} instead of {}", workload.end),
                (Some(Err(error)), None) => format!("not taken: {error}"),
                _ => "no end".to_owned(),
            };
            (format!("{} w{number}", CLUSTERS[*cluster]), outcome)
        });
        outcomes.collect()
    }

    /// How long after a fault it took until a bad write of that cluster was judged again, and until the workloads had ended that
    /// were under way; some of them may have taken longer than a minute.
    pub(super) fn recovery(&self, past: &Past, usual: &str) -> Value {
        let after = |time: f64| (time - past.mended).max(0.0).round();
        let notes = self.notes();
        let judged = notes.bad.iter().find(|(cluster, seen, time)| {
            *cluster == past.cluster && *seen == usual && *time >= past.mended
        });
        let mut under_way = Vec::new();
        for (number, time) in &notes.taken {
            let end = notes.ends.get(number).map_or(f64::MAX, |(_, end)| *end);
            if time.as_ref().is_ok_and(|time| *time < past.mended) && end > past.mended {
                under_way.push(after(end));
            }
        }
        let (soon, later): (Vec<f64>, Vec<f64>) = under_way
            .iter()
            .partition(|time| **time <= SOON.as_secs_f64());
        json!({
            "fault": past.name,
            "cluster": CLUSTERS[past.cluster],
            "began": past.began.round(),
            "mended": past.mended.round(),
            "judged_after": judged.map(|(_, _, time)| after(*time)),
            "under_way": under_way.len(),
            "ended_after": soon.into_iter().reduce(f64::max),
            "later_than_a_minute": later.len(),
        })
    }

    /// What the audit log of a cluster holds.
    pub(super) fn audit(
        &self,
        cluster: usize,
        server: &ApiServer,
        faults: &[Past],
    ) -> Result<Value> {
        let mut judged = 0_usize;
        // By rule and user, and by the fault at that time.
        let mut sums = [const { BTreeMap::<String, usize>::new() }; 2];
        let mut unexplained = Vec::new();
        each_event(&server.folder, |event| {
            judged += usize::from(annotation(&event, "mode").is_some());
            let text = |pointer| event.pointer(pointer).and_then(Value::as_str).unwrap_or("");
            let code = event["responseStatus"]["code"].as_u64().unwrap_or_default();
            let message = text("/responseStatus/message");
            let is_refused = code >= 400 && message.contains(WEBHOOK);
            if !is_refused || text("/objectRef/namespace") != TEAM {
                return;
            }
            let user = text("/user/username");
            let (sum, key) = if let Some(rule) = rule(message) {
                // She is the one who tries what is bad.
                if user != ANA || !text("/requestURI").contains("dryRun") {
                    unexplained.push(line(&event));
                }
                (0, format!("{rule} by {}", short(user)))
            } else {
                let time = humantime::parse_rfc3339(text("/requestReceivedTimestamp"));
                let time = time.map_or(0.0, |time| self.at(time));
                let fault = faults.iter().find(|past| past.during(cluster, time));
                if fault.is_none() {
                    unexplained.push(format!("{time:.1} s: {}", line(&event)));
                }
                (1, fault.map_or("no fault", |past| &past.name).to_owned())
            };
            *sums[sum].entry(key).or_default() += 1;
        })?;
        let [denials, unanswered] = sums;
        Ok(json!({
            "judged": judged, "denials": denials, "unanswered": unanswered, "unexplained": unexplained,
        }))
    }
}
