//! What there is to tell of a history.

use std::fmt;

use serde::Serialize;

use crate::asks::Asks;
use crate::judge::Judgement;
use crate::record::State;
use crate::unjudged::Unjudged;

/// Where something was recorded, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The number that the caller gave the source, such as the place of the file among the files.
    pub source: usize,
    /// The line of the source, from 1.
    pub line: u64,
    /// When, if the record says.
    pub time: Option<String>,
}

/// Something to tell of a history: a request with findings, or what could not be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Where it was recorded.
    pub seen: Seen,
    /// What it is about; empty where nobody knows.
    pub object: ObjectName,
    /// What it says.
    pub said: Said,
}

/// What is to tell of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A request that the rules found something in.
    Found(Box<Asked>),
    /// What could not be judged.
    Unjudged(Unjudged),
}

/// A request that was judged, or an object as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// What was asked for.
    pub asks: Asks,
    /// Who asked, if the record says.
    pub user: Option<String>,
    /// What the library said.
    pub judgement: Judgement,
}

/// An object, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "package", derive(ts_rs::TS), ts(rename = "ReplayObject"))]
pub struct ObjectName {
    /// API group; empty for the core group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Namespace; empty if it has none.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl ObjectName {
    /// The name that an object has in a state.
    pub(crate) fn of(state: &State<'_>) -> Self {
        let metadata = &state.metadata;
        Self {
            group: state.group.clone().into_owned(),
            version: state.version.clone().into_owned(),
            kind: state.kind.clone().into_owned(),
            namespace: metadata.namespace.clone().into_owned(),
            name: metadata.name.clone().into_owned(),
        }
    }

    /// Its kind and group: `Job.batch`, `Pod`.
    pub fn kind_and_group(&self) -> String {
        kind_and_group(&self.kind, &self.group)
    }
}

/// As [`ObjectName::kind_and_group`].
pub(super) fn kind_and_group(kind: &str, group: &str) -> String {
    let dot = if group.is_empty() { "" } else { "." };
    format!("{kind}{dot}{group}")
}

/// `Job.batch team-a/pi`
impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        let kind = self.kind_and_group();
        write!(f, "{kind} {}{slash}{}", self.namespace, self.name)
    }
}
