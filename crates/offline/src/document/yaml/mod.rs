//! YAML documents. `granit-parser` parses them, and values keep their positions.

mod builder;

use std::borrow::Cow;
use std::ops::Range;

use super::string;
use crate::malformed::MalformedText;
use crate::named::Named;
use crate::path::Path;
use crate::places::Places;

/// Maximum nesting depth, more than any manifest needs. The parser limits flow collections to 255.
const MAX_DEPTH: usize = 200;

/// Largest mapping that is searched linearly.
const FEW: usize = 16;

/// The nodes of one document, by index.
#[derive(Debug)]
pub(super) struct Tree<'t> {
    nodes: Vec<Node<'t>>,
    root: usize,
    /// Keys that occur more than once in a mapping. The last value wins.
    pub(super) repeated: Vec<MalformedText>,
    /// Maximum size of the document as JSON, in bytes.
    budget: usize,
}

#[derive(Debug)]
struct Node<'t> {
    span: Range<usize>,
    value: Value<'t>,
}

#[derive(Debug)]
enum Value<'t> {
    /// A null, boolean or number, as JSON.
    Word(String),
    Text(Cow<'t, str>),
    Sequence(Vec<usize>),
    Mapping(Mapping<'t>),
}

/// Entries in source order, with an index by key if there are many.
#[derive(Debug, Default)]
struct Mapping<'t> {
    entries: Vec<Entry<'t>>,
    places: Option<Box<Named<'t, usize>>>,
}

impl<'t> Mapping<'t> {
    fn place(&self, key: &str) -> Option<usize> {
        match &self.places {
            Some(places) => places.get(key).copied(),
            None => self.entries.iter().position(|entry| entry.key == key),
        }
    }

    fn get(&self, key: &str) -> Option<&Entry<'t>> {
        self.entries.get(self.place(key)?)
    }

    /// Inserts an entry, replacing an entry with the same key.
    fn put(&mut self, entry: Entry<'t>) {
        let known = self.place(&entry.key);
        if let Some(known) = known.and_then(|place| self.entries.get_mut(place)) {
            *known = entry;
            return;
        }
        self.entries.push(entry);
        let last = self.entries.len().saturating_sub(1);
        // Index all previous entries when the mapping becomes large.
        let from = match &self.places {
            Some(_) => last,
            None if last < FEW => return,
            None => 0,
        };
        let places = self.places.get_or_insert_default();
        for (place, entry) in self.entries.iter().enumerate().skip(from) {
            places.insert(entry.key.clone(), place);
        }
    }
}

#[derive(Debug, Clone)]
struct Entry<'t> {
    key: Cow<'t, str>,
    key_span: Range<usize>,
    value: usize,
    /// True for an entry from `<<`, which the mapping's own keys override.
    is_merged: bool,
}

impl Tree<'_> {
    /// Returns the document as JSON.
    pub(super) fn json(&self, places: &Places<'_>) -> Result<String, MalformedText> {
        let mut json = Vec::new();
        self.write(self.root, 0, places, &mut json)?;
        // Only whole strings are written, so the bytes are valid UTF-8.
        Ok(String::from_utf8(json).unwrap_or_default())
    }

    fn write(
        &self,
        id: usize,
        depth: usize,
        places: &Places<'_>,
        json: &mut Vec<u8>,
    ) -> Result<(), MalformedText> {
        let Some(node) = self.nodes.get(id) else {
            return Ok(());
        };
        if json.len() > self.budget {
            let what = format!("its aliases make more than {} bytes of it", self.budget);
            return Err(places.malformed(node.span.start, what).refused());
        }
        if depth > MAX_DEPTH {
            let what = format!("is nested deeper than {MAX_DEPTH} levels");
            return Err(places.malformed(node.span.start, what).refused());
        }
        let deeper = depth.saturating_add(1);
        match &node.value {
            Value::Word(word) => json.extend_from_slice(word.as_bytes()),
            Value::Text(text) => string(json, text),
            Value::Sequence(items) => {
                json.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        json.push(b',');
                    }
                    self.write(*item, deeper, places, json)?;
                }
                json.push(b']');
            }
            Value::Mapping(Mapping { entries, .. }) => {
                json.push(b'{');
                for (index, entry) in entries.iter().enumerate() {
                    if index > 0 {
                        json.push(b',');
                    }
                    string(json, &entry.key);
                    json.push(b':');
                    self.write(entry.value, deeper, places, json)?;
                }
                json.push(b'}');
            }
        }
        Ok(())
    }

    /// Returns the span of the value at a path, or of its nearest enclosing value, and whether the match is exact.
    pub(super) fn find(&self, path: &Path, is_key: bool) -> (Range<usize>, bool) {
        let mut at = self.root;
        let mut span = self.span(at);
        for segment in path.segments() {
            let next = match self.nodes.get(at).map(|node| &node.value) {
                Some(Value::Mapping(mapping)) => mapping
                    .get(segment.key())
                    .map(|entry| (entry.value, Some(entry.key_span.clone()))),
                Some(Value::Sequence(items)) => segment
                    .index()
                    .and_then(|index| items.get(index))
                    .map(|item| (*item, None)),
                Some(Value::Word(_) | Value::Text(_)) | None => None,
            };
            let Some((value, key)) = next else {
                return (span, false);
            };
            at = value;
            let is_collection = self
                .nodes
                .get(at)
                .is_some_and(|node| matches!(node.value, Value::Sequence(_) | Value::Mapping(_)));
            // For collections, which span many lines, return the key.
            span = match key {
                Some(key) if is_key || is_collection => key,
                _ => self.span(at),
            };
        }
        (span, true)
    }

    fn span(&self, id: usize) -> Range<usize> {
        self.nodes.get(id).map_or(0..0, |node| node.span.clone())
    }
}
