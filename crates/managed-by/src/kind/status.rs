//! What the status of a custom resource promises, as data.

use std::fmt;

use bitflags::bitflags;

bitflags! {
    /// The states that a workload does not leave.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub(crate) struct Ends: u8 {
        /// It has succeeded.
        const SUCCESS = 1;
        /// It has failed.
        const FAILURE = 2;
        /// It is in a state that is no outcome, and that the kind's own controller never takes it out of.
        const DEAD_END = 4;
        /// The states that clients act on.
        const OUTCOMES = Self::SUCCESS.bits() | Self::FAILURE.bits();
    }
}

bitflags! {
    /// What a status says about a failure, beside that it is one.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub(crate) struct FailureNotes: u8 {
        /// The kind's own controller notes it beside a success.
        const BESIDE_SUCCESS = 1;
        /// It is final where other failures of the kind are not.
        const FOR_GOOD = 2;
        /// It came after a success.
        const AFTER_SUCCESS = 4;
        /// The failure of the last attempt before this one came after a success.
        const ATTEMPT_AFTER_SUCCESS = 8;
    }
}

/// How a status says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign<'k> {
    /// An entry of `status.conditions`.
    Condition {
        /// Its type.
        condition: &'k str,
        /// Its status.
        status: &'k str,
        /// Its reason; [`None`] is any.
        reason: Option<&'k str>,
    },
    /// A field that holds one of some words.
    Word {
        /// Where the field is.
        path: &'k str,
        /// The words.
        values: &'k [&'k str],
    },
}

/// Where conditions are.
pub(crate) const CONDITIONS: &str = "status.conditions";

/// The condition, where it is true.
pub(crate) const fn is_true(condition: &str) -> Sign<'_> {
    Sign::Condition {
        condition,
        status: "True",
        reason: None,
    }
}

/// The condition, where it is false.
pub(crate) const fn is_false(condition: &str) -> Sign<'_> {
    Sign::Condition {
        condition,
        status: "False",
        reason: None,
    }
}

/// The condition with a status and a reason.
pub(crate) const fn because<'k>(condition: &'k str, status: &'k str, reason: &'k str) -> Sign<'k> {
    Sign::Condition {
        condition,
        status,
        reason: Some(reason),
    }
}

impl<'k> Sign<'k> {
    /// Where it is.
    pub(crate) fn path(&self) -> &'k str {
        match *self {
            Self::Condition { .. } => CONDITIONS,
            Self::Word { path, .. } => path,
        }
    }

    /// Whether this sign excludes another one: one condition or one word says which.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        match (*self, *other) {
            (
                Self::Condition { condition, .. },
                Self::Condition {
                    condition: other, ..
                },
            ) => condition == other,
            (Self::Word { path, .. }, Self::Word { path: other, .. }) => path == other,
            _ => false,
        }
    }
}

/// As messages name it: `Failed`, `Succeeded=False`.
impl fmt::Display for Sign<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Condition {
                condition,
                status,
                reason: _,
            } => write!(f, "{condition}={status}"),
            Self::Word { values, .. } => f.write_str(&values.join(" or ")),
        }
    }
}

/// How to read the status of a kind, and what must hold of it. The rules do not judge what is left out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatusProfile<'k> {
    /// How the workload ends, if it does.
    pub(crate) outcome: Option<Outcome<'k>>,
    /// Where its start is.
    pub(crate) start: Option<&'k str>,
    /// Its end, if the status has one.
    pub(crate) end: Option<End<'k>>,
    /// Counters that are never negative. `[]` stands for each element of a list or map.
    pub(crate) counters: &'k [&'k str],
    /// Counters that, besides, only go up.
    pub(crate) totals: &'k [&'k str],
    /// Two conditions that are not true at once.
    pub(crate) exclusive: Option<(&'k str, &'k str)>,
    /// The field that repeats the name of the outcome's condition, if there is one.
    pub(crate) terminal_state: Option<&'k str>,
}

impl StatusProfile<'_> {
    /// A profile about which no rule has anything to judge.
    pub(crate) const EMPTY: StatusProfile<'static> = StatusProfile {
        outcome: None,
        start: None,
        end: None,
        counters: &[],
        totals: &[],
        exclusive: None,
        terminal_state: None,
    };
}

/// How a kind ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome<'k> {
    /// [`None`] where nothing says so, which only a declared kind leaves out.
    pub(crate) success: Option<Sign<'k>>,
    /// As `success`.
    pub(crate) failure: Option<Sign<'k>>,
    /// The state that is no outcome, and that the kind's own controller never takes it out of, if there is one.
    pub(crate) dead_end: Option<Sign<'k>>,
    /// Whether the kind's own controller says both.
    pub(crate) both: Both,
    /// What else the status says of a failure.
    pub(crate) notes: &'k [(FailureNotes, Sign<'k>)],
    /// The sign that what the workload made is still there.
    pub(crate) deployed: Option<Sign<'k>>,
    /// The word beside the outcome that tells how the workload came to it, with its values that are final.
    pub(crate) reason: Option<Sign<'k>>,
    /// The list of earlier attempts, if there is one: it is not cut.
    pub(crate) attempts: Option<Attempts<'k>>,
    /// The outcomes that the kind's own controller takes back, and when.
    pub(crate) exits: &'k [Exit],
}

impl<'k> Outcome<'k> {
    /// An outcome that is final, without exceptions.
    pub(crate) const fn new(success: Sign<'k>, failure: Sign<'k>) -> Self {
        Self::of(Some(success), Some(failure))
    }

    /// The same where the status may say just one of them.
    pub(crate) const fn of(success: Option<Sign<'k>>, failure: Option<Sign<'k>>) -> Self {
        Self {
            success,
            failure,
            dead_end: None,
            both: Both::Never,
            notes: &[],
            deployed: None,
            reason: None,
            attempts: None,
            exits: &[],
        }
    }

    /// The states that it knows, each with its sign.
    pub(crate) fn ends(&self) -> [(Ends, Option<Sign<'k>>); 3] {
        [
            (Ends::SUCCESS, self.success),
            (Ends::FAILURE, self.failure),
            (Ends::DEAD_END, self.dead_end),
        ]
    }

    /// Whether a status can say both that the workload has succeeded and that it has failed.
    pub(crate) fn can_be_both(&self) -> bool {
        let signs = self.success.zip(self.failure);
        signs.is_none_or(|(success, failure)| !success.excludes(&failure))
    }

    /// Where the outcome is.
    pub(crate) fn path(&self) -> &'k str {
        let sign = self.success.or(self.failure);
        sign.map_or(CONDITIONS, |sign| sign.path())
    }

    /// A sign by its short name: a condition that is true goes by its type, unless both outcomes are in one.
    pub(crate) fn name(&self, sign: &Sign<'_>) -> String {
        match sign {
            Sign::Condition {
                condition,
                status: "True",
                ..
            } if self.can_be_both() => (*condition).to_owned(),
            sign => sign.to_string(),
        }
    }
}

/// Whether a kind's own controller says that a workload has both succeeded and failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Both {
    /// It does not.
    Never,
    /// It may fail what has succeeded.
    AfterSuccess,
    /// It may say both at once.
    Allowed,
}

/// A list of earlier attempts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempts<'k> {
    /// Where it is.
    pub(crate) path: &'k str,
    /// What the conditions of the last attempt say of its failure.
    pub(crate) notes: &'k [(FailureNotes, Sign<'k>)],
}

/// When a kind ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End<'k> {
    /// Where the time is.
    pub(crate) path: &'k str,
    /// Whether there is none without an outcome.
    pub(crate) needs_outcome: bool,
    /// The outcomes that come with one.
    pub(crate) required_by: Ends,
}

/// A way out of an outcome that the kind's own controller takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit {
    /// The states that it leads out of.
    pub(crate) from: Ends,
    /// What must all hold of the update.
    pub(crate) when: &'static [When],
}

/// Something that holds of a status update or does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Another controller than the kind's own writes the status.
    Delegated,
    /// The kind's own controller writes it.
    Standard,
    /// The object is being deleted.
    BeingDeleted,
    /// It is not.
    NotBeingDeleted,
    /// The old status has no end.
    WithoutEnd,
    /// Both statuses have an end.
    KeepsEnd,
    /// The new status is in that state.
    To(Ends),
    /// There is one more attempt, and the spec allows it.
    TriedAgain,
    /// There is none.
    NotTriedAgain,
    /// No attempt is gone.
    KeepsAttempts,
    /// The new status says that of its failure.
    Noting(FailureNotes),
    /// The old status does not say that of its failure.
    UnlessNoted(FailureNotes),
    /// What the workload made is still there.
    StillDeployed,
}
