//! The arguments of the program, and its answers.

use crate::treehash::program::{assert_failed, parse, run, text, treehash};
use crate::treehash::reference::plain_digest;
use crate::treehash::scratch::Scratch;

#[test]
fn bad_usage_is_one_line_and_status_2() {
    let cases: [(&[&str], &str); 12] = [
        (&[], "no PATH"),
        (&["--workers", "2"], "no PATH"),
        (&["--"], "no PATH"),
        (&[".", "--workers"], "needs a number"),
        (&["--workers", "0", "."], "not 0"),
        (&["--workers=0", "."], "not 0"),
        (&["--workers", "many", "."], "not many"),
        (&["--workers=", "."], "--workers takes"),
        (&["--workers", "-1", "."], "not -1"),
        (
            &["--workers", "99999999999999999999", "."],
            "--workers takes",
        ),
        (&["--fast", "."], "unknown option --fast"),
        (&[".", "."], "more than one PATH"),
    ];
    for (arguments, what) in cases {
        assert_failed(&run(arguments), what);
    }
}

#[test]
fn a_missing_path_is_one_line_and_status_2() {
    let tree = Scratch::new();
    let missing = tree.path("missing");
    assert_failed(&run([&missing]), missing.to_str().expect("a Unicode path"));
    assert_failed(&run([""]), "treehash: ");
}

#[test]
fn help_is_printed_to_standard_output() {
    for option in ["-h", "--help"] {
        let output = run([option]);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains("Usage: treehash [--workers N] PATH"));
        assert!(output.stderr.is_empty());
    }
}

#[test]
fn a_path_that_starts_with_a_dash() {
    let tree = Scratch::new();
    let expected = plain_digest(&tree.file("-x", "dash"));
    let output = treehash()
        .current_dir(&tree.0)
        .args(["--", "-x"])
        .output()
        .expect("starts");
    assert_eq!(parse(&output)["digest"], expected);
}
