//! `standard_status_writers`: who may write the status of what is not delegated, by kind.

use std::borrow::Cow;

use super::Settings;
use super::controllers::{WRITERS_LIST, wrong_kind};
use super::problem::{Problem, Problems};
use super::reading::Reading;
use crate::decode::{Path, Type};

const PATH: Path<'_> = Path::Member(&Path::Root, "standard_status_writers");

impl<'a> Settings<'a> {
    /// Reads the list of one kind, or all of them, and notes everything that is wrong with them.
    #[inline(never)]
    pub(super) fn read_standard_writers(
        &self,
        of: Option<&str>,
        reading: &mut Reading,
    ) -> Option<Vec<Cow<'a, str>>> {
        let mut found = None;
        let section = self.standard_status_writers?;
        if !reading.is(section, Type::Object, &PATH, "an object of kinds") {
            return found;
        }
        let mut seen: Vec<Cow<'a, str>> = Vec::new();
        for (kind, value) in section.members() {
            if of.is_some_and(|of| of != kind) {
                continue;
            }
            let path = Path::Quoted(&PATH, &kind);
            if let Some(wrong) = wrong_kind(&kind, self.custom_kinds) {
                let reason = wrong.after("no such kind, ");
                let problem = if self.custom_kinds.is_empty() {
                    Problem::new(&path, reason)
                } else {
                    Problem::semantic(&path, reason)
                };
                reading.push(problem.of_key());
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
    pub(crate) fn standard_writers(
        &self,
        kind: &str,
    ) -> Result<Option<Vec<Cow<'a, str>>>, Problems> {
        let mut reading = Reading::lazy();
        let found = self.read_standard_writers(Some(kind), &mut reading);
        reading.end(found)
    }
}
