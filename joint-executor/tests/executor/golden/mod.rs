//! The examples `child`, `echo`, `fizz_buzz`, `main_loop`, `thread_pool`, `timers` and `trace`, run
//! as their user runs them. What they print is compared byte for byte, where it does not depend on
//! the machine's speed.
#![cfg(all(feature = "io", not(miri)))]

use std::{collections::HashMap, process::Stdio};

#[path = "../../common/program.rs"]
mod program;
mod trace;

use program::{assert_failed, example, finish, printed, run, text};

/// How many workers the examples run on here: what is printed must not tell.
const WORKERS: [&str; 3] = ["1", "2", "4"];
const FIZZ_BUZZ: &str = include_str!("fizz_buzz.txt");
/// Descriptors of the system, and what takes their places.
const VARIANTS: [&[&str]; 4] = [
    &[],
    &["--interval"],
    &["--memory"],
    &["--interval", "--memory"],
];

#[track_caller]
fn assert_prints(name: &str, arguments: &[&str], expected: &str) {
    let output = run(name, arguments);
    assert_eq!(printed(&output), expected, "{name} {arguments:?}");
}

#[test]
fn the_lines_are_the_same_on_any_number_of_workers() {
    let timers = include_str!("timers.txt");
    assert_prints("main_loop", &[], include_str!("main_loop.txt"));
    let pool = "the pool has computed 385\n2 workers have ended\n";
    assert_prints("thread_pool", &[], pool);
    assert_prints("fizz_buzz", &[], FIZZ_BUZZ);
    assert_prints("timers", &[], timers);
    assert_prints("timers", &["0"], "");
    let thousand = (1..=1000).map(|n| format!("timer expired {n} of 1000\n"));
    assert_prints(
        "timers",
        &["--period=0", "1000"],
        &thousand.collect::<String>(),
    );
    for workers in WORKERS {
        assert_prints(
            "timers",
            &["--workers", workers, "--period", "10", "5"],
            timers,
        );
        for variant in VARIANTS {
            let arguments = [&["--period", "5", "--workers", workers], variant].concat();
            assert_prints("fizz_buzz", &arguments, FIZZ_BUZZ);
        }
    }
}

/// A machine that is late by 100 ms in each of ten runs is none to run tests on.
#[test]
fn fizz_buzz_suspends_60_times_on_one_worker() {
    for variant in VARIANTS {
        let in_time = (0..10).any(|_| late_ticks("100", variant) == 0);
        assert!(in_time, "in each of ten runs a tick was late, {variant:?}");
    }
}

/// A tick found without a wait saves each of the three tasks one suspension, on any machine.
fn late_ticks(period: &str, variant: &[&str]) -> u64 {
    let arguments = ["--workers", "1", "--period", period, "--count"];
    let output = run("fizz_buzz", &[&arguments, variant].concat());
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

/// Megabytes do not fit into a connection. The program compares each echo itself.
#[test]
fn every_message_is_echoed_on_any_number_of_workers() {
    let loads = [
        (
            [10, 50, 33],
            &["--connections=10", "--messages=50", "--size=33"][..],
        ),
        (
            [2, 2, 8_000_000],
            &["--connections=2", "--messages=2", "--size=8000000"],
        ),
        ([100, 20, 64], &["--messages=20"]),
    ];
    for ([connections, messages, size], load) in loads {
        for workers in WORKERS {
            let output = run("echo", &[load, &["--workers", workers]].concat());
            let pairs = printed(&output).lines().map(|line| {
                let (key, value) = line.split_once(' ').expect("a key, blanks, a value");
                (key, value.trim_start())
            });
            let report: HashMap<_, _> = pairs.collect();
            let messages = connections * messages;
            let counts = [("connections", connections), ("messages", messages)];
            for (key, value) in counts.into_iter().chain([("bytes", messages * size)]) {
                assert_eq!(report[key], value.to_string(), "{load:?}: {key}");
            }
            assert_eq!((report["workers"], report.len()), (workers, 6));
            assert!(report["elapsed"].ends_with(" s"), "{report:?}");
            assert!(report["throughput"].ends_with(" messages/s"), "{report:?}");
        }
    }
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
        ("timers", &["-1"], "invalid option '-1'"),
        ("timers", &["5", "6"], "unexpected argument \"6\""),
    ];
    for (name, arguments, what) in cases {
        assert_failed(&run(name, arguments), name, what);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_has_gone_is_no_failure_and_a_full_disk_is_one() {
    let timers = |stdout: Stdio| {
        let arguments = ["--period", "1", "1000"];
        finish(example("timers").args(arguments).stdout(stdout))
    };
    printed(&timers(crate::example::pipe_without_reader("timers")));
    let full = timers(crate::example::full_disk());
    assert_failed(&full, "timers", "standard output: ");
}

#[cfg(unix)]
#[test]
fn child_prints_the_numbered_lines_of_all_commands() {
    let output = run(
        "child",
        &[
            "echo a; echo b >&2",
            "printf 'c\\nd'",
            "seq 20000 | tail -n 1",
        ],
    );
    // They are in no certain order.
    let mut lines: Vec<_> = printed(&output).lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0  a", "0! b", "1  c", "1  d", "2  20000"]);
}

#[cfg(unix)]
#[test]
fn child_names_a_command_that_fails_or_takes_too_long() {
    assert_failed(
        &run("child", &["exit 3"]),
        "child",
        "`exit 3`: exit status: 3",
    );
    // It would take longer than any test.
    let output = run("child", &["--limit", "1", "exec sleep 3600"]);
    assert_failed(&output, "child", "`exec sleep 3600`: ");
}
