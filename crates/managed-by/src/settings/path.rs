//! Where in the settings something stands, put into words only for a problem.

use std::fmt;

use super::problem::MAX_SHOWN;
use crate::go;

/// A place, as links to the places around it: `controllers["acme.io/runner"].kinds[1]`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Path<'p> {
    /// The settings as a whole.
    Settings,
    /// Under a key that the settings know.
    Field(&'p Path<'p>, &'static str),
    /// Under a key that the admin chose.
    Key(&'p Path<'p>, &'p str),
    /// In a list.
    Item(&'p Path<'p>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Settings => f.write_str("settings"),
            Self::Field(Self::Settings, name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Key(Self::Settings, key) => f.write_str(&shown(key, "key")),
            Self::Key(parent, key) => write!(f, "{parent}[{}]", shown(key, "key")),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// Somebody's text in quotes, or no more than its size.
pub(super) fn shown(text: &str, what: &str) -> String {
    if text.len() <= MAX_SHOWN {
        go::quote(text)
    } else {
        format!("a {what} of {} bytes", text.len())
    }
}
