//! YAML and JSON documents with the positions of their values.

mod json;
mod scalar;
mod yaml;

use std::ops::Range;
use std::rc::Rc;

use crate::path::Path;
use crate::text::{LineIndex, MalformedText};

/// A document in a text.
#[derive(Debug)]
pub struct Document<'t> {
    /// Positions in the whole text, shared by its documents.
    lines: Rc<LineIndex<'t>>,
    content: Content<'t>,
}

#[derive(Debug)]
enum Content<'t> {
    Json(json::Node<'t>),
    Yaml(yaml::Tree<'t>, String),
}

/// The position of a value in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueLocation {
    /// The byte range in the text.
    pub span: Range<usize>,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// True if the value itself was found, false for its nearest enclosing value.
    pub is_exact: bool,
}

impl<'t> Document<'t> {
    /// Parses all documents of a text: YAML separated by `---`, or consecutive JSON values. A document that cannot be
    /// parsed yields an error with its position, and parsing continues with the next one. Null documents are skipped. A
    /// duplicate key in a YAML mapping is an error; in JSON, the last member wins.
    pub fn parse_all(text: &'t str) -> Vec<Result<Self, MalformedText>> {
        let mut documents = Vec::new();
        Self::for_each(text, |document| {
            documents.push(document.and_then(Self::without_duplicate_fields));
        });
        documents
    }

    /// Passes each document of a text to a callback, one at a time, because a document needs many times the memory of its
    /// text. Unlike [`Document::parse_all`], allows duplicate keys: as in kubectl, the last value wins.
    pub fn for_each(text: &'t str, mut each: impl FnMut(Result<Self, MalformedText>)) {
        let lines = Rc::new(LineIndex::new(text));
        for part in parts(text) {
            let start = part.trim_start();
            let mut values = if start.starts_with(['{', '[']) {
                json::values(&lines, start)
            } else {
                Vec::new()
            };
            // A YAML flow mapping starts like JSON.
            let is_json = match values.first() {
                Some(Ok(_)) => true,
                Some(Err(error)) => error.text == json::COMMENT,
                None => false,
            };
            if !is_json {
                match Self::yaml(&lines, part) {
                    Ok(document) => {
                        document.into_iter().map(Ok).for_each(&mut each);
                        continue;
                    }
                    Err(malformed) if values.is_empty() => values.push(Err(malformed)),
                    Err(_) => {}
                }
            }
            for value in values.into_iter().filter(|value| *value != Ok("null")) {
                each(value.map(|value| Self {
                    lines: Rc::clone(&lines),
                    content: Content::Json(json::Node::new(value, value)),
                }));
            }
        }
    }

    fn yaml(lines: &Rc<LineIndex<'t>>, part: &'t str) -> Result<Option<Self>, MalformedText> {
        let Some(tree) = yaml::Tree::parse(lines, part)? else {
            return Ok(None);
        };
        let json = tree.json(lines)?;
        let lines = Rc::clone(lines);
        let is_null = json == "null";
        let content = Content::Yaml(tree, json);
        Ok((!is_null).then_some(Self { lines, content }))
    }

    pub fn json(&self) -> &str {
        match &self.content {
            Content::Json(json) => json.value,
            Content::Yaml(_, json) => json,
        }
    }

    /// Returns the keys that occur more than once in a YAML mapping.
    pub fn duplicate_fields(&self) -> &[MalformedText] {
        match &self.content {
            Content::Json(_) => &[],
            Content::Yaml(tree, _) => &tree.duplicates,
        }
    }

    /// Returns the document, or the first duplicate key of a YAML mapping as an error.
    pub fn without_duplicate_fields(self) -> Result<Self, MalformedText> {
        let duplicate = self.duplicate_fields().first().cloned();
        duplicate.map_or(Ok(self), Err)
    }

    /// Returns the template that `helm template` names in a comment before the document, `# Source: CHART/templates/FILE`, and the
    /// line of the comment.
    pub fn helm_template(&self) -> Option<(&'t str, usize)> {
        let Content::Yaml(tree, _) = &self.content else {
            return None;
        };
        let mut lines = tree.part().split_inclusive('\n').peekable();
        lines.next_if(|line| line.starts_with("---"));
        let comment = lines.next()?;
        let name = comment.strip_prefix("# Source: ")?.trim_end();
        let is_template = name.contains("/templates/") || name.contains("/crds/");
        let (line, _) = self.lines.position(self.lines.offset_of(comment));
        Some((name, line)).filter(|_| is_template && !name.contains("://"))
    }

    /// Returns the position of the value at a path, or of its nearest enclosing value.
    pub fn locate(&self, path: &Path) -> ValueLocation {
        self.located(path, false)
    }

    pub fn locate_key(&self, path: &Path) -> ValueLocation {
        self.located(path, true)
    }

    fn located(&self, path: &Path, is_key: bool) -> ValueLocation {
        let (span, is_exact) = match &self.content {
            Content::Json(json) => {
                let (shown, is_exact) = json.find(path, is_key);
                let start = self.lines.offset_of(shown);
                (start..start.saturating_add(shown.len()), is_exact)
            }
            Content::Yaml(tree, _) => tree.find(path, is_key),
        };
        let (line, column) = self.lines.position(span.start);
        ValueLocation {
            span,
            line,
            column,
            is_exact,
        }
    }
}

/// Byte order mark, which kubectl removes at the start of a document.
const BOM: char = '\u{feff}';

/// Splits a text at YAML document separators. A separator cannot occur inside a document.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut line_start, mut is_first) = (0_usize, 0_usize, false);
    for line in text.split_inclusive('\n') {
        let rest = line.strip_prefix("---");
        let is_separator =
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if is_separator {
            parts.extend(text.get(start..line_start));
            start = line_start;
        } else if is_first && line.starts_with(BOM) {
            start = line_start.saturating_add(BOM.len_utf8());
        }
        is_first = is_separator;
        line_start = line_start.saturating_add(line.len());
    }
    parts.extend(text.get(start..));
    parts
}

#[cfg(test)]
mod tests;
