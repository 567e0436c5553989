//! Marks in the source where the pointer of an `UnsafeCell` is read or written.
//!
//! std's cell gives a raw pointer, and what happens to it is not seen. So `*cell.get() = 1` becomes
//! `*::core::joint::write(cell.get()) = 1`. Whether `cell` is a cell is not known here: the mark
//! has an effect only if the pointer is one that a cell has given. If the pointer is kept in a
//! variable, `::core::joint::write_at(&pointer);` comes before the statement that uses it. The rest
//! of the source stays byte for byte what it was.

use std::collections::BTreeSet;

use proc_macro2::{Ident, Span};
use syn::{
    BinOp, Expr, ExprCall, ExprMethodCall, Local, Pat, Stmt, Type, UnOp,
    spanned::Spanned,
    visit::{self, Visit},
};

/// Methods and functions that write through a pointer that they get.
const POINTER_WRITES: &[&str] = &[
    "write",
    "write_unaligned",
    "write_volatile",
    "write_bytes",
    "replace",
    "swap",
    "drop_in_place",
    "copy_from",
    "copy_from_nonoverlapping",
    "as_mut",
];
/// Those that read.
const POINTER_READS: &[&str] = &[
    "read",
    "read_unaligned",
    "read_volatile",
    "as_ref",
    "copy_to",
    "copy_to_nonoverlapping",
];
/// Methods that give another pointer to the same value.
const SAME_POINTER: &[&str] = &["cast", "cast_mut", "cast_const"];
/// Methods of a value that change it. All others are taken to read it.
const VALUE_WRITES: &[&str] = &[
    "append",
    "as_deref_mut",
    "as_mut",
    "as_mut_ptr",
    "as_mut_slice",
    "assume_init_drop",
    "assume_init_mut",
    "clear",
    "drain",
    "extend",
    "get_mut",
    "get_or_insert",
    "get_or_insert_with",
    "insert",
    "iter_mut",
    "next",
    "pop",
    "pop_back",
    "pop_front",
    "push",
    "push_back",
    "push_front",
    "remove",
    "replace",
    "retain",
    "set",
    "swap",
    "swap_remove",
    "take",
    "truncate",
    "write",
];

/// A text that is inserted: where, and what decides its order among those of the same place.
pub(crate) type Insert = (usize, (u8, usize), String);

/// A pointer of a cell.
enum Pointer<'a> {
    /// The call of `get`.
    Given(&'a ExprMethodCall),
    /// A variable.
    Kept(&'a Ident),
}

#[derive(Default)]
struct Marks {
    inserts: Vec<Insert>,
    seen: BTreeSet<(usize, usize)>,
    /// The variables of the function that hold what a `get` has returned.
    kept: Vec<Ident>,
    /// Where the statement begins.
    statement: usize,
    /// Whether the function is a `with` or a `with_mut`, as crates with models for loom have them:
    /// they call a closure with the pointer, to read or to write.
    with: Option<bool>,
}

/// Returns the source with marks.
pub(crate) fn mark(source: &str, file: &syn::File) -> String {
    let mut marks = Marks::default();
    marks.visit_file(file);
    with_inserts(source, marks.inserts)
}

/// Returns the source with these texts in their places.
pub(crate) fn with_inserts(source: &str, mut inserts: Vec<Insert>) -> String {
    inserts.sort();
    inserts.dedup();
    let mut marked = String::new();
    let mut done = 0;
    for (at, _, text) in inserts {
        marked += &source[done..at];
        marked += &text;
        done = at;
    }
    marked + &source[done..]
}

fn is_in(names: &[&str], name: &Ident) -> bool {
    names.iter().any(|other| name == other)
}

impl Marks {
    /// Returns the pointer of a cell that this is.
    fn pointer<'a>(&self, expr: &'a Expr) -> Option<Pointer<'a>> {
        match expr {
            Expr::Paren(inner) => self.pointer(&inner.expr),
            Expr::Group(inner) => self.pointer(&inner.expr),
            Expr::Cast(cast) if matches!(*cast.ty, Type::Ptr(_)) => self.pointer(&cast.expr),
            Expr::MethodCall(call) if call.method == "get" => {
                let is_given = call.args.is_empty() && call.turbofish.is_none();
                is_given.then_some(Pointer::Given(call))
            }
            Expr::MethodCall(call) if is_in(SAME_POINTER, &call.method) => {
                self.pointer(&call.receiver)
            }
            Expr::Path(path) => {
                let name = path.path.get_ident()?;
                self.kept.contains(name).then_some(Pointer::Kept(name))
            }
            _ => None,
        }
    }

    /// Returns the pointer to whose value, or part of it, this place belongs.
    fn place<'a>(&self, expr: &'a Expr) -> Option<Pointer<'a>> {
        match expr {
            Expr::Paren(inner) => self.place(&inner.expr),
            Expr::Group(inner) => self.place(&inner.expr),
            Expr::Field(field) => self.place(&field.base),
            Expr::Index(index) => self.place(&index.expr),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => self
                .pointer(&unary.expr)
                .or_else(|| self.place(&unary.expr)),
            _ => None,
        }
    }

    fn add(&mut self, pointer: Option<Pointer<'_>>, writes: bool) {
        let name = if writes { "write" } else { "read" };
        match pointer {
            Some(Pointer::Given(get)) => {
                let (start, end) = range(get.span());
                if self.seen.insert((start, end)) {
                    // Marks may be nested. Of two that begin at one place, the outer one comes
                    // first, after what comes before the statement.
                    let opens = format!("::core::joint::{name}(");
                    self.inserts.push((start, (2, usize::MAX - end), opens));
                    self.inserts
                        .push((end, (0, usize::MAX - start), ")".into()));
                }
            }
            Some(Pointer::Kept(variable)) if self.seen.insert(range(variable.span())) => {
                let text = format!("::core::joint::{name}_at(&{variable});");
                self.inserts.push((self.statement, (1, 0), text));
            }
            _ => {}
        }
    }

    /// Visits a function, whose variables are its own.
    fn in_function(&mut self, with: Option<bool>, visit: impl FnOnce(&mut Self)) {
        let before = (core::mem::take(&mut self.kept), self.with);
        self.with = with;
        visit(self);
        (self.kept, self.with) = before;
    }
}

fn range(span: Span) -> (usize, usize) {
    let bytes = span.byte_range();
    (bytes.start, bytes.end)
}

impl<'ast> Visit<'ast> for Marks {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::Assign(assign) => self.add(self.place(&assign.left), true),
            Expr::Binary(binary) if is_assignment(&binary.op) => {
                self.add(self.place(&binary.left), true);
            }
            Expr::Reference(reference) => {
                self.add(self.place(&reference.expr), reference.mutability.is_some());
            }
            // Only the address.
            Expr::RawAddr(raw) => {
                if let Some(Pointer::Given(get)) = self.place(&raw.expr) {
                    self.seen.insert(range(get.span()));
                }
            }
            Expr::Unary(_) => self.add(self.place(expr), false),
            _ => {}
        }
        visit::visit_expr(self, expr);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if let Some(writes) = access(&call.method) {
            self.add(self.pointer(&call.receiver), writes);
        }
        self.add(
            self.place(&call.receiver),
            is_in(VALUE_WRITES, &call.method),
        );
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if let (Expr::Path(path), Some(first)) = (&*call.func, call.args.first()) {
            let name = path.path.segments.last().map(|last| &last.ident);
            if let Some(writes) = name.and_then(access).or(self.with) {
                self.add(self.pointer(first), writes);
            }
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let before = self.statement;
        self.statement = range(statement.span()).0;
        visit::visit_stmt(self, statement);
        self.statement = before;
    }

    fn visit_local(&mut self, local: &'ast Local) {
        visit::visit_local(self, local);
        let init = local.init.as_ref().map(|init| &*init.expr);
        if let (Pat::Ident(name), Some(init)) = (&local.pat, init) {
            match self.pointer(init) {
                Some(_) => self.kept.push(name.ident.clone()),
                None => self.kept.retain(|other| *other != name.ident),
            }
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        let name = item.sig.ident.to_string();
        let kinds = [("with_mut", true), ("with", false)];
        let kind = kinds.into_iter().find(|(kind, _)| name == *kind);
        let with = kind.map(|(_, writes)| writes);
        self.in_function(with, |this| visit::visit_impl_item_fn(this, item));
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.in_function(None, |this| visit::visit_item_fn(this, item));
    }
}

/// Whether a method or a function of a pointer writes through it, if it uses it.
fn access(name: &Ident) -> Option<bool> {
    match (is_in(POINTER_WRITES, name), is_in(POINTER_READS, name)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

fn is_assignment(op: &BinOp) -> bool {
    use BinOp::{
        AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign,
        ShlAssign, ShrAssign, SubAssign,
    };
    matches!(
        op,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | BitXorAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}
