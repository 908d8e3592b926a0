//! Builds a document's values from parser events, resolving anchors, aliases and merge keys within a size budget.

use std::borrow::Cow;
use std::ops::Range;

use granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag, options};

use super::super::scalar::{Scalar, resolve};
use super::super::{offset_in, quoted};
use super::{Entry, MAX_DEPTH, Mapping, Node, Tree, Value};
use crate::malformed::MalformedText;
use crate::places::Places;

/// Largest allowed ratio of a document's expanded size to its source size, beyond [`FREE_GROWTH`].
const MAX_GROWTH: usize = 20;
const FREE_GROWTH: usize = 1 << 20;

/// Memory in bytes that merge keys may always add, whatever the size of the document.
const FREE_MERGES: usize = 16 << 20;

/// Estimated memory of a mapping entry, or of an index entry, without its key.
const ENTRY: usize = 128;

/// The namespace of YAML's own tags.
const TAGS: &str = "tag:yaml.org,2002:";

/// Cost charged per merged entry, so that merges that only overwrite entries are bounded too.
const LOOK: usize = 8;

impl<'t> Tree<'t> {
    /// Parses a part of a text that contains one document. Returns [`None`] if the part is empty.
    pub(in crate::document) fn read(
        places: &Places<'t>,
        part: &'t str,
    ) -> Result<Option<Self>, MalformedText> {
        let is_empty = part.lines().all(|line| {
            let line = line.strip_prefix("---").unwrap_or(line).trim();
            line.is_empty() || line.starts_with(['#', '%']) || line == "..."
        });
        if is_empty {
            return Ok(None);
        }
        let growth = part.len().saturating_mul(MAX_GROWTH);
        let mut builder = Builder {
            places,
            part_start: offset_in(places.text, part),
            nodes: Vec::new(),
            open: Vec::new(),
            anchors: Vec::new(),
            root: None,
            repeated: Vec::new(),
            merged: Merged {
                bytes: 0,
                most: growth.saturating_add(FREE_MERGES),
            },
            budget: growth.saturating_add(FREE_GROWTH),
        };
        if let Some(at) = part.find(['\u{85}', '\u{2028}', '\u{2029}']) {
            let what = "U+0085, U+2028 or U+2029: kubectl takes it for the end of a line";
            let at = builder.part_start.saturating_add(at);
            return Err(places.malformed(at, what).refused());
        }
        let libyaml = options! { bom_inside_document_as_content: true };
        let mut parser = Parser::new_from_str_with_options(part, libyaml);
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|e| builder.unreadable(&e))?;
            builder.event(event, span)?;
        }
        let Some(root) = builder.root else {
            return Ok(None);
        };
        Ok(Some(Self {
            nodes: builder.nodes,
            root,
            repeated: builder.repeated,
            budget: builder.budget,
        }))
    }
}
/// A collection that is being parsed.
struct Open<'t> {
    node: usize,
    anchor: usize,
    start: Marker,
    /// The pending key of a mapping.
    key: Option<(Cow<'t, str>, Range<usize>, bool)>,
}

struct Builder<'p, 't> {
    places: &'p Places<'t>,
    part_start: usize,
    nodes: Vec<Node<'t>>,
    open: Vec<Open<'t>>,
    /// The node of each completed anchor. Anchors are numbered in order of appearance.
    anchors: Vec<Option<usize>>,
    root: Option<usize>,
    repeated: Vec<MalformedText>,
    merged: Merged,
    budget: usize,
}

/// Memory used by merge keys, and its limit.
struct Merged {
    bytes: usize,
    most: usize,
}

impl<'t> Builder<'_, 't> {
    fn byte(&self, marker: Marker) -> usize {
        // `byte_offset` is always set for borrowed input.
        let byte = marker.byte_offset().unwrap_or_default();
        self.part_start.saturating_add(byte)
    }

    fn span(&self, span: Span) -> Range<usize> {
        self.byte(span.start)..self.byte(span.end)
    }

    fn malformed(&self, at: Marker, what: impl Into<String>) -> MalformedText {
        self.places.malformed(self.byte(at), what)
    }

    fn unreadable(&self, error: &ScanError) -> MalformedText {
        self.malformed(*error.marker(), format!("not YAML: {}", error.info()))
    }

    fn event(&mut self, event: Event<'t>, span: Span) -> Result<(), MalformedText> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if let Some(key_span) = self.awaits_key().then(|| self.span(span)) {
                    let Some((key, is_merge)) = key(text, style) else {
                        return Err(self.malformed(span.start, "a key that is null"));
                    };
                    self.set_key(key, key_span, is_merge);
                    return Ok(());
                }
                let value = self.scalar(text, style, tag.as_deref(), span.start)?;
                let node = self.add(self.span(span), value);
                self.close(node, anchor)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.begin(anchor, span, Value::Sequence(Vec::new()))
            }
            Event::MappingStart(_, anchor, _) => {
                self.begin(anchor, span, Value::Mapping(Mapping::default()))
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else {
                    return Ok(());
                };
                let span = self.byte(open.start)..self.byte(span.end);
                if let Some(node) = self.nodes.get_mut(open.node) {
                    node.span = span;
                }
                self.close(open.node, open.anchor)
            }
            Event::Alias(anchor) => {
                let known = self.anchors.get(anchor).copied();
                let Some(node) = known.flatten() else {
                    return Err(self.malformed(span.start, "an alias of what stands around it"));
                };
                if self.awaits_key() {
                    let key = match self.nodes.get(node).map(|n| &n.value) {
                        Some(Value::Text(text)) => text.clone(),
                        Some(Value::Word(word)) if word != "null" => Cow::Owned(word.clone()),
                        _ => return Err(self.malformed(span.start, "a key that is no string")),
                    };
                    self.set_key(key, self.span(span), false);
                    return Ok(());
                }
                self.close(node, 0)
            }
            // Other events carry no value: starts, ends, and events that only options enable.
            _ => Ok(()),
        }
    }

    /// Returns true if the next value is a mapping key.
    fn awaits_key(&self) -> bool {
        self.open.last().is_some_and(|open| {
            let node = self.nodes.get(open.node);
            open.key.is_none() && matches!(node.map(|n| &n.value), Some(Value::Mapping(_)))
        })
    }

    fn begin(&mut self, anchor: usize, span: Span, value: Value<'t>) -> Result<(), MalformedText> {
        if self.awaits_key() {
            return Err(self.malformed(span.start, "a key that is no string"));
        }
        if self.open.len() >= MAX_DEPTH {
            let what = format!("is nested deeper than {MAX_DEPTH} levels");
            return Err(self.malformed(span.start, what).refused());
        }
        let node = self.add(self.span(span), value);
        self.open.push(Open {
            node,
            anchor,
            start: span.start,
            key: None,
        });
        Ok(())
    }

    fn add(&mut self, span: Range<usize>, value: Value<'t>) -> usize {
        self.nodes.push(Node { span, value });
        self.nodes.len().saturating_sub(1)
    }

    fn set_key(&mut self, key: Cow<'t, str>, span: Range<usize>, is_merge: bool) {
        let Some(open) = self.open.last_mut() else {
            return;
        };
        if let Some(Value::Mapping(mapping)) = self.nodes.get(open.node).map(|n| &n.value)
            && let Some(first) = mapping.get(&key).filter(|entry| !entry.is_merged)
            && !is_merge
        {
            let (line, _) = self.places.position(first.key_span.start);
            let what = format!("key {} is given twice, first on line {line}", quoted(&key));
            self.repeated.push(self.places.malformed(span.start, what));
        }
        open.key = Some((key, span, is_merge));
    }

    /// Attaches a completed value to its parent.
    fn close(&mut self, node: usize, anchor: usize) -> Result<(), MalformedText> {
        if anchor > 0 {
            if self.anchors.len() <= anchor {
                self.anchors.resize(anchor.saturating_add(1), None);
            }
            if let Some(known) = self.anchors.get_mut(anchor) {
                *known = Some(node);
            }
        }
        let Some(open) = self.open.last_mut() else {
            self.root = self.root.or(Some(node));
            return Ok(());
        };
        let (parent, key) = (open.node, open.key.take());
        if let Some((_, _, true)) = key {
            return self.merge(parent, node);
        }
        match (self.nodes.get_mut(parent).map(|n| &mut n.value), key) {
            (Some(Value::Sequence(items)), _) => items.push(node),
            (Some(Value::Mapping(mapping)), Some((key, key_span, _))) => mapping.put(Entry {
                key,
                key_span,
                value: node,
                is_merged: false,
            }),
            _ => {}
        }
        Ok(())
    }

    /// Applies `<<: *defaults`, or a list of merge sources.
    fn merge(&mut self, into: usize, from: usize) -> Result<(), MalformedText> {
        let mut sources = match self.nodes.get(from).map(|n| &n.value) {
            Some(Value::Sequence(items)) => items.clone(),
            _ => vec![from],
        };
        // In a list, the first source has precedence.
        sources.reverse();
        for source in sources {
            let (at, count) = match self.nodes.get(source) {
                Some(Node {
                    value: Value::Mapping(mapping),
                    span,
                }) => (span.start, mapping.entries.len()),
                other => {
                    let at = other.map_or(0, |node| node.span.start);
                    return Err(self.places.malformed(at, "<< of what is no mapping"));
                }
            };
            for place in 0..count {
                self.merge_entry(into, source, place);
                if self.merged.bytes > self.merged.most {
                    let most = self.merged.most;
                    let what = format!("its merge keys make more than {most} bytes of it");
                    return Err(self.places.malformed(at, what).refused());
                }
            }
        }
        Ok(())
    }

    /// Copies an entry from one mapping into another. As in kubectl, a merged entry overrides keys before `<<`, and keys
    /// after `<<` override it.
    fn merge_entry(&mut self, into: usize, from: usize, place: usize) {
        self.merged.bytes = self.merged.bytes.saturating_add(LOOK);
        let entry = match self.nodes.get(from).map(|n| &n.value) {
            Some(Value::Mapping(from)) => from.entries.get(place).cloned(),
            _ => None,
        };
        let into = self.nodes.get_mut(into).map(|n| &mut n.value);
        let (Some(entry), Some(Value::Mapping(into))) = (entry, into) else {
            return;
        };
        if into.place(&entry.key).is_none() {
            // The key is stored twice: in the entry and in the index.
            let keys = entry.key.len().saturating_mul(2);
            let bytes = keys.saturating_add(ENTRY);
            self.merged.bytes = self.merged.bytes.saturating_add(bytes);
        }
        into.put(Entry {
            is_merged: true,
            ..entry
        });
    }

    /// Resolves a scalar by its tag and style.
    fn scalar(
        &self,
        text: Cow<'t, str>,
        style: ScalarStyle,
        tag: Option<&Tag>,
        at: Marker,
    ) -> Result<Value<'t>, MalformedText> {
        let tag = match (tag, style) {
            // Go reads a value with an unknown tag as a string.
            (Some(tag), _) => tag.suffix_in_namespace(TAGS).unwrap_or("str".into()),
            (None, ScalarStyle::Plain) => "".into(),
            (None, _) => "str".into(),
        };
        if tag == "binary" {
            return Err(self.malformed(at, "a value in base64 (!!binary)").refused());
        }
        let is_typed = ["bool", "int", "float", "null"].contains(&&*tag);
        if !is_typed && !tag.is_empty() {
            return Ok(Value::Text(text));
        }
        let scalar = resolve(&text);
        let is_of_tag = match &scalar {
            Scalar::Null => tag == "null",
            Scalar::Bool(_) => tag == "bool",
            Scalar::Number(number) => {
                tag == "float" || tag == "int" && !number.contains(['.', 'e', 'E'])
            }
            Scalar::NotInJson => true,
            Scalar::Text => false,
        };
        if is_typed && !is_of_tag {
            return Err(self.malformed(at, format!("no value of its type, !!{tag}")));
        }
        Ok(match scalar {
            Scalar::Null => Value::Word("null".to_owned()),
            Scalar::Bool(value) => Value::Word(value.to_string()),
            Scalar::Number(number) => Value::Word(number),
            Scalar::NotInJson => {
                return Err(self.malformed(at, "a number that JSON does not have"));
            }
            Scalar::Text => Value::Text(text),
        })
    }
}

/// Returns a key as kubectl reads it, and whether it is a merge key; [`None`] for null, which is not a valid key.
fn key(text: Cow<'_, str>, style: ScalarStyle) -> Option<(Cow<'_, str>, bool)> {
    if style != ScalarStyle::Plain {
        return Some((text, false));
    }
    let key = match resolve(&text) {
        Scalar::Bool(value) => value.to_string(),
        Scalar::Number(number) => number,
        Scalar::Null => return None,
        Scalar::NotInJson | Scalar::Text => {
            let is_merge = text == "<<";
            return Some((text, is_merge));
        }
    };
    Some((Cow::Owned(key), false))
}
