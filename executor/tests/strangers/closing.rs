//! Futures whose drop waits, at the end of an executor.

use std::{
    sync::{Arc, mpsc},
    thread,
};

use super::support::{GUARD, stranger};
use crate::common::OnDrop;
use joint::{JoinError, JoinHandle, waker::park::block_on_timeout};
use joint_executor::Executor;

#[test]
fn a_drop_may_wait_for_a_task_that_was_spawned_after_its_own() {
    let (executor, mut workers) = Executor::builder().workers(1).build_hosted().unwrap();
    let worker = workers.remove(0).bind();
    worker.close();
    let (later, awaited) = mpsc::channel::<JoinHandle<()>>();
    let (tell, told) = mpsc::channel();
    let waits = OnDrop(move || {
        let later = awaited.recv().unwrap();
        tell.send(block_on_timeout(later.result(), GUARD)).unwrap();
    });
    let first = executor.spawn(async move { drop(waits) });
    later.send(executor.spawn(async {})).unwrap();
    worker.end();
    let ended = told.recv().unwrap();
    assert!(
        matches!(ended, Some(Err(JoinError::Cancelled))),
        "the other task is not dropped: {ended:?}"
    );
    assert!(first.is_finished());
}

#[test]
fn a_drop_that_is_too_late_may_wait_for_that_of_another_task() {
    let (executor, workers) = Executor::builder().workers(1).build_hosted().unwrap();
    drop(workers);
    let (stranger, watched) = stranger();
    thread::scope(|threads| {
        let waits = OnDrop(move || stranger.call_anywhere(|| ()));
        threads.spawn(|| executor.spawn_detached(async move { drop(waits) }));
        watched.begun();
        let release = OnDrop({
            let release = watched.release();
            move || _ = release.send(())
        });
        executor.spawn_detached(async move { drop(release) });
        watched.assert_released();
    });
}

#[test]
fn a_chain_of_drops_that_are_too_late_needs_no_stack() {
    /// Spawns the rest of the chain, on two executors by turns.
    fn spawn(executors: &Arc<[Executor; 2]>, left: usize) {
        let all = executors.clone();
        let then = OnDrop(move || {
            if left > 0 {
                spawn(&all, left - 1);
            }
        });
        executors[left % 2].spawn_detached(async move { drop(then) });
    }
    let ended = || {
        let (executor, workers) = Executor::builder().workers(1).build_hosted().unwrap();
        drop(workers);
        executor
    };
    let executors = Arc::new([ended(), ended()]);
    spawn(&executors, 100_000);
    assert_eq!(Arc::strong_count(&executors), 1, "a task is left");
}
