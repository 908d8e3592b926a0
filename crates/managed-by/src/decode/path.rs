//! Where something is in a document.

use std::fmt;

use crate::upstream::go;

/// The longest name that is shown as it is: Kubernetes has no longer ones.
const MAX_PLAIN: usize = 253;

/// Enough of somebody's text to know it again.
pub(crate) const MAX_SHOWN: usize = 80;

/// A place as links to the places around it, on the stack: it becomes text only where something is found.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'p> {
    /// The document.
    Root,
    /// A member of an object, by a name that the reader knows.
    Member(&'p Path<'p>, &'p str),
    /// An element of an array.
    Index(&'p Path<'p>, usize),
    /// A value of a map, by a name that somebody chose.
    Key(&'p Path<'p>, &'p str),
    /// The same, always in quotes.
    Quoted(&'p Path<'p>, &'p str),
}

/// As kube-apiserver writes paths: `status.replicaStatuses[Worker].active`. A key that would make a path hard to read, or
/// could be taken for more than a key, is quoted and bounded.
impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Root => Ok(()),
            Self::Member(Self::Root, name) => f.write_str(name),
            Self::Member(parent, name) => write!(f, "{parent}.{name}"),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
            Self::Key(parent, key) if is_plain(key) => write!(f, "{parent}[{key}]"),
            Self::Quoted(Self::Root, key) => f.write_str(&shown(key, "key")),
            Self::Key(parent, key) | Self::Quoted(parent, key) => {
                write!(f, "{parent}[{}]", shown(key, "key"))
            }
        }
    }
}

/// Returns true if a name is shown as it is: Kubernetes has no longer ones, and none of other characters.
pub(super) fn is_plain(key: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._/".contains(&b);
    (1..=MAX_PLAIN).contains(&key.len()) && key.bytes().all(plain)
}

/// Somebody's text in quotes, or no more than its size.
pub(crate) fn shown(text: &str, what: &str) -> String {
    if text.len() <= MAX_SHOWN {
        go::quote(text)
    } else {
        format!("a {what} of {} bytes", text.len())
    }
}
