//! A small world: every pair of two Jobs that the rules can tell apart, asked of upstream's code and of the library.
//!
//! All fields at once are too many. A rule reads few of them, so each part ([`worlds`]) holds all pairs over some fields.
//! [`joint`] sees that this loses nothing: in Jobs that take any value in every field, each rule says what it says
//! in one of the parts, which looks at its own fields only.

mod graph;
mod jobs;

use std::io::Write as _;
use std::num::NonZero;
use std::process::ChildStdin;
use std::thread;

use anyhow::{Context as _, Result};
use managed_by::{AdmissionRequest, Enforcement, Release, Rule, Settings, Verdict, review, rules};
use serde_json::{Value, json};

use crate::compare::{as_answer, same};
use crate::generate::Generator;
use crate::oracle::{Answers, Oracle, Pairs};
use crate::vector::Case;

pub use graph::{Alone, Stuck};
pub use jobs::{Job, World, worlds};

/// How many Jobs of any values are asked about together.
const JOINT: usize = 40;

/// The rules that fired, as bits, in the order of [`upstream_rules`].
type Fired = u64;

/// The rules of kube-apiserver.
pub fn upstream_rules() -> impl Iterator<Item = &'static Rule> {
    rules().iter().copied().filter(|rule| rule.is_upstream())
}

/// What one release says to a group of Jobs, where the library says the same.
pub struct Matrix {
    /// For each pair the place of what is said to it.
    places: Vec<u32>,
    /// The rules of each thing that is said.
    fired: Vec<Fired>,
    jobs: usize,
}

impl Matrix {
    /// The rules that deny the update from one Job to another.
    fn fired(&self, old: usize, new: usize) -> Fired {
        let pair = old.saturating_mul(self.jobs).saturating_add(new);
        let place = self.places.get(pair).copied().unwrap_or(u32::MAX);
        let fired = self.fired.get(place as usize).copied();
        fired.unwrap_or(Fired::MAX)
    }

    /// Those of all pairs, with each pair.
    fn all(&self) -> impl Iterator<Item = (usize, usize, Fired)> {
        let old = 0..self.jobs;
        old.flat_map(move |old| (0..self.jobs).map(move |new| (old, new, self.fired(old, new))))
    }
}

/// What one release said to one part.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    /// Pairs asked.
    pub pairs: u64,
    /// Pairs that it denies.
    pub denied: u64,
    /// Pairs on which upstream and the library differ.
    pub mismatches: u64,
    /// The first of them.
    pub first: Option<String>,
}

/// A release that is asked.
struct Asked {
    release: Release,
    settings: Settings<'static>,
    oracle: Oracle,
    input: ChildStdin,
    answers: Answers,
}

/// The programs of some releases, side by side.
pub struct Upstream(Vec<Asked>);

impl Upstream {
    /// Starts them.
    ///
    /// # Errors
    /// If one is not built.
    pub fn start(releases: &[Release]) -> Result<Self> {
        let start = |&release: &Release| {
            let mut oracle = Oracle::start(release)?;
            let (input, answers) = oracle.pipes()?;
            Ok(Asked {
                release,
                settings: Settings::for_release(release).for_tools(),
                oracle,
                input,
                answers,
            })
        };
        let asked: Result<_> = releases.iter().map(start).collect();
        asked.map(Self)
    }

    /// Ends them.
    ///
    /// # Errors
    /// If one does not end well.
    pub fn finish(self) -> Result<()> {
        for Asked { oracle, input, .. } in self.0 {
            drop(input);
            oracle.finish()?;
        }
        Ok(())
    }

    /// Asks about all pairs of a group, and adds to the tally of each release.
    ///
    /// # Errors
    /// As [`crate::oracle::ask`].
    pub fn ask(
        &mut self,
        sub_resource: &str,
        group: &[Job],
        tallies: &mut [Tally],
    ) -> Result<Vec<Matrix>> {
        let objects: Vec<_> = group.iter().map(Job::object).collect();
        let name = format!("{} Jobs", group.len());
        let question = json!({"name": name, "operation": "UPDATE", "subResource": sub_resource, "objects": objects});
        let question = format!("{question}\n");
        for Asked { input, .. } in &mut self.0 {
            let sent = input.write_all(question.as_bytes());
            sent.with_context(|| name.clone())?;
        }
        let mut pairs = Vec::new();
        for Asked {
            release, answers, ..
        } in &mut self.0
        {
            pairs.push(answers.next_pairs(*release, &name)?);
        }
        let requests = Requests::of(sub_resource, &objects);
        let mut matrices = Vec::new();
        let compared = self.compare(&requests, &pairs);
        for ((tally, compared), pairs) in tallies.iter_mut().zip(compared).zip(pairs) {
            tally.mismatches = tally.mismatches.saturating_add(compared.mismatches);
            tally.first = tally.first.take().or(compared.first);
            let matrix = Matrix {
                places: pairs.places,
                fired: compared.fired,
                jobs: group.len(),
            };
            for (_, _, fired) in matrix.all() {
                tally.pairs = tally.pairs.saturating_add(1);
                tally.denied = tally.denied.saturating_add(u64::from(fired != 0));
            }
            matrices.push(matrix);
        }
        Ok(matrices)
    }

    /// The library's answers beside upstream's, on all cores.
    fn compare(&self, requests: &Requests, pairs: &[Pairs]) -> Vec<Compared> {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let new = || {
            pairs
                .iter()
                .map(|pairs| Compared::new(pairs.answers.len()))
                .collect::<Vec<_>>()
        };
        let part = &|first: usize| {
            let mut all = new();
            for old in (first..requests.objects.len()).step_by(cores) {
                for new in 0..requests.objects.len() {
                    self.compare_pair(requests, (old, new), pairs, &mut all);
                }
            }
            all
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..cores)
                .map(|first| scope.spawn(move || part(first)))
                .collect();
            let mut all = new();
            for thread in threads {
                // A part that panicked has compared nothing.
                let part = thread.join().unwrap_or_default();
                for (all, part) in all.iter_mut().zip(part) {
                    all.add(part);
                }
            }
            all
        })
    }

    fn compare_pair(
        &self,
        requests: &Requests,
        (old, new): (usize, usize),
        pairs: &[Pairs],
        all: &mut [Compared],
    ) {
        let text = requests.text(old, new);
        let request = AdmissionRequest::from_json(text.as_bytes());
        let pair = old
            .saturating_mul(requests.objects.len())
            .saturating_add(new);
        for ((asked, pairs), compared) in self.0.iter().zip(pairs).zip(all) {
            let place = pairs
                .places
                .get(pair)
                .map_or(usize::MAX, |place| *place as usize);
            let upstream = pairs.answers.get(place);
            let ours = request.as_ref().map(|request| {
                let verdict = review(request, &asked.settings);
                (fired(&verdict), as_answer(&verdict, asked.release))
            });
            match (upstream, ours) {
                (Some(upstream), Ok((fired, ours)))
                    if same(upstream, &ours) && compared.learn(place, fired) => {}
                (upstream, ours) => compared.differ(|| {
                    let ours = ours.map(|(_, answer)| answer);
                    format!(
                        "{}: {text}\nupstream: {upstream:?}\nthe library: {ours:?}",
                        asked.release
                    )
                }),
            }
        }
    }
}

/// What a comparison of a group found for one release.
struct Compared {
    mismatches: u64,
    first: Option<String>,
    /// The rules of each of upstream's answers; [`Fired::MAX`] as long as no pair has shown them.
    fired: Vec<Fired>,
}

impl Compared {
    fn new(answers: usize) -> Self {
        Self {
            mismatches: 0,
            first: None,
            fired: vec![Fired::MAX; answers],
        }
    }

    /// Notes the rules of an answer; false if they have been others.
    fn learn(&mut self, place: usize, fired: Fired) -> bool {
        let Some(known) = self.fired.get_mut(place) else {
            return false;
        };
        let is_same = *known == Fired::MAX || *known == fired;
        *known = fired;
        is_same
    }

    fn differ(&mut self, how: impl FnOnce() -> String) {
        self.mismatches = self.mismatches.saturating_add(1);
        self.first.get_or_insert_with(how);
    }

    fn add(&mut self, part: Self) {
        self.mismatches = self.mismatches.saturating_add(part.mismatches);
        self.first = self.first.take().or(part.first);
        for (place, fired) in part.fired.into_iter().enumerate() {
            if fired != Fired::MAX && !self.learn(place, fired) {
                self.differ(|| format!("other rules with the same text: {fired:b}"));
            }
        }
    }
}

fn fired(verdict: &Verdict<'_>) -> Fired {
    let denying = verdict.findings.iter();
    let denying = denying.filter(|(level, _)| *level == Enforcement::Deny);
    denying.fold(0, |fired, (_, finding)| {
        let is = |rule: &Rule| rule.id() == finding.rule().id();
        fired | upstream_rules().position(is).map_or(0, |place| 1 << place)
    })
}

/// The requests of a group, as text around the text of its objects.
struct Requests {
    head: String,
    objects: Vec<String>,
}

impl Requests {
    fn of(sub_resource: &str, objects: &[Value]) -> Self {
        let case = Case {
            name: String::new(),
            operation: "UPDATE".to_owned(),
            sub_resource: sub_resource.to_owned(),
            object: objects.first().cloned().unwrap_or_default(),
            old_object: None,
        };
        let mut head = case.request();
        if let Some(members) = head.as_object_mut() {
            members.remove("object");
        }
        let mut head = head.to_string();
        // The objects follow.
        head.pop();
        Self {
            head,
            objects: objects.iter().map(Value::to_string).collect(),
        }
    }

    fn text(&self, old: usize, new: usize) -> String {
        let object = |place: usize| self.objects.get(place).map_or("", String::as_str);
        format!(
            r#"{},"oldObject":{},"object":{}}}"#,
            self.head,
            object(old),
            object(new)
        )
    }
}

/// What a run has seen of each release.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    /// How often each rule fired, alone and at all.
    pub alone: Alone,
    /// The Jobs that nobody can end.
    pub stuck: Stuck,
}

/// All pairs of a part: a tally of each release, with what it adds to what was seen of the release.
///
/// # Errors
/// As [`Upstream::ask`].
pub fn exhaust(upstream: &mut Upstream, world: &World, seen: &mut [Seen]) -> Result<Vec<Tally>> {
    let mut tallies = vec![Tally::default(); seen.len()];
    for group in world.groups() {
        let matrices = upstream.ask(&world.sub_resource, &group, &mut tallies)?;
        for (matrix, seen) in matrices.iter().zip(&mut *seen) {
            seen.alone.add(matrix, world);
            if world.may_end {
                seen.stuck.add(matrix, &group);
            }
        }
    }
    Ok(tallies)
}

/// Jobs with any value in every field: a tally of each release, and the rules that said of some of them what they say in
/// no part of the world.
///
/// # Errors
/// As [`Upstream::ask`].
pub fn joint(
    upstream: &mut Upstream,
    groups: u64,
    seed: u64,
) -> Result<(Vec<Tally>, Vec<&'static str>)> {
    let releases = upstream.0.len();
    let mut tallies = vec![Tally::default(); releases];
    let mut generator = Generator::new(seed);
    let parts = || {
        worlds()
            .iter()
            .filter(|world| world.sub_resource == "status")
    };
    let mut decided = vec![vec![Fired::MAX; parts().count()]; releases];
    let mut fired: Fired = 0;
    for _ in 0..groups {
        let first = Job::any(&mut generator, None);
        let group: Vec<_> = (0..JOINT)
            .map(|_| Job::any(&mut generator, Some(&first)))
            .collect();
        let whole = upstream.ask("status", &group, &mut tallies)?;
        for (part, world) in parts().enumerate() {
            let group: Vec<_> = group.iter().map(|job| world.seen(job)).collect();
            // Pairs of the part, which are counted there.
            let mut ignored = vec![Tally::default(); releases];
            let of_part = upstream.ask("status", &group, &mut ignored)?;
            for ((whole, of_part), decided) in whole.iter().zip(of_part).zip(&mut decided) {
                for ((.., whole), (.., of_part)) in whole.all().zip(of_part.all()) {
                    fired |= whole;
                    if let Some(decided) = decided.get_mut(part) {
                        *decided &= !(whole ^ of_part);
                    }
                }
            }
        }
    }
    let everywhere = decided
        .iter()
        .map(|parts| parts.iter().fold(0, |all, part| all | part));
    let decided = everywhere.fold(Fired::MAX, |all, release| all & release);
    let status = upstream_rules()
        .enumerate()
        .filter(|(_, rule)| rule.id().starts_with("job-status/"));
    let open = status.filter(|(place, _)| (decided & fired) >> place & 1 == 0);
    Ok((tallies, open.map(|(_, rule)| rule.id()).collect()))
}
