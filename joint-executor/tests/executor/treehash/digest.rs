//! The digest, and the changes that it shows.

use std::fs;

use crate::treehash::MIB;
use crate::treehash::program::{digest, number, report};
use crate::treehash::reference::{hex, plain_digest, plain_directory};
use crate::treehash::scratch::{Scratch, assorted, content};

#[test]
fn the_digest_equals_the_reference_for_any_number_of_workers() {
    let tree = assorted();
    let expected = plain_digest(&tree.0);
    for workers in [1, 2, 7] {
        let report = report(&tree.0, workers);
        assert_eq!(report["digest"], expected, "{workers} workers");
        assert_eq!(number(&report, "workers"), workers as u64);
    }
}

#[test]
fn a_files_digest_is_the_standard_one_around_every_boundary() {
    let tree = Scratch::new();
    let around = |boundary: usize| [boundary - 1, boundary, boundary + 1];
    let sizes = [
        around(1),
        around(1024),
        around(MIB),
        around(2 * MIB),
        around(3 * MIB),
    ];
    for size in sizes.into_iter().flatten().chain([7 * MIB + 12_345]) {
        let content = content(size);
        let file = tree.file("file", &content);
        assert_eq!(
            digest(&file),
            blake3::hash(&content).to_string(),
            "{size} bytes"
        );
    }
}

#[test]
fn an_empty_directory_is_neither_an_empty_file_nor_nothing() {
    let tree = Scratch::new();
    let directory = tree.directory("directory");
    assert_eq!(digest(&directory), hex(plain_directory(Vec::new())));
    assert_ne!(digest(&directory), digest(&tree.file("file", "")));
    let with_it = digest(&tree.0);
    fs::remove_dir(directory).expect("removed");
    assert_ne!(digest(&tree.0), with_it);
}

/// Each change gives the tree a digest that it did not have before.
pub(crate) fn assert_changes(tree: &Scratch, changes: &[fn(&Scratch)]) {
    let mut seen = vec![digest(&tree.0)];
    for change in changes {
        change(tree);
        let digest = digest(&tree.0);
        assert!(!seen.contains(&digest), "change {}", seen.len());
        seen.push(digest);
    }
}

#[test]
fn a_changed_byte_changes_the_digest() {
    let tree = Scratch::new();
    let mut bytes = content(3 * MIB + 5);
    tree.directory("deep/down");
    tree.file("deep/down/file", &bytes);
    let before = digest(&tree.0);
    for at in [0, MIB, 2 * MIB - 1, 3 * MIB + 4] {
        bytes[at] ^= 1;
        tree.file("deep/down/file", &bytes);
        assert_ne!(digest(&tree.0), before, "byte {at}");
        bytes[at] ^= 1;
    }
    tree.file("deep/down/file", &bytes);
    assert_eq!(digest(&tree.0), before);
}

#[test]
fn a_new_name_or_place_changes_the_digest() {
    let tree = Scratch::new();
    tree.directory("a/b");
    tree.file("a/x", "content");
    assert_changes(
        &tree,
        &[
            |tree| tree.rename("a/x", "a/y"),
            |tree| tree.rename("a/y", "a/yy"),
            |tree| tree.rename("a/yy", "a/b/yy"),
            |tree| tree.rename("a/b", "a/c"),
            |tree| tree.rename("a/c", "c"),
        ],
    );
}
