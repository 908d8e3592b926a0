//! `custom_kinds`: kinds that the admin declares, because the library does not know them.

mod entry;
mod status;
mod words;

use std::borrow::Cow;

use super::problem::{Problem, Problems};
use super::reading::Reading;
use crate::decode::{Part, Path, Raw, Type};
use crate::request::GroupVersionKind;

pub(crate) use entry::CustomKind;

const PATH: Path<'_> = Path::Member(&Path::Root, "custom_kinds");

/// No settings may declare more kinds.
const MAX_KINDS: usize = 64;

/// The section, unread until a request is about a kind that the library does not know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CustomKinds<'a> {
    pub(super) section: Option<Raw<'a>>,
}

impl<'a> CustomKinds<'a> {
    /// The entries, by their keys; none if the section is no list.
    fn entries(self, reading: &mut Reading) -> Vec<Part<'a>> {
        let expected = "a list of kinds, each an object";
        let section = self.section;
        let Some(section) = section.filter(|s| reading.is(*s, Type::Array, &PATH, expected)) else {
            return Vec::new();
        };
        let mut entries = Vec::new();
        if !section.for_each(|entry| entries.push(entry)) {
            entries.push(Part::Split(Type::Object, vec![section.unnamed()]));
        }
        entries
    }

    /// The entry of a kind, if there is one for its version.
    pub(super) fn find(
        self,
        wanted: &GroupVersionKind<'_>,
    ) -> Result<Option<CustomKind<'a>>, Problems> {
        let mut reading = Reading::lazy();
        for (index, entry) in self.entries(&mut reading).iter().enumerate() {
            let is = |key: &str, wanted: &str| {
                let keys = entry.parts();
                let mut keys = keys.iter();
                keys.any(|(name, value)| name == key && value.string().as_deref() == Some(wanted))
            };
            if is("kind", &wanted.kind) && is("group", &wanted.group) {
                let path = Path::Index(&PATH, index);
                let kind = CustomKind::read(entry, &path, &mut reading);
                return reading.end(kind.is_in(&wanted.version).then_some(kind));
            }
        }
        reading.end(None)
    }

    /// Whether there are none.
    pub(super) fn is_empty(self) -> bool {
        self.entries(&mut Reading::lazy()).is_empty()
    }

    /// The names of the kinds.
    pub(super) fn names(self) -> Vec<Cow<'a, str>> {
        let entries = self.entries(&mut Reading::lazy());
        let keys = |entry: &Part<'a>| entry.parts().into_owned();
        let keys = entries.iter().flat_map(keys);
        keys.filter(|(name, _)| name == "kind")
            .filter_map(|(_, value)| value.string())
            .collect()
    }

    /// The kinds of a name. What is wrong with them is told elsewhere.
    pub(super) fn named(self, name: &str) -> Vec<CustomKind<'a>> {
        let all = self.all(&mut Reading::lazy());
        all.into_iter().filter(|kind| kind.kind == name).collect()
    }

    /// The kind whose own controller has a name. What is wrong with it is told elsewhere.
    pub(super) fn reconciled_by(self, controller: &str) -> Option<CustomKind<'a>> {
        let mut all = self.all(&mut Reading::lazy()).into_iter();
        all.find(|kind| kind.reserved.as_deref() == Some(controller))
    }

    fn all(self, reading: &mut Reading) -> Vec<CustomKind<'a>> {
        let entries = self.entries(reading);
        let read = entries
            .iter()
            .enumerate()
            .map(|(index, entry)| CustomKind::read(entry, &Path::Index(&PATH, index), reading));
        read.collect()
    }

    /// Notes everything that is wrong.
    pub(super) fn check(self, reading: &mut Reading) {
        let count = self.section.map_or(0, |section| section.elements().len());
        if count > MAX_KINDS {
            let text = format!("got {count} kinds, expected at most {MAX_KINDS}");
            reading.push(Problem::new(&PATH, text));
            return;
        }
        let all = self.all(reading);
        for (index, kind) in all.iter().enumerate() {
            let path = Path::Index(&PATH, index);
            let same =
                |other: &CustomKind<'_>| other.kind == kind.kind && other.group == kind.group;
            let earlier = all.iter().take(index).position(same);
            if let Some(earlier) = earlier.filter(|_| !kind.kind.is_empty()) {
                let text = format!(
                    "{} of {} is declared by item {earlier} already",
                    kind.kind, kind.group
                );
                reading.push(Problem::semantic(&path, text));
            }
            kind.check(&path, reading);
        }
    }
}

fn borrowed<'v>(values: &'v [Cow<'_, str>]) -> Vec<&'v str> {
    values.iter().map(|value| &**value).collect()
}
