//! `fizz_buzz`: its lines, and how often its tasks are suspended.

use crate::golden::WORKERS;
use crate::golden::program::{printed, run, text};

const LINES: &str = include_str!("fizz_buzz.txt");

/// Descriptors of the system, and what takes their places.
const VARIANTS: [&[&str]; 4] = [
    &[],
    &["--interval"],
    &["--memory"],
    &["--interval", "--memory"],
];

fn with<'a>(arguments: &[&'a str], variant: &[&'a str]) -> Vec<&'a str> {
    [arguments, variant].concat()
}

#[test]
fn the_lines_are_the_same_on_any_number_of_workers() {
    for variant in VARIANTS {
        for workers in WORKERS {
            let arguments = with(&["--period", "5", "--workers", workers], variant);
            let output = run("fizz_buzz", &arguments);
            assert_eq!(printed(&output), LINES, "{arguments:?}");
        }
    }
}

/// Faster than it can be served: it catches up.
#[test]
fn late_ticks_lose_no_line() {
    for variant in VARIANTS {
        let output = run("fizz_buzz", &with(&["--period", "1"], variant));
        assert_eq!(printed(&output), LINES, "{variant:?}");
    }
}

#[test]
fn by_default_the_lines_are_printed_in_order() {
    assert_eq!(printed(&run("fizz_buzz", &[])), LINES);
}

/// A machine that is late by 100 ms in each of ten runs is none to run tests on.
#[test]
fn fizz_buzz_suspends_60_times_on_one_worker() {
    for variant in VARIANTS {
        let in_time = (0..10).any(|_| late_ticks("100", variant) == 0);
        assert!(in_time, "in each of ten runs a tick was late, {variant:?}");
    }
}

/// At a pace that no machine keeps for long. Without the interval on top of descriptors: there a
/// tick may be told of before the room in a pipe, when both come at once.
#[test]
fn each_late_tick_saves_each_task_one_suspension() {
    for variant in [VARIANTS[0], VARIANTS[2], VARIANTS[3]] {
        for _ in 0..10 {
            late_ticks("1", variant);
        }
    }
}

/// Each task is suspended before each line. A tick that is late, and so found without having been
/// waited for, saves each of the three one suspension, neither more nor less: that holds on any
/// machine.
fn late_ticks(period: &str, variant: &[&str]) -> u64 {
    let arguments = ["--workers", "1", "--period", period, "--count"];
    let output = run("fizz_buzz", &with(&arguments, variant));
    assert_eq!(text(&output.stdout), LINES);
    let count = text(&output.stderr);
    let late = count.trim_end().rsplit(' ').next();
    let late: Option<u64> = late.and_then(|late| late.parse().ok());
    let late = late.unwrap_or_else(|| panic!("no number at the end of {count:?}"));
    assert!(late < 20, "not even the first line was waited for: {count}");
    let (all, each) = (60 - 3 * late, 20 - late);
    let expected =
        format!("suspensions {all} (consumer {each}, fizz {each}, buzz {each}), late {late}\n");
    assert_eq!(count, expected);
    late
}
