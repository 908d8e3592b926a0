//! Parser of a rule's documentation page. It runs at compile time, so that a page without a required part does not compile.

use super::{Documentation, Example};

/// Placeholder for a long text in an [`Example`].
const LONG_TEXT: &str = "(1 MiB of text)";

impl Example {
    /// Returns the admission request, as JSON. `(1 MiB of text)` is a placeholder: see [`Example::full_request`].
    ///
    /// Most pages leave out the kind, which is then a Job, and all leave out the operation: an update has an old object.
    pub fn request(&self) -> String {
        let has = |member: &str| self.on_page.contains(&format!("\n  \"{member}\":"));
        let operation = if has("oldObject") { "UPDATE" } else { "CREATE" };
        let kind = if has("kind") {
            ""
        } else {
            r#""kind": {"group": "batch", "version": "v1", "kind": "Job"},"#
        };
        let members = self.on_page.trim_start_matches('{');
        format!(r#"{{"operation": "{operation}",{kind}{members}"#)
    }

    /// Returns the request with placeholders expanded.
    pub fn full_request(&self) -> String {
        self.request().replace(LONG_TEXT, &"x".repeat(1 << 20))
    }
}

/// Returns the parts of the page, except the source and the deviation.
pub(super) const fn documentation(page: &'static str) -> Documentation {
    let (title, rest) = split_required(page, "\n");
    let (text, rest) = split_required(rest, "\n## What to do\n");
    let (fix, _) = split_required(rest, "\n## ");
    let (_, examples) = split_required(rest, "\n## Accepted\n");
    let (accepted, rejected) = split_required(examples, "\n## Rejected\n");
    Documentation {
        title: split_required(title, "# ").1,
        text: text.trim_ascii(),
        fix: fix.trim_ascii(),
        accepted: example(accepted),
        rejected: example(rejected),
    }
}

/// Returns the source of a rule of this project.
pub(super) const fn source(page: &'static str) -> &'static str {
    let (_, rest) = split_required(page, "\n## Source\n");
    split_required(rest, "\n## ").0.trim_ascii()
}

/// Returns the intended difference from kube-apiserver, if there is one.
pub(super) const fn deviation(page: &'static str) -> Option<&'static str> {
    match split_once(page, "\n## Deviation\n") {
        Some((_, rest)) => Some(split_required(rest, "\n## ").0.trim_ascii()),
        None => None,
    }
}

const fn example(part: &'static str) -> Example {
    let (head, request) = split_required(part, "```json\n");
    Example {
        settings: match split_once(head, "Settings: `") {
            Some((_, rest)) => split_required(rest, "`").0,
            None => "{}",
        },
        on_page: split_required(request, "\n```").0,
    }
}

/// Splits text at a delimiter, which must exist.
#[expect(clippy::panic, reason = "it runs while the library is built")]
pub(crate) const fn split_required(
    text: &'static str,
    delimiter: &str,
) -> (&'static str, &'static str) {
    match split_once(text, delimiter) {
        Some(parts) => parts,
        None => panic!("missing heading or delimiter in a documentation page"),
    }
}

/// Splits text at a delimiter, byte by byte because [`str::split_once`] is not `const`.
pub(crate) const fn split_once(
    text: &'static str,
    delimiter: &str,
) -> Option<(&'static str, &'static str)> {
    let mut rest = text.as_bytes();
    while let Some((_, after)) = rest.split_first() {
        if starts_with(rest, delimiter.as_bytes())
            && let Some(offset) = text.len().checked_sub(rest.len())
        {
            let (before, from) = text.split_at(offset);
            return Some((before, from.split_at(delimiter.len()).1));
        }
        rest = after;
    }
    None
}

const fn starts_with(mut text: &[u8], mut delimiter: &[u8]) -> bool {
    while let Some((wanted, rest)) = delimiter.split_first() {
        match text.split_first() {
            Some((byte, after)) if *byte == *wanted => text = after,
            _ => return false,
        }
        delimiter = rest;
    }
    true
}
