//! YAML documents: `saphyr-parser` reads them, and the values keep their places.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag};

use super::scalar::{Scalar, resolve};
use super::{offset_in, quoted};
use crate::path::Path;
use crate::trouble::Trouble;

/// No manifest is nested deeper; the parser of flow collections stops at 255.
const MAX_DEPTH: usize = 200;

/// What aliases may make of a document: so many times its size, beside a constant.
const MAX_GROWTH: usize = 20;
const FREE_GROWTH: usize = 1 << 20;

/// The values of one document, each by its number.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    root: usize,
    /// The most bytes that the document may have as JSON.
    budget: usize,
}

#[derive(Debug)]
struct Node {
    span: Range<usize>,
    value: Value,
}

#[derive(Debug)]
enum Value {
    /// As JSON.
    Scalar(String),
    Sequence(Vec<usize>),
    Mapping(Mapping),
}

/// Entries in their order, and the place of each by its key.
#[derive(Debug, Default)]
struct Mapping {
    entries: Vec<Entry>,
    places: BTreeMap<Cow<'static, str>, usize>,
}

impl Mapping {
    fn get(&self, key: &str) -> Option<&Entry> {
        self.places
            .get(key)
            .and_then(|place| self.entries.get(*place))
    }

    /// Puts an entry in, in place of a known one with the same key.
    fn put(&mut self, entry: Entry) {
        let known = self.places.get(&*entry.key).copied();
        if let Some(known) = known.and_then(|place| self.entries.get_mut(place)) {
            *known = entry;
        } else {
            let key = Cow::Owned(entry.key.clone());
            self.places.insert(key, self.entries.len());
            self.entries.push(entry);
        }
    }
}

#[derive(Debug, Clone)]
struct Entry {
    key: String,
    key_span: Range<usize>,
    value: usize,
    /// Whether it comes of `<<`, so that a key of the mapping's own counts more.
    is_merged: bool,
}

/// A collection that is being read.
struct Open {
    node: usize,
    anchor: usize,
    start: Marker,
    /// A mapping's key that waits for its value.
    key: Option<(String, Range<usize>, bool)>,
}

struct Builder<'t> {
    text: &'t str,
    part_start: usize,
    lines: Lines<'t>,
    nodes: Vec<Node>,
    open: Vec<Open>,
    anchors: Vec<(usize, usize)>,
    root: Option<usize>,
    merged: usize,
    budget: usize,
}

/// Finds the byte of a marker, which counts characters. Markers come nearly in order.
struct Lines<'t> {
    part: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(part: &'t str) -> Self {
        let ends = memchr::memchr_iter(b'\n', part.as_bytes());
        let starts = std::iter::once(0).chain(ends.map(|end| end.saturating_add(1)));
        Self {
            part,
            starts: starts.collect(),
        }
    }

    fn byte(&self, marker: Marker) -> usize {
        let line = marker.line().saturating_sub(1);
        let Some(&start) = self.starts.get(line) else {
            return self.part.len();
        };
        let rest = self.part.get(start..).unwrap_or_default();
        let mut chars = rest.char_indices();
        let column = chars.nth(marker.col()).map_or(rest.len(), |(at, _)| at);
        start.saturating_add(column)
    }
}

impl Tree {
    /// Reads a part of a text that holds one document; [`None`] if it holds nothing.
    pub(super) fn read(text: &str, part: &str) -> Result<Option<Self>, Trouble> {
        let is_empty = part.lines().all(|line| {
            let line = line.strip_prefix("---").unwrap_or(line).trim();
            line.is_empty() || line.starts_with(['#', '%']) || line == "..."
        });
        if is_empty {
            return Ok(None);
        }
        let mut builder = Builder {
            text,
            part_start: offset_in(text, part),
            lines: Lines::new(part),
            nodes: Vec::new(),
            open: Vec::new(),
            anchors: Vec::new(),
            root: None,
            merged: 0,
            budget: part
                .len()
                .saturating_mul(MAX_GROWTH)
                .saturating_add(FREE_GROWTH),
        };
        let mut parser = Parser::new_from_str(part);
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
            budget: builder.budget,
        }))
    }

    /// The document as JSON.
    pub(super) fn json(&self, text: &str) -> Result<String, Trouble> {
        let mut json = String::new();
        self.write(self.root, 0, text, &mut json)?;
        Ok(json)
    }

    fn write(&self, id: usize, depth: usize, text: &str, json: &mut String) -> Result<(), Trouble> {
        let Some(node) = self.nodes.get(id) else {
            return Ok(());
        };
        if json.len() > self.budget {
            let what = format!("its aliases make more than {} bytes of it", self.budget);
            return Err(Trouble::in_text(text, node.span.start, what));
        }
        if depth > MAX_DEPTH {
            let what = format!("is nested deeper than {MAX_DEPTH} levels");
            return Err(Trouble::in_text(text, node.span.start, what));
        }
        let deeper = depth.saturating_add(1);
        match &node.value {
            Value::Scalar(scalar) => json.push_str(scalar),
            Value::Sequence(items) => {
                let mut open = '[';
                for item in items {
                    json.push(open);
                    open = ',';
                    self.write(*item, deeper, text, json)?;
                }
                json.push_str(if items.is_empty() { "[]" } else { "]" });
            }
            Value::Mapping(Mapping { entries, .. }) => {
                let mut open = '{';
                for entry in entries {
                    // Writing to a String cannot fail.
                    let _ = write!(json, "{open}{}:", quoted(&entry.key));
                    open = ',';
                    self.write(entry.value, deeper, text, json)?;
                }
                json.push_str(if entries.is_empty() { "{}" } else { "}" });
            }
        }
        Ok(())
    }

    /// Where the value at a path stands, or the nearest value around it; and whether it was found.
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
                Some(Value::Scalar(_)) | None => None,
            };
            let Some((value, key)) = next else {
                return (span, false);
            };
            at = value;
            let is_collection = self
                .nodes
                .get(at)
                .is_some_and(|node| !matches!(node.value, Value::Scalar(_)));
            // Of what fills many lines the key is shown.
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

impl Builder<'_> {
    fn byte(&self, marker: Marker) -> usize {
        self.part_start.saturating_add(self.lines.byte(marker))
    }

    fn span(&self, span: Span) -> Range<usize> {
        self.byte(span.start)..self.byte(span.end)
    }

    fn trouble(&self, at: Marker, what: impl Into<String>) -> Trouble {
        Trouble::in_text(self.text, self.byte(at), what)
    }

    fn unreadable(&self, error: &ScanError) -> Trouble {
        self.trouble(*error.marker(), format!("not YAML: {}", error.info()))
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Trouble> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if let Some(key_span) = self.awaits_key().then(|| self.span(span)) {
                    let (key, is_merge) = key(&text, style);
                    return self.set_key(key, key_span, is_merge, span.start);
                }
                let json = self.scalar(&text, style, tag.as_deref(), span.start)?;
                let node = self.add(self.span(span), Value::Scalar(json));
                self.close(node, anchor)
            }
            Event::SequenceStart(anchor, _) => {
                self.begin(anchor, span, Value::Sequence(Vec::new()))
            }
            Event::MappingStart(anchor, _) => {
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
                if self.awaits_key() {
                    return Err(self.trouble(span.start, "an alias as a key"));
                }
                let known = self.anchors.iter().rev().find(|(a, _)| *a == anchor);
                let Some((_, node)) = known.copied() else {
                    return Err(self.trouble(span.start, "an alias of what stands around it"));
                };
                self.close(node, 0)
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    /// Whether the next value is a key.
    fn awaits_key(&self) -> bool {
        self.open.last().is_some_and(|open| {
            let node = self.nodes.get(open.node);
            open.key.is_none() && matches!(node.map(|n| &n.value), Some(Value::Mapping(_)))
        })
    }

    fn begin(&mut self, anchor: usize, span: Span, value: Value) -> Result<(), Trouble> {
        if self.awaits_key() {
            return Err(self.trouble(span.start, "a key that is no string"));
        }
        if self.open.len() >= MAX_DEPTH {
            let what = format!("is nested deeper than {MAX_DEPTH} levels");
            return Err(self.trouble(span.start, what));
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

    fn add(&mut self, span: Range<usize>, value: Value) -> usize {
        self.nodes.push(Node { span, value });
        self.nodes.len().saturating_sub(1)
    }

    fn set_key(
        &mut self,
        key: String,
        span: Range<usize>,
        is_merge: bool,
        at: Marker,
    ) -> Result<(), Trouble> {
        let Some(open) = self.open.last() else {
            return Ok(());
        };
        if let Some(Value::Mapping(mapping)) = self.nodes.get(open.node).map(|n| &n.value) {
            let own = mapping.get(&key).filter(|entry| !entry.is_merged);
            if let Some(first) = own.filter(|_| !is_merge) {
                let (line, _) = crate::trouble::position(self.text, first.key_span.start);
                let what = format!("key {} is given twice, first on line {line}", quoted(&key));
                return Err(self.trouble(at, what));
            }
        }
        if let Some(open) = self.open.last_mut() {
            open.key = Some((key, span, is_merge));
        }
        Ok(())
    }

    /// A value is complete: puts it where it belongs.
    fn close(&mut self, node: usize, anchor: usize) -> Result<(), Trouble> {
        if anchor > 0 {
            self.anchors.push((anchor, node));
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

    /// `<<: *defaults`, or a list of such.
    fn merge(&mut self, into: usize, from: usize) -> Result<(), Trouble> {
        let sources = match self.nodes.get(from).map(|n| &n.value) {
            Some(Value::Sequence(items)) => items.clone(),
            _ => vec![from],
        };
        for source in sources {
            let (at, new) = match self.nodes.get(source) {
                Some(Node {
                    value: Value::Mapping(mapping),
                    span,
                }) => (span.start, mapping.entries.clone()),
                other => {
                    let at = other.map_or(0, |node| node.span.start);
                    return Err(Trouble::in_text(self.text, at, "<< of what is no mapping"));
                }
            };
            self.merged = self.merged.saturating_add(new.len());
            if self.merged > self.budget {
                let what = format!("its aliases make more than {} keys of it", self.budget);
                return Err(Trouble::in_text(self.text, at, what));
            }
            if let Some(Value::Mapping(mapping)) = self.nodes.get_mut(into).map(|n| &mut n.value) {
                for entry in new {
                    if mapping.get(&entry.key).is_none() {
                        mapping.put(Entry {
                            is_merged: true,
                            ..entry
                        });
                    }
                }
            }
        }
        Ok(())
    }

    /// A scalar as JSON.
    fn scalar(
        &self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        at: Marker,
    ) -> Result<String, Trouble> {
        let is_string = style != ScalarStyle::Plain
            || tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
        if is_string {
            return Ok(quoted(text).into_owned());
        }
        Ok(match resolve(text) {
            Scalar::Null => "null".to_owned(),
            Scalar::Bool(value) => value.to_string(),
            Scalar::Number(number) => number,
            Scalar::NotInJson => {
                return Err(self.trouble(at, "a number that JSON does not have"));
            }
            Scalar::Text => quoted(text).into_owned(),
        })
    }
}

/// A key as kubectl reads it, and whether it asks for a merge.
fn key(text: &str, style: ScalarStyle) -> (String, bool) {
    if style != ScalarStyle::Plain {
        return (text.to_owned(), false);
    }
    let key = match resolve(text) {
        Scalar::Bool(value) => value.to_string(),
        Scalar::Number(number) => number,
        Scalar::Null => "null".to_owned(),
        Scalar::NotInJson | Scalar::Text => text.to_owned(),
    };
    (key, text == "<<")
}
