//! Rust's tokens and comments, by line: what proc-macro2 reads, and what it leaves out.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ident,
    Punct,
    Literal,
    Lifetime,
}

#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// As written; a literal's content is left out.
    pub(crate) text: String,
    pub(crate) line: usize,
    pub(crate) last_line: usize,
}

/// One line of a comment, without its marker.
#[derive(Debug)]
pub(crate) struct Comment {
    pub(crate) line: usize,
    pub(crate) text: String,
}

pub(crate) fn lex(text: &str) -> (Vec<Token>, Vec<Comment>) {
    let stream: TokenStream = text.parse().expect("a source file has tokens");
    let mut lexer = Lexer {
        text,
        at: 0,
        line: 1,
        tokens: Vec::new(),
        comments: Vec::new(),
    };
    lexer.stream(stream);
    lexer.comments_up_to(text.len());
    (lexer.tokens, lexer.comments)
}

struct Lexer<'a> {
    text: &'a str,
    /// Where the last token ended, and the line of that.
    at: usize,
    line: usize,
    tokens: Vec<Token>,
    comments: Vec<Comment>,
}

impl Lexer<'_> {
    fn stream(&mut self, stream: TokenStream) {
        let mut trees = stream.into_iter().peekable();
        while let Some(tree) = trees.next() {
            let span = tree.span();
            let rest = &self.text[span.byte_range().start..];
            // Documentation comes as the tokens of an attribute.
            if rest.starts_with("//") || rest.starts_with("/*") {
                continue;
            }
            match tree {
                TokenTree::Group(group) => self.group(&group),
                TokenTree::Ident(ident) => {
                    let name = ident.to_string();
                    self.push(Kind::Ident, name.trim_start_matches("r#"), span, span);
                }
                TokenTree::Literal(_) => self.push(Kind::Literal, "\"\"", span, span),
                TokenTree::Punct(punct) => match (punct.as_char(), trees.peek()) {
                    ('\'', Some(name)) => {
                        self.push(Kind::Lifetime, &name.to_string(), span, name.span());
                        trees.next();
                    }
                    (':', Some(next)) if rest.starts_with("::") => {
                        self.push(Kind::Punct, "::", span, next.span());
                        trees.next();
                    }
                    (other, _) => self.push(Kind::Punct, &other.to_string(), span, span),
                },
            }
        }
    }

    fn group(&mut self, group: &Group) {
        let (open, close) = match group.delimiter() {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Brace => ("{", "}"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::None => ("", ""),
        };
        self.push(Kind::Punct, open, group.span_open(), group.span_open());
        self.stream(group.stream());
        self.push(Kind::Punct, close, group.span_close(), group.span_close());
    }

    fn push(&mut self, kind: Kind, text: &str, first: Span, last: Span) {
        self.comments_up_to(first.byte_range().start);
        self.at = last.byte_range().end;
        self.line = last.end().line;
        self.tokens.push(Token {
            kind,
            text: text.to_owned(),
            line: first.start().line,
            last_line: self.line,
        });
    }

    /// Between two tokens there are only comments and blanks.
    fn comments_up_to(&mut self, end: usize) {
        let between = self.text.get(self.at..end).unwrap_or_default();
        let lines = (self.line..).zip(between.lines());
        let comments = lines.filter(|(_, text)| !text.trim().is_empty());
        self.comments.extend(comments.map(|(line, text)| {
            Comment {
                line,
                text: text
                    .trim_start_matches(['/', '*', '!', ' ', '\t'])
                    .trim_end()
                    .trim_end_matches("*/")
                    .trim()
                    .to_owned(),
            }
        }));
    }
}
