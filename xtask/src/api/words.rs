//! A signature's tokens, and how they are written on one line.

use super::super::lex::{Kind, Token};

pub(super) struct Word {
    pub(super) kind: Kind,
    pub(super) text: String,
}

impl Word {
    /// A token of a file, with what a literal holds.
    pub(super) fn new(token: &Token, file: &[char]) -> Self {
        Self {
            kind: token.kind,
            text: file[token.chars.clone()].iter().collect(),
        }
    }
}

/// Words after which a parenthesis begins a type.
const BEFORE_TYPES: [&str; 8] = ["as", "const", "dyn", "for", "impl", "in", "mut", "where"];

/// Writes the words with the same spaces, however the file breaks its lines.
pub(super) fn line(words: &[Word]) -> String {
    let text = |at: usize| words.get(at).map_or("", |word: &Word| &word.text);
    let mut line = String::new();
    for at in 0..words.len() {
        // Whether a list ends with a comma depends on the line breaks.
        if text(at) == "," && (text(at + 1).is_empty() || ")]>".contains(text(at + 1))) {
            continue;
        }
        // How a function binds its arguments is its own affair.
        if text(at) == "mut" && at > 0 && ["(", ","].contains(&text(at - 1)) {
            continue;
        }
        if at > 0 && is_spaced(words, at) {
            line.push(' ');
        }
        line += text(at);
    }
    line
}

fn is_spaced(words: &[Word], at: usize) -> bool {
    let (before, text) = (words[at - 1].text.as_str(), words[at].text.as_str());
    let second = if at > 1 { &words[at - 2].text } else { "" };
    let is_arrow = before == ">" && second == "-";
    let is_name = words[at - 1].kind == Kind::Ident && !BEFORE_TYPES.contains(&before);
    match (before, text) {
        ("mut", _) if second == "(" => false,
        (_, "," | ";" | ":" | "::" | ")" | "]" | "." | ">") => false,
        ("(" | "[" | "<" | "&" | "*" | "::" | "." | "#" | "$" | "?" | "!", _) => false,
        (_, "<") => is_arrow || [":", "=", "+", ","].contains(&before),
        (_, "!" | "(") => !is_name && (before != ">" || is_arrow),
        _ => true,
    }
}
