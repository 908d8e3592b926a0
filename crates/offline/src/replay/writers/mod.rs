//! Finds the writers of each status in audit logs, as candidates for `builtin_status_writers` and `status_writers` in the
//! settings.

mod event;

use std::collections::BTreeMap;

use managed_by::{Settings, SettingsErrors, kinds};

use event::{AuditEvent, StatusReconciler, StatusWrite, TrackedKind};

use super::parallel::par_flat_map;
use super::step::RecordPosition;
use super::tally::{add, increment};
use crate::json::{Members, elements};
use crate::record::read_audited;
use crate::skipped::{SkipReason, SkippedRecord};
use crate::split::SourceDocument;

/// Collector of the users that write the status of workloads, from audit logs.
#[derive(Debug, Default)]
pub struct StatusWriterCollector {
    kinds: Vec<TrackedKind>,
    /// Writers per kind, keyed by the index of the first tracked kind with that name.
    builtin: BTreeMap<usize, Users>,
    /// Writers per controller name.
    delegated: BTreeMap<String, Users>,
    totals: WriterTotals,
}

type Users = BTreeMap<String, StatusWriter>;

/// Totals of the audit logs that were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriterTotals {
    pub documents: u64,
    /// Number of workload status writes attributed to a [`StatusWriter`], including writes denied by a status writer rule.
    pub writes: u64,
    /// Number of those writes with a finding of a status writer rule. The policy denied them, unless it is in mode `monitor` or the rule
    /// only warns.
    pub with_findings: u64,
    /// Number of status writes rejected for other reasons, including other rules of the policy. Not included in `writes`.
    pub rejected: u64,
    /// Number of status writes of other kinds: unknown kinds, and kinds that only contain a workload template, such as CronJobs.
    /// Not included in `writes`.
    pub other: u64,
    /// Number of status writes for which the event does not show whether the object is delegated.
    pub unknown_reconciler: u64,
    /// Number of unreadable records per reason.
    pub skipped: BTreeMap<SkipReason, u64>,
}

/// A user that writes a status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusWriter {
    /// The user name in the admission request.
    pub user: String,
    pub writes: u64,
    /// Number of writes with a finding of a status writer rule.
    pub with_findings: u64,
    pub first: RecordPosition,
}

/// Status writers, grouped as in the settings: `builtin_status_writers` by kind, `status_writers` by controller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusWriterLists {
    /// Writers of the status of objects that are not delegated, by kind.
    pub builtin: Vec<(String, Vec<StatusWriter>)>,
    /// Writers of the status of delegated objects, by controller name.
    pub delegated: Vec<(String, Vec<StatusWriter>)>,
    pub totals: WriterTotals,
}

impl StatusWriterCollector {
    /// Creates an empty collector. `settings` is the policy's settings as JSON; they may declare custom kinds.
    pub fn new(settings: &str) -> Result<Self, SettingsErrors> {
        let mut kinds: Vec<_> = kinds()
            .iter()
            .filter_map(|kind| TrackedKind::new(kind))
            .collect();
        let parsed = Settings::from_json(settings.as_bytes())?;
        let declared = Members::parse(settings).and_then(|all| all.get("custom_kinds"));
        for kind in declared.and_then(elements).unwrap_or_default() {
            kinds.extend(TrackedKind::from_custom_kind(kind, &parsed));
        }
        Ok(Self {
            kinds,
            ..Self::default()
        })
    }

    /// Returns the number of counted status writes so far.
    pub fn writes(&self) -> u64 {
        self.totals.writes
    }

    /// Reads documents and passes unreadable ones to a callback, in document order.
    pub fn read_documents(
        &mut self,
        documents: &[SourceDocument<'_>],
        mut each: impl FnMut(RecordPosition, SkippedRecord),
    ) {
        self.totals.documents = add(self.totals.documents, documents.len());
        let kinds = &*self.kinds;
        let events = par_flat_map(documents, |document, events| {
            read_audited(document.bytes, |lines, audited| {
                let position = RecordPosition {
                    source: document.source,
                    line: add(document.lines_before, lines.saturating_add(1)),
                    time: None,
                };
                events.push((position, AuditEvent::classify(audited, kinds)));
            });
        });
        for (position, event) in events {
            let totals = &mut self.totals;
            match event {
                AuditEvent::Ignored => {}
                AuditEvent::OtherKind => increment(&mut totals.other),
                AuditEvent::Rejected => increment(&mut totals.rejected),
                AuditEvent::UnknownReconciler => increment(&mut totals.unknown_reconciler),
                AuditEvent::StatusWrite(write) => self.count(write, &position),
                AuditEvent::Skipped(skipped) => {
                    increment(totals.skipped.entry(skipped.reason).or_default());
                    each(position, skipped);
                }
            }
        }
    }

    fn count(&mut self, write: StatusWrite<'_>, position: &RecordPosition) {
        let totals = &mut self.totals;
        let users = match write.reconciler {
            StatusReconciler::BuiltIn => self.builtin.entry(write.kind).or_default(),
            StatusReconciler::Delegated(name) => {
                self.delegated.entry(name.into_owned()).or_default()
            }
        };
        let writer = users
            .entry(write.user.clone())
            .or_insert_with(|| StatusWriter {
                user: write.user,
                writes: 0,
                with_findings: 0,
                first: position.clone(),
            });
        increment(&mut writer.writes);
        increment(&mut totals.writes);
        if write.has_finding {
            increment(&mut writer.with_findings);
            increment(&mut totals.with_findings);
        }
    }

    /// Returns the collected writers, the most frequent first in each list.
    pub fn finish(self) -> StatusWriterLists {
        let builtin = self.builtin.into_iter().filter_map(|(index, users)| {
            let kind = self.kinds.get(index)?;
            Some((kind.name.clone(), sorted(users)))
        });
        let delegated = self.delegated.into_iter();
        StatusWriterLists {
            builtin: builtin.collect(),
            delegated: delegated
                .map(|(name, users)| (name, sorted(users)))
                .collect(),
            totals: self.totals,
        }
    }
}

fn sorted(users: Users) -> Vec<StatusWriter> {
    let mut writers: Vec<_> = users.into_values().collect();
    // The sort is stable, so equal counts stay sorted by name.
    writers.sort_by_key(|writer| std::cmp::Reverse(writer.writes));
    writers
}
