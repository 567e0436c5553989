//! Checks that the code in the lessons is compiled: by rustdoc, or here.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// From the folder in which cargo runs the tests.
fn root() -> &'static Path {
    Path::new("../../..")
}

/// A fenced block: its language, the file that it says it is from, and its text.
struct Block<'a> {
    kind: &'a str,
    file: Option<&'a str>,
    text: String,
}

fn blocks(lesson: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut file = None;
    let mut lines = lesson.lines();
    while let Some(line) = lines.next() {
        if let Some(kind) = line.strip_prefix("```") {
            let text = lines.by_ref().take_while(|line| *line != "```");
            let text = text.map(|line| format!("{line}\n")).collect();
            found.push(Block {
                kind,
                file: file.take(),
                text,
            });
        } else if let Some(rest) = line.strip_prefix("<!-- in ") {
            file = rest.strip_suffix(" -->");
        }
    }
    found
}

/// Demands that each block is a test of rustdoc's, or is found word for word in the file that it
/// names.
fn check(name: &str, lesson: &str) -> usize {
    let blocks = blocks(lesson);
    for block in &blocks {
        let text = &block.text;
        if let Some(file) = block.file {
            let source = fs::read_to_string(root().join(file)).expect("a quoted file is there");
            assert!(
                source.contains(text.as_str()),
                "{name}: not in {file}:\n{text}\n\
                 If you have repaired an exercise there, `cargo run -p course -- lesson` judges it."
            );
        } else {
            let known = ["rust", "rust,compile_fail", "sh", "text"].contains(&block.kind);
            assert!(known, "{name}: nobody compiles this:\n{text}");
        }
    }
    blocks.len()
}

/// The lessons, by path.
fn lessons() -> Vec<(PathBuf, String)> {
    let folder = fs::read_dir("../lessons").expect("the lessons are there");
    let paths = folder.map(|entry| entry.expect("the lessons can be listed").path());
    let lessons = paths.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a lesson can be read");
        (path, text)
    };
    lessons.map(read).collect()
}

#[test]
fn every_quote_is_in_its_file() {
    let lessons = lessons();
    assert_eq!(lessons.len(), 12, "eleven lessons and the index");
    for (path, text) in lessons {
        assert!(check(&path.display().to_string(), &text) > 0);
    }
}
