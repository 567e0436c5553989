//! The paths that a file writes, with `use` trees spelled out and `super` chains followed.

use super::{lex::Kind, source::Source};

#[derive(Debug)]
pub(crate) struct Path {
    /// As written, but for the tree: `use a::{b, c as d}` is `a::b` and `a::c`.
    pub(crate) segments: Vec<String>,
    /// The name of the path where it stands: `b` and `d`.
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) in_test: bool,
    /// The module it stands in, from the crate's root.
    pub(crate) module: Vec<String>,
}

impl Path {
    /// The path from the crate's root, if it is one into the crate that says so.
    pub(crate) fn in_crate(&self) -> Option<Vec<String>> {
        let first = self.segments.first()?;
        if first == "crate" {
            return Some(self.segments[1..].to_vec());
        }
        if first != "super" && first != "self" {
            return None;
        }
        let mut path = self.module.clone();
        let steps = self.segments.iter();
        for step in steps.skip_while(|segment| *segment == "self") {
            match step.as_str() {
                "super" => drop(path.pop()),
                name => path.push(name.to_owned()),
            }
        }
        Some(path)
    }

    pub(crate) fn starts_with(&self, segments: &[&str]) -> bool {
        self.segments.len() >= segments.len()
            && self.segments.iter().zip(segments).all(|(a, b)| a == b)
    }

    pub(crate) fn written(&self) -> String {
        self.segments.join("::")
    }
}

pub(crate) fn paths(source: &Source) -> Vec<Path> {
    let mut reader = Reader {
        source,
        at: 0,
        paths: Vec::new(),
    };
    while reader.at < source.tokens.len() {
        reader.token();
    }
    reader.paths
}

struct Reader<'a> {
    source: &'a Source,
    at: usize,
    paths: Vec<Path>,
}

impl Reader<'_> {
    fn text(&self, ahead: usize) -> &str {
        let token = self.source.tokens.get(self.at + ahead);
        token.map_or("", |token| &token.text)
    }

    fn is_ident(&self, ahead: usize) -> bool {
        let token = self.source.tokens.get(self.at + ahead);
        token.is_some_and(|token| token.kind == Kind::Ident)
    }

    /// The module of a token, from the crate's root.
    fn module(&self, at: usize) -> Vec<String> {
        let module = self.source.modules[at].to_vec();
        match self.source.package().as_str() {
            "" => module,
            _ => module[1..].to_vec(),
        }
    }

    fn token(&mut self) {
        // `use<'a>` in a bound is no import.
        if self.text(0) == "use" && self.text(1) != "<" {
            self.at += 1;
            self.tree(&[]);
        } else if self.is_ident(0) && self.text(1) == "::" {
            self.inline();
        } else {
            self.at += 1;
        }
    }

    fn inline(&mut self) {
        let first = self.at;
        let mut segments = vec![self.text(0).to_owned()];
        self.at += 1;
        while self.text(0) == "::" && self.is_ident(1) {
            segments.push(self.text(1).to_owned());
            self.at += 2;
        }
        let name = segments.last().cloned().unwrap_or_default();
        self.push(first, segments, name);
        if self.text(0) == "::" {
            self.at += 1;
        }
    }

    fn tree(&mut self, prefix: &[String]) {
        let first = self.at;
        let mut segments = prefix.to_vec();
        loop {
            let text = self.text(0).to_owned();
            match text.as_str() {
                "{" => {
                    self.at += 1;
                    return self.branches(&segments);
                }
                "as" => {
                    let name = self.text(1).to_owned();
                    self.at += 2;
                    return self.push(first, segments, name);
                }
                "" | "," | "}" | ";" => {
                    let name = segments.last().cloned().unwrap_or_default();
                    return self.push(first, segments, name);
                }
                "self" if !segments.is_empty() => {}
                "::" => {}
                _ => segments.push(text),
            }
            self.at += 1;
        }
    }

    fn branches(&mut self, prefix: &[String]) {
        loop {
            match self.text(0) {
                "" => return,
                "}" => {
                    self.at += 1;
                    return;
                }
                "," => self.at += 1,
                _ => self.tree(prefix),
            }
        }
    }

    fn push(&mut self, first: usize, segments: Vec<String>, name: String) {
        self.paths.push(Path {
            segments,
            name,
            line: self.source.tokens[first].line,
            in_test: self.source.in_test[first],
            module: self.module(first),
        });
    }
}
