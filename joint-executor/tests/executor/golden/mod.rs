//! The examples `fizz_buzz` and `thread_pool`, run as a user runs them. Output that does not depend
//! on the machine's speed is compared byte for byte.
#![cfg(all(feature = "io", not(miri)))]

#[cfg(target_os = "linux")]
use std::process::Stdio;

#[path = "../../common/program.rs"]
mod program;

use program::{assert_failed, printed, run};
#[cfg(target_os = "linux")]
use program::{example, finish, text};

#[cfg(target_os = "linux")]
const FIZZ_BUZZ: &str = include_str!("fizz_buzz.txt");

#[track_caller]
fn assert_prints(name: &str, arguments: &[&str], expected: &str) {
    let output = run(name, arguments);
    assert_eq!(printed(&output), expected, "{name} {arguments:?}");
}

#[test]
fn a_pool_of_others_computes() {
    let pool = "the pool has computed 385\n2 workers have ended\n";
    assert_prints("thread_pool", &[], pool);
}

#[cfg(target_os = "linux")]
#[test]
fn the_lines_are_the_same_on_any_number_of_workers() {
    assert_prints("fizz_buzz", &[], FIZZ_BUZZ);
    for workers in ["1", "2", "4"] {
        let arguments = ["--period", "5", "--workers", workers];
        assert_prints("fizz_buzz", &arguments, FIZZ_BUZZ);
    }
}

/// A machine that is late by 100 ms in each of ten runs is none to run tests on.
#[cfg(target_os = "linux")]
#[test]
fn fizz_buzz_suspends_60_times_on_one_worker() {
    let in_time = (0..10).any(|_| late_ticks("100") == 0);
    assert!(in_time, "in each of ten runs a tick was late");
}

/// A tick found without a wait saves each of the three tasks one suspension, on any machine.
#[cfg(target_os = "linux")]
fn late_ticks(period: &str) -> u64 {
    let arguments = ["--workers", "1", "--period", period, "--count"];
    let output = run("fizz_buzz", &arguments);
    assert_eq!(text(&output.stdout), FIZZ_BUZZ);
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

#[test]
fn bad_usage_is_one_line_and_status_2() {
    let cases: [(&str, &[&str], &str); 5] = [
        ("fizz_buzz", &["--workers"], "missing argument for option"),
        (
            "fizz_buzz",
            &["--workers=1025"],
            "takes 1 to 1024, not 1025",
        ),
        ("fizz_buzz", &["--count=5"], "for option '--count': \"5\""),
        ("fizz_buzz", &["-1"], "invalid option '-1'"),
        ("fizz_buzz", &["5"], "unexpected argument \"5\""),
    ];
    for (name, arguments, what) in cases {
        assert_failed(&run(name, arguments), name, what);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_has_gone_is_no_failure_and_a_full_disk_is_one() {
    let print = |stdout: Stdio| {
        let arguments = ["--period", "1"];
        finish(example("fizz_buzz").args(arguments).stdout(stdout))
    };
    printed(&print(crate::example::pipe_without_reader("fizz_buzz")));
    let full = print(crate::example::full_disk());
    assert_failed(&full, "fizz_buzz", "standard output: ");
}
