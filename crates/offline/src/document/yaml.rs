//! YAML documents. `granit-parser` parses them, and values keep their positions. Anchors, aliases and merge keys are
//! resolved within a size limit.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use granit_parser::{Event, Marker, Parser, ScalarStyle, Span, Tag, options};

use super::scalar::{Scalar, resolve};
use crate::json::quoted;
use crate::path::Path;
use crate::text::{LineIndex, MalformedText};

/// Maximum nesting depth, more than any manifest needs. The parser limits flow collections to 255.
const MAX_DEPTH: usize = 200;

/// Maximum size of a document. Offsets and indexes then fit in 31 bits.
const MAX_LEN: usize = 1 << 31;

/// Maximum ratio of a document's expanded size to its source size, beyond [`FREE_GROWTH`].
const MAX_GROWTH: usize = 20;
const FREE_GROWTH: usize = 16 << 20;

/// Estimated memory of a mapping entry without its key.
const ENTRY_SIZE: usize = 128;

/// The namespace of YAML's own tags.
const TAGS: &str = "tag:yaml.org,2002:";

/// The nodes of one document, by index. A list of 50,000 objects has millions of nodes, so a node is small, and its text is that of
/// the document if possible.
#[derive(Debug)]
pub(super) struct Tree<'t> {
    part: &'t str,
    /// Offset of the part in the whole text.
    part_start: usize,
    nodes: Vec<Node>,
    /// Contents of collections, by index in `children`.
    collections: Vec<Range<u32>>,
    /// The items of sequences; the keys and values of mappings.
    children: Vec<u32>,
    /// Texts that differ from those of the document.
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

/// An entry of a mapping that is not complete.
#[derive(Debug, Clone, Copy)]
struct Entry {
    key: u32,
    value: u32,
    /// True for an entry from `<<`. A key after the `<<` overrides it, and is not a duplicate.
    is_merged: bool,
}

/// Converts an offset or an index, which [`MAX_LEN`] bounds.
fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
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
        let mut builder = Builder {
            lines,
            tree: Self {
                part,
                part_start,
                nodes: Vec::new(),
                collections: Vec::new(),
                children: Vec::new(),
                texts: Vec::new(),
                root: None,
                duplicates: Vec::new(),
                limit: growth.saturating_add(FREE_GROWTH),
            },
            open: Vec::new(),
            anchors: BTreeMap::new(),
            merged_size: 0,
        };
        let libyaml = options! { bom_inside_document_as_content: true };
        let mut parser = Parser::new_from_str_with_options(part, libyaml);
        while let Some(event) = parser.next_event() {
            let (event, span) = event
                .map_err(|e| builder.malformed(*e.marker(), format!("not YAML: {}", e.info())))?;
            builder.event(event, span)?;
        }
        let mut tree = builder.tree;
        // They are found at the end of a mapping.
        tree.duplicates
            .sort_by_key(|duplicate| (duplicate.line, duplicate.column));
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

    /// Returns the text of a scalar.
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

    /// Returns the text of a key.
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

/// Builds a tree from parser events.
struct Builder<'p, 't> {
    lines: &'p LineIndex<'t>,
    tree: Tree<'t>,
    open: Vec<OpenCollection>,
    /// The node of each completed anchor.
    anchors: BTreeMap<usize, u32>,
    /// Estimated memory that merge keys use.
    merged_size: usize,
}

/// A collection that is being parsed.
struct OpenCollection {
    node: u32,
    anchor: usize,
    contents: Contents,
}

enum Contents {
    Sequence(Vec<u32>),
    Mapping {
        entries: Vec<Entry>,
        /// The pending key.
        key: Option<Key>,
    },
}

#[derive(Clone, Copy)]
enum Key {
    Node(u32),
    Merge,
}

/// A scalar with the text of its JSON.
enum ScalarText<'t> {
    Literal(Cow<'t, str>),
    Text(Cow<'t, str>),
}

impl<'t> Builder<'_, 't> {
    fn malformed(&self, at: Marker, text: impl Into<String>) -> MalformedText {
        let offset = self.tree.part_start.saturating_add(byte_offset(at));
        self.lines.malformed(offset, text)
    }

    fn malformed_node(&self, node: u32, text: impl Into<String>) -> MalformedText {
        let span = self.tree.node(node).map(|node| self.tree.span(node));
        self.lines
            .malformed(span.map_or(0, |span| span.start), text)
    }

    fn event(&mut self, event: Event<'t>, span: Span) -> Result<(), MalformedText> {
        let contents = self.open.last().map(|open| &open.contents);
        let is_key = matches!(contents, Some(Contents::Mapping { key: None, .. }));
        let invalid_key = || self.malformed(span.start, "invalid key: expected a string");
        match event {
            Event::Scalar(text, style, anchor, tag) if is_key => {
                // An alias can use the key as a value.
                let anchored = (anchor > 0)
                    .then(|| {
                        self.scalar(text.clone(), style, tag.as_deref(), span.start)
                            .ok()
                    })
                    .flatten();
                let is_plain = style == ScalarStyle::Plain;
                let is_merge = is_plain && text == "<<";
                let text = match is_plain.then(|| resolve(&text)) {
                    Some(Scalar::Bool(value)) => Cow::Owned(value.to_string()),
                    Some(Scalar::Number(number)) => Cow::Owned(number),
                    Some(Scalar::Null) => return Err(invalid_key()),
                    Some(Scalar::NonFinite | Scalar::Text) | None => text,
                };
                if let Some(value) = anchored {
                    let node = self.add_scalar(span, &value);
                    self.anchors.insert(anchor, node);
                }
                let key = if is_merge {
                    Key::Merge
                } else {
                    Key::Node(self.add_scalar(span, &ScalarText::Text(text)))
                };
                self.set_key(key);
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = self.scalar(text, style, tag.as_deref(), span.start)?;
                let node = self.add_scalar(span, &value);
                self.close(node, anchor)
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if is_key => Err(invalid_key()),
            Event::SequenceStart(_, anchor, _) => {
                self.open(anchor, span, Contents::Sequence(Vec::new()))
            }
            Event::MappingStart(_, anchor, _) => {
                let (entries, key) = (Vec::new(), None);
                self.open(anchor, span, Contents::Mapping { entries, key })
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else {
                    return Ok(());
                };
                let value = match open.contents {
                    Contents::Sequence(items) => Value::Sequence(self.add_collection(&items)),
                    Contents::Mapping { entries, .. } => self.add_mapping(entries),
                };
                if let Some(node) = self.tree.nodes.get_mut(to_usize(open.node)) {
                    node.end = to_u32(byte_offset(span.end));
                    node.value = value;
                }
                self.close(open.node, open.anchor)
            }
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor).copied() else {
                    return Err(
                        self.malformed(span.start, "invalid alias: the value contains itself")
                    );
                };
                if !is_key {
                    return self.close(node, 0);
                }
                let is_literal = match self.tree.node(node).map(|node| node.value) {
                    Some(Value::Text(_)) => false,
                    Some(Value::Literal(_)) => true,
                    _ => return Err(invalid_key()),
                };
                let text = self.tree.key(node);
                if is_literal && text == "null" {
                    return Err(invalid_key());
                }
                let text = ScalarText::Text(Cow::Owned(text.to_owned()));
                let key = self.add_scalar(span, &text);
                self.set_key(Key::Node(key));
                Ok(())
            }
            // Other events carry no value: starts, ends, and events that only options enable.
            _ => Ok(()),
        }
    }

    fn add(&mut self, span: Span, value: Value) -> u32 {
        let [start, end] = [span.start, span.end].map(|at| to_u32(byte_offset(at)));
        self.tree.nodes.push(Node { start, end, value });
        to_u32(self.tree.nodes.len().saturating_sub(1))
    }

    fn add_scalar(&mut self, span: Span, scalar: &ScalarText<'_>) -> u32 {
        let (ScalarText::Literal(text) | ScalarText::Text(text)) = scalar;
        let (start, end) = (byte_offset(span.start), byte_offset(span.end));
        let in_quotes = start.saturating_add(1)..end.saturating_sub(1);
        let source = if self.tree.part.get(start..end) == Some(text) {
            TextSource::Node
        } else if self.tree.part.get(in_quotes) == Some(text) {
            TextSource::Quoted
        } else {
            self.tree.texts.push((&**text).into());
            TextSource::Other(to_u32(self.tree.texts.len().saturating_sub(1)))
        };
        let value = match scalar {
            ScalarText::Literal(_) => Value::Literal(source),
            ScalarText::Text(_) => Value::Text(source),
        };
        self.add(span, value)
    }

    /// Adds the contents of a collection, and returns its index.
    fn add_collection(&mut self, children: &[u32]) -> u32 {
        let start = to_u32(self.tree.children.len());
        self.tree.children.extend_from_slice(children);
        let end = to_u32(self.tree.children.len());
        self.tree.collections.push(start..end);
        to_u32(self.tree.collections.len().saturating_sub(1))
    }

    /// Adds the entries of a mapping by key: of each key the last, and records the others, unless they are from `<<`.
    fn add_mapping(&mut self, mut entries: Vec<Entry>) -> Value {
        let tree = &self.tree;
        entries.sort_by(|a, b| tree.key(a.key).cmp(tree.key(b.key)));
        let mut children: Vec<u32> = Vec::with_capacity(entries.len().saturating_mul(2));
        let mut duplicates = Vec::new();
        let mut before: Option<Entry> = None;
        for entry in entries {
            if let Some(before) = before.replace(entry)
                && tree.key(before.key) == tree.key(entry.key)
            {
                children.truncate(children.len().saturating_sub(2));
                if !before.is_merged && !entry.is_merged {
                    let first = tree.node(before.key).map_or(0, |key| tree.span(key).start);
                    let (line, _) = self.lines.position(first);
                    let key = quoted(tree.key(entry.key));
                    let message = format!("duplicate field {key}, first on line {line}");
                    duplicates.push(self.malformed_node(entry.key, message));
                }
            }
            children.extend([entry.key, entry.value]);
        }
        self.tree.duplicates.append(&mut duplicates);
        Value::Mapping(self.add_collection(&children))
    }

    fn open(&mut self, anchor: usize, span: Span, contents: Contents) -> Result<(), MalformedText> {
        if self.open.len() >= MAX_DEPTH {
            let text = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(self.malformed(span.start, text).unsupported());
        }
        let node = self.add(span, Value::Open);
        self.open.push(OpenCollection {
            node,
            anchor,
            contents,
        });
        Ok(())
    }

    /// Stores the pending key of a mapping.
    fn set_key(&mut self, new: Key) {
        if let Some(open) = self.open.last_mut()
            && let Contents::Mapping { key, .. } = &mut open.contents
        {
            *key = Some(new);
        }
    }

    /// Attaches a completed value to its parent.
    fn close(&mut self, node: u32, anchor: usize) -> Result<(), MalformedText> {
        if anchor > 0 {
            self.anchors.insert(anchor, node);
        }
        let Some(open) = self.open.last_mut() else {
            self.tree.root.get_or_insert(node);
            return Ok(());
        };
        match &mut open.contents {
            Contents::Sequence(items) => items.push(node),
            Contents::Mapping { entries, key } => match key.take() {
                Some(Key::Node(key)) => entries.push(Entry {
                    key,
                    value: node,
                    is_merged: false,
                }),
                Some(Key::Merge) => return self.merge(node),
                None => {}
            },
        }
        Ok(())
    }

    /// Applies `<<: *defaults`, or a list of merge sources, of which the first has precedence. As in kubectl, a merged
    /// entry overrides keys before `<<`, and keys after `<<` override it.
    fn merge(&mut self, source: u32) -> Result<(), MalformedText> {
        let sources = match self.tree.node(source).map(|node| node.value) {
            Some(Value::Sequence(items)) => {
                self.tree.children(items).iter().rev().copied().collect()
            }
            _ => vec![source],
        };
        let mut merged = Vec::new();
        for source in sources {
            let Some(Value::Mapping(entries)) = self.tree.node(source).map(|node| node.value)
            else {
                return Err(self.malformed_node(source, "invalid <<: expected a mapping"));
            };
            let entries = self.tree.entries(entries);
            let sizes = entries
                .iter()
                .map(|[key, _]| self.tree.key(*key).len().saturating_add(ENTRY_SIZE));
            self.merged_size = sizes.fold(self.merged_size, usize::saturating_add);
            if self.merged_size > self.tree.limit {
                let limit = self.tree.limit;
                let text = format!("merge keys expand the document to more than {limit} bytes");
                return Err(self.malformed_node(source, text).unsupported());
            }
            merged.extend(entries.iter().map(|[key, value]| Entry {
                key: *key,
                value: *value,
                is_merged: true,
            }));
        }
        if let Some(open) = self.open.last_mut()
            && let Contents::Mapping { entries, .. } = &mut open.contents
        {
            entries.append(&mut merged);
        }
        Ok(())
    }

    /// Resolves a scalar by its tag and style.
    fn scalar(
        &self,
        text: Cow<'t, str>,
        style: ScalarStyle,
        tag: Option<&Tag>,
        at: Marker,
    ) -> Result<ScalarText<'t>, MalformedText> {
        let tag = match tag {
            // Go reads a value with an unknown tag as a string.
            Some(tag) => tag.suffix_in_namespace(TAGS).unwrap_or("str".into()),
            None if style == ScalarStyle::Plain => "".into(),
            None => "str".into(),
        };
        if tag == "binary" {
            return Err(self.malformed(at, "unsupported tag !!binary").unsupported());
        }
        if !["", "bool", "int", "float", "null"].contains(&&*tag) {
            return Ok(ScalarText::Text(text));
        }
        let scalar = resolve(&text);
        let is_of_tag = match &scalar {
            Scalar::Null => tag == "null",
            Scalar::Bool(_) => tag == "bool",
            Scalar::Number(number) => {
                tag == "float" || tag == "int" && !number.contains(['.', 'e', 'E'])
            }
            Scalar::NonFinite => true,
            Scalar::Text => false,
        };
        if !tag.is_empty() && !is_of_tag {
            return Err(self.malformed(at, format!("invalid value for tag !!{tag}")));
        }
        match scalar {
            Scalar::Null => Ok(ScalarText::Literal("null".into())),
            Scalar::Bool(value) => Ok(ScalarText::Literal(value.to_string().into())),
            Scalar::Number(number) => Ok(ScalarText::Literal(number.into())),
            Scalar::NonFinite => Err(self.malformed(at, "invalid number: not finite")),
            Scalar::Text => Ok(ScalarText::Text(text)),
        }
    }
}

/// Returns the byte offset of a marker in the part. It is always set for borrowed input.
fn byte_offset(at: Marker) -> usize {
    at.byte_offset().unwrap_or_default()
}
