//! The arguments of the programs, and their answers.

use crate::golden::program::{assert_failed, run, text};

#[test]
fn bad_usage_is_one_line_and_status_2() {
    let cases: [(&str, &[&str], &str); 22] = [
        ("fizz_buzz", &["--workers"], "--workers needs a number"),
        ("fizz_buzz", &["--workers", "0"], "takes 1 to 1024, not 0"),
        ("fizz_buzz", &["--workers=1025"], "not 1025"),
        ("fizz_buzz", &["--workers="], "--workers takes"),
        ("fizz_buzz", &["--workers", "-1"], "not -1"),
        ("fizz_buzz", &["--period", "0"], "takes 1 to 60000, not 0"),
        ("fizz_buzz", &["--period", "soon"], "not soon"),
        ("fizz_buzz", &["--fast"], "unknown option --fast"),
        ("fizz_buzz", &["--counts"], "unknown option --counts"),
        ("fizz_buzz", &["20"], "one word too many: 20"),
        ("timers", &["many"], "TIMES takes 0 to 1000000, not many"),
        ("timers", &["-1"], "not -1"),
        ("timers", &["1000001"], "not 1000001"),
        ("timers", &["5", "6"], "one word too many: 6"),
        ("timers", &["--period", "3600001"], "not 3600001"),
        ("timers", &["--count"], "unknown option --count"),
        ("echo", &["--connections", "0"], "takes 1 to 10000, not 0"),
        ("echo", &["--connections", "10001"], "not 10001"),
        ("echo", &["--messages", "0"], "not 0"),
        ("echo", &["--size", "16777217"], "not 16777217"),
        (
            "echo",
            &["--size", "99999999999999999999"],
            "not 99999999999999999999",
        ),
        ("echo", &["127.0.0.1"], "one word too many: 127.0.0.1"),
    ];
    for (name, arguments, what) in cases {
        assert_failed(&run(name, arguments), name, what);
    }
}

#[test]
fn help_is_printed_to_standard_output() {
    for name in ["fizz_buzz", "timers", "echo"] {
        for arguments in [&["-h"][..], &["--workers", "2", "--help"]] {
            let output = run(name, arguments);
            assert_eq!(output.status.code(), Some(0));
            assert!(text(&output.stdout).contains(&format!("Usage: {name} [--")));
            assert!(output.stderr.is_empty());
        }
    }
}
