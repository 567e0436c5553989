//! What cannot be turned, and where it is.

use std::path::Path;

use syn::{
    AngleBracketedGenericArguments, Expr, ExprCast, ExprMethodCall, ExprPath, GenericArgument,
    PathArguments, Type, TypePath,
    spanned::Spanned,
    visit::{self, Visit},
};

/// A place of the source that the checker does not see, or sees wrongly.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Note {
    /// `file:line`.
    pub(crate) at: String,
    pub(crate) what: String,
    /// Whether the model would go wrong, not only miss something.
    pub(crate) is_refused: bool,
}

struct Notes<'a> {
    file: &'a Path,
    found: Vec<Note>,
}

/// Returns what a file has that cannot be turned.
pub(crate) fn notes(path: &Path, file: &syn::File) -> Vec<Note> {
    let mut notes = Notes {
        file: path,
        found: Vec::new(),
    };
    notes.visit_file(file);
    notes.found.sort();
    notes.found.dedup();
    notes.found
}

/// The name of an atomic, if the type is one.
fn atomic(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => atomic_path(path),
        Type::Ptr(pointer) => atomic(&pointer.elem),
        Type::Reference(reference) => atomic(&reference.elem),
        Type::Paren(inner) => atomic(&inner.elem),
        _ => None,
    }
}

fn atomic_path(path: &TypePath) -> Option<String> {
    let name = path.path.segments.last()?.ident.to_string();
    let kinds = [
        "Bool", "Ptr", "I8", "I16", "I32", "I64", "Isize", "U8", "U16", "U32", "U64", "Usize",
    ];
    let kind = name.strip_prefix("Atomic")?;
    kinds.contains(&kind).then_some(name)
}

impl Notes<'_> {
    fn add(&mut self, spanned: &impl Spanned, what: String, is_refused: bool) {
        let line = spanned.span().start().line;
        self.found.push(Note {
            at: format!("{}:{line}", self.file.display()),
            what,
            is_refused,
        });
    }

    /// Notes the atomics among these types, which are made of other memory.
    fn add_atomics<'t>(
        &mut self,
        spanned: &impl Spanned,
        how: &str,
        types: impl IntoIterator<Item = &'t Type>,
    ) {
        for name in types.into_iter().filter_map(atomic) {
            let what = format!("{how} makes an {name} of other memory");
            self.add(spanned, what, true);
        }
    }
}

fn types(arguments: &AngleBracketedGenericArguments) -> impl Iterator<Item = &Type> {
    arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

impl<'ast> Visit<'ast> for Notes<'_> {
    fn visit_expr_cast(&mut self, cast: &'ast ExprCast) {
        // A cast of a reference to an atomic changes nothing.
        let is_reference = matches!(&*cast.expr, Expr::Reference(_));
        if matches!(&*cast.ty, Type::Ptr(_)) && !is_reference {
            self.add_atomics(cast, "a cast", [&*cast.ty]);
        }
        visit::visit_expr_cast(self, cast);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if call.method == "cast" {
            self.add_atomics(call, "a cast", call.turbofish.iter().flat_map(types));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        let segments = &path.path.segments;
        let names: Vec<_> = segments.iter().map(|one| one.ident.to_string()).collect();
        if let [.., of, name] = &*names {
            let is_atomic = of.starts_with("Atomic");
            if is_atomic && matches!(&**name, "from_ptr" | "from_mut" | "from_mut_slice") {
                let what = format!("`{of}::{name}` makes an atomic of other memory");
                self.add(path, what, true);
            }
            if name == "syscall" {
                self.add(path, "a system call is not seen".into(), false);
            }
        }
        let last = segments.last().filter(|last| last.ident == "transmute");
        if let Some(PathArguments::AngleBracketed(arguments)) = last.map(|last| &last.arguments) {
            self.add_atomics(path, "`transmute`", types(arguments));
        }
        visit::visit_expr_path(self, path);
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        if let syn::StaticMutability::Mut(_) = item.mutability {
            let what = format!("`static mut {}` is shared and not seen", item.ident);
            self.add(item, what, false);
        }
        visit::visit_item_static(self, item);
    }

    fn visit_macro(&mut self, it: &'ast syn::Macro) {
        let name = it.path.segments.last();
        if name.is_some_and(|name| name.ident == "asm") {
            self.add(it, "assembly is not seen".into(), false);
        }
    }
}
