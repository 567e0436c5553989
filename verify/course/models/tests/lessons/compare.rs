//! Compares a picture of the lessons with what it should be.
//!
//! `JOINT_LESSONS_WRITE=1 cargo test --release pictures` writes those of the lessons.

use std::{fs, path::Path};

/// Removes lines and columns, because the source may change without the picture changing.
fn without_lines(text: &str) -> String {
    let mut parts = text.split(".rs:");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(".rs");
        let digits = |letter: char| letter.is_ascii_digit();
        let column = part.trim_start_matches(digits);
        let rest = column
            .strip_prefix(':')
            .map(|column| column.trim_start_matches(digits));
        out.push_str(
            rest.filter(|rest| rest.len() + 1 < column.len())
                .unwrap_or(column),
        );
    }
    out
}

pub(crate) fn compare(file: &str, text: &str) {
    let text: String = without_lines(text)
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect();
    let path = Path::new(crate::PICTURES).join(file);
    if std::env::var_os("JOINT_LESSONS_WRITE").is_some() {
        fs::write(&path, &text).expect("the pictures can be written");
    }
    let old = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        old == text,
        "{file} should be as follows (JOINT_LESSONS_WRITE=1 writes it)\n{text}"
    );
}
