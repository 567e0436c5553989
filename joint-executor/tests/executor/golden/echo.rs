//! `echo`: its counts. It compares each echo itself.

use std::collections::HashMap;

use crate::golden::WORKERS;
use crate::golden::program::{printed, run};

/// The lines of the report by their keys.
fn report(arguments: &[&str]) -> HashMap<String, String> {
    let output = run("echo", arguments);
    let pairs = printed(&output).lines().map(|line| {
        let (key, value) = line.split_once(' ').expect("a key, blanks, a value");
        (key.to_owned(), value.trim_start().to_owned())
    });
    pairs.collect()
}

fn assert_counts(report: &HashMap<String, String>, connections: u64, messages: u64, bytes: u64) {
    for (key, value) in [
        ("connections", connections),
        ("messages", messages),
        ("bytes", bytes),
    ] {
        assert_eq!(report[key], value.to_string(), "{key}");
    }
    assert_eq!(report.len(), 6, "{report:?}");
    assert!(report["elapsed"].ends_with(" s"), "{report:?}");
    assert!(report["throughput"].ends_with(" messages/s"), "{report:?}");
}

/// Megabytes are more than the buffers of a connection hold: who sends has to read meanwhile.
#[test]
fn every_message_is_echoed_on_any_number_of_workers() {
    for (connections, messages, size) in [(10, 50, 33), (2, 2, 8_000_000), (1, 1, 1)] {
        let load = [
            format!("--connections={connections}"),
            format!("--messages={messages}"),
            format!("--size={size}"),
        ];
        for workers in WORKERS {
            println!("{load:?}, {workers} workers");
            let load = load.each_ref().map(String::as_str);
            let report = report(&[&load[..], &["--workers", workers]].concat());
            let messages = connections * messages;
            assert_counts(&report, connections, messages, messages * size);
            assert_eq!(report["workers"], workers);
        }
    }
}

#[test]
fn a_hundred_connections_by_default() {
    assert_counts(&report(&["--messages", "20"]), 100, 2_000, 128_000);
}
