//! The executor of `examples/executor` in a package of its own, with a bug that its model finds.
//! Under `--cfg joint_loom` the types of `joint` record themselves.
#![cfg(joint_loom)]

use joint_lab::{
    Builder, check,
    sync::{Arc, Condvar, Mutex},
    thread,
};
use queue::{Queue, spawn};

mod queue;

#[test]
fn a_worker_runs_a_task_and_ends() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    check(builder, || {
        let queue = Queue::new();
        let own = queue.clone();
        let worker = thread::Builder::new().name("worker".to_owned());
        let worker = worker.spawn(move || own.work()).unwrap();
        assert_eq!(joint::block_on(spawn(&queue, async { 42 })), 42);
        queue.shut_down();
        worker.join().unwrap();
    });
}
