//! The notes in the documentation of tests: `Cell:`, `Flow:` and `Differs:`.

use std::{fs, path::Path};

/// A test, and what its documentation notes.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    /// The file, from the root.
    pub file: String,
    pub test: String,
    /// Piece and semantics.
    pub cells: Vec<(String, String)>,
    /// Names of FoundationDB's tests.
    pub flow: Vec<String>,
    pub differs: Option<String>,
}

impl Noted {
    /// Returns the name, as a link from a page in `docs`.
    pub(crate) fn link(&self) -> String {
        format!("[`{}`](../{})", self.test, self.file)
    }
}

/// Reads the tests in the Rust files of a folder whose names begin with `prefix`.
pub(crate) fn read(root: &Path, folder: &str, prefix: &str) -> Vec<Noted> {
    let entries = fs::read_dir(root.join(folder)).expect("the folder can be listed");
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("the folder can be listed").file_name())
        .map(|name| name.into_string().expect("its name is UTF-8"))
        .filter(|name| name.starts_with(prefix) && name.ends_with(".rs"))
        .collect();
    names.sort();
    let files = names.into_iter().map(|name| {
        let file = format!("{folder}/{name}");
        let text = fs::read_to_string(root.join(&file)).expect("a source file can be read");
        tests(&file, &text)
    });
    files.flatten().collect()
}

/// Returns the tests of a file, and the rows of a macro `models!` in the same way.
fn tests(file: &str, text: &str) -> Vec<Noted> {
    let mut found = Vec::new();
    let mut doc: Vec<&str> = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        if let Some(line) = line.strip_prefix("///") {
            doc.push(line.trim());
        } else if line == "#[test]" {
            is_test = true;
        } else if !line.starts_with("#[") {
            let function = line
                .strip_prefix("fn ")
                .and_then(|rest| rest.split('(').next());
            let row = line.strip_suffix(';').and_then(|row| row.split_once(": "));
            let row = row
                .map(|(name, _)| name)
                .filter(|_| notes(&doc).next().is_some());
            if let Some(name) = function.filter(|_| is_test).or(row) {
                found.push(noted(file, name, &doc));
            }
            doc.clear();
            is_test = false;
        }
    }
    found
}

fn noted(file: &str, test: &str, doc: &[&str]) -> Noted {
    let mut noted = Noted {
        file: file.into(),
        test: test.into(),
        ..Noted::default()
    };
    for (kind, text) in notes(doc) {
        // The period ends the note, and is no part of it.
        let name = text.strip_suffix('.').unwrap_or(&text).to_owned();
        match kind {
            "Cell" => {
                let (piece, semantics) = name.split_once(": ").expect("Cell: piece: semantics");
                noted.cells.push((piece.into(), semantics.into()));
            }
            "Flow" => noted.flow.push(name),
            _ => noted.differs = Some(text),
        }
    }
    noted
}

const KINDS: [&str; 3] = ["Cell", "Flow", "Differs"];

/// Returns the notes: each goes on until an empty line, or the next note.
fn notes<'a>(doc: &'a [&str]) -> impl Iterator<Item = (&'static str, String)> + 'a {
    let kind = |line: &str| {
        let (word, text) = line.split_once(": ")?;
        let kind = KINDS.into_iter().find(|kind| *kind == word)?;
        Some((kind, text.to_owned()))
    };
    doc.iter().enumerate().filter_map(move |(at, line)| {
        let (found, mut text) = kind(line)?;
        let rest = doc[at + 1..].iter();
        for line in rest.take_while(|line| !line.is_empty() && kind(line).is_none()) {
            text.push(' ');
            text.push_str(line);
        }
        Some((found, text))
    })
}

#[cfg(test)]
mod tests {
    use super::tests;

    const FILE: &str = "
/// Cell: race: the leftmost
/// ready one wins.
///
/// More words.
#[test]
fn leftmost() {}

/// Flow: /a/b.
/// Flow: /c.
/// Differs: it does, and
/// why.
#[test]
fn a_b_c() {}

/// Cell: race: no test.
fn helper() {}

models! {
    /// Cell: lock: a row.
    row: model;
}

#[test]
fn without() {}
";

    #[test]
    fn a_note_ends_at_an_empty_line_or_the_next_note() {
        let found = tests("file.rs", FILE);
        let names: Vec<_> = found.iter().map(|noted| &*noted.test).collect();
        assert_eq!(names, ["leftmost", "a_b_c", "row", "without"]);
        let cell = |piece: &str, semantics: &str| vec![(piece.into(), semantics.into())];
        assert_eq!(found[0].cells, cell("race", "the leftmost ready one wins"));
        assert_eq!(found[1].flow, ["/a/b", "/c"]);
        assert_eq!(found[1].differs.as_deref(), Some("it does, and why."));
        assert_eq!(found[2].cells, cell("lock", "a row"));
        assert!(found[3].cells.is_empty());
        assert_eq!(found[0].link(), "[`leftmost`](../file.rs)");
    }
}
