//! Syntax as one line of text, as rustfmt would print it.

use std::collections::BTreeMap;

use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{
    File, FnArg, GenericArgument, GenericParam, Generics, ImplItem, Item, ItemImpl, PathArguments,
    ReceiverKind, Signature, Token, Type, TypeParamBound, Variant, parse_quote,
};

use crate::library::{Library, segments};

/// Prints what stands in a module, and writes out the module's aliases of types, because others cannot look them up.
pub(super) struct Printer<'l> {
    library: &'l Library,
    module: &'l [String],
}

impl<'l> Printer<'l> {
    pub(super) fn new(library: &'l Library, module: &'l [String]) -> Self {
        Self { library, module }
    }

    pub(super) fn ty(&self, ty: &Type) -> String {
        let mut ty = ty.clone();
        Aliases(self).visit_type_mut(&mut ty);
        let text = line(parse_quote!(type T = #ty;));
        between(&text, "type T = ", ";")
    }

    /// A function's signature, with its path instead of its name.
    pub(super) fn function(&self, signature: &Signature, path: &str) -> String {
        let mut signature = signature.clone();
        Aliases(self).visit_signature_mut(&mut signature);
        // Whether the function changes what it was given concerns nobody else.
        if let Some(FnArg::Receiver(receiver)) = signature.inputs.first_mut()
            && matches!(receiver.kind, ReceiverKind::Value)
        {
            receiver.mutability = None;
        }
        let text = line(parse_quote!(trait T { #signature; }));
        let text = between(&text, "trait T { ", "; }");
        let name = format!("fn {}", signature.ident);
        text.replacen(&name, &format!("fn {path}"), 1)
    }

    /// A variant with what it holds.
    pub(super) fn variant(&self, variant: &Variant) -> String {
        let mut variant = variant.clone();
        variant.attrs.clear();
        for field in &mut variant.fields {
            field.attrs.clear();
        }
        Aliases(self).visit_variant_mut(&mut variant);
        let text = line(parse_quote!(enum E { #variant }));
        between(&text, "enum E { ", " }")
    }

    /// A trait by its last name, with its arguments and the types that the block says: `FromStr<Err = Unknown>`.
    pub(super) fn implemented(&self, path: &syn::Path, block: &ItemImpl) -> String {
        let Some(last) = path.segments.last() else {
            return String::new();
        };
        let given = of_types(&last.arguments).map(|ty| self.ty(ty));
        let said = block.items.iter().filter_map(|item| match item {
            ImplItem::Type(item) => Some(format!("{} = {}", item.ident, self.ty(&item.ty))),
            _ => None,
        });
        let arguments: Vec<_> = given.chain(said).collect();
        if arguments.is_empty() {
            return last.ident.to_string();
        }
        format!("{}<{}>", last.ident, arguments.join(", "))
    }

    /// What an alias stands for, if the type is one.
    fn expanded(&self, ty: &Type) -> Option<Type> {
        let Type::Path(path) = ty else { return None };
        let (module, name) = self.library.locate(self.module, &segments(&path.path))?;
        let mut defined = self.library.defined(&module, &name);
        let alias = defined.find_map(|item| match item {
            Item::Type(alias) => Some(alias),
            _ => None,
        })?;
        let parameters = alias.generics.params.iter();
        let parameters = parameters.filter_map(|parameter| match parameter {
            GenericParam::Type(parameter) => Some(parameter.ident.to_string()),
            _ => None,
        });
        let given = of_types(&path.path.segments.last()?.arguments).cloned();
        let mut full = Type::clone(&alias.ty);
        Filled(parameters.zip(given).collect()).visit_type_mut(&mut full);
        Some(full)
    }
}

/// The types among the arguments of a path.
fn of_types(arguments: &PathArguments) -> impl Iterator<Item = &Type> {
    let given = match arguments {
        PathArguments::AngleBracketed(given) => Some(given.args.iter()),
        _ => None,
    };
    given
        .into_iter()
        .flatten()
        .filter_map(|argument| match argument {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        })
}

/// Writes out aliases.
struct Aliases<'p, 'l>(&'p Printer<'l>);

impl VisitMut for Aliases<'_, '_> {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        visit_mut::visit_type_mut(self, ty);
        if let Some(full) = self.0.expanded(ty) {
            *ty = full;
        }
    }
}

/// Puts types in the places of parameters.
struct Filled(BTreeMap<String, Type>);

impl VisitMut for Filled {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        visit_mut::visit_type_mut(self, ty);
        let Type::Path(path) = ty else { return };
        let name = path.path.get_ident().map(ToString::to_string);
        if let Some(given) = name.and_then(|name| self.0.get(&name)) {
            *ty = given.clone();
        }
    }
}

/// The parameters of a type or trait.
pub(super) fn generics(generics: &Generics) -> String {
    let (parameters, bounds) = (&generics.params, &generics.where_clause);
    if parameters.is_empty() {
        return String::new();
    }
    let text = line(parse_quote!(struct T<#parameters> #bounds;));
    between(&text, "struct T", ";")
}

/// What a trait asks of those who implement it.
pub(super) fn supertraits(bounds: &Punctuated<TypeParamBound, Token![+]>) -> String {
    if bounds.is_empty() {
        return String::new();
    }
    between(&line(parse_quote!(trait T: #bounds {})), "trait T", " {}")
}

fn between(text: &str, before: &str, after: &str) -> String {
    let text = text.strip_prefix(before).unwrap_or(text);
    text.strip_suffix(after).unwrap_or(text).to_owned()
}

/// An item on one line.
fn line(item: Item) -> String {
    let file = File {
        shebang: None,
        frontmatter: None,
        attrs: Vec::new(),
        items: vec![item],
    };
    let text = prettyplease::unparse(&file);
    let words: Vec<_> = text.split_whitespace().collect();
    // What the printer broke over lines.
    let broken = [
        ("( ", "("),
        (", )", ")"),
        ("< ", "<"),
        (", >", ">"),
        (", }", " }"),
    ];
    let joined = |text: String, (before, after): &(&str, &str)| text.replace(before, after);
    broken.iter().fold(words.join(" "), joined)
}
