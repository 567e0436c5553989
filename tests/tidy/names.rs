//! Comments cite only what exists: a `file::site` in backticks, and the name of a file.
//!
//! A citation is held to what can be seen from outside of the compiler: the module whose path ends
//! as the citation says has a token of the last name. rustdoc checks links in brackets itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{lex::Kind, source::Source};

/// The first names of paths into other crates.
const FOREIGN: [&str; 6] = ["alloc", "core", "std", "loom", "libc", "tokio"];

/// The names that can be cited.
pub(crate) struct Known {
    /// For each module, by its path from the crate's root, the names in it.
    names: BTreeMap<Arc<[String]>, BTreeSet<String>>,
    /// Paths of files, with a slash in front.
    files: Vec<String>,
}

impl Known {
    pub(crate) fn new<'a>(
        sources: impl Iterator<Item = &'a Source>,
        files: impl Iterator<Item = String>,
    ) -> Self {
        let mut names: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for source in sources {
            let words = source.tokens.iter().zip(&source.modules);
            for (token, module) in words.filter(|(token, _)| token.kind == Kind::Ident) {
                let known = names.entry(module.clone()).or_default();
                known.insert(token.text.clone());
            }
        }
        let files = files.map(|file| format!("/{file}")).collect();
        Self { names, files }
    }

    fn has_site(&self, path: &[&str]) -> bool {
        let Some((last, module)) = path.split_last() else {
            return false;
        };
        let ends = |known: &[String]| {
            known.len() >= module.len()
                && (known.iter().rev())
                    .zip(module.iter().rev())
                    .all(|(a, b)| a == b)
        };
        (self.names.iter()).any(|(known, names)| ends(known) && names.contains(*last))
    }

    fn has_file(&self, name: &str) -> bool {
        let end = format!("/{name}");
        self.files.iter().any(|file| file.ends_with(&end))
    }
}

pub(crate) fn check(source: &Source, known: &Known) -> Vec<String> {
    let mut found = Vec::new();
    for comment in &source.comments {
        let spans = comment.text.split('`').skip(1).step_by(2);
        for span in spans {
            let path: Vec<_> = span.trim_end_matches("()").split("::").collect();
            if is_citation(&path) && !known.has_site(without_root(&path)) {
                let what = format!("`{span}` does not exist; a comment cites it");
                found.push(source.finding(comment.line, what));
            }
        }
        let is_of_name = |c: char| c.is_alphanumeric() || "_-/.".contains(c);
        let words = comment.text.split(|c: char| !is_of_name(c));
        for file in words.map(|word| word.trim_end_matches('.').trim_start_matches("../")) {
            let is_file = file.len() > 3 && file.ends_with(".rs");
            if is_file && !known.has_file(file) {
                let what = format!("no file ends in {file}; a comment cites it");
                found.push(source.finding(comment.line, what));
            }
        }
    }
    found
}

/// Whether it reads as `file::site`: a type or a macro in it is rustdoc's, or the compiler's.
fn is_citation(path: &[&str]) -> bool {
    let is_name = |name: &&str| {
        let mut chars = name.chars();
        chars.next().is_some_and(|c| c.is_ascii_lowercase())
            && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    path.len() > 1 && path.iter().all(is_name) && !FOREIGN.contains(&path[0])
}

fn without_root<'a, 'b>(path: &'a [&'b str]) -> &'a [&'b str] {
    match path {
        [
            "crate" | "joint" | "joint_executor" | "joint_sim",
            rest @ ..,
        ] if !rest.is_empty() => rest,
        _ => path,
    }
}
