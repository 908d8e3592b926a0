//! `builtin_status_writers`: users and groups that may write the status of workloads that are not delegated, by kind.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Settings;
use super::controllers::{WRITERS_LIST, validate_kind};
use super::custom_kinds::KindNames;
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
        declared: &KindNames<'_>,
        parser: &mut Parser,
    ) -> Option<Vec<Cow<'a, str>>> {
        let mut found = None;
        let section = self.builtin_status_writers?;
        if !parser.expect_type(section, Type::Object, &PATH, "an object with kinds as keys") {
            return found;
        }
        let mut seen = BTreeMap::new();
        for (kind, value) in section.members() {
            if only.is_some_and(|only| only != kind) {
                continue;
            }
            let path = Path::Key(&PATH, &kind);
            if let Some(rejection) = validate_kind(&kind, declared) {
                parser.push(SettingsError::new(&path, rejection).for_key());
            }
            if seen.insert(kind.clone(), 0_usize).is_some() {
                parser.push(SettingsError::duplicate_field(&path));
            }
            if value.json_type() != Type::Null {
                found = Some(parser.parse_string_list(value, &path, &WRITERS_LIST));
            }
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
        let found =
            self.read_builtin_writers(Some(kind), &KindNames::new(self.custom_kinds), &mut parser);
        parser.finish(found)
    }
}
