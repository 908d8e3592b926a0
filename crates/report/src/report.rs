//! The sums of a recording, as data.

use managed_by::{Release, ReleaseSet};
use serde::Serialize;

use crate::{badge, page};

/// What recorded writes met, by rule and release. The JSON of it has the same names, in camel case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The version of this format.
    pub format: u32,
    /// The name in `managedBy` whose objects were looked at.
    pub controller: String,
    /// The releases, in the order of the cells of each row.
    pub releases: Vec<String>,
    /// Objects that were seen.
    pub objects: u64,
    /// Writes that were judged, those of the status among them.
    pub writes: u64,
    /// Writes of the status.
    pub status_writes: u64,
    /// Writes of other objects, which were passed over.
    pub passed_over: u64,
    /// Records that could not be judged. If there are any, the recording shows no conformance.
    pub unjudged: u64,
    /// The releases that would have denied nothing, of those in which at least one rule was exercised.
    pub conforms_to: Vec<String>,
    /// The rules, in the order in which kube-apiserver checks them.
    pub rows: Vec<Row>,
    /// The objects with at least one write that would have been denied.
    pub timelines: Vec<Timeline>,
    /// How many more such objects there are.
    pub timelines_left_out: u64,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Its id.
    pub rule: &'static str,
    /// What it checks.
    pub title: &'static str,
    /// Whether it is kube-apiserver's, rather than this project's for custom resources.
    pub is_upstream: bool,
    /// A cell for each release.
    pub cells: Vec<Cell>,
}

/// A rule in a release.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cell {
    /// What the release makes of the rule.
    pub state: State,
    /// Writes that exercised the rule.
    pub exercised: u64,
    /// Writes that it would have denied.
    pub denied: u64,
}

/// What became of a rule in a release.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The release does not have the rule.
    Absent,
    /// No write exercised it. That is not a pass.
    #[default]
    Untested,
    /// It was exercised, and denied nothing.
    Passed,
    /// It would have denied a write.
    Denied,
}

/// The writes of an object, if at least one would have been denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// `Job.batch team-a/pi`
    pub object: String,
    /// Its writes, as they came.
    pub steps: Vec<Step>,
    /// Earlier writes that were accepted and are left out.
    pub left_out: u64,
}

/// A write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Where it was recorded: `watch.ndjson:17`.
    pub place: String,
    /// When, if the recording says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// What was written: `created`, `spec updated`, `status updated`.
    pub what: &'static str,
    /// What would have been denied.
    pub denials: Vec<Denial>,
    /// The part that was written as it was before and as it should become, as JSON, of a write that would have been denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before_and_after: Option<(String, String)>,
}

/// A denial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Denial {
    /// The rule.
    pub rule: &'static str,
    /// The releases that deny: `1.31 to 1.37`.
    pub releases: String,
    /// The words of the newest of them.
    pub text: String,
}

impl Report {
    /// The row of a rule.
    pub fn row(&self, rule: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.rule == rule)
    }

    /// The rules that no write exercised in any release.
    pub fn untested(&self) -> impl Iterator<Item = &Row> {
        let never = |row: &&Row| row.cells.iter().all(|cell| cell.exercised == 0);
        self.rows.iter().filter(never)
    }

    /// The report as one page of HTML that asks for nothing else.
    pub fn html(&self) -> String {
        page::html(self)
    }

    /// The badge as SVG, unless records could not be judged.
    pub fn badge(&self) -> Option<String> {
        (self.unjudged == 0).then(|| badge::svg(self))
    }

    /// What the badge says: `status conforms to 1.30 to 1.37`.
    pub fn badge_text(&self) -> String {
        match self.unjudged {
            0 => {}
            1 => return "status: no result, 1 record could not be judged".to_owned(),
            all => return format!("status: no result, {all} records could not be judged"),
        }
        if self.status_writes == 0 {
            return "status: no write recorded".to_owned();
        }
        let named = self.conforms_to.iter();
        let releases: ReleaseSet = named
            .filter_map(|name| name.parse::<Release>().ok())
            .collect();
        if releases.is_empty() {
            return "status conforms to no release".to_owned();
        }
        format!("status conforms to {releases}")
    }
}
