//! YAML and JSON documents with the positions of their values.

mod json;
mod scalar;
mod yaml;

use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

use crate::malformed::MalformedText;
use crate::path::Path;
use crate::places::Places;

/// A document in a text.
#[derive(Debug)]
pub struct Document<'t> {
    /// Positions in the whole text, shared by its documents.
    places: Rc<Places<'t>>,
    form: Form<'t>,
}

#[derive(Debug)]
enum Form<'t> {
    Json(json::Node<'t>),
    Yaml(yaml::Tree<'t>, String),
}

/// The position of a value in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
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
    /// repeated key is an error.
    pub fn all(text: &'t str) -> Vec<Result<Self, MalformedText>> {
        let mut documents = Vec::new();
        Self::each(text, |document| {
            documents.push(
                document.and_then(|document| match document.repeated_keys() {
                    [] => Ok(document),
                    [first, ..] => Err(first.clone()),
                }),
            );
        });
        documents
    }

    /// Passes each document of a text to a callback, one at a time, because a document needs many times the memory of its
    /// text. Unlike [`Document::all`], allows repeated keys: as in kubectl, the last value wins.
    pub fn each(text: &'t str, mut each: impl FnMut(Result<Self, MalformedText>)) {
        let places = Rc::new(Places::new(text));
        for part in parts(text) {
            let start = part.trim_start();
            let mut values = if start.starts_with(['{', '[']) {
                json::values(&places, start)
            } else {
                Vec::new()
            };
            // A YAML flow mapping starts like JSON.
            if !matches!(values.first(), Some(Ok(_))) {
                match Self::yaml(&places, part) {
                    Ok(document) => {
                        let document = document.filter(|document| document.json() != "null");
                        document.into_iter().map(Ok).for_each(&mut each);
                        continue;
                    }
                    Err(malformed) if values.is_empty() => values.push(Err(malformed)),
                    Err(_) => {}
                }
            }
            for value in values {
                if value.as_deref() == Ok("null") {
                    continue;
                }
                each(value.map(|value| Self {
                    places: Rc::clone(&places),
                    form: Form::Json(json::Node::new(value, value)),
                }));
            }
        }
    }

    fn yaml(places: &Rc<Places<'t>>, part: &'t str) -> Result<Option<Self>, MalformedText> {
        let Some(tree) = yaml::Tree::read(places, part)? else {
            return Ok(None);
        };
        let json = tree.json(places)?;
        let form = Form::Yaml(tree, json);
        let places = Rc::clone(places);
        Ok(Some(Self { places, form }))
    }

    /// Returns the document as JSON.
    pub fn json(&self) -> &str {
        match &self.form {
            Form::Json(json) => json.value,
            Form::Yaml(_, json) => json,
        }
    }

    /// Returns the keys that occur more than once in a YAML mapping.
    pub fn repeated_keys(&self) -> &[MalformedText] {
        match &self.form {
            Form::Json(_) => &[],
            Form::Yaml(tree, _) => &tree.repeated,
        }
    }

    /// Returns the position of the value at a path, or of its nearest enclosing value.
    pub fn locate(&self, path: &Path) -> Located {
        self.located(path, false)
    }

    /// Returns the position of the key at a path.
    pub fn locate_key(&self, path: &Path) -> Located {
        self.located(path, true)
    }

    fn located(&self, path: &Path, is_key: bool) -> Located {
        let (span, is_exact) = match &self.form {
            Form::Json(json) => {
                let (shown, is_exact) = json.find(path, is_key);
                let start = offset_in(self.places.text, shown);
                (start..start.saturating_add(shown.len()), is_exact)
            }
            Form::Yaml(tree, _) => tree.find(path, is_key),
        };
        let (line, column) = self.places.position(span.start);
        Located {
            span,
            line,
            column,
            is_exact,
        }
    }
}

/// Splits a text at YAML document separators. A separator cannot occur inside a document.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0_usize;
    let mut at = 0_usize;
    for line in text.split_inclusive('\n') {
        let divides = line
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if divides {
            parts.extend(text.get(start..at));
            start = at;
        }
        at = at.saturating_add(line.len());
    }
    parts.extend(text.get(start..));
    parts
}

/// Returns the byte offset of a part in its text.
pub(crate) fn offset_in(text: &str, part: &str) -> usize {
    part.as_ptr().addr().saturating_sub(text.as_ptr().addr())
}

/// Returns a key as a JSON string.
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    // Serializing a string cannot fail.
    Cow::Owned(serde_json::to_string(text).unwrap_or_default())
}

/// Writes a JSON string. Most strings need no escapes.
fn string(json: &mut Vec<u8>, text: &str) {
    if text.bytes().all(|b| b >= 0x20 && b != b'"' && b != b'\\') {
        json.push(b'"');
        json.extend_from_slice(text.as_bytes());
        json.push(b'"');
    } else {
        json.extend_from_slice(quoted(text).as_bytes());
    }
}

#[cfg(test)]
mod tests;
