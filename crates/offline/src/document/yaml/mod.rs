//! YAML documents. `granit-parser` parses them, and values keep their positions. Anchors, aliases and merge keys are
//! resolved within a size limit.

mod builder;

use std::ops::Range;

use granit_parser::{Parser, options};

use crate::json::quoted;
use crate::path::Path;
use crate::text::{LineIndex, MalformedText};
use builder::Builder;

/// Maximum nesting depth, more than any manifest needs. The parser limits flow collections to 255.
const MAX_DEPTH: usize = 200;

/// Maximum size of a document. Offsets and indexes then fit in 31 bits.
const MAX_LEN: usize = 1 << 31;

/// Maximum ratio of a document's expanded size to its source size, beyond [`FREE_GROWTH`].
const MAX_GROWTH: usize = 20;
const FREE_GROWTH: usize = 16 << 20;

/// The nodes of one document, by index. A list of 50,000 objects has millions of nodes, so a node is small, and its text is that of
/// the document if possible.
#[derive(Debug, Default)]
pub(super) struct Tree<'t> {
    part: &'t str,
    /// Offset of the part in the whole text.
    part_start: usize,
    nodes: Vec<Node>,
    /// Contents of collections, by index in `children`.
    collections: Vec<Range<u32>>,
    /// The items of sequences; the keys and values of mappings.
    children: Vec<u32>,
    /// Texts that the document writes otherwise, such as `010` for 8.
    texts: Vec<Box<str>>,
    root: Option<u32>,
    /// Keys that occur more than once in a mapping. The last value wins.
    pub(super) duplicates: Vec<MalformedText>,
    /// Maximum expanded size in bytes.
    limit: usize,
}

/// A value or a key.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// Range in the part.
    start: u32,
    end: u32,
    value: Value,
}

#[derive(Debug, Clone, Copy)]
enum Value {
    /// A null, boolean or number, as JSON.
    Literal(TextSource),
    Text(TextSource),
    Sequence(u32),
    /// Pairs of key and value, by key. kubectl sorts the keys too.
    Mapping(u32),
    /// A collection that is not complete.
    Open,
}

/// Where the text of a scalar is.
#[derive(Debug, Clone, Copy)]
enum TextSource {
    /// In the document: the node.
    Node,
    /// In the document: the node without its quotes.
    Quoted,
    /// In [`Tree::texts`].
    Other(u32),
}

fn to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl<'t> Tree<'t> {
    /// Parses a part of a text that contains one document. Returns [`None`] if the part is empty.
    pub(super) fn parse(
        lines: &LineIndex<'t>,
        part: &'t str,
    ) -> Result<Option<Self>, MalformedText> {
        let is_empty = part.lines().all(|line| {
            let line = line.strip_prefix("---").unwrap_or(line).trim();
            line.is_empty() || line.starts_with(['#', '%']) || line == "..."
        });
        if is_empty {
            return Ok(None);
        }
        let part_start = lines.offset_of(part);
        // kubectl breaks lines at these characters, unlike YAML 1.2.
        if let Some(at) = part.find(['\u{85}', '\u{2028}', '\u{2029}']) {
            let text = "unsupported line break U+0085, U+2028 or U+2029";
            let malformed = lines.malformed(part_start.saturating_add(at), text);
            return Err(malformed.unsupported());
        }
        if part.len() >= MAX_LEN {
            let text = format!("a document is larger than {} MiB", MAX_LEN >> 20);
            return Err(lines.malformed(part_start, text).unsupported());
        }
        let growth = part.len().saturating_mul(MAX_GROWTH);
        let tree = Self {
            part,
            part_start,
            limit: growth.saturating_add(FREE_GROWTH),
            ..Self::default()
        };
        let mut builder = Builder::new(lines, tree);
        let libyaml = options! { bom_inside_document_as_content: true };
        let mut parser = Parser::new_from_str_with_options(part, libyaml);
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|e| {
                builder.malformed(*e.marker(), format!("invalid YAML: {}", e.info()))
            })?;
            builder.event(event, span)?;
        }
        let mut tree = builder.tree;
        // They are found at the end of a mapping.
        tree.duplicates
            .sort_unstable_by_key(|duplicate| (duplicate.line, duplicate.column));
        Ok(Some(tree).filter(|tree| tree.root.is_some()))
    }

    /// Returns the text of the document, with its separator and comments.
    pub(super) const fn part(&self) -> &'t str {
        self.part
    }

    fn node(&self, id: u32) -> Option<Node> {
        self.nodes.get(to_usize(id)).copied()
    }

    /// Returns the range of a node in the whole text.
    fn span(&self, node: Node) -> Range<usize> {
        let offset = |at| self.part_start.saturating_add(to_usize(at));
        offset(node.start)..offset(node.end)
    }

    fn text(&self, node: Node, source: TextSource) -> &str {
        let (start, end) = (to_usize(node.start), to_usize(node.end));
        let text = match source {
            TextSource::Node => self.part.get(start..end),
            TextSource::Quoted => self
                .part
                .get(start.saturating_add(1)..end.saturating_sub(1)),
            TextSource::Other(index) => self.texts.get(to_usize(index)).map(|text| &**text),
        };
        text.unwrap_or_default()
    }

    fn key(&self, id: u32) -> &str {
        match self.node(id) {
            Some(node) => match node.value {
                Value::Literal(source) | Value::Text(source) => self.text(node, source),
                Value::Sequence(_) | Value::Mapping(_) | Value::Open => "",
            },
            None => "",
        }
    }

    /// Returns the items of a sequence, or the keys and values of a mapping.
    fn children(&self, collection: u32) -> &[u32] {
        let range = self.collections.get(to_usize(collection));
        let range = range.map(|range| to_usize(range.start)..to_usize(range.end));
        range
            .and_then(|range| self.children.get(range))
            .unwrap_or_default()
    }

    /// Returns the keys and values of a mapping.
    fn entries(&self, mapping: u32) -> &[[u32; 2]] {
        self.children(mapping).as_chunks().0
    }

    pub(super) fn json(&self, lines: &LineIndex<'_>) -> Result<String, MalformedText> {
        let mut json = String::new();
        if let Some(root) = self.root {
            self.write(root, 0, lines, &mut json)?;
        }
        Ok(json)
    }

    fn write(
        &self,
        id: u32,
        depth: usize,
        lines: &LineIndex<'_>,
        json: &mut String,
    ) -> Result<(), MalformedText> {
        let Some(node) = self.node(id) else {
            return Ok(());
        };
        if json.len() > self.limit || depth > MAX_DEPTH {
            let text = if depth > MAX_DEPTH {
                format!("nested deeper than {MAX_DEPTH} levels")
            } else {
                format!(
                    "aliases expand the document to more than {} bytes",
                    self.limit
                )
            };
            return Err(lines.malformed(self.span(node).start, text).unsupported());
        }
        let depth = depth.saturating_add(1);
        match node.value {
            Value::Literal(source) => json.push_str(self.text(node, source)),
            Value::Text(source) => json.push_str(&quoted(self.text(node, source))),
            Value::Sequence(items) => {
                json.push('[');
                for (index, item) in self.children(items).iter().enumerate() {
                    if index > 0 {
                        json.push(',');
                    }
                    self.write(*item, depth, lines, json)?;
                }
                json.push(']');
            }
            Value::Mapping(entries) => {
                json.push('{');
                for (index, [key, value]) in self.entries(entries).iter().enumerate() {
                    if index > 0 {
                        json.push(',');
                    }
                    json.push_str(&quoted(self.key(*key)));
                    json.push(':');
                    self.write(*value, depth, lines, json)?;
                }
                json.push('}');
            }
            Value::Open => {}
        }
        Ok(())
    }

    /// Returns the span of the value at a path, or of its nearest enclosing value, and whether the match is exact. For
    /// collections, which span many lines, and with `is_key`, returns the span of the key.
    pub(super) fn find(&self, path: &Path, is_key: bool) -> (Range<usize>, bool) {
        let mut node = self.root.and_then(|root| self.node(root));
        let mut span = node.map_or(0..0, |node| self.span(node));
        for segment in path.segments() {
            let (key, next) = match node.map(|node| node.value) {
                Some(Value::Mapping(entries)) => {
                    let entries = self.entries(entries);
                    let found = entries.binary_search_by(|[key, _]| self.key(*key).cmp(segment));
                    let entry = found.ok().and_then(|index| entries.get(index));
                    entry.map(|[key, value]| (*key, *value)).unzip()
                }
                Some(Value::Sequence(items)) => {
                    let index = segment.parse().ok();
                    let item = index.and_then(|index: usize| self.children(items).get(index));
                    (None, item.copied())
                }
                Some(Value::Literal(_) | Value::Text(_) | Value::Open) | None => (None, None),
            };
            let Some(child) = next.and_then(|next| self.node(next)) else {
                return (span, false);
            };
            let is_scalar = matches!(child.value, Value::Literal(_) | Value::Text(_));
            let key = key.filter(|_| is_key || !is_scalar);
            let key = key.and_then(|key| self.node(key));
            span = self.span(key.unwrap_or(child));
            node = Some(child);
        }
        (span, true)
    }
}
