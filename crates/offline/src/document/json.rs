//! JSON documents. `serde_json` parses them, and borrowed values keep their positions.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde_json::Deserializer;
use serde_json::value::RawValue;

use crate::json::{Members, elements, error_text, string};
use crate::path::Path;
use crate::text::{LineIndex, MalformedText};

/// Error about a comment. YAML would read it as a part of the next key.
pub(super) const COMMENT: &str = "not JSON: comments are not allowed";

/// Parses consecutive JSON values. Invalid text yields an error, and parsing resumes at the next line that starts with
/// `{`, as in a stream.
pub(super) fn values<'t>(
    lines: &LineIndex<'_>,
    part: &'t str,
) -> Vec<Result<&'t str, MalformedText>> {
    let mut values = Vec::new();
    let mut rest = part;
    loop {
        let mut read = Deserializer::from_str(rest).into_iter::<&'t RawValue>();
        let (bad, error) = loop {
            let start = read.byte_offset();
            match read.next() {
                Some(Ok(value)) => values.push(Ok(value.get())),
                Some(Err(error)) => break (start, error),
                None => return values,
            }
        };
        let offset = offset_of(rest, &error);
        let at = lines.offset_of(rest).saturating_add(offset);
        let bad_text = rest.get(offset..).unwrap_or_default();
        let text = if bad_text.starts_with("//") || bad_text.starts_with("/*") {
            COMMENT.to_owned()
        } else {
            error_text(&error)
        };
        values.push(Err(lines.malformed(at, text)));
        let bad = rest.get(bad..).unwrap_or_default().trim_ascii_start();
        // A line start inside an array does not start a document.
        let after = if bad.starts_with('[') {
            rest.get(offset..).unwrap_or_default()
        } else {
            bad
        };
        match after
            .find("\n{")
            .and_then(|end| after.get(end.saturating_add(1)..))
        {
            Some(next) => rest = next,
            None => return values,
        }
    }
}

/// Returns the byte offset of a `serde_json` error, which has a line and a byte column.
fn offset_of(text: &str, error: &serde_json::Error) -> usize {
    let lines = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1));
    let line_start = lines.fold(0_usize, |sum, line| sum.saturating_add(line.len()));
    line_start.saturating_add(error.column().saturating_sub(1))
}

/// A value of a document. Its children are parsed on first access and cached, so that looking up each item of a list does
/// not parse the whole list again.
#[derive(Debug)]
pub(super) struct Node<'t> {
    /// The raw name of a member without its quotes, or else the value.
    key: &'t str,
    pub(super) value: &'t str,
    children: OnceCell<Children<'t>>,
}

#[derive(Debug)]
enum Children<'t> {
    Members(BTreeMap<Cow<'t, str>, Node<'t>>),
    Elements(Vec<Node<'t>>),
}

impl<'t> Node<'t> {
    pub(super) const fn new(key: &'t str, value: &'t str) -> Self {
        Self {
            key,
            value,
            children: OnceCell::new(),
        }
    }

    /// Finds the value at a path, or its nearest enclosing value, and returns whether the match is exact. With `is_key`,
    /// returns the member's name instead.
    pub(super) fn find(&self, path: &Path, is_key: bool) -> (&'t str, bool) {
        let mut node = self;
        let mut is_exact = true;
        for segment in path.segments() {
            let next = match node.children.get_or_init(|| Children::parse(node.value)) {
                Children::Members(members) => members.get(&**segment),
                Children::Elements(elements) => {
                    segment.parse().ok().and_then(|at: usize| elements.get(at))
                }
            };
            let Some(next) = next else {
                is_exact = false;
                break;
            };
            node = next;
        }
        (if is_key { node.key } else { node.value }, is_exact)
    }
}

impl<'t> Children<'t> {
    /// Parses the children of a value. A scalar has none.
    fn parse(json: &'t str) -> Self {
        #[cfg(test)]
        tests::PARSED_BYTES.set(tests::PARSED_BYTES.get().saturating_add(json.len()));
        let Some(members) = Members::parse(json) else {
            let elements = elements(json).unwrap_or_default().into_iter();
            return Self::Elements(elements.map(|value| Node::new(value, value)).collect());
        };
        let mut nodes = BTreeMap::new();
        for (raw, value) in members.raw() {
            let key = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
            if let (Some(name), Some(key)) = (string(raw), key) {
                nodes.insert(name, Node::new(key, value));
            }
        }
        Self::Members(nodes)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fmt::Write as _;

    use super::Node;
    use crate::path::Path;

    thread_local! {
        /// Number of bytes parsed.
        pub(super) static PARSED_BYTES: Cell<usize> = const { Cell::new(0) };
    }

    /// Checks that locating paths in consecutive objects takes the same number of steps for each object.
    #[test]
    fn shared_prefixes_are_parsed_once() {
        for count in [10, 1000] {
            let mut list = "{\"kind\":\"List\",\"items\":[".to_owned();
            for index in 0..count {
                let comma = if index > 0 { "," } else { "" };
                write!(
                    list,
                    "{comma}{{\"kind\":\"Job\",\"spec\":{{\"a\":[{index},{{}}]}}}}"
                )
                .unwrap();
            }
            list.push_str("]}");
            let document = Node::new(&list, &list);
            PARSED_BYTES.set(0);
            for index in 0..count {
                for (path, shown) in [
                    ("spec.a[0]", index.to_string()),
                    ("spec.a[1]", "{}".to_owned()),
                    ("kind", "\"Job\"".to_owned()),
                ] {
                    let path = Path::parse(&format!("items[{index}].{path}"));
                    assert_eq!(document.find(&path, false), (&*shown, true));
                }
            }
            // Five passes: the list, its items, and each item with its spec, the array and the empty object in that.
            let parsed = PARSED_BYTES.get();
            assert!(parsed < 5 * list.len(), "{parsed} of {}", list.len());
        }
    }

    #[test]
    fn paths_are_found_in_any_order() {
        let json = "{\"a\":{\"b\":[1,{\"c\":2}],\"b\\n\":3},\"d\":null,\"d\":4}";
        let document = Node::new(json, json);
        for (path, is_key, expected) in [
            ("a.b[1].c", false, ("2", true)),
            ("a.b[0]", false, ("1", true)),
            ("a.b[0].c", false, ("1", false)),
            ("a.b[7]", false, ("[1,{\"c\":2}]", false)),
            ("a.b", true, ("b", true)),
            ("a[\"b\\n\"]", true, ("b\\n", true)),
            ("a[\"b\\n\"]", false, ("3", true)),
            ("d", false, ("4", true)),
            ("e.f", false, (json, false)),
            ("", true, (json, true)),
            ("a.b[1].c", true, ("c", true)),
        ] {
            let found = document.find(&Path::parse(path), is_key);
            assert_eq!(found, expected, "{path}");
        }
    }
}
