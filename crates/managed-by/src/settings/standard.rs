//! `standard_status_writers`: who may write the status of what is not delegated, by kind.

use std::borrow::Cow;

use super::controllers::{WRITERS_LIST, wrong_kind};
use super::custom_kinds::CustomKinds;
use super::problem::{Problem, Problems};
use super::reading::Reading;
use crate::decode::{Path, Raw, Type};

const PATH: Path<'_> = Path::Member(&Path::Root, "standard_status_writers");

/// The section, unread until the status of a standard object is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct StandardStatusWriters<'a> {
    pub(super) section: Option<Raw<'a>>,
}

impl<'a> StandardStatusWriters<'a> {
    /// Reads the list of one kind, or all of them.
    fn read(
        self,
        of: Option<&str>,
        declared: CustomKinds<'_>,
        reading: &mut Reading,
    ) -> Option<Vec<Cow<'a, str>>> {
        let mut found = None;
        let section = self.section?;
        if !reading.is(section, Type::Object, &PATH, "an object of kinds") {
            return found;
        }
        let mut seen: Vec<Cow<'a, str>> = Vec::new();
        for (kind, value) in section.members() {
            if of.is_some_and(|of| of != kind) {
                continue;
            }
            let path = Path::Quoted(&PATH, &kind);
            if let Some(wrong) = wrong_kind(&kind, declared) {
                let text = ["no such kind, ", &wrong].concat();
                reading.push(if declared.is_empty() {
                    Problem::new(&path, text)
                } else {
                    Problem::semantic(&path, text)
                });
            }
            if seen.contains(&kind) {
                reading.push(Problem::twice(&path));
            }
            if value.json_type() != Type::Null {
                found = Some(reading.strings(value, &path, &WRITERS_LIST));
            }
            seen.push(kind);
        }
        found
    }

    /// The users and groups that may write the status of a kind's standard objects; [`None`] is anyone.
    pub(super) fn of(
        self,
        kind: &str,
        declared: CustomKinds<'_>,
    ) -> Result<Option<Vec<Cow<'a, str>>>, Problems> {
        let mut reading = Reading::lazy();
        let found = self.read(Some(kind), declared, &mut reading);
        reading.end(found)
    }

    /// Notes everything that is wrong.
    pub(super) fn check(self, declared: CustomKinds<'_>, reading: &mut Reading) {
        self.read(None, declared, reading);
    }
}
