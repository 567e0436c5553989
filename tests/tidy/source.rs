//! One source file as the rules see it: its tokens, each with the module it stands in and whether
//! only tests compile it.

use std::{mem, sync::Arc};

use super::lex::{Comment, Kind, Token, lex};

#[derive(Debug)]
pub(crate) struct Source {
    /// From the root of the repository, with slashes.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) tokens: Vec<Token>,
    pub(crate) comments: Vec<Comment>,
    /// For each token, whether it belongs to an item under `#[cfg(test)]`.
    pub(crate) in_test: Vec<bool>,
    /// For each token, the path of its module, shared by all of the module: from the crate's root
    /// in the package `joint`, and after the package's short name in every other.
    pub(crate) modules: Vec<Arc<[String]>>,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let (tokens, comments) = lex(text);
        Self {
            in_test: in_test(path, &tokens),
            modules: modules(path, &tokens),
            path: path.to_owned(),
            text: text.to_owned(),
            tokens,
            comments,
        }
    }

    /// The short name of the file's package: `executor` for `joint-executor`, and nothing for
    /// `joint`.
    pub(crate) fn package(&self) -> String {
        package(&self.path).to_owned()
    }

    /// Whether it is of `verify`: the models run on it, and no model runs it.
    pub(crate) fn is_checker(&self) -> bool {
        self.path.starts_with("verify/")
    }

    /// The file's module directly under the crate's root; none for `lib.rs`.
    pub(crate) fn top(&self) -> Option<String> {
        let mut modules = file_module(&self.path).into_iter();
        modules.find(|module| *module != self.package())
    }

    /// The texts of the tokens from `at` on are these.
    pub(crate) fn reads(&self, at: usize, texts: &[&str]) -> bool {
        let tokens = self.tokens.iter().skip(at).map(|token| &token.text);
        tokens.take(texts.len()).eq(texts)
    }

    /// The tokens outside tests, with their indices.
    pub(crate) fn shipped(&self) -> impl Iterator<Item = (usize, &Token)> {
        let tokens = self.tokens.iter().enumerate();
        tokens.filter(|&(at, _)| !self.in_test[at])
    }

    /// A finding at a line of this file: what is wrong, and what to do.
    pub(crate) fn finding(&self, line: usize, what: impl std::fmt::Display) -> String {
        format!("{}:{line}: {what}", self.path)
    }
}

/// The folder in which a package's `src` lies, without `joint-`.
fn package(path: &str) -> &str {
    let (folder, _) = path.rsplit_once("/src/").unwrap_or_default();
    let (_, package) = folder.rsplit_once('/').unwrap_or(("", folder));
    package.strip_prefix("joint-").unwrap_or(package)
}

/// The modules of every package but `joint` stand in one with the package's short name.
fn file_module(path: &str) -> Vec<String> {
    let (_, file) = path.rsplit_once("src/").unwrap_or(("", path));
    let file = file.strip_suffix(".rs").unwrap_or(file);
    let parts = [package(path)].into_iter().chain(file.split('/'));
    let is_module = |part: &&str| !part.is_empty() && *part != "lib" && *part != "mod";
    parts.filter(is_module).map(str::to_owned).collect()
}

fn modules(path: &str, tokens: &[Token]) -> Vec<Arc<[String]>> {
    let mut module: Arc<[String]> = file_module(path).into();
    let mut depth = 0;
    // The depth at which each inline module was opened, and the module around it.
    let mut opened = Vec::new();
    let mut of_tokens = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        of_tokens.push(module.clone());
        match token.text.as_str() {
            "{" => {
                if at >= 2 && tokens[at - 2].text == "mod" {
                    let inner = [&module[..], &[tokens[at - 1].text.clone()]].concat();
                    opened.push((depth, mem::replace(&mut module, inner.into())));
                }
                depth += 1;
            }
            "}" => {
                depth -= 1;
                if opened.last().is_some_and(|&(at, _)| at == depth) {
                    (_, module) = opened.pop().expect("it was looked at");
                }
            }
            _ => {}
        }
    }
    of_tokens
}

/// A file called `tests.rs`, or below a folder `tests` of the sources, is a test module that was
/// moved out of line, and is a test throughout.
fn in_test(path: &str, tokens: &[Token]) -> Vec<bool> {
    let below = path.rsplit("src/").next().unwrap_or(path);
    let is_test = below.ends_with("/tests.rs") || below.contains("/tests/");
    let mut marks = vec![is_test; tokens.len()];
    let mut at = 0;
    while at < tokens.len() {
        let end = test_item(tokens, at);
        if let Some(end) = end {
            marks[at..end].fill(true);
        }
        at = end.unwrap_or(at + 1);
    }
    marks
}

/// If a `#[cfg(test)]` starts at `at`: the end of the item that it stands on.
fn test_item(tokens: &[Token], at: usize) -> Option<usize> {
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    if (text(at), text(at + 1), text(at + 2)) != ("#", "[", "cfg") {
        return None;
    }
    let mut end = closing(tokens, at + 1);
    let is_test = |at: usize| {
        let negated = text(at - 1) == "(" && text(at - 2) == "not";
        tokens[at].kind == Kind::Ident && text(at) == "test" && !negated
    };
    if !(at + 3..end).any(is_test) {
        return None;
    }
    while text(end) == "#" {
        end = closing(tokens, end + 1);
    }
    loop {
        match text(end) {
            "" | ";" => return Some((end + 1).min(tokens.len())),
            "{" => return Some(closing(tokens, end)),
            "(" | "[" => end = closing(tokens, end),
            _ => end += 1,
        }
    }
}

/// One past the bracket that closes the one at `at`.
fn closing(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0;
    for (end, token) in tokens.iter().enumerate().skip(at) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return end + 1;
        }
    }
    tokens.len()
}
