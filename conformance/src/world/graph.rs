//! What follows from all pairs of a part: which rules are needed, and from where a Job cannot end.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Job, Matrix, World, upstream_rules};

/// How often each rule denies a pair: at all, alone, and alone a Job that was written under the rules from the start.
#[derive(Debug, Default, Clone)]
pub struct Alone(BTreeMap<&'static str, [u64; 3]>);

impl Alone {
    pub(super) fn add(&mut self, matrix: &Matrix, world: &World) {
        let lawful = if world.sub_resource.is_empty() {
            vec![true; matrix.jobs]
        } else {
            reached(matrix.jobs, [0], |from, to| matrix.fired(from, to) == 0)
        };
        for (place, rule) in upstream_rules().enumerate() {
            let all = self.0.entry(rule.id()).or_default();
            for (old, _, fired) in matrix.all().filter(|(.., fired)| fired >> place & 1 == 1) {
                let is_alone = fired.is_power_of_two();
                let is_lawful = lawful.get(old) == Some(&true);
                let holds = [true, is_alone, is_alone && is_lawful];
                for (count, holds) in all.iter_mut().zip(holds) {
                    *count = count.saturating_add(u64::from(holds));
                }
            }
        }
    }

    /// Each rule that fired, with how often: at all, alone, and alone on a lawful Job.
    pub fn rules(&self) -> impl Iterator<Item = (&'static str, [u64; 3])> {
        let all = self.0.iter().map(|(id, counts)| (*id, *counts));
        all.filter(|(_, [fired, ..])| *fired > 0)
    }
}

/// A sort of Jobs that cannot end, or that have ended and cannot be written any more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trap {
    /// What they cannot do.
    pub what: &'static str,
    /// The conditions that are True.
    pub conditions: Vec<&'static str>,
    /// The rules that deny even an update that changes nothing.
    pub rules: Vec<&'static str>,
}

/// How many Jobs of a sort there are, and their specs.
#[derive(Debug, Default, Clone)]
pub struct Stuck(BTreeMap<Trap, (u64, BTreeSet<String>)>);

impl Stuck {
    pub(super) fn add(&mut self, matrix: &Matrix, group: &[Job]) {
        let places = group.iter().enumerate();
        let finished = places.clone().filter(|(_, job)| job.is_finished());
        let finished = finished.map(|(place, _)| place);
        // Backwards, from the ends.
        let may_end = reached(group.len(), finished, |to, from| {
            matrix.fired(from, to) == 0
        });
        for (place, job) in places {
            let can_be_written = (0..group.len()).any(|to| matrix.fired(place, to) == 0);
            let what = match (may_end.get(place) == Some(&true), can_be_written) {
                (true, false) => "have ended and cannot be written",
                (false, true) => "cannot end",
                (false, false) => "cannot end and cannot be written",
                (true, true) => continue,
            };
            let fired = matrix.fired(place, place);
            let rules = upstream_rules().enumerate();
            let rules = rules.filter(|(place, _)| fired >> place & 1 == 1);
            let ends = ["SuccessCriteriaMet", "FailureTarget", "Complete", "Failed"];
            let trap = Trap {
                what,
                conditions: ends.into_iter().filter(|name| job.is_true(name)).collect(),
                rules: rules.map(|(_, rule)| rule.id()).collect(),
            };
            let spec = ["/spec/completionMode", "/spec/successPolicy"];
            let spec = spec.map(|place| match job.value(place) {
                Value::Null => String::new(),
                value => value.to_string(),
            });
            let (count, specs) = self.0.entry(trap).or_default();
            *count = count.saturating_add(1);
            specs.insert(spec.join(" "));
        }
    }

    /// Each sort.
    pub fn traps(&self) -> impl Iterator<Item = (&Trap, &(u64, BTreeSet<String>))> {
        self.0.iter()
    }
}

/// What is reached from some places by steps.
fn reached(
    places: usize,
    from: impl IntoIterator<Item = usize>,
    is_step: impl Fn(usize, usize) -> bool,
) -> Vec<bool> {
    let mut reached = vec![false; places];
    let mut open: Vec<usize> = from.into_iter().collect();
    for place in &open {
        reached
            .iter_mut()
            .skip(*place)
            .take(1)
            .for_each(|is| *is = true);
    }
    while let Some(place) = open.pop() {
        for (next, is) in reached.iter_mut().enumerate().filter(|(_, is)| !**is) {
            if is_step(place, next) {
                *is = true;
                open.push(next);
            }
        }
    }
    reached
}
