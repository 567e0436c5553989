//! Makes each test of a file a model.

use syn::{spanned::Spanned, visit::Visit};

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
    let mut text = String::new();
    let mut done = 0;
    for (start, end) in bodies.0 {
        let body = &source[start..end];
        if !body.contains("joint_check::model") {
            text += &source[done..start];
            text += "::joint_check::model(move || {";
            text += body;
            text += "});";
            done = end;
        }
    }
    text + &source[done..]
}
