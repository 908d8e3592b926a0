//! Recorded histories, chunk by chunk.

use managed_by::{ReleaseSet, Settings};
use managed_by_offline::replay::{ObjectName, Row, RowKey, Said, Seen};
use managed_by_offline::{Judge, Replay, Step, Tally, complete};
use self_cell::self_cell;
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error::Error;
use crate::settings;
use crate::verdict::{ReviewVerdict, names};

self_cell!(
    /// A replay with the settings that it reads.
    struct Owned {
        owner: String,
        #[not_covariant]
        dependent: Replay,
    }
);

/// A history that is being replayed.
#[wasm_bindgen]
pub struct Replaying {
    replay: Owned,
    /// What came and may go on.
    rest: Vec<u8>,
    lines: u64,
}

/// Something to tell of a history: a request with findings, or what could not be judged.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ReplayStep {
    /// The line of the history, from 1, in which the document begins.
    #[cfg_attr(feature = "package", ts(type = "number"))]
    pub line: u64,
    /// When it happened, if the record says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub time: Option<String>,
    /// What it is about; its parts are empty where nobody knows.
    pub object: ObjectName,
    /// What was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional, type = "\"CREATE\" | \"UPDATE\""))]
    pub operation: Option<&'static str>,
    /// Whether the status was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional, type = "\"status\""))]
    pub sub_resource: Option<&'static str>,
    /// `true` where the object was stored with its status before the history begins: nobody asked for it, so that it is
    /// allowed whatever the rules find.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional, type = "true"))]
    pub stored: Option<bool>,
    /// Who asked, if the record says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub username: Option<String>,
    /// The answer, if it could be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub verdict: Option<ReviewVerdict>,
    /// Why it could not be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional, type = "Unjudged"))]
    pub unjudged: Option<&'static str>,
    /// The same as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub message: Option<String>,
}

/// The sums of a history.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "ReplaySums"))]
pub struct ReplayTally {
    /// How much there was.
    pub counts: ReplayCounts,
    /// What the rules found, by kind and rule.
    pub rows: Vec<ReplayRow>,
    /// Kinds that the policy does not know: `Pod`, `Deployment.apps`.
    pub unknown: Vec<String>,
}

/// How much a history has of everything.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ReplayCounts {
    /// Lines.
    #[cfg_attr(feature = "package", ts(type = "number"))]
    pub lines: u64,
    /// Documents.
    #[cfg_attr(feature = "package", ts(type = "number"))]
    pub documents: u64,
    /// Requests that were judged.
    #[cfg_attr(feature = "package", ts(type = "number"))]
    pub judged: u64,
    /// Those of them that were denied.
    #[cfg_attr(feature = "package", ts(type = "number"))]
    pub denied: u64,
    /// Those that were allowed with a warning.
    #[cfg_attr(feature = "package", ts(type = "number"))]
    pub warned: u64,
    /// Objects that were stored with a status before the history begins. They are no requests.
    #[cfg_attr(feature = "package", ts(type = "number"))]
    pub stored: u64,
    /// Those of them in which rules found something.
    #[cfg_attr(feature = "package", ts(type = "number"))]
    pub stored_found: u64,
    /// Documents that could not be judged.
    #[cfg_attr(feature = "package", ts(type = "number"))]
    pub unjudged: u64,
    /// Writes that the API server itself had refused.
    #[cfg_attr(feature = "package", ts(type = "number"))]
    pub refused: u64,
    /// Objects whose last state is kept, because they live.
    pub live: usize,
}

/// How often a rule fired on objects of a kind.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct ReplayRow {
    /// `Job.batch`
    pub kind: String,
    /// The rule's id.
    #[cfg_attr(feature = "package", ts(type = "RuleId"))]
    pub rule: &'static str,
    /// Whether it denied or warned.
    #[cfg_attr(feature = "package", ts(type = "\"deny\" | \"warn\""))]
    pub enforcement: &'static str,
    /// Whether the objects were stored before the history begins, so that nobody was denied.
    pub stored: bool,
    /// How often.
    #[cfg_attr(feature = "package", ts(type = "number"))]
    pub count: u64,
    /// The releases that find it, where all are asked, or where not all do.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub releases: Option<Vec<&'static str>>,
    /// The line of the first time.
    #[cfg_attr(feature = "package", ts(type = "number"))]
    pub first_line: u64,
    /// When that was, if the record says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub first_time: Option<String>,
    /// The line of the last time.
    #[cfg_attr(feature = "package", ts(type = "number"))]
    pub last_line: u64,
    /// When that was, if the record says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub last_time: Option<String>,
    /// The first object.
    pub object: ObjectName,
    /// Who wrote it, if the record says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "package", ts(optional))]
    pub username: Option<String>,
}

#[wasm_bindgen]
impl Replaying {
    /// An empty history. It asks all releases, or the one that the settings choose.
    ///
    /// # Errors
    /// A [`Error`] as JSON, as `{"Err": ...}`.
    #[wasm_bindgen(constructor)]
    pub fn new(settings: &str, all_releases: bool) -> Result<Self, String> {
        let owned = || -> Result<Owned, Error> {
            let releases = all_releases.then(ReleaseSet::all);
            Owned::try_new(settings::json(settings)?, |json| {
                let settings = Settings::from_json(json.as_bytes());
                let settings = settings.map_err(|p| Error::argument("settings", &p.to_string()))?;
                Ok(Replay::new(Judge::new(settings.for_tools(), releases)))
            })
        };
        let replay = owned().map_err(|malformed| crate::answer::<()>(&Err(malformed)))?;
        Ok(Self {
            replay,
            rest: Vec::new(),
            lines: 0,
        })
    }

    /// Judges what is complete with these bytes, and returns the steps to tell of as JSON.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        self.take(complete(&self.rest, false))
    }

    /// Judges what is left: nothing more comes.
    pub fn finish(&mut self) -> String {
        self.take(self.rest.len())
    }

    /// The sums up to now, as JSON.
    pub fn tally(&self) -> String {
        let lines = self.lines;
        self.replay.with_dependent(|_, replay| {
            let tally = ReplayTally::of(replay.tally(), lines, replay.live());
            crate::answer(&Ok(tally))
        })
    }

    fn take(&mut self, count: usize) -> String {
        let rest = self.rest.split_off(count.min(self.rest.len()));
        let bytes = std::mem::replace(&mut self.rest, rest);
        let mut steps = Vec::new();
        let lines = self.lines;
        let more = self.replay.with_dependent_mut(|_, replay| {
            replay.chunk(&bytes, 0, lines, |step| steps.push(ReplayStep::of(step)))
        });
        self.lines = lines.saturating_add(more);
        crate::answer(&Ok(steps))
    }
}

impl ReplayStep {
    fn of(step: Step) -> Self {
        let mut told = Self {
            line: step.seen.line,
            time: step.seen.time,
            object: step.object,
            operation: None,
            sub_resource: None,
            stored: None,
            username: None,
            verdict: None,
            unjudged: None,
            message: None,
        };
        match step.said {
            Said::Found(request) => {
                told.operation = Some(request.asks.operation());
                told.stored = request.asks.is_stored().then_some(true);
                told.sub_resource = Some(request.asks.sub_resource()).filter(|sub| !sub.is_empty());
                told.username = request.user;
                told.verdict = Some(ReviewVerdict::of(request.judgement));
            }
            Said::Unjudged(unjudged) => {
                told.unjudged = Some(unjudged.why.as_str());
                told.message = Some(unjudged.text);
            }
        }
        told
    }
}

impl ReplayTally {
    fn of(tally: &Tally, lines: u64, live: usize) -> Self {
        Self {
            counts: ReplayCounts {
                lines,
                documents: tally.documents,
                judged: tally.judged,
                denied: tally.denied,
                warned: tally.warned,
                stored: tally.stored,
                stored_found: tally.stored_found,
                unjudged: tally.unjudged_count(),
                refused: tally.refused,
                live,
            },
            rows: tally.rows.iter().map(ReplayRow::of).collect(),
            unknown: tally.unknown.iter().map(|(kind, _)| kind.clone()).collect(),
        }
    }
}

impl ReplayRow {
    fn of((key, row): &(RowKey, Row)) -> Self {
        let Row { first, last, .. } = row;
        let time = |seen: &Seen| seen.time.clone();
        Self {
            kind: key.kind.clone(),
            rule: key.rule,
            enforcement: if key.is_denied { "deny" } else { "warn" },
            stored: key.is_stored,
            count: row.count,
            releases: row.releases.map(names),
            first_line: first.line,
            first_time: time(first),
            last_line: last.line,
            last_time: time(last),
            object: row.object.clone(),
            username: row.user.clone(),
        }
    }
}
