//! Rust's tokens and comments, by line: enough of a lexer that no rule is misled by a string, a
//! comment or a lifetime.

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
    let mut lexer = Lexer {
        chars: text.chars().collect(),
        at: 0,
        line: 1,
        tokens: Vec::new(),
        comments: Vec::new(),
    };
    while let Some(c) = lexer.peek(0) {
        lexer.item(c);
    }
    (lexer.tokens, lexer.comments)
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    line: usize,
    tokens: Vec<Token>,
    comments: Vec<Comment>,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        self.line += usize::from(c == '\n');
        Some(c)
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while self.peek(0).is_some_and(&keep) {
            taken.extend(self.bump());
        }
        taken
    }

    fn push(&mut self, kind: Kind, text: impl Into<String>, line: usize) {
        self.tokens.push(Token {
            kind,
            text: text.into(),
            line,
            last_line: self.line,
        });
    }

    fn item(&mut self, c: char) {
        match (c, self.peek(1)) {
            ('/', Some('/')) => self.line_comment(),
            ('/', Some('*')) => self.block_comment(),
            ('"', _) => self.string(),
            ('\'', _) => self.quote(),
            (':', Some(':')) => {
                self.at += 2;
                self.push(Kind::Punct, "::", self.line);
            }
            _ if c.is_alphabetic() || c == '_' => self.word(),
            _ if c.is_ascii_digit() => self.number(),
            _ => {
                self.bump();
                if !c.is_whitespace() {
                    self.push(Kind::Punct, c, self.line);
                }
            }
        }
    }

    fn line_comment(&mut self) {
        let line = self.line;
        let text = self.take_while(|c| c != '\n');
        let text = text.trim_start_matches('/').trim_start_matches('!').trim();
        self.comments.push(Comment {
            line,
            text: text.to_owned(),
        });
    }

    fn block_comment(&mut self) {
        let first = self.line;
        let (mut depth, mut text) = (0, String::new());
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => depth += 1,
                (Some('*'), Some('/')) => depth -= 1,
                (None, _) => break,
                _ => {
                    text.extend(self.bump());
                    continue;
                }
            }
            self.at += 2;
            if depth == 0 {
                break;
            }
        }
        let lines = text.lines().enumerate().map(|(n, text)| Comment {
            line: first + n,
            text: text.trim_start_matches([' ', '*', '!']).trim().to_owned(),
        });
        self.comments.extend(lines);
    }

    /// An identifier or a keyword, unless it turns out to be the prefix of a literal.
    fn word(&mut self) {
        let line = self.line;
        let word = self.take_while(is_word);
        match (word.as_str(), self.peek(0), self.peek(1)) {
            ("b" | "c", Some('"'), _) => self.string(),
            ("b", Some('\''), _) => self.quote(),
            ("r" | "br" | "cr", Some('"'), _) => self.raw_string(),
            ("r" | "br" | "cr", Some('#'), Some('#' | '"')) => self.raw_string(),
            ("r", Some('#'), _) => {
                self.bump();
                self.word();
            }
            _ => self.push(Kind::Ident, word, line),
        }
    }

    fn number(&mut self) {
        let line = self.line;
        self.take_while(is_word);
        if self.peek(0) == Some('.') && self.peek(1).is_some_and(|c| c.is_ascii_digit()) {
            self.bump();
            self.take_while(is_word);
        }
        self.push(Kind::Literal, "0", line);
    }

    fn string(&mut self) {
        let line = self.line;
        self.bump();
        while let Some(c) = self.bump() {
            match c {
                '\\' => drop(self.bump()),
                '"' => break,
                _ => {}
            }
        }
        self.push(Kind::Literal, "\"\"", line);
    }

    fn raw_string(&mut self) {
        let line = self.line;
        let hashes = self.take_while(|c| c == '#').len();
        self.bump();
        while let Some(c) = self.bump() {
            if c == '"' && (0..hashes).all(|ahead| self.peek(ahead) == Some('#')) {
                self.at += hashes;
                break;
            }
        }
        self.push(Kind::Literal, "\"\"", line);
    }

    /// A character or a lifetime: only a character closes its quote, after one char or an escape.
    fn quote(&mut self) {
        let line = self.line;
        self.bump();
        if self.peek(0) == Some('\\') {
            self.at += 2;
            self.take_while(|c| c != '\'');
            self.bump();
            self.push(Kind::Literal, "''", line);
        } else if self.peek(1) == Some('\'') {
            self.at += 2;
            self.push(Kind::Literal, "''", line);
        } else {
            let name = self.take_while(is_word);
            self.push(Kind::Lifetime, name, line);
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let tokens = lex(text).0.into_iter();
        let idents = tokens.filter(|token| token.kind == Kind::Ident);
        idents.map(|token| token.text).collect()
    }

    #[test]
    fn strings_hide_what_they_hold() {
        assert_eq!(words(r#"a("// b \" c", b"d", 'e') f"#), ["a", "f"]);
        assert_eq!(
            words(r###"a(r"b\", r#"c " d"#, br##"e "# f"##) g"###),
            ["a", "g"]
        );
    }

    #[test]
    fn quotes_are_characters_or_lifetimes() {
        assert_eq!(
            words(r"a('\'', '\u{41}', '\\', '(', '\n', b'\'') b"),
            ["a", "b"]
        );
        assert_eq!(
            words("impl<'a> X<'_> for &'static T"),
            ["impl", "X", "for", "T"]
        );
    }

    #[test]
    fn comments_are_kept_apart_by_line() {
        let (tokens, comments) =
            lex("//! one\na /* two /* nested */\n * three */ b // four\nr#mod");
        let tokens: Vec<_> = tokens.iter().map(|t| (t.text.as_str(), t.line)).collect();
        assert_eq!(tokens, [("a", 2), ("b", 3), ("mod", 4)]);
        let comments: Vec<_> = comments.iter().map(|c| (c.line, c.text.as_str())).collect();
        assert_eq!(
            comments,
            [(1, "one"), (2, "two  nested"), (3, "three"), (3, "four")]
        );
    }

    #[test]
    fn numbers_leave_ranges_and_methods_alone() {
        assert_eq!(
            words("0..n 1.5 2_u8 x.0.f() 1.max(y)"),
            ["n", "x", "f", "max", "y"]
        );
    }
}
