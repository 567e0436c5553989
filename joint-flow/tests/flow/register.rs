//! The example `register`, run as its user runs it: on real sockets, and in the simulation.
#![cfg(not(miri))]

use crate::program::{assert_failed, printed, run};

/// The value of a line `key value`.
fn value<'a>(text: &'a str, key: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    line.unwrap_or_else(|| panic!("no {key} in {text}")).trim()
}

#[test]
fn the_register_is_linearizable_on_real_sockets() {
    for (replicas, clients) in [("1", "1"), ("3", "4"), ("5", "8")] {
        let arguments = ["--replicas", replicas, "--clients", clients];
        let output = run(
            "register",
            &[&arguments[..], &["--operations", "5"]].concat(),
        );
        let text = printed(&output);
        assert_eq!(value(text, "violations"), "0");
        let operations = 5 * clients.parse::<u64>().unwrap();
        assert_eq!(value(text, "operations"), operations.to_string());
    }
}

#[test]
fn the_simulated_register_is_linearizable_and_repeatable() {
    let output = run("register", &["--seeds", "40"]);
    let text = printed(&output);
    assert_eq!(value(text, "seeds"), "40");
    assert_eq!(value(text, "violations"), "0");
    assert_ne!(value(text, "faults"), "0");
    assert_ne!(value(text, "unknown"), "0");
    assert_eq!(printed(&run("register", &["--seeds", "40"])), text);
}

#[test]
fn bad_usage_is_one_line_and_status_2() {
    let cases: [(&[&str], &str); 2] = [
        (&["--operations", "16"], "takes 1 to 15, not 16"),
        (&["--replicas", "0"], "takes 1 to 9, not 0"),
    ];
    for (arguments, what) in cases {
        assert_failed(&run("register", arguments), "register", what);
    }
}
