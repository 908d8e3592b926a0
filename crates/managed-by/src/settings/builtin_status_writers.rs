//! `builtin_status_writers`: users and groups that may write the status of workloads that are not delegated, by kind.

use std::borrow::Cow;

use super::Settings;
use super::controllers::{WRITERS_LIST, validate_kind};
use super::error::{SettingsError, SettingsErrors};
use super::parser::Parser;
use crate::decode::{Path, Type};

const PATH: Path<'_> = Path::Member(&Path::Root, "builtin_status_writers");

impl<'a> Settings<'a> {
    /// Parses the list of one kind, or of all kinds with [`None`], and reports problems.
    #[inline(never)]
    pub(super) fn read_builtin_writers(
        &self,
        only: Option<&str>,
        parser: &mut Parser,
    ) -> Option<Vec<Cow<'a, str>>> {
        let mut found = None;
        let section = self.builtin_status_writers?;
        if !parser.expect_type(section, Type::Object, &PATH, "an object with kinds as keys") {
            return found;
        }
        let mut seen: Vec<Cow<'a, str>> = Vec::new();
        for (kind, value) in section.members() {
            if only.is_some_and(|only| only != kind) {
                continue;
            }
            let path = Path::Quoted(&PATH, &kind);
            if let Some(rejection) = validate_kind(&kind, self.custom_kinds) {
                let reason = rejection.with_prefix("unsupported kind; ");
                let problem = if self.custom_kinds.is_empty() {
                    SettingsError::new(&path, reason)
                } else {
                    SettingsError::semantic(&path, reason)
                };
                parser.push(problem.for_key());
            }
            if seen.contains(&kind) {
                parser.push(SettingsError::duplicate_field(&path));
            }
            if value.json_type() != Type::Null {
                found = Some(parser.parse_string_list(value, &path, &WRITERS_LIST));
            }
            seen.push(kind);
        }
        found
    }

    /// Returns the users and groups that may write the status of a kind's workloads that are not delegated, or [`None`] for
    /// everyone.
    pub(crate) fn builtin_writers(
        &self,
        kind: &str,
    ) -> Result<Option<Vec<Cow<'a, str>>>, SettingsErrors> {
        let mut parser = Parser::without_duplicate_checks();
        let found = self.read_builtin_writers(Some(kind), &mut parser);
        parser.finish(found)
    }
}
