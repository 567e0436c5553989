//! Tasks that block every worker, each in a wait for a task that another worker would have to run.
#![cfg(not(miri))]

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use crate::prelude::*;

/// Names the child.
const CHILD: &str = "JOINT_TEST_STARVED";

#[test]
fn blocked_workers_are_reported_while_tasks_are_queued() {
    if env::var_os(CHILD).is_some() {
        return hang();
    }
    let mut program = crate::common::again();
    let test = "starved::blocked_workers_are_reported_while_tasks_are_queued";
    program
        .args(["--exact", "--nocapture", test])
        .env(CHILD, "1");
    let mut child = program
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let report = lines
        .map(Result::unwrap)
        .find(|line| line.starts_with("joint: "));
    child.kill().unwrap();
    child.wait().unwrap();
    let report = report.expect("the program hangs, and says why");
    assert!(
        report.contains("all workers (2) have been blocked"),
        "{report}"
    );
    assert!(
        report.contains("by the task `waits` spawned at "),
        "{report}"
    );
    assert!(report.contains("starved.rs:"), "{report}");
}

/// Each of two tasks waits for a task that is queued, and no worker is left to run one.
fn hang() {
    let executor = Executor::builder().workers(2).build().unwrap();
    let both = Arc::new(Barrier::new(2));
    let waits = [(); 2].map(|()| {
        let (both, handle) = (both.clone(), executor.handle());
        let task = async move {
            both.wait();
            block_on(handle.spawn(async {}));
        };
        executor.task().name("waits").spawn(task)
    });
    waits.into_iter().for_each(block_on);
}
