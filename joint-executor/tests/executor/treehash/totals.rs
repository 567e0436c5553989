//! The rest of the report, and trees of extreme shapes.

use std::fs;

use crate::treehash::MIB;
use crate::treehash::program::{number, report};
use crate::treehash::reference::plain_digest;
use crate::treehash::scratch::{Scratch, content};

#[test]
fn the_report_counts_every_entry_once() {
    let tree = Scratch::new();
    tree.directory("a/b");
    tree.directory("c");
    tree.file("a/one", "1");
    tree.file("a/b/many", content(2 * MIB));
    let report = report(&tree.0, 2);
    let counts = [
        "directories",
        "files",
        "links",
        "other",
        "unreadable",
        "bytes",
    ]
    .map(|key| number(&report, key));
    assert_eq!(counts, [4, 2, 0, 0, 0, 2 * MIB as u64 + 1]);
    // One for each entry and for each half of the larger file.
    assert_eq!(number(&report, "tasks"), 6 + 2);
    number(&report, "steals");
    for (key, unit) in [("elapsed", " s"), ("throughput", " MiB/s")] {
        let value = report[key].strip_suffix(unit).expect("the unit");
        assert!(value.parse::<f64>().expect("a number") >= 0.0);
    }
}

#[test]
fn a_wide_directory() {
    let tree = Scratch::new();
    for number in 0..5_000 {
        tree.file(number.to_string(), number.to_string());
    }
    let report = report(&tree.0, 7);
    assert_eq!(report["digest"], plain_digest(&tree.0));
    assert_eq!(number(&report, "files"), 5_000);
}

#[test]
fn a_deep_nest() {
    // Elsewhere no path may be longer than 1024 bytes.
    let depth = if cfg!(target_os = "linux") { 600 } else { 400 };
    let tree = Scratch::new();
    let deepest = tree.directory("n/".repeat(depth));
    fs::write(deepest.join("file"), "at the bottom").expect("file");
    let expected = plain_digest(&tree.0);
    for workers in [1, 7] {
        let report = report(&tree.0, workers);
        assert_eq!(report["digest"], expected);
        assert_eq!(number(&report, "directories"), depth as u64 + 1);
    }
}
