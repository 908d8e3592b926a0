//! The order of the library's modules, in which each uses only those before it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Result, bail};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens as _;

use crate::library::Library;

/// Top-level modules, each with the others that it uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// A line for each top-level module of the library: its name, and the others that it uses.
///
/// # Errors
/// If the source cannot be read, and if modules use each other in a circle: the error names them.
pub fn layers() -> Result<String> {
    ordered(&uses(&Library::read()?))
}

fn uses(library: &Library) -> Uses {
    let mut uses = Uses::new();
    for (path, module) in &library.modules {
        let Some(top) = path.first() else { continue };
        let mut names = BTreeSet::new();
        for item in &module.items {
            used(item.to_token_stream(), path.len(), &mut names);
        }
        let found = names.iter().filter_map(|name| top_level(library, name));
        let found = found.filter(|name| name != top);
        uses.entry(top.clone()).or_default().extend(found);
    }
    uses
}

/// The module that a name of the crate's root leads to: itself, or what the root exports from it.
fn top_level(library: &Library, name: &str) -> Option<String> {
    if library.modules.contains_key(&[name.to_owned()][..]) {
        return Some(name.to_owned());
    }
    let (module, _) = library.locate(&[], &[name.to_owned()])?;
    module.first().cloned()
}

/// Collects the names that follow `crate::`, or as many `super::` as lead to the root from a module at that depth. Tokens
/// instead of syntax, because the bodies of macros have no other; comments are none.
fn used(tokens: TokenStream, depth: usize, names: &mut BTreeSet<String>) {
    // How many modules up the path leads that is being read; none, if it began elsewhere.
    let mut up: Option<usize> = None;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if ident == "crate" => up = Some(depth),
            TokenTree::Ident(ident) if ident == "super" => {
                let above = up.map_or(1, |up| up.saturating_add(1));
                up = Some(above);
            }
            TokenTree::Ident(ident) => {
                if up == Some(depth) {
                    names.insert(ident.to_string());
                }
                up = None;
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' && up.is_some() => {}
            TokenTree::Group(group)
                if up == Some(depth) && group.delimiter() == Delimiter::Brace =>
            {
                firsts(group.stream(), names);
                up = None;
            }
            TokenTree::Group(group) => {
                used(group.stream(), depth, names);
                up = None;
            }
            _ => up = None,
        }
    }
}

/// Collects the first name of each path in the braces of a `use`.
fn firsts(group: TokenStream, names: &mut BTreeSet<String>) {
    let mut is_first = true;
    for token in group {
        match token {
            TokenTree::Ident(ident) if is_first => {
                names.insert(ident.to_string());
                is_first = false;
            }
            TokenTree::Punct(punct) if punct.as_char() == ',' => is_first = true,
            _ => {}
        }
    }
}

fn ordered(graph: &Uses) -> Result<String> {
    let mut lines = String::new();
    let mut done = BTreeSet::new();
    while done.len() < graph.len() {
        let left = graph.iter().filter(|(name, _)| !done.contains(*name));
        let free: Vec<_> = left.filter(|(_, used)| used.is_subset(&done)).collect();
        if free.is_empty() {
            bail!("modules use each other in a circle:\n{}", circle(graph));
        }
        for (name, used) in &free {
            let used: Vec<_> = used.iter().map(String::as_str).collect();
            let colon = if used.is_empty() { "" } else { ": " };
            writeln!(lines, "{name}{colon}{}", used.join(", "))?;
        }
        done.extend(free.into_iter().map(|(name, _)| name.clone()));
    }
    Ok(lines)
}

/// A line for each use that leads back to the module that has it.
fn circle(uses: &Uses) -> String {
    let pairs = uses
        .iter()
        .flat_map(|(name, used)| used.iter().map(move |used| (name, used)));
    let back = pairs.filter(|(name, used)| reaches(uses, used, name));
    let lines: Vec<_> = back
        .map(|(name, used)| format!("{name} uses {used}"))
        .collect();
    lines.join("\n")
}

fn reaches(uses: &Uses, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(used) = open.pop().and_then(|name| uses.get(name)) {
        open.extend(
            used.iter()
                .map(String::as_str)
                .filter(|name| seen.insert(name)),
        );
    }
    seen.contains(to)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Uses, layers, ordered, used};

    #[test]
    fn the_library_has_no_circle() {
        let lines = layers().unwrap();
        let names: BTreeSet<_> = lines
            .lines()
            .filter_map(|line| line.split(':').next())
            .collect();
        for name in [
            "catalogue",
            "decode",
            "kind",
            "request",
            "review",
            "rule",
            "settings",
            "verdict",
        ] {
            assert!(names.contains(name), "{name} is not in\n{lines}");
        }
        let position = |wanted: &str| lines.lines().position(|line| line.starts_with(wanted));
        assert!(position("decode: ") < position("request: "), "{lines}");
        assert!(position("request: ") < position("review: "), "{lines}");
    }

    fn graph(edges: &[(&str, &[&str])]) -> Uses {
        let edges = edges.iter().map(|(name, used)| {
            let used = used.iter().map(|&name| name.to_owned());
            ((*name).to_owned(), used.collect())
        });
        edges.collect()
    }

    #[test]
    fn modules_come_after_what_they_use() {
        let uses = graph(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])]);
        assert_eq!(ordered(&uses).unwrap(), "c\nb: c\na: b, c\n");
    }

    #[test]
    fn a_circle_is_named_without_what_is_only_near_it() {
        let uses = graph(&[("a", &["b"]), ("b", &["c", "d"]), ("c", &["b"]), ("d", &[])]);
        assert_eq!(
            ordered(&uses).unwrap_err().to_string(),
            "modules use each other in a circle:\nb uses c\nc uses b"
        );
    }

    #[test]
    fn paths_count_wherever_they_are() {
        let source = r#"
            //! Not crate::comment.
            use crate::{b::{inner, Other}, c};
            use crate::a;
            use super::near;
            use super::super::d::{self, inner2};
            pub(crate) fn f(x: crate::e::X) -> &'static str {
                m!(crate::f::y, [super::super::g]);
                "crate::string"
            }
        "#;
        let mut names = BTreeSet::new();
        used(source.parse().unwrap(), 2, &mut names);
        assert_eq!(names.into_iter().collect::<String>(), "abcdefg");
    }
}
