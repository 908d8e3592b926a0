//! The data of a report. Its JSON has the same names in camel case.

use managed_by::{Release, ReleaseSet};
use serde::Serialize;

/// Result of evaluating a controller's writes, by rule and release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Version of this format.
    pub format: u32,
    /// Value of `managedBy` in the controller's objects.
    pub controller: String,
    /// Releases, in the order of the cells of each row.
    pub releases: Vec<String>,
    /// Number of objects.
    pub objects: u64,
    /// Number of evaluated writes, including status writes.
    pub writes: u64,
    /// Number of status writes.
    pub status_writes: u64,
    /// Number of skipped writes to objects of other controllers.
    pub other_controllers: u64,
    /// Number of records that could not be evaluated. If there are any, the report has no result.
    pub skipped: u64,
    /// Releases that would not have denied any write, and in which at least one rule was exercised.
    pub conforms_to: Vec<String>,
    /// Rules, in the order in which kube-apiserver checks them.
    pub rows: Vec<Row>,
    /// Objects with at least one denied write.
    pub timelines: Vec<Timeline>,
    /// Number of further objects with denied writes.
    pub omitted_timelines: u64,
}

/// The results of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Rule id.
    pub rule: &'static str,
    /// Title of the rule.
    pub title: &'static str,
    /// True for kube-apiserver's rules, false for this project's rules for custom resources.
    pub is_upstream: bool,
    /// Results, one per release.
    pub cells: Vec<Cell>,
}

/// The result of a rule in a release.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Cell {
    /// State of the rule.
    pub state: State,
    /// Number of writes that exercised the rule.
    pub exercised: u64,
    /// Number of writes that the rule would have denied.
    pub denied: u64,
}

/// State of a rule in a release.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The release does not have the rule.
    NotInRelease,
    /// No write exercised the rule. This is not a pass.
    #[default]
    Untested,
    /// Writes exercised the rule, and it denied none.
    Passed,
    /// The rule would have denied a write.
    Denied,
}

/// The writes of an object with at least one denied write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// Object name: `Job.batch team-a/pi`.
    pub object: String,
    /// Writes in recorded order.
    pub steps: Vec<Step>,
    /// Number of omitted writes.
    pub omitted: u64,
}

/// A write in a timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Location in the recording: `watch.ndjson:17`.
    pub location: String,
    /// Time of the write, if recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Type of write: `created`, `spec updated` or `status updated`.
    pub operation: &'static str,
    /// Denials; empty if every release accepts the write.
    pub denials: Vec<Denial>,
    /// Written part of the object before and after a denied write, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before_and_after: Option<(String, String)>,
}

/// A denial of a write by a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Denial {
    /// Rule id.
    pub rule: &'static str,
    /// Releases that deny: `1.31 to 1.37`.
    pub releases: String,
    /// Error text of the newest of these releases.
    pub text: String,
}

impl Report {
    /// Returns the row of a rule.
    pub fn row(&self, rule: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.rule == rule)
    }

    /// Returns the rules that no write exercised in any release.
    pub fn untested(&self) -> impl Iterator<Item = &Row> {
        let never = |row: &&Row| row.cells.iter().all(|cell| cell.exercised == 0);
        self.rows.iter().filter(never)
    }

    /// Returns the text of the badge: `status conforms to 1.30 to 1.37`.
    pub fn badge_text(&self) -> String {
        match self.skipped {
            0 => {}
            1 => return "status: no result, 1 record could not be evaluated".to_owned(),
            all => return format!("status: no result, {all} records could not be evaluated"),
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
