//! What belongs to a whole process: its environment, and its panic hook. Each is tried in a process
//! of its own.

use joint_executor::task;

use crate::prelude::*;

const INSIDE: &str = "JOINT_TEST_INSIDE";

/// Returns what a test of this file writes in a process of its own. It is run with `JOINT_WORKERS`
/// as given.
fn said(test: &str, workers: &str) -> String {
    let output = again()
        .args([&format!("program::{test}"), "--exact", "--nocapture"])
        .envs([
            (INSIDE, "1"),
            ("JOINT_WORKERS", workers),
            ("RUST_BACKTRACE", "0"),
        ])
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{}: {said}", output.status);
    said
}

#[test]
fn inside_it_tells_the_workers() {
    if env::var_os(INSIDE).is_some() {
        let workers = Executor::builder()
            .build()
            .map(|executor| executor.workers());
        println!("by default: {workers:?}");
        let workers = Executor::builder()
            .workers(2)
            .build()
            .map(|executor| executor.workers());
        println!("set: {workers:?}");
    }
}

#[test]
fn the_environment_sets_the_number_of_workers() {
    let said = |workers| said("inside_it_tells_the_workers", workers);
    assert!(said("3").contains("by default: Ok(3)"));
    let bad = said("many");
    let message =
        r#"the environment variable `JOINT_WORKERS` is "many", which is not a number of workers"#;
    assert!(
        bad.contains(&message.escape_debug().to_string()) || bad.contains(message),
        "{bad}"
    );
    assert!(bad.contains("set: Ok(2)"), "{bad}");
    assert!(said("0").contains("an executor needs at least one worker"));
    assert!(said("32768").contains("at most 32767 workers"));
}

#[test]
fn inside_tasks_panic() {
    if env::var_os(INSIDE).is_some() {
        task::set_panic_hook();
        let named = TaskBuilder::new()
            .name("flush")
            .spawn(async { panic!("one") });
        assert!(block_on(named.result()).is_err());
        assert!(block_on(spawn(async { panic!("two") }).result()).is_err());
        let outside = std::panic::catch_unwind(|| panic!("three"));
        assert!(outside.is_err());
    }
}

#[test]
fn a_panic_names_its_task() {
    let said = said("inside_tasks_panic", "2");
    let lines: Vec<_> = said.lines().filter(|line| !line.is_empty()).collect();
    // The line before the one of the hook that was there before.
    let before = |message: &str| {
        let at = lines.iter().position(|line| *line == message);
        let hook = at.expect(&said) - 1;
        assert!(lines[hook].contains("panicked at"), "{said}");
        lines[hook - 1]
    };
    assert!(
        before("one").starts_with("The task `flush` spawned at "),
        "{said}"
    );
    assert!(before("one").ends_with(" panics:"), "{said}");
    assert!(before("two").starts_with("The task spawned at "), "{said}");
    assert!(!before("three").contains("panics:"), "{said}");
}
