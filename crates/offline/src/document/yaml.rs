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

/// Maximum ratio of a document's expanded size to its source size, beyond [`FREE_GROWTH`].
const MAX_GROWTH: usize = 20;
const FREE_GROWTH: usize = 16 << 20;

/// Estimated memory of a mapping entry without its key.
const ENTRY_SIZE: usize = 128;

/// The namespace of YAML's own tags.
const TAGS: &str = "tag:yaml.org,2002:";

/// The nodes of one document, by index.
#[derive(Debug)]
pub(super) struct Tree<'t> {
    nodes: Vec<Node<'t>>,
    root: Option<usize>,
    /// Keys that occur more than once in a mapping. The last value wins.
    pub(super) duplicates: Vec<MalformedText>,
    /// Maximum expanded size in bytes.
    limit: usize,
}

#[derive(Debug)]
struct Node<'t> {
    span: Range<usize>,
    value: Value<'t>,
}

#[derive(Debug)]
enum Value<'t> {
    /// A null, boolean or number, as JSON.
    Literal(String),
    Text(Cow<'t, str>),
    Sequence(Vec<usize>),
    /// Entries by key. kubectl sorts the keys too.
    Mapping(BTreeMap<Cow<'t, str>, Entry>),
}

#[derive(Debug, Clone)]
struct Entry {
    key_span: Range<usize>,
    value: usize,
    /// True for an entry from `<<`. A key after the `<<` overrides it, and is not a duplicate.
    is_merged: bool,
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
        let growth = part.len().saturating_mul(MAX_GROWTH);
        let mut builder = Builder {
            lines,
            part_start,
            tree: Self {
                nodes: Vec::new(),
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
        Ok(Some(builder.tree).filter(|tree| tree.root.is_some()))
    }

    fn node(&self, id: Option<usize>) -> Option<&Node<'t>> {
        self.nodes.get(id?)
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
        id: usize,
        depth: usize,
        lines: &LineIndex<'_>,
        json: &mut String,
    ) -> Result<(), MalformedText> {
        let Some(node) = self.nodes.get(id) else {
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
            return Err(lines.malformed(node.span.start, text).unsupported());
        }
        let depth = depth.saturating_add(1);
        match &node.value {
            Value::Literal(literal) => json.push_str(literal),
            Value::Text(text) => json.push_str(&quoted(text)),
            Value::Sequence(items) => {
                json.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        json.push(',');
                    }
                    self.write(*item, depth, lines, json)?;
                }
                json.push(']');
            }
            Value::Mapping(entries) => {
                json.push('{');
                for (index, (key, entry)) in entries.iter().enumerate() {
                    if index > 0 {
                        json.push(',');
                    }
                    json.push_str(&quoted(key));
                    json.push(':');
                    self.write(entry.value, depth, lines, json)?;
                }
                json.push('}');
            }
        }
        Ok(())
    }

    /// Returns the span of the value at a path, or of its nearest enclosing value, and whether the match is exact. For
    /// collections, which span many lines, and with `is_key`, returns the span of the key.
    pub(super) fn find(&self, path: &Path, is_key: bool) -> (Range<usize>, bool) {
        let mut node = self.node(self.root);
        let mut span = node.map_or(0..0, |node| node.span.clone());
        for segment in path.segments() {
            let (next, key_span) = match node.map(|node| &node.value) {
                Some(Value::Mapping(entries)) => {
                    let entry = entries.get(&**segment);
                    entry.map(|entry| (entry.value, &entry.key_span)).unzip()
                }
                Some(Value::Sequence(items)) => {
                    let index = segment.parse().ok();
                    (
                        index.and_then(|index: usize| items.get(index)).copied(),
                        None,
                    )
                }
                Some(Value::Literal(_) | Value::Text(_)) | None => (None, None),
            };
            let Some(child) = self.node(next) else {
                return (span, false);
            };
            let is_scalar = matches!(child.value, Value::Literal(_) | Value::Text(_));
            let key_span = key_span.filter(|_| is_key || !is_scalar);
            span = key_span.unwrap_or(&child.span).clone();
            node = Some(child);
        }
        (span, true)
    }
}

/// Builds a tree from parser events.
struct Builder<'p, 't> {
    lines: &'p LineIndex<'t>,
    part_start: usize,
    tree: Tree<'t>,
    open: Vec<OpenCollection<'t>>,
    /// The node of each completed anchor.
    anchors: BTreeMap<usize, usize>,
    /// Estimated memory that merge keys use.
    merged_size: usize,
}

/// A collection that is being parsed.
struct OpenCollection<'t> {
    node: usize,
    anchor: usize,
    /// The pending key of a mapping.
    key: Option<Key<'t>>,
}

struct Key<'t> {
    text: Cow<'t, str>,
    span: Range<usize>,
    is_merge: bool,
}

impl<'t> Builder<'_, 't> {
    fn offset(&self, marker: Marker) -> usize {
        // `byte_offset` is always set for borrowed input.
        let byte = marker.byte_offset().unwrap_or_default();
        self.part_start.saturating_add(byte)
    }

    fn malformed(&self, at: Marker, text: impl Into<String>) -> MalformedText {
        self.lines.malformed(self.offset(at), text)
    }

    fn value(&self, node: usize) -> Option<&Value<'t>> {
        self.tree.nodes.get(node).map(|node| &node.value)
    }

    fn event(&mut self, event: Event<'t>, span: Span) -> Result<(), MalformedText> {
        let bytes = self.offset(span.start)..self.offset(span.end);
        let is_key = self.open.last().is_some_and(|open| {
            open.key.is_none() && matches!(self.value(open.node), Some(Value::Mapping(_)))
        });
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
                    let node = self.add(bytes.clone(), value);
                    self.anchors.insert(anchor, node);
                }
                self.set_key(text, bytes, is_merge);
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = self.scalar(text, style, tag.as_deref(), span.start)?;
                let node = self.add(bytes, value);
                self.close(node, anchor)
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if is_key => Err(invalid_key()),
            Event::SequenceStart(_, anchor, _) => {
                self.open(anchor, span.start, bytes, Value::Sequence(Vec::new()))
            }
            Event::MappingStart(_, anchor, _) => {
                self.open(anchor, span.start, bytes, Value::Mapping(BTreeMap::new()))
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else {
                    return Ok(());
                };
                if let Some(node) = self.tree.nodes.get_mut(open.node) {
                    node.span.end = bytes.end;
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
                let text = match self.value(node) {
                    Some(Value::Text(text)) => text.clone(),
                    Some(Value::Literal(literal)) if literal != "null" => {
                        Cow::Owned(literal.clone())
                    }
                    _ => return Err(invalid_key()),
                };
                self.set_key(text, bytes, false);
                Ok(())
            }
            // Other events carry no value: starts, ends, and events that only options enable.
            _ => Ok(()),
        }
    }

    fn add(&mut self, span: Range<usize>, value: Value<'t>) -> usize {
        self.tree.nodes.push(Node { span, value });
        self.tree.nodes.len().saturating_sub(1)
    }

    fn open(
        &mut self,
        anchor: usize,
        at: Marker,
        span: Range<usize>,
        value: Value<'t>,
    ) -> Result<(), MalformedText> {
        if self.open.len() >= MAX_DEPTH {
            let text = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(self.malformed(at, text).unsupported());
        }
        let node = self.add(span, value);
        self.open.push(OpenCollection {
            node,
            anchor,
            key: None,
        });
        Ok(())
    }

    /// Stores the pending key of a mapping, and records it if it is a duplicate.
    fn set_key(&mut self, text: Cow<'t, str>, span: Range<usize>, is_merge: bool) {
        let Some(open) = self.open.last_mut() else {
            return;
        };
        if let Some(Value::Mapping(entries)) = self.tree.nodes.get(open.node).map(|n| &n.value)
            && let Some(first) = entries.get(&text).filter(|entry| !entry.is_merged)
            && !is_merge
        {
            let (line, _) = self.lines.position(first.key_span.start);
            let message = format!("duplicate field {}, first on line {line}", quoted(&text));
            self.tree
                .duplicates
                .push(self.lines.malformed(span.start, message));
        }
        open.key = Some(Key {
            text,
            span,
            is_merge,
        });
    }

    /// Attaches a completed value to its parent.
    fn close(&mut self, node: usize, anchor: usize) -> Result<(), MalformedText> {
        if anchor > 0 {
            self.anchors.insert(anchor, node);
        }
        let Some(open) = self.open.last_mut() else {
            self.tree.root.get_or_insert(node);
            return Ok(());
        };
        let (parent, key) = (open.node, open.key.take());
        if key.as_ref().is_some_and(|key| key.is_merge) {
            return self.merge(parent, node);
        }
        match (self.tree.nodes.get_mut(parent).map(|n| &mut n.value), key) {
            (Some(Value::Sequence(items)), _) => items.push(node),
            (Some(Value::Mapping(entries)), Some(key)) => {
                let entry = Entry {
                    key_span: key.span,
                    value: node,
                    is_merged: false,
                };
                entries.insert(key.text, entry);
            }
            _ => {}
        }
        Ok(())
    }

    /// Applies `<<: *defaults`, or a list of merge sources, of which the first has precedence. As in kubectl, a merged
    /// entry overrides keys before `<<`, and keys after `<<` override it.
    fn merge(&mut self, target: usize, source: usize) -> Result<(), MalformedText> {
        let sources = match self.value(source) {
            Some(Value::Sequence(items)) => items.iter().rev().copied().collect(),
            _ => vec![source],
        };
        for source in sources {
            let node = self.tree.nodes.get(source);
            let start = node.map_or(0, |node| node.span.start);
            let Some(Value::Mapping(entries)) = node.map(|node| &node.value) else {
                return Err(self
                    .lines
                    .malformed(start, "invalid <<: expected a mapping"));
            };
            let sizes = entries
                .keys()
                .map(|key| key.len().saturating_add(ENTRY_SIZE));
            self.merged_size = sizes.fold(self.merged_size, usize::saturating_add);
            if self.merged_size > self.tree.limit {
                let limit = self.tree.limit;
                let text = format!("merge keys expand the document to more than {limit} bytes");
                return Err(self.lines.malformed(start, text).unsupported());
            }
            let entries = entries.clone().into_iter().map(|(key, entry)| {
                let is_merged = true;
                (key, Entry { is_merged, ..entry })
            });
            if let Some(Value::Mapping(target)) =
                self.tree.nodes.get_mut(target).map(|n| &mut n.value)
            {
                target.extend(entries);
            }
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
    ) -> Result<Value<'t>, MalformedText> {
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
            return Ok(Value::Text(text));
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
            Scalar::Null => Ok(Value::Literal("null".to_owned())),
            Scalar::Bool(value) => Ok(Value::Literal(value.to_string())),
            Scalar::Number(number) => Ok(Value::Literal(number)),
            Scalar::NonFinite => Err(self.malformed(at, "invalid number: not finite")),
            Scalar::Text => Ok(Value::Text(text)),
        }
    }
}
