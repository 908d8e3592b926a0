//! What happens in a run of the soak, and when: workloads, faults and bad writes, all of them from its seed.

use std::env;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::cluster::faults::{Fault, POLICY_SERVER};
use crate::cluster::fleet::{Workload, job_set, one_job};
use crate::cluster::hook::{TEAM, job};
use crate::kube::{JSON, MERGE_PATCH, jobs};

/// The faults, with how many seconds each lasts if the time between two of them allows it.
const FAULTS: [(&str, Fault, u64); 11] = [
    (POLICY_SERVER, Fault::Killed, 30),
    (POLICY_SERVER, Fault::Paused, 30),
    (POLICY_SERVER, Fault::Slow, 0),
    (POLICY_SERVER, Fault::Certificate, 0),
    (POLICY_SERVER, Fault::Settings, 30),
    ("kube-apiserver", Fault::Restarted, 0),
    ("kube-apiserver", Fault::Paused, 30),
    ("etcd", Fault::Paused, 5),
    ("kube-controller-manager", Fault::Killed, 30),
    ("jobset", Fault::Killed, 30),
    ("kueue", Fault::Killed, 30),
];

/// What is run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) length: Duration,
    pub(super) rate: f64,
    pub(super) seed: u64,
}

impl Plan {
    pub(super) fn new() -> Result<Self> {
        let number = |name: &str, usual: f64| match env::var(name) {
            Ok(text) => text.parse().with_context(|| format!("{name}={text}")),
            Err(_) => Ok(usual),
        };
        Ok(Self {
            length: Duration::from_secs_f64(60.0 * number("MINUTES", 5.0)?),
            rate: number("RATE", 2.0)?,
            seed: number("SEED", 29.0)?.to_bits(),
        })
    }

    /// A number that follows from the seed.
    fn pick(&self, number: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, number).hash(&mut hasher);
        hasher.finish()
    }

    /// How much time there is for a fault: each comes once in each cluster, and no two in less than 25 s or more than 3 min.
    pub(super) fn interval(&self) -> Duration {
        let each = self.length / u32::try_from(2 * FAULTS.len()).unwrap_or(1);
        each.clamp(Duration::from_secs(25), Duration::from_mins(3))
    }

    /// The faults in their order, each with its cluster: all of them in one or the other, then all in the other one.
    pub(super) fn faults(&self) -> Vec<(usize, (&'static str, Fault, u64))> {
        let count = self.length.as_secs() / self.interval().as_secs();
        let count = usize::try_from(count).unwrap_or_default();
        let mut faults = Vec::new();
        for round in 0..=count / FAULTS.len() {
            let mut order: Vec<_> = (0..FAULTS.len()).collect();
            order.sort_by_key(|index| self.pick(usize::MAX - round * FAULTS.len() - index));
            let round = order
                .into_iter()
                .map(|index| ((index + round) % 2, FAULTS[index]));
            faults.extend(round);
        }
        faults.truncate(count);
        faults
    }

    /// All workloads, each with its cluster. One in eight goes through MultiKueue: its client asks the worker five times a
    /// second, ten times for each. The rest runs on the worker.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "small"
    )]
    pub(super) fn workloads(&self) -> Vec<(usize, Workload)> {
        let count = (self.length.as_secs_f64() * self.rate) as usize;
        (0..count).map(|number| self.workload(number)).collect()
    }

    fn workload(&self, number: usize) -> (usize, Workload) {
        let pick = self.pick(number);
        let name = format!("w{number}");
        let run = json!({"e2e/run": (500 + pick % 8 * 500).to_string()});
        let fails = json!({"e2e/exit": "1"});
        let two = json!({"completions": 2, "parallelism": 2});
        let indexed = json!({"completions": 3, "parallelism": 3, "completionMode": "Indexed"});
        let once = json!({"backoffLimit": 0});
        let (cluster, mut workload) = match pick / 8 % 32 {
            0 => (0, one_job(&name, &json!({}), &run, "Complete").queued()),
            1 => (0, one_job(&name, &indexed, &run, "Complete").queued()),
            2 => (0, one_job(&name, &once, &fails, "Failed").queued()),
            3 => (0, job_set(&name, &run, "Completed").queued()),
            4..=7 => (1, job_set(&name, &run, "Completed")),
            8 | 9 => (1, job_set(&name, &fails, "Failed")),
            10..=13 => (1, one_job(&name, &once, &fails, "Failed")),
            14..=17 => (1, one_job(&name, &indexed, &run, "Complete")),
            18..=21 => (1, one_job(&name, &two, &run, "Complete")),
            _ => (1, one_job(&name, &json!({}), &run, "Complete")),
        };
        workload.object["spec"]["ttlSecondsAfterFinished"] = 120.into();
        (cluster, workload)
    }
}

/// An idle Job, whose status nobody but its controller may write.
pub(super) const IDLE: &str = "idle";

/// Dry runs that the policy must deny.
pub(super) fn bad_writes(cluster: usize) -> Vec<(&'static str, &'static str, String, Value)> {
    let typo = json!({"managedBy": "kubernetes.io/job-controler"});
    let create = format!("{}?dryRun=All", jobs(TEAM));
    let idle = format!("{}/{IDLE}/status?dryRun=All", jobs(TEAM));
    let status = json!({"status": {"conditions": [{"type": "Mine", "status": "True"}]}});
    let mut bad = vec![
        ("POST", JSON, create.clone(), job(TEAM, "typo", &typo)),
        ("PATCH", MERGE_PATCH, idle, status),
    ];
    if cluster == 0 {
        bad.push(("POST", JSON, create, job(TEAM, "undelegated", &json!({}))));
    }
    bad
}
