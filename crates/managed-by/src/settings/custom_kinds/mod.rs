//! `custom_kinds`: kinds that the library doesn't support, declared by the admin.

mod entry;
mod status;
mod validation;

use std::borrow::Cow;
use std::cell::OnceCell;

use super::error::{SettingsError, SettingsErrors};
use super::parser::Parser;
use crate::decode::{Node, Path, Raw, Type};
use crate::request::GroupVersionKind;

pub(crate) use entry::CustomKind;

const PATH: Path<'_> = Path::Member(&Path::Root, "custom_kinds");

const MAX_KINDS: usize = 64;

/// The undecoded section. Each method decodes it again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CustomKinds<'a> {
    pub(super) section: Option<Raw<'a>>,
}

impl<'a> CustomKinds<'a> {
    /// Returns the entries, each split into keys; none if the section is not a list.
    fn entries(self, parser: &mut Parser) -> Vec<Node<'a>> {
        let expected = "a list of kinds, each an object";
        let section = self.section;
        let Some(section) =
            section.filter(|s| parser.expect_type(*s, Type::Array, &PATH, expected))
        else {
            return Vec::new();
        };
        let mut entries = Vec::new();
        if !section.for_each(|entry| entries.push(entry)) {
            entries.push(Node::Split(
                Type::Object,
                vec![section.invalid_name_entry()],
            ));
        }
        entries
    }

    /// Returns the entry for a version of a kind.
    pub(super) fn find(
        self,
        wanted: &GroupVersionKind<'_>,
    ) -> Result<Option<CustomKind<'a>>, SettingsErrors> {
        let mut parser = Parser::without_duplicate_checks();
        for (index, entry) in self.entries(&mut parser).iter().enumerate() {
            let has_value = |key: &str, wanted: &str| {
                let keys = entry.entries();
                let mut keys = keys.iter();
                keys.any(|(name, value)| name == key && value.string().as_deref() == Some(wanted))
            };
            if has_value("kind", &wanted.kind) && has_value("group", &wanted.group) {
                let path = Path::Index(&PATH, index);
                let kind = CustomKind::parse(entry, &path, &mut parser);
                return parser.finish(kind.has_version(&wanted.version).then_some(kind));
            }
        }
        parser.finish(None)
    }

    /// Returns the entries. Ignores problems, which [`CustomKinds::check`] reports.
    pub(super) fn without_problems(self) -> Vec<CustomKind<'a>> {
        self.all(&mut Parser::without_duplicate_checks())
    }

    fn all(self, parser: &mut Parser) -> Vec<CustomKind<'a>> {
        let entries = self.entries(parser);
        let read = entries
            .iter()
            .enumerate()
            .map(|(index, entry)| CustomKind::parse(entry, &Path::Index(&PATH, index), parser));
        read.collect()
    }

    pub(super) fn check(self, parser: &mut Parser) {
        let count = self.section.map_or(0, |section| section.elements().len());
        if count > MAX_KINDS {
            let text = format!("Too many: {count}: must have at most {MAX_KINDS} items");
            parser.push(SettingsError::new(&PATH, text));
            return;
        }
        let all = self.all(parser);
        for (index, kind) in all.iter().enumerate() {
            let path = Path::Index(&PATH, index);
            let same =
                |other: &CustomKind<'_>| other.kind == kind.kind && other.group == kind.group;
            let earlier = all.iter().take(index).position(same);
            if let Some(earlier) = earlier.filter(|_| !kind.kind.is_empty()) {
                let text = format!(
                    "Duplicate value: \"{}.{}\": declared by item {earlier}",
                    kind.kind, kind.group
                );
                parser.push(SettingsError::semantic(&path, text));
            }
            kind.check(&path, parser);
        }
    }
}

/// The names of declared kinds, decoded when the first is needed: most settings list only known kinds, and a section can list
/// thousands of names.
#[derive(Debug, Default)]
pub(super) struct KindNames<'a> {
    kinds: CustomKinds<'a>,
    names: OnceCell<Vec<Cow<'a, str>>>,
}

impl<'a> KindNames<'a> {
    pub(super) fn new(kinds: CustomKinds<'a>) -> Self {
        Self {
            kinds,
            names: OnceCell::new(),
        }
    }

    /// Returns a name per entry. It is empty if the entry has none.
    pub(super) fn get(&self) -> &[Cow<'a, str>] {
        self.names.get_or_init(|| {
            let entries = self.kinds.entries(&mut Parser::without_duplicate_checks());
            let name = |entry: &Node<'a>| {
                let keys = entry.entries();
                let kind = keys.iter().find(|(name, _)| name == "kind");
                kind.and_then(|(_, value)| value.string())
                    .unwrap_or_default()
            };
            entries.iter().map(name).collect()
        })
    }
}

fn borrowed<'v>(values: &'v [Cow<'_, str>]) -> Vec<&'v str> {
    values.iter().map(|value| &**value).collect()
}
