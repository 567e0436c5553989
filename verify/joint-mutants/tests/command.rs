//! The command, on the crate in `fixture`, which is built once and outside this workspace.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

/// A copy of the fixture, so that its lock file and what is built do not lie in the source.
static FIXTURE: LazyLock<PathBuf> = LazyLock::new(|| {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (from, to) = (
        package.join("tests/fixture"),
        Path::new(env!("CARGO_TARGET_TMPDIR")),
    );
    let to = to.join("fixture");
    for folder in ["src", "tests"] {
        fs::create_dir_all(to.join(folder)).expect("the target folder is ours");
    }
    for file in ["src/lib.rs", "tests/loom.rs", "ordering-mutants.txt"] {
        fs::copy(from.join(file), to.join(file)).expect(file);
    }
    // The versions that this workspace uses, which are there without a network.
    fs::copy(package.join("../Cargo.lock"), to.join("Cargo.lock")).expect("the lock file");
    let manifest = fs::read_to_string(from.join("Cargo.toml")).expect("the manifest");
    let path = format!("path = '{}'", package.display());
    let manifest = manifest.replace("path = \"../..\"", &path);
    assert!(manifest.contains(&path), "{manifest}");
    fs::write(to.join("Cargo.toml"), manifest).expect("the target folder is ours");
    to
});

/// The exit code, and what is printed.
fn run(args: &[&str]) -> (Option<i32>, String) {
    run_with(args, "FIXTURE_PASSES")
}

fn run_with(args: &[&str], variable: &str) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-ordering-mutants"))
        .current_dir(&*FIXTURE)
        .arg("ordering-mutants")
        .args(args)
        .args(["--", "--offline", "--test", "loom"])
        .env("CARGO_TARGET_DIR", FIXTURE.join("target"))
        .env_remove("RUSTFLAGS")
        .env(variable, "1")
        .output()
        .expect("the command is built");
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    (output.status.code(), printed)
}

/// A list of reasons of this name.
fn reasons(name: &str, text: &str) -> String {
    let file = FIXTURE.join(name);
    fs::write(&file, text).expect("the target folder is ours");
    file.to_string_lossy().into_owned()
}

#[test]
fn every_change_is_found_but_one_which_has_a_reason() {
    let (code, printed) = run(&[]);
    assert_eq!(code, Some(0), "{printed}");
    for row in [
        "| `src/lib.rs fill store` | 35 | Release | relaxed | `loom::what_is_seen_is_whole` |",
        "| `src/lib.rs fill store` | 35 | Release | deleted | `loom::what_is_seen_is_whole` |",
        "| `src/lib.rs look fetch_add` | 39 | Relaxed | split | **survives**: The test of the count",
        "| `src/lib.rs look fetch_add` | 39 | Relaxed | deleted | `loom::looks_are_counted` |",
        "| `src/lib.rs look load` | 42 | Acquire | relaxed | `loom::what_is_seen_is_whole` |",
        "| `src/lib.rs look load` | 42 | Acquire | blind | `loom::what_is_seen_is_whole` |",
        "| `src/lib.rs open lock` | 71 |  | deleted | `loom::the_gate_opens` |",
        "| `src/lib.rs open notify_one` | 72 |  | deleted | `loom::the_gate_opens` |",
        "| `src/lib.rs wait lock` | 76 |  | deleted | `loom::the_gate_opens` |",
        "| `src/lib.rs start spawn` | 94 |  | deleted | `loom::a_setter_sets_when_it_is_told` |",
        "| `src/lib.rs start park` | 96 |  | deleted | `loom::a_setter_sets_when_it_is_told` |",
        "| `src/lib.rs start write` | 98 |  | deleted | `loom::a_setter_sets_when_it_is_told` |",
        "| `src/lib.rs tell unpark` | 105 |  | deleted | `loom::a_setter_sets_when_it_is_told` |",
        "| `src/lib.rs value read` | 109 |  | deleted | `loom::a_setter_sets_when_it_is_told` |",
        "| `src/lib.rs looks load` | 46 | Relaxed | blind | `loom::looks_are_counted` |",
        "\nReached by no test: src/lib.rs:51 load\n",
        "14 places, 5 tests, 17 changes tried: 16 found, 1 survive with a reason, 0 without",
    ] {
        assert!(printed.contains(row), "{row}\n{printed}");
    }
    assert!(!printed.contains("tests/loom.rs"), "{printed}");
}

#[test]
fn a_survivor_without_a_reason_and_a_stale_reason_are_errors() {
    let (code, printed) = run(&["--reasons", &reasons("none.txt", "")]);
    assert_eq!(code, Some(1), "{printed}");
    let complaint = "src/lib.rs look fetch_add split: no test fails";
    assert!(printed.contains(complaint), "{printed}");

    let list = "src/lib.rs look fetch_add split: One thread.\nsrc/lib.rs fill store *: Why.";
    let (code, printed) = run(&["--reasons", &reasons("stale.txt", list)]);
    assert_eq!(code, Some(1), "{printed}");
    let complaint = "`src/lib.rs fill store *` is in ";
    assert!(printed.contains(complaint), "{printed}");
}

#[test]
fn a_list_changes_nothing_and_smoke_tries_one_change_a_place() {
    let (code, printed) = run(&["--list", "--place", "fill"]);
    let line = "src/lib.rs fill store (line 35, 1 tests): relaxed, deleted\n";
    assert!(code == Some(0) && printed.contains(line), "{printed}");
    assert!(!printed.contains("src/lib.rs look"), "{printed}");

    let (_, printed) = run(&["--smoke", "--reasons", &reasons("smoke.txt", "")]);
    assert!(printed.contains("14 places, 5 tests, "), "{printed}");
    assert!(!printed.contains("17 changes"), "{printed}");
}

#[test]
fn a_page_is_kept_and_a_sample_tries_what_it_says() {
    let page = reasons("page.md", "");
    let (code, printed) = run(&["--page", &page]);
    assert_eq!(code, Some(0), "{printed}");
    let text = fs::read_to_string(&page).expect("it is written");
    for line in [
        "\n## [`src/lib.rs`](src/lib.rs)\n",
        "| `src/lib.rs look load` | Acquire |  | relaxed: `loom::what_is_seen_is_whole`<br>\
         blind: `loom::what_is_seen_is_whole` |\n",
        "split: **survives**: The test of the count has one thread.<br>deleted: `loom::looks_are_",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }

    let (code, printed) = run(&["--page", &page, "--smoke"]);
    assert_eq!(code, Some(0), "{printed}");
    let summary =
        "14 places, 4 tests, 16 changes tried: 16 found, 0 survive with a reason, 0 without";
    assert!(printed.contains(summary), "{printed}");

    let none = reasons("page-none.txt", "");
    let found = text.replace(
        "split: **survives**",
        "split: `loom::looks_are_counted`<br>was",
    );
    fs::write(&page, found).expect("the target folder is ours");
    let (code, printed) = run(&["--page", &page, "--smoke", "--reasons", &none]);
    let complaint = "src/lib.rs look fetch_add split: no test fails";
    assert!(code == Some(1) && printed.contains(complaint), "{printed}");

    let text = text.replace("looks load`", "old load`");
    fs::write(&page, &text).expect("the target folder is ours");
    let (code, printed) = run(&["--page", &page, "--smoke"]);
    assert_eq!(code, Some(1), "{printed}");
    for place in ["old", "looks"] {
        let complaint = format!("page.md is out of date: `src/lib.rs {place} load`");
        assert!(printed.contains(&complaint), "{printed}");
    }
    // The row of a place that is not tried stays as it is.
    let (_, printed) = run(&["--page", &page, "--place", "looks"]);
    let part = fs::read_to_string(&page).expect("it is written");
    let old = |text: &str| text.matches("what_is_seen_is_whole").count();
    assert!(
        !part.contains("old load") && old(&part) == old(&text),
        "{printed}"
    );
}

#[test]
fn a_test_that_fails_by_itself_is_an_error() {
    let (code, printed) = run_with(&[], "FIXTURE_FAILS");
    assert_eq!(code, Some(2), "{printed}");
    assert!(printed.contains("fails without a change"), "{printed}");
}

#[test]
fn help_and_version_are_printed_and_wrong_words_are_code_2() {
    for (args, code, says) in [
        (&["--help"][..], Some(0), "Usage: cargo ordering-mutants"),
        (&["--list", "-V"], Some(0), env!("CARGO_PKG_VERSION")),
        (&["--frob"], Some(2), "`--frob` is no option"),
    ] {
        let (found, printed) = run(args);
        assert!(
            found == code && printed.contains(says),
            "{args:?}: {printed}"
        );
    }
}
