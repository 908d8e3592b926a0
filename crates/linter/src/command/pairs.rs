//! Matches the objects of two sides.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use managed_by_offline::replay::ObjectRef;

/// An object of one side.
pub(super) struct Entry<'s> {
    /// Path of the file, which is the same on both sides.
    pub(super) path: &'s Path,
    pub(super) name: ObjectRef,
    content: u64,
}

impl<'s> Entry<'s> {
    pub(super) fn new(path: &'s Path, name: ObjectRef, json: &str) -> Self {
        let mut content = DefaultHasher::new();
        json.hash(&mut content);
        Self {
            path,
            name,
            content: content.finish(),
        }
    }

    /// Returns the key that an entry shares with its counterpart.
    fn key(&self, by_path: bool, by_content: bool) -> Key<'_> {
        let name = &self.name;
        let path = by_path.then_some(self.path);
        let content = by_content.then_some(self.content);
        let name = [&*name.group, &name.kind, &name.namespace, &name.name];
        (path, content, name)
    }
}

type Key<'e> = (Option<&'e Path>, Option<u64>, [&'e str; 4]);

/// Returns the index of the old counterpart of each new entry: an object with its name in the same file, or else a moved
/// one. Entries with equal contents match first; otherwise the first in order matches.
pub(super) fn pairs(old: &[Entry<'_>], new: &[Entry<'_>]) -> Vec<Option<usize>> {
    let mut pairs = vec![None; new.len()];
    let mut is_paired = vec![false; old.len()];
    for (by_path, by_content) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut free: BTreeMap<Key<'_>, VecDeque<usize>> = BTreeMap::new();
        for ((index, entry), is_paired) in old.iter().enumerate().zip(&is_paired) {
            if !is_paired {
                let key = entry.key(by_path, by_content);
                free.entry(key).or_default().push_back(index);
            }
        }
        for (entry, pair) in new
            .iter()
            .zip(&mut pairs)
            .filter(|(_, pair)| pair.is_none())
        {
            let matching = free.get_mut(&entry.key(by_path, by_content));
            *pair = matching.and_then(VecDeque::pop_front);
            if let Some(is_paired) = pair.and_then(|index| is_paired.get_mut(index)) {
                *is_paired = true;
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Entry, ObjectRef, pairs};

    /// Returns the pairs of `file name content` entries.
    fn paired(old: &[[&'static str; 3]], new: &[[&'static str; 3]]) -> Vec<Option<usize>> {
        let entries = |side: &[[&'static str; 3]]| -> Vec<Entry<'static>> {
            let entry = |[file, name, json]: &[&'static str; 3]| {
                let name = ObjectRef {
                    name: (*name).to_owned(),
                    ..ObjectRef::default()
                };
                Entry::new(Path::new(*file), name, json)
            };
            side.iter().map(entry).collect()
        };
        pairs(&entries(old), &entries(new))
    }

    #[test]
    fn objects_are_paired_by_file_then_by_name_then_by_order() {
        let tree = [
            ["dev", "etl", "1"],
            ["prod", "etl", "2"],
            ["prod", "etl", "3"],
        ];
        assert_eq!(paired(&tree, &tree), [Some(0), Some(1), Some(2)]);
        // Finds each change, even if other objects of the same name are added or deleted.
        let changed = [["a", "etl", "9"], ["dev", "etl", "x"], ["prod", "etl", "2"]];
        assert_eq!(paired(&tree, &changed), [Some(2), Some(0), Some(1)]);
        // Matches moved objects, equal contents before position.
        let moved = [
            ["x", "etl", "3"],
            ["y", "etl", "1"],
            ["z", "other", "2"],
            ["z", "etl", "y"],
        ];
        assert_eq!(paired(&tree, &moved), [Some(2), Some(0), None, Some(1)]);
        // An object that was inserted before the others.
        let generated = [["a", "g-*", "0"], ["a", "g-*", "1"], ["a", "g-*", "2"]];
        assert_eq!(
            paired(&generated[1..], &generated),
            [None, Some(0), Some(1)]
        );
    }
}
