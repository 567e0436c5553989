//! Turns `miri` in a cfg into what always holds. Crates say by it where they use assembly, or sizes
//! that are too large, and a model has the same wishes as Miri.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Returns the source with `all()` in the place of `miri`, on the same lines.
pub(crate) fn as_under_miri(source: &str) -> String {
    let Ok(tokens) = source.parse::<TokenStream>() else {
        return source.to_owned();
    };
    let mut found = Vec::new();
    search(tokens, false, &mut found);
    let mut text = source.to_owned();
    for (start, end) in found.into_iter().rev() {
        text.replace_range(start..end, "all()");
    }
    text
}

/// Finds each `miri`, in the order of the source.
fn search(tokens: TokenStream, in_cfg: bool, found: &mut Vec<(usize, usize)>) {
    let mut after_cfg = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let is_list = group.delimiter() == Delimiter::Parenthesis;
                search(group.stream(), in_cfg || after_cfg && is_list, found);
                after_cfg = false;
            }
            TokenTree::Ident(name) => {
                if in_cfg && name == "miri" {
                    let bytes = name.span().byte_range();
                    found.push((bytes.start, bytes.end));
                }
                after_cfg = name == "cfg" || name == "cfg_attr";
            }
            TokenTree::Punct(punct) => after_cfg &= punct.as_char() == '!',
            TokenTree::Literal(_) => after_cfg = false,
        }
    }
}
