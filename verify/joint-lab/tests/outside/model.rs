//! A model of the executor. Under `--cfg joint_loom` the types of `joint` record themselves.
#![cfg(joint_loom)]

use executor::Executor;
use joint::block_on;
use joint_lab::{Builder, check};

#[test]
fn two_tasks_run_one_after_the_other() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    check(builder, || {
        let executor = Executor::new(1);
        assert_eq!(block_on(executor.spawn(async { 1 })), 1);
        assert_eq!(block_on(executor.spawn(async { 2 })), 2);
    });
}
