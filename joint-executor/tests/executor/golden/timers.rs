//! `timers`: a line for each expiry.

use std::time::{Duration, Instant};

use crate::golden::WORKERS;
use crate::golden::program::{printed, run};

const LINES: &str = include_str!("timers.txt");

#[test]
fn the_timer_expires_five_times_by_default() {
    assert_eq!(printed(&run("timers", &[])), LINES);
}

#[test]
fn the_lines_are_the_same_on_any_number_of_workers() {
    for workers in WORKERS {
        let output = run("timers", &["--workers", workers, "--period", "10", "5"]);
        assert_eq!(printed(&output), LINES);
    }
}

#[test]
fn the_timer_expires_the_requested_number_of_times() {
    assert_eq!(printed(&run("timers", &["0"])), "");
    assert_eq!(printed(&run("timers", &["1"])), "timer expired 1 of 1\n");
    let output = run("timers", &["--period=0", "1000"]);
    let expected: Vec<_> = (1..=1000)
        .map(|n| format!("timer expired {n} of 1000\n"))
        .collect();
    assert_eq!(printed(&output), expected.concat());
}

/// Each await waits for the whole period.
#[test]
fn the_timer_never_expires_early() {
    let start = Instant::now();
    printed(&run("timers", &["--period", "20", "10"]));
    assert!(start.elapsed() >= Duration::from_millis(200));
}
