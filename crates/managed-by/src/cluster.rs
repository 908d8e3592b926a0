//! What a review may ask about the cluster. The library asks nobody itself: whoever calls it answers.

use std::fmt;

/// Answers what a review asks.
pub trait Cluster {
    /// The Job of that name, as JSON.
    ///
    /// # Errors
    /// If the question was not answered.
    fn job(&self, namespace: &str, name: &str) -> Result<FoundJob, Unanswered>;
}

/// A Job that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FoundJob {
    /// It is there: the object as JSON.
    Found(Vec<u8>),
    /// There is none.
    NotFound,
}

/// Why a question was not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered(String);

impl Unanswered {
    /// A question that was not answered, and why.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unanswered {}

/// No cluster at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offline;

impl Cluster for Offline {
    fn job(&self, _: &str, _: &str) -> Result<FoundJob, Unanswered> {
        Err(Unanswered::new("there is no cluster to ask"))
    }
}
