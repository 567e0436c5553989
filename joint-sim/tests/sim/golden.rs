//! The example `raft`, run as its user runs it: all properties hold, and each planted bug is found.
#![cfg(not(miri))]

use std::process::{Output, Stdio};

use crate::program::{assert_failed, example, finish, printed, run};

/// Finds a bug. The check writes the steps of the runs to files.
fn find(arguments: &[&str]) -> Output {
    let mut program = example("raft");
    program.env("JOINT_SIM_OUT", env!("CARGO_TARGET_TMPDIR"));
    finish(program.args(arguments).stdout(Stdio::piped()))
}

/// The bugs, and the properties that each may violate.
const BUGS: [(&str, &[&str]); 6] = [
    ("vote-for-anyone", &["leader completeness"]),
    ("forget-vote", &["election safety"]),
    ("commit-earlier-term", &["leader completeness"]),
    (
        "truncate",
        &["leader completeness", "state machine safety", "progress"],
    ),
    ("stale-read", &["linearizability"]),
    ("apply-twice", &["linearizability"]),
];

/// The value of a line `key value`.
fn value<'a>(text: &'a str, key: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    line.unwrap_or_else(|| panic!("no {key} in {text}")).trim()
}

#[test]
fn all_properties_hold_and_every_run_is_the_same() {
    let output = run("raft", &["--seeds", "5"]);
    let text = printed(&output);
    assert_eq!(value(text, "seeds"), "5");
    assert_eq!(value(text, "violations"), "0");
    // At least two clients with 24 operations each.
    assert!(value(text, "operations").parse::<u64>().unwrap() >= 5 * 48);
    assert_eq!(printed(&run("raft", &["--seeds", "5"])), text);
}

/// All of them without `debug_assertions`. With them, that takes minutes.
#[test]
fn a_planted_bug_is_found_and_shrunk_and_drawn() {
    let (count, shrink_runs) = match cfg!(debug_assertions) {
        true => (1, "15"),
        false => (BUGS.len(), "300"),
    };
    for (bug, properties) in &BUGS[..count] {
        let output = find(&["--bug", bug, "--shrink", shrink_runs]);
        let text = printed(&output);
        let (first, shrunk) = text.split_once("\nshrunk:\n").expect(text);
        let property = |part| value(part, "violation").split(':').next().unwrap();
        assert!(properties.contains(&property(first)), "{bug}: {text}");
        assert_eq!(property(shrunk), property(first), "{bug}: {text}");
        // What a check makes fewer are the decisions that are not the tamest.
        let decisions = value(shrunk, "decisions").parse::<u64>().unwrap();
        assert!(decisions < 1000, "{text}");
        assert!(shrunk.contains("LEADS, term "), "{text}");
    }
}

#[test]
fn a_bug_that_no_seed_shows_is_a_failure() {
    let output = run("raft", &["--bug", "stale-read", "--seeds", "1"]);
    assert_failed(&output, "raft", "no seed up to 1 shows the bug");
}

#[test]
fn bad_usage_is_one_line_and_status_2() {
    let cases: [(&[&str], &str); 3] = [
        (&["--bug", "none"], "--bug does not take none"),
        (&["--bug"], "missing argument for option '--bug'"),
        (&["--seeds", "0"], "takes 1 to 1000000, not 0"),
    ];
    for (arguments, what) in cases {
        assert_failed(&run("raft", arguments), "raft", what);
    }
}
