//! `standard_status_writers`: who may write the status of what is not delegated, by kind.

use std::borrow::Cow;

use super::controllers::{WRITERS_LIST, wrong_kind};
use super::path::Path;
use super::problem::{Problem, Problems};
use super::reading::Reading;
use crate::json::{Reader, Result, Type};

const PATH: Path<'_> = Path::Field(&Path::Settings, "standard_status_writers");

/// The section, unread until the status of a standard object is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct StandardStatusWriters<'a> {
    pub(super) bytes: Option<&'a [u8]>,
}

impl<'a> StandardStatusWriters<'a> {
    /// Reads the list of one kind, or all of them.
    fn read(self, of: Option<&str>, reading: &mut Reading) -> Result<Option<Vec<Cow<'a, str>>>> {
        let mut found = None;
        let Some(bytes) = self.bytes else {
            return Ok(found);
        };
        let mut reader = Reader::again(bytes);
        if !reading.is(&mut reader, Type::Object, &PATH, "an object of kinds")? {
            return Ok(found);
        }
        let mut seen: Vec<Cow<'a, [u8]>> = Vec::new();
        reader.members(|reader, key| {
            let kind = String::from_utf8_lossy(&key);
            let path = Path::Key(&PATH, &kind);
            if of.is_some_and(|of| of != kind) {
                return reader.skip();
            }
            if let Some(wrong) = wrong_kind(&kind) {
                let text = ["no such kind, ", &wrong].concat();
                reading.push(Problem::new(&path, text));
                return reader.skip();
            }
            if seen.contains(&key) {
                reading.push(Problem::twice(&path));
            }
            if reader.peek()? == Type::Null {
                reader.skip()?;
            } else {
                found = Some(reading.strings(reader, &path, &WRITERS_LIST)?);
            }
            seen.push(key);
            Ok(())
        })?;
        Ok(found)
    }

    /// The users and groups that may write the status of a kind's standard objects; [`None`] is anyone.
    pub(super) fn of(self, kind: &str) -> std::result::Result<Option<Vec<Cow<'a, str>>>, Problems> {
        let mut reading = Reading::new(false);
        let found = reading.within(&PATH, |r| self.read(Some(kind), r));
        reading.end().map(|()| found.flatten())
    }

    /// Notes everything that is wrong.
    pub(super) fn check(self, reading: &mut Reading) {
        reading.within(&PATH, |r| self.read(None, r));
    }
}
