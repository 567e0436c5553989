//! `docs/flow.md`: which test and which model pins down each semantics of each piece, and which
//! test is the counterpart of each of FoundationDB's own.
//!
//! The tables are made of the `Cell:`, `Flow:` and `Differs:` lines above the tests. This program
//! fails if a semantics or one of FoundationDB's tests has none, and if the page is not what these
//! lines give. To write the page:
//!
//! ```text
//! JOINT_FLOW_TABLES=write cargo test -p joint-flow --test flow tables
//! ```
#![cfg(not(miri))] // it reads the file system, and runs no code of the crate
#![allow(unreachable_pub, reason = "the modules are one program")]

mod cells;
mod flow;
mod notes;

use std::{
    env, fs,
    path::{Path, PathBuf},
};

const WRITE: &str = "JOINT_FLOW_TABLES";

const PAGE: &str = "docs/flow.md";

const CONFORMANCE: &str = "joint-flow/tests/flow/conformance";

const HEAD: &str = "\
# Flow's vocabulary: what is tested, and by what

Written by `JOINT_FLOW_TABLES=write cargo test -p joint-flow --test flow tables` from the lines above the tests. The same test
without the variable fails if this file is not what it would write, or if a row has no test.";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A packaged copy has neither the page nor the models.
fn is_packaged() -> bool {
    !root().join("loom-tests").exists()
}

/// The tests. Where one of a piece is also the counterpart of one of Flow's, or the reverse, it
/// notes both.
fn tests() -> Vec<notes::Noted> {
    let [pieces, more] =
        ["joint-flow/tests/flow/pieces", CONFORMANCE].map(|it| notes::read(&root(), it, ""));
    pieces.into_iter().chain(more).collect()
}

fn models() -> Vec<notes::Noted> {
    notes::read(&root(), "loom-tests/tests", "flow_")
}

#[test]
fn each_semantics_has_its_test_or_its_model() {
    if !is_packaged() {
        let cells = cells::Cells::new(&tests(), &models());
        assert_eq!(cells.faults(), Vec::<String>::new());
    }
}

#[test]
fn each_of_flows_tests_has_a_counterpart_or_a_reason() {
    if !is_packaged() {
        assert_eq!(flow::faults(&tests()), Vec::<String>::new());
    }
}

#[test]
fn the_page_is_what_the_tests_say() {
    if is_packaged() {
        return;
    }
    let cells = cells::Cells::new(&tests(), &models());
    let page = format!("{HEAD}\n{}\n{}", cells.tables(), flow::tables(&tests()));
    let file = root().join(PAGE);
    if env::var_os(WRITE).is_some_and(|what| what == "write") {
        fs::write(file, page).expect("the page can be written");
        return;
    }
    let written = fs::read_to_string(file).unwrap_or_default();
    assert!(
        written == page,
        "{PAGE} is stale; write it by {WRITE}=write cargo test -p joint-flow --test flow tables"
    );
}
