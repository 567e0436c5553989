//! Marks in the source where the pointer of an `UnsafeCell` is read or written.
//!
//! std's cell gives a raw pointer, and what happens to it is not seen. So `*cell.get() = 1` becomes
//! `*::core::joint::write(cell.get()) = 1`. Whether `cell` is a cell is not known here: the mark
//! has an effect only if the pointer is the one that a cell has just given. The rest of the source
//! stays byte for byte what it was.

use proc_macro2::Span;
use std::collections::BTreeSet;
use syn::{
    BinOp, Expr, ExprCall, ExprMethodCall, UnOp,
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

/// A place of the source, and whether the pointer is written through.
type Mark = (usize, usize, bool);

#[derive(Default)]
struct Marks {
    found: Vec<Mark>,
    seen: BTreeSet<(usize, usize)>,
    /// Whether the function is a `with` or a `with_mut`, as crates with models for loom have them:
    /// they call a closure with the pointer, to read or to write.
    with: Option<bool>,
}

/// Returns the source with marks.
pub(crate) fn mark(source: &str, file: &syn::File) -> String {
    let mut marks = Marks::default();
    marks.visit_file(file);
    // Marks may be nested: the text that begins at a place goes there, the outer one first.
    let mut inserts = Vec::new();
    for (start, end, writes) in marks.found {
        let name = if writes { "write" } else { "read" };
        inserts.push((
            start,
            1,
            usize::MAX - end,
            format!("::core::joint::{name}("),
        ));
        inserts.push((end, 0, usize::MAX - start, ")".into()));
    }
    inserts.sort();
    let mut marked = String::new();
    let mut done = 0;
    for (at, _, _, text) in inserts {
        marked += &source[done..at];
        marked += &text;
        done = at;
    }
    marked + &source[done..]
}

/// Returns the call of `get` whose pointer this is.
fn pointer(expr: &Expr) -> Option<&ExprMethodCall> {
    match expr {
        Expr::Paren(inner) => pointer(&inner.expr),
        Expr::Group(inner) => pointer(&inner.expr),
        Expr::Cast(cast) => matches!(*cast.ty, syn::Type::Ptr(_))
            .then(|| pointer(&cast.expr))
            .flatten(),
        Expr::MethodCall(call) if call.method == "get" => {
            (call.args.is_empty() && call.turbofish.is_none()).then_some(call)
        }
        Expr::MethodCall(call) if is_in(SAME_POINTER, &call.method) => pointer(&call.receiver),
        _ => None,
    }
}

/// Returns the call of `get` to whose value, or part of it, this place belongs.
fn place(expr: &Expr) -> Option<&ExprMethodCall> {
    match expr {
        Expr::Paren(inner) => place(&inner.expr),
        Expr::Group(inner) => place(&inner.expr),
        Expr::Field(field) => place(&field.base),
        Expr::Index(index) => place(&index.expr),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => {
            pointer(&unary.expr).or_else(|| place(&unary.expr))
        }
        _ => None,
    }
}

fn is_in(names: &[&str], name: &syn::Ident) -> bool {
    names.iter().any(|other| name == other)
}

impl Marks {
    fn add(&mut self, get: Option<&ExprMethodCall>, writes: bool) {
        let Some(get) = get else { return };
        let range = range(get.span());
        if self.seen.insert(range) {
            self.found.push((range.0, range.1, writes));
        }
    }
}

fn range(span: Span) -> (usize, usize) {
    let bytes = span.byte_range();
    (bytes.start, bytes.end)
}

impl<'ast> Visit<'ast> for Marks {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::Assign(assign) => self.add(place(&assign.left), true),
            Expr::Binary(binary) if is_assignment(&binary.op) => {
                self.add(place(&binary.left), true);
            }
            Expr::Reference(reference) => {
                self.add(place(&reference.expr), reference.mutability.is_some());
            }
            // Only the address.
            Expr::RawAddr(raw) => {
                if let Some(get) = place(&raw.expr) {
                    self.seen.insert(range(get.span()));
                }
            }
            Expr::Unary(_) => self.add(place(expr), false),
            _ => {}
        }
        visit::visit_expr(self, expr);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if let Some(get) = pointer(&call.receiver) {
            if is_in(POINTER_WRITES, &call.method) {
                self.add(Some(get), true);
            } else if is_in(POINTER_READS, &call.method) {
                self.add(Some(get), false);
            }
        }
        self.add(place(&call.receiver), is_in(VALUE_WRITES, &call.method));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if let (Expr::Path(path), Some(first)) = (&*call.func, call.args.first()) {
            let name = path.path.segments.last().map(|last| &last.ident);
            let get = pointer(first);
            if name.is_some_and(|name| is_in(POINTER_WRITES, name)) {
                self.add(get, true);
            } else if name.is_some_and(|name| is_in(POINTER_READS, name)) {
                self.add(get, false);
            } else if let Some(writes) = self.with {
                self.add(get, writes);
            }
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        let name = item.sig.ident.to_string();
        let kinds = [("with_mut", true), ("with", false)];
        let kind = kinds.into_iter().find(|(kind, _)| name == *kind);
        let before = core::mem::replace(&mut self.with, kind.map(|(_, writes)| writes));
        visit::visit_impl_item_fn(self, item);
        self.with = before;
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
