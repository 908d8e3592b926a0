//! Paths in a document, for messages. Decoders and rules build them on the stack.

use std::fmt;

use crate::upstream::go;

/// Maximum length of an unquoted key, which is the longest name in Kubernetes.
const MAX_PLAIN: usize = 253;

/// Maximum length of quoted text.
pub(crate) const MAX_QUOTED: usize = 80;

/// Path as a linked list on the stack, which is formatted only for messages.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'p> {
    Root,
    /// Member of an object, with a known name.
    Member(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
    /// Value of a map, with a key from the document.
    Key(&'p Path<'p>, &'p str),
}

/// Formats paths like kube-apiserver: `status.replicaStatuses[Worker].active`. Quotes keys that contain special characters, and
/// replaces long keys by their size.
impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Root => Ok(()),
            Self::Member(Self::Root, name) => f.write_str(name),
            Self::Member(parent, name) => write!(f, "{parent}.{name}"),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
            Self::Key(parent, key) if is_plain(key) => write!(f, "{parent}[{key}]"),
            Self::Key(parent, key) => write!(f, "{parent}[{}]", quote_or_size(key, "key")),
        }
    }
}

/// Returns true if a key can be shown without quotes: it has the length and characters of Kubernetes names.
pub(crate) fn is_plain(key: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._/".contains(&b);
    (1..=MAX_PLAIN).contains(&key.len()) && key.bytes().all(plain)
}

/// Quotes untrusted text, or returns its size if it is long.
pub(crate) fn quote_or_size(text: &str, what: &str) -> String {
    if text.len() <= MAX_QUOTED {
        go::quote(text)
    } else {
        format!("a {what} of {} bytes", text.len())
    }
}
