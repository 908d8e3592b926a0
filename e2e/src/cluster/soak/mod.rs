//! Hours of work with faults, with the policy and without it: the same schedule, so the same outcomes.
//!
//! `MINUTES`, `RATE` and `SEED` of the environment say how long each of the two runs is, how many workloads are handed in each
//! second, and which ones. What was seen goes to `target/soak.json`.

mod plan;
mod seen;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::cluster::api_server::{ADMIN, ANA};
use crate::cluster::audit::nothing;
use crate::cluster::faults::POLICY_SERVER;
use crate::cluster::fleet::{Fleet, JOBSETS, KUEUE, Member, PROGRAMS, Workload};
use crate::cluster::hook::{TEAM, job};
use crate::cluster::jobs::ends;
use crate::deploy::root;
use crate::kube::{Client, done, jobs, list, path, text};
use crate::load;
use crate::process::until;
use crate::programs;
use crate::report;
use crate::tls::Authority;
use plan::{IDLE, Plan, bad_writes};

/// What is written about the two runs.
const FILE: &str = "target/soak.json";

/// The clusters, as they are called in what is written. Cluster 0 has the settings of `deploy/management.yml`, cluster 1 those of
/// `deploy/worker.yml`.
const CLUSTERS: [&str; 2] = ["hub", "worker"];

/// How long a workload takes at most when nothing is wrong, with room to spare.
const SOON: Duration = Duration::from_mins(1);

/// How long what is left may take when Kueue looks at it again.
const END: Duration = Duration::from_mins(2);

/// How long after a fault a write may still fail for it: one that began to wait during the fault has given up by then.
const LATE: f64 = 10.0;

/// What is said of a workload that waited for nothing that is known.
const CONNECTED: &str = "Kueue was connected";

const DENIED: &str = "denied";
const LET_THROUGH: &str = "let through";
/// Nobody could judge it, or the API server was away.
const REFUSED: &str = "refused";

/// The rule in a denial, such as `[managed-by/delegation]`.
fn rule(message: &str) -> Option<&str> {
    let (_, text) = message.split_once("\" denied the request: ")?;
    let mut marked = text.split('[').filter_map(|rest| rest.split(']').next());
    let is_rule = |c: char| c.is_ascii_lowercase() || "-/".contains(c);
    marked.find(|rule| rule.contains('/') && rule.chars().all(is_rule))
}

/// What the threads of a run write down, each time with the seconds since its beginning.
#[derive(Default)]
struct Notes {
    ended: bool,
    /// How and when each workload ended.
    ends: BTreeMap<usize, (&'static str, f64)>,
    /// What became of the bad writes in each cluster.
    bad: Vec<(usize, &'static str, f64)>,
    /// When each workload was taken, or why not.
    taken: BTreeMap<usize, Result<f64, String>>,
}

/// A fault as it was, with the times at which it began and was mended.
struct Past {
    name: String,
    cluster: usize,
    began: f64,
    mended: f64,
}

impl Past {
    fn during(&self, cluster: usize, time: f64) -> bool {
        self.cluster == cluster && self.began - 1.0 <= time && time <= self.mended + LATE
    }

    /// Whether Kueue of the hub could not dispatch what was taken then. Kueue 0.18.4 does not look at a Workload again that has its
    /// quota and found no connected worker: neither when the worker is back nor when Kueue itself is started again.
    fn disconnects(&self, time: f64) -> bool {
        let which = ["hub kueue", "worker kube-apiserver", "worker etcd"];
        let name = format!("{} {}", CLUSTERS[self.cluster], self.name);
        let near = self.began - 30.0 <= time && time <= self.mended + 30.0;
        near && which.iter().any(|which| name.starts_with(which))
    }
}

/// One of the two runs.
struct Run {
    plan: Plan,
    /// Each with its cluster. They are called by their numbers: `w0` is the first one.
    workloads: Vec<(usize, Workload)>,
    start: SystemTime,
    notes: Mutex<Notes>,
}

impl Run {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at(&self, time: SystemTime) -> f64 {
        let since = time.duration_since(self.start);
        since.unwrap_or_default().as_secs_f64()
    }

    fn now(&self) -> f64 {
        self.at(SystemTime::now())
    }

    fn wait(&self, until: f64) {
        thread::sleep(Duration::from_secs_f64((until - self.now()).max(0.0)));
    }

    /// Hands a workload in at its time, and again if it could not be judged, as people do.
    fn hand_in(&self, client: &Client, number: usize, workload: &Workload) {
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        self.wait(number as f64 / self.plan.rate);
        let taken = until("creation", Duration::from_mins(3), || {
            let taken = workload.try_submit(client);
            if !matches!(taken, Ok(true)) {
                thread::sleep(Duration::from_secs(1));
            }
            Ok(taken?.then_some(self.now()))
        });
        let taken = taken.map_err(|error| format!("{error:#}"));
        self.notes().taken.insert(number, taken);
    }

    /// Looks for those that have ended, every 2 s.
    fn see_ends(&self, cluster: usize, client: &Client) {
        while !self.notes().ended {
            for list in [jobs(TEAM), path(JOBSETS, TEAM, "jobsets")] {
                // The API server may be away.
                for object in client.list(&list).unwrap_or_default() {
                    // The worker has copies of those of the hub, and Jobs of JobSets.
                    let name = text(&object["metadata"]["name"]).strip_prefix('w');
                    let number = name.and_then(|number| number.parse::<usize>().ok());
                    let number =
                        number.filter(|n| self.workloads.get(*n).is_some_and(|w| w.0 == cluster));
                    if let (Some(number), Some(end)) = (number, ends(&object["status"]).next()) {
                        let now = self.now();
                        self.notes().ends.entry(number).or_insert((end, now));
                    }
                }
            }
            thread::sleep(Duration::from_secs(2));
        }
    }

    /// Tries a bad write each second.
    fn try_bad(&self, cluster: usize, client: &Client) {
        for (method, media_type, path, object) in bad_writes(cluster).iter().cycle() {
            if self.notes().ended {
                break;
            }
            let seen = match client.request(method, path, media_type, object) {
                Ok(answer) if answer.code < 300 => LET_THROUGH,
                Ok(answer) if rule(answer.message()).is_some() => DENIED,
                _ => REFUSED,
            };
            let now = self.now();
            self.notes().bad.push((cluster, seen, now));
            thread::sleep(Duration::from_secs(1));
        }
    }

    /// Waits, and looks at the memory of both PolicyServer processes meanwhile, in MB.
    fn watch(&self, fleet: &Fleet, memory: &mut Vec<Value>, until: f64) {
        loop {
            let of = |member: &Member| member.hook.server.process()?.memory();
            let bytes = fleet.members.each_ref().map(of);
            let [hub, worker] = bytes.map(|bytes| bytes.ok().map(|bytes| bytes >> 20));
            memory.push(json!([self.now().round(), hub, worker]));
            self.wait(until.min(self.now() + 10.0));
            if self.now() >= until {
                break;
            }
        }
    }

    /// All faults at their times. Without the policy there is no PolicyServer.
    fn faults(&self, fleet: &mut Fleet, policy: bool, memory: &mut Vec<Value>) -> Vec<Past> {
        let interval = self.plan.interval();
        let mut past = Vec::new();
        for (number, (cluster, (name, fault, lasts))) in (0_u32..).zip(self.plan.faults()) {
            let turn = interval * number + interval / 4;
            self.watch(fleet, memory, turn.as_secs_f64());
            if name == POLICY_SERVER && !policy {
                continue;
            }
            let began = self.now();
            let outcome = fault
                .begin(&mut fleet.members[cluster], name)
                .and_then(|()| {
                    let lasts = Duration::from_secs(lasts).min(interval / 3);
                    self.watch(fleet, memory, self.now() + lasts.as_secs_f64());
                    fault.mend(&mut fleet.members[cluster], name)
                });
            let mended = self.now();
            let name = format!("{name}: {fault:?}");
            let what = format!(
                "{began:.0} s to {mended:.0} s, {}, {name}",
                CLUSTERS[cluster]
            );
            report::check(&what, outcome);
            past.push(Past {
                name,
                cluster,
                began,
                mended,
            });
        }
        self.watch(fleet, memory, self.plan.length.as_secs_f64());
        past
    }

    /// The numbers of those that have not ended, with the time at which they were taken. One that was never taken is not among them.
    fn left(&self) -> Vec<(usize, f64)> {
        let notes = self.notes();
        let numbers = (0..self.workloads.len()).filter(|n| !notes.ends.contains_key(n));
        let left = numbers.filter_map(|number| match notes.taken.get(&number) {
            Some(Err(_)) => None,
            Some(Ok(time)) => Some((number, *time)),
            None => Some((number, 0.0)),
        });
        left.collect()
    }
}

/// Runs the plan with the policy or without it. This gives the outcomes, and what else was seen.
fn one(plan: Plan, fleet: &mut Fleet, policy: bool) -> Result<(BTreeMap<String, String>, Value)> {
    let controllers = ["kueue.x-k8s.io/multikueue", "kubernetes.io/job-controller"];
    for (member, controller) in fleet.members.iter_mut().zip(controllers) {
        let idle = json!({"suspend": true, "managedBy": controller});
        let admin = member.cluster.client(ADMIN);
        admin.create(&jobs(TEAM), &job(TEAM, IDLE, &idle))?;
        if !policy {
            member.hook.withdraw(&member.cluster)?;
        }
    }
    let clients = fleet.members.each_ref().map(|m| m.cluster.client(ANA));
    let run = Run {
        plan,
        workloads: plan.workloads(),
        start: SystemTime::now(),
        notes: Mutex::default(),
    };
    let mut memory = Vec::new();
    let (past, waited) = thread::scope(|scope| {
        let (run, clients) = (&run, &clients);
        scope.spawn(move || {
            load::at_once(48, &run.workloads, |number, (cluster, workload)| {
                run.hand_in(&clients[*cluster], number, workload);
                Ok(())
            })
        });
        for (cluster, client) in clients.iter().enumerate() {
            scope.spawn(move || run.see_ends(cluster, client));
            scope.spawn(move || run.try_bad(cluster, client));
        }
        // Processes are started in the main thread.
        let past = run.faults(fleet, policy, &mut memory);
        let mut all_end = |fleet: &mut Fleet, limit| {
            until("end of all", limit, || {
                run.watch(fleet, &mut memory, run.now() + 2.0);
                let left = run.left();
                ensure!(left.is_empty(), "{} left: {left:?}", left.len());
                Ok(Some(()))
            })
        };
        let mut waited = Vec::new();
        if all_end(fleet, SOON).is_err() {
            waited = run.left();
            let change = json!({"metadata": {"annotations": {"e2e/look": "again"}}});
            let admin = fleet.members[0].cluster.client(ADMIN);
            let touched = waited.iter().try_for_each(|(number, _)| {
                let workload = workload_of(&admin, &format!("w{number}"))?;
                done(admin.patch(&workload, &change)?).map(drop)
            });
            let all = touched.and_then(|()| all_end(fleet, END));
            report::check(
                "what is left ends when its Workload on the hub is touched",
                all,
            );
        }
        run.notes().ended = true;
        (past, waited)
    });
    let waited = waited.into_iter().map(|(number, time)| {
        let fault = past.iter().find(|past| past.disconnects(time));
        let fault = fault.map_or(CONNECTED, |past| &past.name);
        format!("w{number}, taken at {time:.0} s: {fault}")
    });
    let usual = if policy { DENIED } else { LET_THROUGH };
    let recoveries = past.iter().map(|past| run.recovery(past, usual));
    let outcomes = run.outcomes();
    let (mut ends, mut bad) = (BTreeMap::<_, usize>::new(), BTreeMap::<_, usize>::new());
    for (name, outcome) in &outcomes {
        let cluster = name.split(' ').next().unwrap_or_default();
        *ends.entry(format!("{cluster}: {outcome}")).or_default() += 1;
    }
    for (_, seen, _) in &run.notes().bad {
        *bad.entry(*seen).or_default() += 1;
    }
    let seen = json!({
        "minutes": plan.length.as_secs_f64() / 60.0,
        "rate": plan.rate,
        "workloads": ends,
        "bad_writes": bad,
        "touched": waited.collect::<Vec<_>>(),
        "faults": recoveries.collect::<Vec<_>>(),
        "audit": {
            "hub": run.audit(0, &fleet.members[0].cluster, &past)?,
            "worker": run.audit(1, &fleet.members[1].cluster, &past)?,
        },
        "memory": memory,
    });
    Ok((outcomes, seen))
}

/// The path of the Workload that Kueue has made of a workload.
fn workload_of(client: &Client, name: &str) -> Result<String> {
    let all = path(KUEUE, TEAM, "workloads");
    let owned = |w: &Value| w["metadata"]["ownerReferences"][0]["name"] == *name;
    let mine = until("workload", SOON, || {
        Ok(client.list(&all)?.into_iter().find(owned))
    })?;
    Ok(format!("{all}/{}", text(&mine["metadata"]["name"])))
}

pub(super) fn run(folder: &Path, authority: &Authority) -> Option<()> {
    programs::all_there("soak", &PROGRAMS)?;
    let plan = report::need("MINUTES, RATE and SEED are numbers", Plan::new())?;
    let mut runs = Vec::new();
    for (policy, title) in [(true, "with the policy"), (false, "without the policy")] {
        report::section(&format!("soak {title}: {:?}", plan.length));
        let mut fleet = Fleet::needed("soak", &folder.join(title), authority)?;
        let run = one(plan, &mut fleet, policy);
        runs.extend(report::need("the run is read", run));
    }
    let [(outcomes, with), (others, without)] = &runs[..] else {
        return None;
    };
    report::section("soak: with the policy and without it");
    let versions = ["kube-apiserver", POLICY_SERVER].map(programs::version);
    let file = json!({"versions": versions, "with": with, "without": without});
    report::check(&format!("{FILE} is written"), write(&file));
    let line = |(name, end): (&String, &String)| format!("{name}: {end}");
    for (title, outcomes, run) in [("with", outcomes, with), ("without", others, without)] {
        for fault in list(&run["faults"]) {
            report::note(&format!("{title}: {fault}"));
        }
        let count = outcomes.len();
        let usual = ["Complete", "Completed", "Failed"];
        let bad = outcomes.iter().filter(|(_, end)| !usual.contains(&&***end));
        let what = format!("{title}: {count} workloads ended as they should");
        report::check(&what, nothing(count > 0, bad.map(line)));
        let touched = list(&run["touched"]);
        let connected = touched.iter().filter(|one| text(one).contains(CONNECTED));
        let what = "had to be touched, all of them taken while Kueue was not connected";
        let what = format!("{title}: {} {what}", touched.len());
        report::check(&what, nothing(true, connected));
    }
    let count = outcomes.len();
    let differ = outcomes
        .iter()
        .filter(|(name, end)| others.get(*name) != Some(*end));
    let what = format!("none of {count} outcomes differs from the run without the policy");
    report::check(&what, nothing(count > 0, differ.map(line)));
    for cluster in CLUSTERS {
        let audit = &with["audit"][cluster];
        let (denials, unanswered) = (&audit["denials"], &audit["unanswered"]);
        report::note(&format!(
            "{cluster}: denials {denials}, without an answer {unanswered}"
        ));
        let (judged, unexplained) = (&audit["judged"], list(&audit["unexplained"]));
        let what = "judged writes, rules and faults explain all that were refused";
        let what = format!("{cluster}: of {judged} {what}");
        report::check(&what, nothing(*judged != 0, unexplained));
    }
    let (bad, without) = (&with["bad_writes"], &without["bad_writes"]);
    let through = format!("{bad}, and without the policy {without}");
    let holds = bad[LET_THROUGH].is_null() && without[DENIED].is_null();
    report::check(
        &format!("no bad write is let through: {bad}"),
        nothing(!bad[DENIED].is_null(), (!holds).then_some(through)),
    );
    Some(())
}

fn write(file: &Value) -> Result<()> {
    fs::create_dir_all(root("target"))?;
    Ok(fs::write(root(FILE), serde_json::to_vec_pretty(file)?)?)
}
