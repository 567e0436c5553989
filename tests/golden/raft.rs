//! `raft`: all properties hold, and each planted bug is found and drawn.

use crate::program::{assert_failed, printed, run};

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
    let output = run("raft", &["--seeds", "40"]);
    let text = printed(&output);
    assert_eq!(value(text, "seeds"), "40");
    assert_eq!(value(text, "violations"), "0");
    // Three clients with 24 operations each.
    assert_eq!(value(text, "operations"), "2880");
    assert_eq!(printed(&run("raft", &["--seeds", "40"])), text);
}

/// All of them without `debug_assertions`. With them, that takes minutes.
#[test]
fn a_planted_bug_is_found_and_made_small_and_drawn() {
    let count = if cfg!(debug_assertions) {
        1
    } else {
        BUGS.len()
    };
    for (bug, properties) in &BUGS[..count] {
        let output = run("raft", &["--bug", bug]);
        let text = printed(&output);
        let (found, small) = text.split_once("as small as possible:").expect(text);
        for part in [found, small] {
            let violated = value(part, "violation");
            let is_it = |property: &&str| violated.starts_with(property);
            assert!(properties.iter().any(is_it), "{bug}: {text}");
        }
        let faults = [found, small].map(|part| value(part, "faults").parse::<u64>().unwrap());
        assert!(faults[1] <= faults[0], "{text}");
        assert!(small.contains("LEADS, term "), "{text}");
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
        (&["--bug"], "--bug needs a name"),
        (&["--seeds", "0"], "takes 1 to 1000000, not 0"),
    ];
    for (arguments, what) in cases {
        assert_failed(&run("raft", arguments), "raft", what);
    }
}
