//! The library's source, parsed: its modules, and what a name means in one of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use syn::{Attribute, ImplItem, Item, ItemMod, Meta, UseTree};

use crate::root;

/// Where the library's source is.
const SOURCE: &str = "crates/managed-by/src";

/// The path of a module from the root of its crate, which is empty for the root itself.
pub(crate) type ModulePath = Vec<String>;

/// A module, without its tests.
pub(crate) struct Module {
    pub(crate) items: Vec<Item>,
    /// Under which conditions it is compiled.
    pub(crate) conditions: Vec<String>,
}

/// What a `use` gives a name to.
pub(crate) struct Import {
    pub(crate) name: String,
    pub(crate) path: Vec<String>,
}

/// All modules of a crate.
#[derive(Default)]
pub(crate) struct Library {
    pub(crate) modules: BTreeMap<ModulePath, Module>,
}

impl Library {
    /// Reads the library of this repository.
    ///
    /// # Errors
    /// If a file cannot be read or parsed.
    pub(crate) fn read() -> Result<Self> {
        let mut library = Self::default();
        let folder = root(SOURCE);
        let items = parse(&folder.join("lib.rs"))?;
        library.add(Vec::new(), items, Vec::new(), &folder)?;
        Ok(library)
    }

    /// A crate whose modules all stand in one text.
    #[cfg(test)]
    pub(crate) fn of(source: &str) -> Result<Self> {
        let mut library = Self::default();
        let items = syn::parse_file(source)?.items;
        library.add(Vec::new(), items, Vec::new(), Path::new(""))?;
        Ok(library)
    }

    /// Adds a module and those in it; `folder` is where their files are.
    fn add(
        &mut self,
        path: ModulePath,
        items: Vec<Item>,
        conditions: Vec<String>,
        folder: &Path,
    ) -> Result<()> {
        let mut own = Vec::new();
        for item in without_tests(items) {
            let Item::Mod(module) = item else {
                own.push(item);
                continue;
            };
            let name = module.ident.to_string();
            let below = folder.join(&name);
            let conditions = [conditions.clone(), conditions_of(&module.attrs)].concat();
            let items = items_of(module, folder, &name)?;
            self.add(
                [path.clone(), vec![name]].concat(),
                items,
                conditions,
                &below,
            )?;
        }
        let module = Module {
            items: own,
            conditions,
        };
        self.modules.insert(path, module);
        Ok(())
    }

    /// Where the item is defined that a path means in a module; [`None`] if that is in another crate.
    pub(crate) fn locate(
        &self,
        module: &[String],
        path: &[String],
    ) -> Option<(ModulePath, String)> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => return self.locate(&[], rest),
            "self" => return self.locate(module, rest),
            "super" => return self.locate(module.split_last()?.1, rest),
            _ => {}
        }
        let child = [module, std::slice::from_ref(first)].concat();
        if !rest.is_empty() && self.modules.contains_key(&child) {
            return self.locate(&child, rest);
        }
        if rest.is_empty() && self.defined(module, first).next().is_some() {
            return Some((module.to_vec(), first.clone()));
        }
        let items = &self.modules.get(module)?.items;
        let import = items.iter().flat_map(imports).find(|i| i.name == *first)?;
        // `use bitflags::bitflags` names another crate.
        if import.path.first() == Some(first) && !self.modules.contains_key(&child) {
            return None;
        }
        self.locate(module, &[&import.path, rest].concat())
    }

    /// The items of that name that a module defines itself.
    pub(crate) fn defined<'l>(
        &'l self,
        module: &[String],
        name: &'l str,
    ) -> impl Iterator<Item = &'l Item> {
        let items = self.modules.get(module).map(|module| module.items.iter());
        let is_it = move |item: &&Item| name_of(item).is_some_and(|ident| ident == name);
        items.into_iter().flatten().filter(is_it)
    }
}

/// The items of a module, which stand in braces or in a file of their own.
fn items_of(module: ItemMod, folder: &Path, name: &str) -> Result<Vec<Item>> {
    if let Some((_, items)) = module.content {
        return Ok(items);
    }
    let file = folder.join(format!("{name}.rs"));
    let is_file = file.exists();
    parse(&if is_file {
        file
    } else {
        folder.join(name).join("mod.rs")
    })
}

fn parse(file: &Path) -> Result<Vec<Item>> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let parsed = syn::parse_file(&text).with_context(|| file.display().to_string())?;
    Ok(parsed.items)
}

/// Leaves out what is compiled for tests alone.
fn without_tests(mut items: Vec<Item>) -> Vec<Item> {
    let is_compiled =
        |attributes: &[Attribute]| !conditions_of(attributes).contains(&"test".to_owned());
    items.retain(|item| is_compiled(attributes_of(item)));
    for item in &mut items {
        if let Item::Impl(block) = item {
            block.items.retain(|item| match item {
                ImplItem::Fn(function) => is_compiled(&function.attrs),
                ImplItem::Const(constant) => is_compiled(&constant.attrs),
                _ => true,
            });
        }
    }
    items
}

/// The conditions of `#[cfg(...)]`.
pub(crate) fn conditions_of(attributes: &[Attribute]) -> Vec<String> {
    let lists = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::List(list) if list.path.is_ident("cfg") => Some(list.tokens.to_string()),
            _ => None,
        });
    lists.collect()
}

/// The attributes of an item.
pub(crate) fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The name of an item that a path can lead to.
fn name_of(item: &Item) -> Option<&syn::Ident> {
    Some(match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    })
}

/// What an item imports, if it is a `use`. The library has no `*` outside of tests.
pub(crate) fn imports(item: &Item) -> Vec<Import> {
    let mut found = Vec::new();
    if let Item::Use(item) = item {
        flatten(&item.tree, &mut Vec::new(), &mut found);
    }
    found
}

fn flatten(tree: &UseTree, before: &mut Vec<String>, found: &mut Vec<Import>) {
    let mut add = |name: &syn::Ident, renamed: &syn::Ident| {
        let path = match name.to_string().as_str() {
            "self" => before.clone(),
            name => [before.as_slice(), &[name.to_owned()]].concat(),
        };
        let is_same = name == renamed;
        let last = path.last().cloned().filter(|_| is_same);
        let name = last.unwrap_or_else(|| renamed.to_string());
        found.push(Import { name, path });
    };
    match tree {
        UseTree::Name(leaf) => add(&leaf.ident, &leaf.ident),
        UseTree::Rename(leaf) => add(&leaf.ident, &leaf.rename),
        UseTree::Path(branch) => {
            before.push(branch.ident.to_string());
            flatten(&branch.tree, before, found);
            before.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, before, found);
            }
        }
        UseTree::Glob(_) => {}
    }
}

/// The names in a path.
pub(crate) fn segments(path: &syn::Path) -> Vec<String> {
    let names = path
        .segments
        .iter()
        .map(|segment| segment.ident.to_string());
    names.collect()
}
