//! A rule's page, which stands beside its check: what people read about it, taken apart while the library is built, so that a
//! page without one of its parts does not compile.

use super::{Documentation, Example};

/// What a request of an [`Example`] says instead of a text that no page has room for.
const MUCH_TEXT: &str = "(1 MiB of text)";

impl Example {
    /// The request as it is sent, with all of its text.
    pub fn full_request(&self) -> String {
        self.request.replace(MUCH_TEXT, &"x".repeat(1 << 20))
    }
}

/// The texts of the page: all its parts except the source and the deviation.
pub(super) const fn documentation(page: &'static str) -> Documentation {
    let (title, rest) = cut(page, "\n");
    let (text, rest) = cut(rest, "\n## What to do\n");
    let (fix, _) = cut(rest, "\n## ");
    let (_, examples) = cut(rest, "\n## Accepted\n");
    let (accepted, rejected) = cut(examples, "\n## Rejected\n");
    Documentation {
        title: cut(title, "# ").1,
        text: text.trim_ascii(),
        fix: fix.trim_ascii(),
        accepted: example(accepted),
        rejected: example(rejected),
    }
}

/// What a rule of this project rests on.
pub(super) const fn source(page: &'static str) -> &'static str {
    let (_, rest) = cut(page, "\n## Source\n");
    cut(rest, "\n## ").0.trim_ascii()
}

/// How a rule intentionally differs from kube-apiserver, if it does.
pub(super) const fn deviation(page: &'static str) -> Option<&'static str> {
    match split(page, "\n## Deviation\n") {
        Some((_, rest)) => Some(cut(rest, "\n## ").0.trim_ascii()),
        None => None,
    }
}

const fn example(part: &'static str) -> Example {
    let (head, request) = cut(part, "```json\n");
    Example {
        settings: match split(head, "Settings: `") {
            Some((_, rest)) => cut(rest, "`").0,
            None => "{}",
        },
        request: cut(request, "\n```").0,
    }
}

/// A text before and after a mark that must be there.
#[expect(clippy::panic, reason = "it runs while the library is built")]
pub(crate) const fn cut(text: &'static str, mark: &str) -> (&'static str, &'static str) {
    match split(text, mark) {
        Some(parts) => parts,
        None => panic!("a page lacks a part"),
    }
}

/// A text before and after a mark, byte by byte: [`str::split_once`] is no constant.
pub(crate) const fn split(text: &'static str, mark: &str) -> Option<(&'static str, &'static str)> {
    let mut rest = text.as_bytes();
    while let Some((_, after)) = rest.split_first() {
        if begins(rest, mark.as_bytes())
            && let Some(place) = text.len().checked_sub(rest.len())
        {
            let (before, from) = text.split_at(place);
            return Some((before, from.split_at(mark.len()).1));
        }
        rest = after;
    }
    None
}

const fn begins(mut text: &[u8], mut mark: &[u8]) -> bool {
    while let Some((wanted, rest)) = mark.split_first() {
        match text.split_first() {
            Some((byte, after)) if *byte == *wanted => text = after,
            _ => return false,
        }
        mark = rest;
    }
    true
}
