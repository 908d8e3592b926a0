//! Reference of the settings, parsed from `reference.md` at compile time. Tests run the examples, and `make book` adds the responses.

use crate::description::page::{split_once, split_required};

/// Documentation of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettingsKey {
    /// Path: `controllers[NAME].kinds`.
    pub path: &'static str,
    /// Allowed values.
    pub values: &'static str,
    /// Default value.
    pub default: &'static str,
    /// Description.
    pub text: &'static str,
    /// Example of valid settings, as JSON.
    pub accepted: &'static str,
    /// Example of invalid settings, as JSON.
    pub rejected: &'static str,
}

/// All keys, in the order of the page.
pub static KEYS: &[SettingsKey] = &keys::<31>(include_str!("reference.md"));

/// Parses the keys of a page, which must have `COUNT` keys.
const fn keys<const COUNT: usize>(page: &'static str) -> [SettingsKey; COUNT] {
    let (_, mut rest) = split_required(page, "\n## ");
    let mut keys = [key(rest); COUNT];
    let mut remaining: &mut [SettingsKey] = &mut keys;
    while let Some((first, others)) = remaining.split_first_mut() {
        let (section, tail) = match split_once(rest, "\n## ") {
            Some(parts) => parts,
            None => (rest, ""),
        };
        *first = key(section);
        rest = tail;
        remaining = others;
    }
    assert!(rest.is_empty(), "the page has more keys");
    keys
}

/// Parses the section of a key. A section without one of the parts does not compile.
const fn key(section: &'static str) -> SettingsKey {
    let (path, rest) = split_required(section, "\n");
    let (text, rest) = split_required(rest, "\n- Values: ");
    let (values, rest) = split_required(rest, "\n- Default: ");
    let (default, rest) = split_required(rest, "\n");
    let (_, rest) = split_required(rest, "```json\n");
    let (accepted, rest) = split_required(rest, "\n```");
    let (_, rest) = split_required(rest, "```json\n");
    let (rejected, _) = split_required(rest, "\n```");
    SettingsKey {
        path,
        values,
        default,
        text: text.trim_ascii(),
        accepted,
        rejected,
    }
}
