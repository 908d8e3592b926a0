//! What people read about each setting: the page beside this, taken apart while the library is built. Tests run the examples;
//! `docs/settings.md` is made of it.

use crate::description::page::{cut, split};

/// One key, where it may stand, and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Key {
    /// The path: `controllers[NAME].kinds`.
    pub path: &'static str,
    /// What it may be.
    pub values: &'static str,
    /// What it is if it is left out.
    pub default: &'static str,
    /// What it does, and when to give it.
    pub text: &'static str,
    /// Settings with it, as JSON.
    pub accepted: &'static str,
    /// Settings with a mistake in it.
    pub rejected: &'static str,
}

/// All keys, in the order of the page.
pub static KEYS: &[Key] = &keys::<29>(include_str!("reference.md"));

/// The keys of a page, which must have so many.
const fn keys<const COUNT: usize>(page: &'static str) -> [Key; COUNT] {
    let (_, mut rest) = cut(page, "\n## ");
    let mut keys = [key(rest); COUNT];
    let mut left: &mut [Key] = &mut keys;
    while let Some((first, others)) = left.split_first_mut() {
        let (section, behind) = match split(rest, "\n## ") {
            Some(parts) => parts,
            None => (rest, ""),
        };
        *first = key(section);
        rest = behind;
        left = others;
    }
    assert!(rest.is_empty(), "the page has more keys");
    keys
}

/// What a key's section says. Without one of the parts it does not compile.
const fn key(section: &'static str) -> Key {
    let (path, rest) = cut(section, "\n");
    let (text, rest) = cut(rest, "\n- Values: ");
    let (values, rest) = cut(rest, "\n- Default: ");
    let (default, rest) = cut(rest, "\n");
    let (_, rest) = cut(rest, "```json\n");
    let (accepted, rest) = cut(rest, "\n```");
    let (_, rest) = cut(rest, "```json\n");
    let (rejected, _) = cut(rest, "\n```");
    Key {
        path,
        values,
        default,
        text: text.trim_ascii(),
        accepted,
        rejected,
    }
}
