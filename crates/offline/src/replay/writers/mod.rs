//! Finds the writers of each status in audit logs, as candidates for `builtin_status_writers` and `status_writers` in the
//! settings.

mod event;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use managed_by::{Problems, Settings, kinds};

use event::{Reaction, Said, Target, Whose, Wrote};

use super::groups::in_groups;
use super::step::Seen;
use super::tally::{add, entry};
use crate::json::{Members, elements};
use crate::record::read_audited;
use crate::split::Part;
use crate::unjudged::{Unjudged, Why};

/// Collects the users that write the status of workloads, from audit logs.
#[derive(Debug)]
pub struct StatusWriters {
    targets: Vec<Target>,
    /// Writers per kind, keyed by the index of the first target with that name.
    builtin: BTreeMap<usize, Users>,
    /// Writers per controller name.
    delegated: BTreeMap<String, Users>,
    sums: WriterSums,
}

/// Status writers by user name.
type Users = BTreeMap<String, StatusWriter>;

/// Totals of the audit logs that were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriterSums {
    /// Number of documents read.
    pub documents: u64,
    /// Number of workload status writes that count, including writes denied by the policy.
    pub writes: u64,
    /// Number of those writes denied by the policy.
    pub denied: u64,
    /// Number of those writes that the policy allowed despite a finding of a status writer rule: in mode `monitor`, or
    /// because the rule only warns.
    pub found: u64,
    /// Times of the first and last of those writes, if the events contain them.
    pub times: Option<(String, String)>,
    /// Number of status writes that the API server rejected for other reasons. They do not count.
    pub refused: u64,
    /// Number of status writes of other kinds: unknown kinds, and kinds that only contain a workload template, such as
    /// CronJobs. They do not count.
    pub other: u64,
    /// Number of status writes for which the event does not show whether the object is delegated.
    pub undecided: u64,
    /// Position of the first undecided write.
    pub first_undecided: Option<Seen>,
    /// Number of unreadable records per reason, sorted by reason.
    pub unjudged: Vec<(Why, u64)>,
}

/// A user that writes a status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusWriter {
    /// The user name in the admission request.
    pub user: String,
    /// Names of the written kinds.
    pub kinds: BTreeSet<String>,
    /// Number of writes.
    pub writes: u64,
    /// Number of writes denied by the policy.
    pub denied: u64,
    /// Number of writes that the policy allowed despite a finding of a status writer rule.
    pub found: u64,
    /// Position of the first write.
    pub first: Seen,
}

/// Status writers, in the order of the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// Writers of the status of objects that are not delegated, by kind.
    pub builtin: Vec<(String, Vec<StatusWriter>)>,
    /// Writers of the status of delegated objects, by controller name.
    pub delegated: Vec<(String, Vec<StatusWriter>)>,
    /// Totals.
    pub sums: WriterSums,
}

impl StatusWriters {
    /// Creates an empty collector. `settings` is the policy's settings as JSON; they may declare custom kinds.
    ///
    /// # Errors
    /// Returns all problems of the settings.
    pub fn new(settings: &str) -> Result<Self, Problems> {
        let mut targets: Vec<Target> = kinds().iter().copied().filter_map(Target::of).collect();
        let read = Settings::from_json(settings.as_bytes())?;
        let declared = Members::of(settings).and_then(|all| all.get("custom_kinds"));
        for kind in declared.and_then(elements).unwrap_or_default() {
            targets.extend(Target::declared(kind, &read)?);
        }
        Ok(Self {
            targets,
            builtin: BTreeMap::new(),
            delegated: BTreeMap::new(),
            sums: WriterSums::default(),
        })
    }

    /// Returns the number of counted status writes so far.
    pub fn writes(&self) -> u64 {
        self.sums.writes
    }

    /// Reads documents and passes unreadable ones to `tell`, in document order.
    pub fn parts(&mut self, parts: &[Part<'_>], mut tell: impl FnMut(Seen, Unjudged)) {
        self.sums.documents = add(self.sums.documents, parts.len());
        let targets = &*self.targets;
        let said = in_groups(parts, |part, said| {
            read_audited(part.bytes, |lines, audited| {
                let line = add(part.lines_before, lines.saturating_add(1));
                let (source, time) = (part.source, None);
                said.push((Seen { source, line, time }, Said::of(audited, targets)));
            });
        });
        for (seen, said) in said {
            if let Some(unjudged) = self.add(said, &seen) {
                tell(seen, unjudged);
            }
        }
    }

    /// Counts one audit event. Returns the problem to report, if any.
    fn add(&mut self, said: Said<'_>, seen: &Seen) -> Option<Unjudged> {
        let sums = &mut self.sums;
        match said {
            Said::Nothing => {}
            Said::Other => sums.other = add(sums.other, 1),
            Said::Refused => sums.refused = add(sums.refused, 1),
            Said::Undecided => {
                sums.undecided = add(sums.undecided, 1);
                sums.first_undecided.get_or_insert_with(|| seen.clone());
            }
            Said::Written(wrote) => self.count(wrote, seen),
            Said::Unjudged(unjudged) => {
                if let Some(count) = entry(&mut sums.unjudged, unjudged.why, || 0) {
                    *count = add(*count, 1);
                }
                return Some(unjudged);
            }
        }
        None
    }

    fn count(&mut self, wrote: Wrote<'_>, seen: &Seen) {
        let time = wrote.time.map(Cow::into_owned);
        let sums = &mut self.sums;
        sums.writes = add(sums.writes, 1);
        if let Some(time) = &time {
            let (first, last) = sums
                .times
                .get_or_insert_with(|| (time.clone(), time.clone()));
            if time < first {
                first.clone_from(time);
            }
            if time > last {
                last.clone_from(time);
            }
        }
        let users = match wrote.whose {
            Whose::BuiltIn => self.builtin.entry(wrote.kind).or_default(),
            Whose::Delegated(name) => self.delegated.entry(name.into_owned()).or_default(),
        };
        let writer = users
            .entry(wrote.user.clone())
            .or_insert_with(|| StatusWriter {
                user: wrote.user,
                kinds: BTreeSet::new(),
                writes: 0,
                denied: 0,
                found: 0,
                first: Seen {
                    time,
                    ..seen.clone()
                },
            });
        if let Some(target) = self.targets.get(wrote.kind)
            && !writer.kinds.contains(&target.name)
        {
            writer.kinds.insert(target.name.clone());
        }
        writer.writes = add(writer.writes, 1);
        match wrote.reaction {
            Reaction::Nothing => {}
            Reaction::Found => {
                writer.found = add(writer.found, 1);
                sums.found = add(sums.found, 1);
            }
            Reaction::Denied => {
                writer.denied = add(writer.denied, 1);
                sums.denied = add(sums.denied, 1);
            }
        }
    }

    /// Returns the collected writers, the most frequent first in each list.
    pub fn finish(self) -> Written {
        let targets = self.targets;
        let of_kind = |(place, users): (usize, Users)| {
            let target = targets.get(place)?;
            Some((target.name.clone(), sorted(users)))
        };
        let of_controller = |(name, users): (String, Users)| (name, sorted(users));
        Written {
            builtin: self.builtin.into_iter().filter_map(of_kind).collect(),
            delegated: self.delegated.into_iter().map(of_controller).collect(),
            sums: self.sums,
        }
    }
}

fn sorted(users: Users) -> Vec<StatusWriter> {
    let mut writers: Vec<_> = users.into_values().collect();
    // The sort is stable, so equal counts stay sorted by name.
    writers.sort_by_key(|writer| std::cmp::Reverse(writer.writes));
    writers
}
