//! Splits a text into words and signs.

use super::Mistake;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Token<'t> {
    pub(super) line: usize,
    pub(super) text: &'t str,
}

impl Token<'_> {
    /// Whether it can name something. A number cannot.
    pub(super) fn is_name(&self) -> bool {
        self.text
            .starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
    }
}

const SIGNS: [&str; 13] = [
    "==", "!=", "&&", "::", "=", "{", "}", "(", ")", ",", ".", ";", ":",
];

/// The tokens of a text, without its comments.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Mistake> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line_number = number + 1;
        let code = line.split("//").next().unwrap_or_default();
        let mut rest = code.trim_start();
        while !rest.is_empty() {
            let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let word = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
            let sign = || SIGNS.into_iter().find(|sign| rest.starts_with(sign));
            let length = if word > 0 {
                Some(word)
            } else {
                sign().map(str::len)
            };
            let length = length.ok_or_else(|| unknown(line_number, rest))?;
            let (text, after) = rest.split_at(length);
            found.push(Token {
                line: line_number,
                text,
            });
            rest = after.trim_start();
        }
    }
    Ok(found)
}

fn unknown(line: usize, rest: &str) -> Mistake {
    let sign: String = rest.chars().take(1).collect();
    let message = format!(
        "{sign} has no meaning here: write names of letters, digits and _, numbers without a sign, and == != && = . , ( ) {{ }}"
    );
    Mistake { line, message }
}
