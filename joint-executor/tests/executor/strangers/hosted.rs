//! The parts that the owner of a hosted worker supplies: its wakers, its closures, and its time.

use std::thread::JoinHandle;

use super::support::{SETTLE, Stranger, Watched, stranger};
use crate::prelude::*;

/// Two workers. The second one is run by a thread, or by whoever takes it.
fn two() -> (Executor, HostedWorker, HostedWorker) {
    let (executor, mut workers) = hosted(2);
    let last = workers.remove(1);
    (executor, workers.remove(0), last)
}

/// Polls a timer on this worker, for a stranger. Calls `f` while the timer is alive.
fn with_timer(
    worker: &mut BoundWorker,
    stranger: &Arc<Stranger>,
    deadline: Instant,
    f: impl FnOnce(&mut BoundWorker),
) {
    let mut timer = pin!(sleep_until(deadline));
    let polled = worker.enter(|| poll_with(&mut timer, &stranger.waker()));
    assert!(polled.is_pending());
    f(worker);
}

/// A task spawned from here runs meanwhile. All workers end with the executor.
#[track_caller]
fn assert_a_task_runs(executor: Executor, watched: &Watched, workers: [JoinHandle<()>; 2]) {
    let release = watched.release();
    executor.spawn(async move { _ = release.send(()) }).detach();
    watched.assert_released();
    drop(executor);
    for worker in workers {
        worker.join().unwrap();
    }
}

#[test]
fn while_a_waker_runs_inside_wait_others_run() {
    let (executor, waits, runs) = two();
    let (stranger, watched) = stranger();
    let (tell, told) = mpsc::channel();
    let waits = thread::spawn(move || {
        let mut worker = waits.bind();
        let deadline = Instant::now() + 5 * SETTLE;
        with_timer(&mut worker, &stranger, deadline, |worker| {
            exhaust_with(worker, Waker::noop());
            tell.send(()).unwrap();
            while exhaust_with(worker, Waker::noop()) != Step::Ended {
                worker.wait(None);
            }
        });
    });
    told.recv().unwrap();
    // Most times the first worker waits in the driver by now, and the other one will sleep.
    thread::sleep(SETTLE);
    let runs = thread::spawn(|| runs.run());
    watched.assert_others_run(&executor);
    drop(executor);
    for thread in [waits, runs] {
        thread.join().unwrap();
    }
}

#[test]
fn while_the_closure_of_take_injected_runs_others_run() {
    let (executor, takes, runs) = two();
    let (stranger, watched) = stranger();
    for _ in 0..2 {
        executor.spawn(async {}).detach();
    }
    let takes = thread::spawn(move || {
        let worker = takes.bind();
        worker.take_injected(|task| {
            stranger.call_anywhere(|| ());
            drop(task);
        });
    });
    watched.begun();
    let runs = thread::spawn(|| runs.run());
    assert_a_task_runs(executor, &watched, [takes, runs]);
}
