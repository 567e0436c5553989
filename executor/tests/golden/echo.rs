//! `echo`: its counts. It compares each echo itself.

use std::collections::HashMap;

use crate::WORKERS;
use crate::program::{printed, run};

/// The lines of the report by their keys.
fn report(arguments: &[&str]) -> HashMap<String, String> {
    let output = run("echo", arguments);
    let pairs = printed(&output).lines().map(|line| {
        let (key, value) = line.split_once(' ').expect("a key, blanks, a value");
        (key.to_owned(), value.trim_start().to_owned())
    });
    pairs.collect()
}

fn assert_counts(report: &HashMap<String, String>, expected: [(&str, &str); 3]) {
    for (key, value) in expected {
        assert_eq!(report[key], value, "{key}");
    }
    assert_eq!(report.len(), 6, "{report:?}");
    assert!(report["elapsed"].ends_with(" s"), "{report:?}");
    assert!(report["throughput"].ends_with(" messages/s"), "{report:?}");
}

#[test]
fn every_message_is_echoed_on_any_number_of_workers() {
    for workers in WORKERS {
        let load = ["--connections", "10", "--messages", "50", "--size", "33"];
        let report = report(&[&load[..], &["--workers", workers]].concat());
        assert_counts(
            &report,
            [
                ("connections", "10"),
                ("messages", "500"),
                ("bytes", "16500"),
            ],
        );
        assert_eq!(report["workers"], workers);
    }
}

#[test]
fn a_hundred_connections_by_default() {
    let report = report(&["--messages", "20"]);
    assert_counts(
        &report,
        [
            ("connections", "100"),
            ("messages", "2000"),
            ("bytes", "128000"),
        ],
    );
}

/// More than the buffers of a connection hold: who sends has to read meanwhile.
#[test]
fn messages_of_megabytes_come_back() {
    for workers in WORKERS {
        let load = ["--connections", "2", "--messages", "2", "--size", "8000000"];
        let report = report(&[&load[..], &["--workers", workers]].concat());
        assert_counts(
            &report,
            [
                ("connections", "2"),
                ("messages", "4"),
                ("bytes", "32000000"),
            ],
        );
    }
}

#[test]
fn one_byte_is_echoed() {
    let report = report(&["--connections=1", "--messages=1", "--size=1"]);
    assert_counts(
        &report,
        [("connections", "1"), ("messages", "1"), ("bytes", "1")],
    );
}
