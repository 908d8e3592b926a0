//! Builds the tree of a YAML document from the events of the parser.

use std::borrow::Cow;
use std::collections::BTreeMap;

use granit_parser::{Event, Marker, ScalarStyle, Span, StructureStyle, Tag};

use super::{MAX_DEPTH, Node, TextSource, Tree, Value, to_usize};
use crate::document::scalar::{Scalar, resolve};
use crate::json::quoted;
use crate::text::{LineIndex, MalformedText};

/// Estimated memory of a mapping entry without its key.
const ENTRY_SIZE: usize = 128;

/// The namespace of YAML's own tags.
const TAGS: &str = "tag:yaml.org,2002:";

/// An entry of a mapping that is not complete.
#[derive(Debug, Clone, Copy)]
struct Entry {
    key: u32,
    value: u32,
    /// True for an entry from `<<`. A key after the `<<` overrides it, and is not a duplicate.
    is_merged: bool,
}

/// Converts an offset or an index, which [`MAX_LEN`](super::MAX_LEN) bounds.
fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Builds a tree from parser events.
pub(super) struct Builder<'p, 't> {
    lines: &'p LineIndex<'t>,
    pub(super) tree: Tree<'t>,
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
        is_flow: bool,
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

impl<'p, 't> Builder<'p, 't> {
    /// Starts with an empty tree.
    pub(super) fn new(lines: &'p LineIndex<'t>, tree: Tree<'t>) -> Self {
        Self {
            lines,
            tree,
            open: Vec::new(),
            anchors: BTreeMap::new(),
            merged_size: 0,
        }
    }

    pub(super) fn malformed(&self, at: Marker, text: impl Into<String>) -> MalformedText {
        let offset = self.tree.part_start.saturating_add(byte_offset(at));
        self.lines.malformed(offset, text)
    }

    fn malformed_node(&self, node: u32, text: impl Into<String>) -> MalformedText {
        let span = self.tree.node(node).map(|node| self.tree.span(node));
        self.lines
            .malformed(span.map_or(0, |span| span.start), text)
    }

    pub(super) fn event(&mut self, event: Event<'t>, span: Span) -> Result<(), MalformedText> {
        let contents = self.open.last().map(|open| &open.contents);
        let is_key = matches!(contents, Some(Contents::Mapping { key: None, .. }));
        let is_flow = matches!(contents, Some(Contents::Mapping { is_flow: true, .. }));
        let invalid_key = || self.malformed(span.start, "invalid key: expected a string");
        match event {
            Event::Scalar(text, style, anchor, tag) if is_key => {
                let is_plain = style == ScalarStyle::Plain;
                // Like kubectl, rejects a key that has several lines, or text before its quotes, such as a comment.
                let source = byte_offset(span.start)..byte_offset(span.end);
                let mut source = self.tree.part.get(source).unwrap_or_default().bytes();
                if is_flow && source.any(|b| b == b'\n' || is_plain && b == b'"') {
                    return Err(invalid_key());
                }
                // An alias can use the key as a value.
                let anchored = (anchor > 0)
                    .then(|| {
                        self.scalar(text.clone(), style, tag.as_deref(), span.start)
                            .ok()
                    })
                    .flatten();
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
            Event::MappingStart(style, anchor, _) => {
                let contents = Contents::Mapping {
                    entries: Vec::new(),
                    key: None,
                    is_flow: style == StructureStyle::Flow,
                };
                self.open(anchor, span, contents)
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
            Contents::Mapping { entries, key, .. } => match key.take() {
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
