//! The public API of the library as text, so that a change of it shows as a difference.
//!
//! It is read from the source, as far as the source says it: what a macro defines, and traits that the compiler
//! implements itself (`Send`), are not listed.

mod item;
mod print;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail, ensure};
use syn::{Item, Type};

use crate::api::item::{Entry, Part, is_public};
use crate::api::print::Printer;
use crate::generated::Generated;
use crate::library::{Library, ModulePath, attributes_of, conditions_of, imports, segments};

/// Where the list is.
const PATH: &str = "crates/managed-by/api.txt";

/// What the file says about itself.
const HEAD: &str = "# The public API of managed-by. `make api` writes this file. A line holds under the condition in [brackets].\n";

/// The list as a file.
///
/// # Errors
/// If the source cannot be read, and if its root does more than to export items of its modules.
pub fn generated() -> Result<Vec<Generated>> {
    let list = listed(&Library::read()?)?;
    Ok(vec![Generated::new(PATH, format!("{HEAD}{list}"))])
}

fn listed(library: &Library) -> Result<String> {
    let exports = exports(library)?;
    let mut list = List {
        library,
        exports: &exports,
        lines: BTreeSet::new(),
    };
    list.add_items();
    list.add_blocks();
    let lines = list.lines.into_iter();
    Ok(lines
        .flat_map(|line| [line.text, "\n".to_owned()])
        .collect())
}

/// An item that the library exports.
struct Export {
    /// By which name.
    name: String,
    conditions: Vec<String>,
}

/// Exported items, by the module and the name of their definition.
type Exports = BTreeMap<(ModulePath, String), Export>;

fn exports(library: &Library) -> Result<Exports> {
    let mut exports = Exports::new();
    let root = library.modules.get(&[][..]);
    for item in root.into_iter().flat_map(|root| &root.items) {
        let Item::Use(exported) = item else {
            bail!("lib.rs defines an item itself, which this list would not show");
        };
        if !is_public(&exported.vis) {
            continue;
        }
        let imports = imports(item);
        ensure!(
            !imports.is_empty(),
            "lib.rs exports with `*`, which this list would not show"
        );
        for import in imports {
            let Some(place) = library.locate(&[], &import.path) else {
                bail!("{} is not found in the library", import.path.join("::"));
            };
            let export = Export {
                name: import.name,
                conditions: conditions_of(&exported.attrs),
            };
            exports.insert(place, export);
        }
    }
    ensure!(!exports.is_empty(), "lib.rs exports nothing");
    Ok(exports)
}

/// A line, in the order of the list: what belongs to an item stands together.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    item: String,
    part: Part,
    text: String,
}

struct List<'l> {
    library: &'l Library,
    exports: &'l Exports,
    lines: BTreeSet<Line>,
}

impl List<'_> {
    fn add(&mut self, name: &str, entries: Vec<Entry>, conditions: &[&[String]]) {
        for entry in entries {
            let conditions = conditions
                .iter()
                .copied()
                .chain([entry.conditions.as_slice()]);
            let mut text = entry.text;
            for condition in conditions.flatten().collect::<BTreeSet<_>>() {
                text.extend([" [", condition, "]"]);
            }
            let (item, part) = (name.to_owned(), entry.part);
            self.lines.insert(Line { item, part, text });
        }
    }

    /// Adds what each exported item says at its definition.
    fn add_items(&mut self) {
        let (library, exports) = (self.library, self.exports);
        for ((path, defined), export) in exports {
            let printer = Printer::new(library, path);
            let within = library
                .modules
                .get(path)
                .map(|module| module.conditions.as_slice());
            for item in library.defined(path, defined) {
                let conditions = [
                    &export.conditions,
                    within.unwrap_or_default(),
                    &conditions_of(attributes_of(item)),
                ];
                self.add(
                    &export.name,
                    item::of_item(&printer, &export.name, item),
                    &conditions,
                );
            }
        }
    }

    /// Adds what `impl` blocks say of exported types, in whichever module they are.
    fn add_blocks(&mut self) {
        let (library, exports) = (self.library, self.exports);
        for (path, module) in &library.modules {
            let printer = Printer::new(library, path);
            for item in &module.items {
                let Item::Impl(block) = item else { continue };
                let Type::Path(of) = &*block.self_ty else {
                    continue;
                };
                let place = library.locate(path, &segments(&of.path));
                let Some(export) = place.and_then(|place| exports.get(&place)) else {
                    continue;
                };
                // A trait of the library counts where others can name it.
                let implemented = block.trait_.as_ref();
                let own = implemented.and_then(|(name, _)| library.locate(path, &segments(name)));
                if own.is_some_and(|place| !exports.contains_key(&place)) {
                    continue;
                }
                let conditions = [
                    export.conditions.as_slice(),
                    &module.conditions,
                    &conditions_of(&block.attrs),
                ];
                self.add(
                    &export.name,
                    item::of_block(&printer, &export.name, block),
                    &conditions,
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::{generated, listed};
    use crate::library::Library;
    use crate::root;

    #[test]
    fn the_list_is_up_to_date() {
        for file in generated().unwrap() {
            expect_file![root(file.path)].assert_eq(&file.text);
        }
    }

    /// One of each: what is exported is listed by its public name, and nothing else.
    #[test]
    fn what_is_reachable_is_listed() {
        let library = Library::of(
            r#"
            mod inner {
                mod failure { pub struct Failure(u8); }
                pub use failure::Failure;
                type Outcome<T> = std::result::Result<T, Failure>;
                trait Hidden {}
                #[derive(Clone, Copy)]
                #[non_exhaustive]
                pub struct Shown<'a> { pub open: &'a str, pub(crate) closed: u8 }
                pub struct NotExported;
                impl NotExported { pub fn none() {} }
                impl<'a> Shown<'a> {
                    pub const ALL: &'static [u8] = &[];
                    pub fn read(mut self, _: &str) -> Outcome<Self> { Ok(self) }
                    pub(crate) fn kept() {}
                    #[cfg(feature = "docs")]
                    pub fn text(&self) -> String { String::new() }
                    #[cfg(test)]
                    pub fn tested() {}
                }
                impl Hidden for Shown<'_> {}
                impl std::str::FromStr for Shown<'_> { type Err = Failure; }
            }
            #[cfg(feature = "docs")]
            mod docs {
                use crate::inner::Shown;
                impl Shown<'_> { pub fn page(&self) {} }
            }
            pub(crate) use inner::NotExported;
            pub use inner::{Failure, Shown as Seen};
        "#,
        );
        let expected = [
            "struct Failure(..)",
            "#[non_exhaustive] struct Seen<'a> { .. }",
            "impl Clone for Seen",
            "impl Copy for Seen",
            "impl FromStr<Err = Failure> for Seen",
            "const Seen::ALL: &'static [u8]",
            "field Seen::open: &'a str",
            "fn Seen::page(&self) [feature = \"docs\"]",
            "fn Seen::read(self, _: &str) -> std::result::Result<Self, Failure>",
            "fn Seen::text(&self) -> String [feature = \"docs\"]",
        ];
        let list = listed(&library.unwrap()).unwrap();
        assert_eq!(list.lines().collect::<Vec<_>>(), expected);
    }
}
