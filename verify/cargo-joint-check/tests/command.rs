//! The command, on crates of this folder.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(path)
}

fn run(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cargo-joint-check"))
        .args(words)
        .current_dir(here(""))
        .output()
        .expect("the command runs")
}

/// Checks a crate, in a folder that only this test uses.
fn check(name: &str, words: &[&str]) -> Output {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let out = out.to_str().expect("the path is text");
    run(&[words, &["--out", out]].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn assert_ends(output: &Output, code: i32) {
    let said = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
}

/// One test, because all of these share what is built.
#[test]
fn crates_are_turned() {
    let gate = |words: &[&str]| check("gate", &[&["gate"], words].concat());

    let broken = gate(&["--test", "gate/tests/gate.rs"]);
    assert_ends(&broken, 1);
    let why = text(&broken.stderr);
    let why = why.lines().find(|line| line.starts_with("deadlock"));
    assert!(
        why.is_some_and(|why| why.contains("gate/src/lib.rs:32")),
        "{why:?}"
    );

    let repaired = gate(&["--test", "gate/tests/gate.rs", "--features", "repaired"]);
    assert_ends(&repaired, 0);
    assert!(text(&repaired.stdout).contains("a_waiter_passes: "));

    let tests = [
        "--test",
        "gate/tests/shapes.rs",
        "--test",
        "gate/tests/memory.rs",
    ];
    assert_ends(&gate(&tests), 0);
}

#[test]
fn atomics_of_other_memory_are_refused_by_name() {
    let refused = check("casts", &["casts", "--test", "gate/tests/gate.rs"]);
    assert_ends(&refused, 2);
    let why = text(&refused.stderr);
    for line in [
        "src/lib.rs:6: a cast makes an AtomicU32 of other memory",
        "src/lib.rs:10: a cast makes an AtomicU32 of other memory",
        "src/lib.rs:16: `AtomicU32::from_ptr` makes an atomic of other memory",
        "`--unchecked` goes on",
    ] {
        assert!(why.contains(line), "{line}: {why}");
    }
}

#[test]
fn wrong_words_are_said() {
    for (words, why) in [
        (&[][..], "name a crate"),
        (
            &["joint-check", "gate"],
            "name a file of tests, by `--test FILE`",
        ),
        (&["gate", "--tset", "x.rs"], "invalid option '--tset'"),
        (
            &["gate", "other", "--test", "x.rs"],
            "unexpected argument \"other\"",
        ),
        (
            &["./no", "--test", "x.rs"],
            "./no is no folder with a Cargo.toml",
        ),
    ] {
        let output = run(words);
        assert_ends(&output, 2);
        assert!(
            text(&output.stderr).contains(why),
            "{}",
            text(&output.stderr)
        );
    }
    let missing = check("missing", &["gate", "--test", "none.rs"]);
    assert_ends(&missing, 2);
    assert!(text(&missing.stderr).contains("none.rs: "));
    let other = ["gate", "--test", "gate/tests/gate.rs", "--also", "other"];
    let other = check("missing", &other);
    assert_ends(&other, 2);
    assert!(text(&other.stderr).contains("other is no dependency"));
}

#[test]
fn help_and_version_are_said() {
    let help = run(&["joint-check", "--help"]);
    assert_ends(&help, 0);
    assert!(text(&help.stdout).contains("Usage: cargo joint-check CRATE"));
    let version = run(&["-V"]);
    assert_ends(&version, 0);
    let expected = concat!("cargo-joint-check ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(text(&version.stdout), expected);
}
