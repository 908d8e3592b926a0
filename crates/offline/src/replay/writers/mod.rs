//! Who wrote which status, as audit logs tell it: what `standard_status_writers` and `status_writers` in the settings can
//! list.

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

/// Reads audit logs, and remembers who wrote the status of which workloads.
#[derive(Debug)]
pub struct StatusWriters {
    targets: Vec<Target>,
    /// By the place of the kind among the targets, the first one of its name.
    standard: BTreeMap<usize, Users>,
    /// By the name of the controller.
    delegated: BTreeMap<String, Users>,
    sums: WriterSums,
}

/// The writers of something, by name.
type Users = BTreeMap<String, StatusWriter>;

/// The sums of the audit logs that were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriterSums {
    /// Documents that were read.
    pub documents: u64,
    /// Status writes of workloads that count. The ones that the policy denied are among them.
    pub writes: u64,
    /// How many of them the policy denied.
    pub denied: u64,
    /// How many of them the policy let through although one of its rules about writers found something: in mode `monitor`,
    /// or where the rule warns.
    pub found: u64,
    /// When the first of them was, and the last, as far as the events say.
    pub times: Option<(String, String)>,
    /// Status writes that the API server refused for another reason. They do not count.
    pub refused: u64,
    /// Status writes of other kinds: kinds that nobody knows, and kinds that only hold the template of a workload, such as
    /// CronJobs. They do not count.
    pub other: u64,
    /// Status writes whose events say neither that the object is delegated nor that it is not.
    pub undecided: u64,
    /// Where the first of these is.
    pub first_undecided: Option<Seen>,
    /// What could not be read, by reason, in their order.
    pub unjudged: Vec<(Why, u64)>,
}

/// Who wrote the status of something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusWriter {
    /// The name, as admission sees it.
    pub user: String,
    /// The kinds of the objects, by name.
    pub kinds: BTreeSet<String>,
    /// How often.
    pub writes: u64,
    /// How often the policy denied it.
    pub denied: u64,
    /// How often the policy let it through, but one of its rules about writers found something.
    pub found: u64,
    /// The first time.
    pub first: Seen,
}

/// Who wrote what, in the order in which the settings are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// The writers of the status of objects that are not delegated, by kind.
    pub standard: Vec<(String, Vec<StatusWriter>)>,
    /// The writers of the status of what is delegated to a controller, by its name.
    pub delegated: Vec<(String, Vec<StatusWriter>)>,
    /// The sums.
    pub sums: WriterSums,
}

impl StatusWriters {
    /// Nothing was read yet. The settings, as JSON, declare kinds.
    ///
    /// # Errors
    /// All problems of the settings.
    pub fn new(settings: &str) -> Result<Self, Problems> {
        let mut targets: Vec<Target> = kinds().iter().copied().filter_map(Target::of).collect();
        let read = Settings::from_json(settings.as_bytes())?;
        let declared = Members::of(settings).and_then(|all| all.get("custom_kinds"));
        for kind in declared.and_then(elements).unwrap_or_default() {
            targets.extend(Target::declared(kind, &read)?);
        }
        Ok(Self {
            targets,
            standard: BTreeMap::new(),
            delegated: BTreeMap::new(),
            sums: WriterSums::default(),
        })
    }

    /// How many status writes count up to now.
    pub fn writes(&self) -> u64 {
        self.sums.writes
    }

    /// Reads documents. What is to tell comes in their order.
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

    /// Adds what an event says, and hands back what is to be told.
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
            Whose::Standard => self.standard.entry(wrote.kind).or_default(),
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

    /// Who wrote what: of each list the most frequent writer first.
    pub fn finish(self) -> Written {
        let targets = self.targets;
        let of_kind = |(place, users): (usize, Users)| {
            let target = targets.get(place)?;
            Some((target.name.clone(), sorted(users)))
        };
        let of_controller = |(name, users): (String, Users)| (name, sorted(users));
        Written {
            standard: self.standard.into_iter().filter_map(of_kind).collect(),
            delegated: self.delegated.into_iter().map(of_controller).collect(),
            sums: self.sums,
        }
    }
}

fn sorted(users: Users) -> Vec<StatusWriter> {
    let mut writers: Vec<_> = users.into_values().collect();
    // The sort keeps the order of the names where counts are equal.
    writers.sort_by_key(|writer| std::cmp::Reverse(writer.writes));
    writers
}
