//! What the list says of an item.

use syn::{
    Attribute, Fields, ImplItem, Item, ItemEnum, ItemImpl, ItemStruct, ItemTrait, Meta, TraitItem,
    Visibility,
};

use crate::api::print::{Printer, generics, supertraits};
use crate::library::{attributes_of, conditions_of};

/// The kinds of lines, in the order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Item,
    Impl,
    Content,
    Method,
}

/// A line of the list.
pub(super) struct Entry {
    pub(super) part: Part,
    pub(super) text: String,
    /// What must hold beside the conditions of the item or block.
    pub(super) conditions: Vec<String>,
}

impl Entry {
    fn new(part: Part, text: String) -> Self {
        Self {
            part,
            text,
            conditions: Vec::new(),
        }
    }

    fn with(self, attributes: &[Attribute]) -> Self {
        Self {
            conditions: conditions_of(attributes),
            ..self
        }
    }
}

/// What an item says at its definition; `name` is the one that it is exported by.
pub(super) fn of_item(printer: &Printer<'_>, name: &str, item: &Item) -> Vec<Entry> {
    let alone = |text| vec![Entry::new(Part::Item, text)];
    let mut entries = match item {
        Item::Const(item) => alone(format!("const {name}: {}", printer.ty(&item.ty))),
        Item::Static(item) => alone(format!("static {name}: {}", printer.ty(&item.ty))),
        Item::Fn(item) => alone(printer.function(&item.sig, name)),
        Item::Type(item) => {
            let parameters = generics(&item.generics);
            alone(format!(
                "type {name}{parameters} = {}",
                printer.ty(&item.ty)
            ))
        }
        Item::Struct(item) => of_struct(printer, name, item),
        Item::Enum(item) => of_enum(printer, name, item),
        Item::Trait(item) => of_trait(printer, name, item),
        _ => Vec::new(),
    };
    let derived = derives(attributes_of(item)).into_iter();
    entries.extend(
        derived.map(|derived| Entry::new(Part::Impl, format!("impl {derived} for {name}"))),
    );
    entries
}

fn of_struct(printer: &Printer<'_>, name: &str, item: &ItemStruct) -> Vec<Entry> {
    let (growing, parameters) = (non_exhaustive(&item.attrs), generics(&item.generics));
    // What stands for fields that others cannot name.
    let rest = match &item.fields {
        fields if fields.iter().all(|field| is_public(&field.vis)) => "",
        Fields::Unnamed(_) => "(..)",
        _ => " { .. }",
    };
    let text = format!("{growing}struct {name}{parameters}{rest}");
    let fields = item.fields.iter().enumerate();
    let fields = fields
        .filter(|(_, field)| is_public(&field.vis))
        .map(|(index, field)| {
            let field_name = field
                .ident
                .as_ref()
                .map_or(index.to_string(), ToString::to_string);
            let text = format!("field {name}::{field_name}: {}", printer.ty(&field.ty));
            Entry::new(Part::Content, text).with(&field.attrs)
        });
    [Entry::new(Part::Item, text)]
        .into_iter()
        .chain(fields)
        .collect()
}

fn of_enum(printer: &Printer<'_>, name: &str, item: &ItemEnum) -> Vec<Entry> {
    let (growing, parameters) = (non_exhaustive(&item.attrs), generics(&item.generics));
    let variants = item.variants.iter().map(|variant| {
        let growing = non_exhaustive(&variant.attrs);
        let text = format!("{growing}variant {name}::{}", printer.variant(variant));
        Entry::new(Part::Content, text).with(&variant.attrs)
    });
    let text = format!("{growing}enum {name}{parameters}");
    [Entry::new(Part::Item, text)]
        .into_iter()
        .chain(variants)
        .collect()
}

fn of_trait(printer: &Printer<'_>, name: &str, item: &ItemTrait) -> Vec<Entry> {
    let (parameters, supers) = (generics(&item.generics), supertraits(&item.supertraits));
    let parts = item.items.iter().filter_map(|part| match part {
        TraitItem::Fn(method) => {
            // Those who implement the trait need not write it.
            let provided = if method.default.is_some() {
                " { .. }"
            } else {
                ""
            };
            let signature = printer.function(&method.sig, &format!("{name}::{}", method.sig.ident));
            Some(Entry::new(Part::Method, format!("{signature}{provided}")).with(&method.attrs))
        }
        TraitItem::Type(item) => Some(Entry::new(
            Part::Content,
            format!("type {name}::{}", item.ident),
        )),
        TraitItem::Const(item) => {
            let text = format!("const {name}::{}: {}", item.ident, printer.ty(&item.ty));
            Some(Entry::new(Part::Content, text))
        }
        _ => None,
    });
    let text = format!("trait {name}{parameters}{supers}");
    [Entry::new(Part::Item, text)]
        .into_iter()
        .chain(parts)
        .collect()
}

/// What an `impl` block says of a type: that it has the trait, or what it adds to the type.
pub(super) fn of_block(printer: &Printer<'_>, name: &str, block: &ItemImpl) -> Vec<Entry> {
    if let Some((implemented, _)) = &block.trait_ {
        let implemented = printer.implemented(implemented, block);
        return vec![Entry::new(
            Part::Impl,
            format!("impl {implemented} for {name}"),
        )];
    }
    let parts = block.items.iter().filter_map(|part| match part {
        ImplItem::Fn(method) if is_public(&method.vis) => {
            let signature = printer.function(&method.sig, &format!("{name}::{}", method.sig.ident));
            Some(Entry::new(Part::Method, signature).with(&method.attrs))
        }
        ImplItem::Const(item) if is_public(&item.vis) => {
            let text = format!("const {name}::{}: {}", item.ident, printer.ty(&item.ty));
            Some(Entry::new(Part::Content, text).with(&item.attrs))
        }
        _ => None,
    });
    parts.collect()
}

/// Whether others may name it. `pub(crate)` is not enough.
pub(super) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn non_exhaustive(attributes: &[Attribute]) -> &'static str {
    let is_it = |attribute: &Attribute| attribute.path().is_ident("non_exhaustive");
    if attributes.iter().any(is_it) {
        "#[non_exhaustive] "
    } else {
        ""
    }
}

fn derives(attributes: &[Attribute]) -> Vec<String> {
    let mut names = Vec::new();
    for attribute in attributes {
        if let Meta::List(list) = &attribute.meta
            && list.path.is_ident("derive")
        {
            let tokens = list.tokens.to_string();
            names.extend(tokens.split(',').map(|name| name.trim().to_owned()));
        }
    }
    names.retain(|name| !name.is_empty());
    names
}
