//! Makes each test of a file a model.

use syn::{spanned::Spanned, visit::Visit};

use crate::cells::with_inserts;

#[derive(Default)]
struct Bodies(Vec<(usize, usize)>);

impl Visit<'_> for Bodies {
    fn visit_item_fn(&mut self, item: &syn::ItemFn) {
        if item.attrs.iter().any(|attr| attr.path().is_ident("test")) {
            let braces = item.block.brace_token.span;
            self.0.push((
                braces.open().span().byte_range().end,
                braces.close().span().byte_range().start,
            ));
        }
    }
}

/// Returns the source with `joint_check::model(|| { .. })` around the body of each test, unless it
/// calls that itself.
pub(crate) fn as_models(source: &str, file: &syn::File) -> String {
    let mut bodies = Bodies::default();
    bodies.visit_file(file);
    let is_none =
        |&(start, end): &(usize, usize)| !source[start..end].contains("joint_check::model");
    let all = bodies.0.into_iter().filter(is_none);
    let around = all.flat_map(|(start, end)| {
        let texts = [(start, "::joint_check::model(move || {"), (end, "});")];
        texts.map(|(at, text)| (at, (0, 0), text.to_owned()))
    });
    with_inserts(source, around.collect())
}
