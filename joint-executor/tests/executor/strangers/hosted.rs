//! The parts that the owner of a hosted worker supplies: its wakers, its closures, and its time.

use std::thread::JoinHandle;

use super::support::{GUARD, SETTLE, Stranger, Watched, stranger};
use crate::prelude::*;

/// Two workers. The second one is run by a thread, or by whoever takes it.
fn two() -> (Executor, HostedWorker, HostedWorker) {
    let (executor, mut workers) = hosted(2);
    let last = workers.remove(1);
    (executor, workers.remove(0), last)
}

/// Runs a worker whose owner steps it only after it was woken.
fn drive(worker: HostedWorker) {
    let mut worker = worker.bind();
    let parker = Parker::new();
    while exhaust_with(&mut worker, parker.waker()) != Step::Ended {
        park_until(None, || parker.take_wake());
    }
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
fn while_a_waker_runs_inside_a_step_others_run() {
    let (executor, steps, driven) = two();
    let (stranger, watched) = stranger();
    let driven = thread::spawn(|| drive(driven));
    let steps = thread::spawn(move || {
        let mut worker = steps.bind();
        let parker = Parker::new();
        let deadline = Instant::now() + 3 * SETTLE;
        with_timer(&mut worker, &stranger, deadline, |worker| {
            loop {
                match exhaust_with(worker, parker.waker()) {
                    Step::Ended => break,
                    Step::Until(time) => _ = park_until(Some(time), || parker.take_wake()),
                    _ => _ = park_until(None, || parker.take_wake()),
                }
            }
        });
    });
    watched.begun();
    assert_a_task_runs(executor, &watched, [steps, driven]);
}

#[test]
fn while_the_waker_of_a_step_is_dropped_others_run() {
    let (executor, steps, driven) = two();
    let (stranger, watched) = stranger();
    let driven = thread::spawn(|| drive(driven));
    let steps = thread::spawn(move || {
        let mut worker = steps.bind();
        let calls = OnDrop(move || stranger.call());
        let step = exhaust_with(&mut worker, &waker_that(move || drop(calls)));
        assert_eq!(step, Step::Idle);
        // The other worker is asleep by now, most times.
        thread::sleep(SETTLE);
        while exhaust_with(&mut worker, Waker::noop()) != Step::Ended {
            thread::yield_now();
        }
    });
    watched.begun();
    assert_a_task_runs(executor, &watched, [steps, driven]);
}

#[test]
fn a_worker_whose_owner_does_not_step_it_leaves_tasks_to_others() {
    let rests = Arc::new(AtomicBool::new(false));
    let builder = Executor::builder().workers(2).on_park({
        let rests = rests.clone();
        move |_| rests.store(true, Relaxed)
    });
    let (executor, mut workers) = builder.build_hosted().unwrap();
    let (runs, idle) = (workers.remove(0), workers.remove(0));
    let runs = thread::spawn(|| runs.run());
    wait_until(|| rests.load(Relaxed));
    thread::sleep(SETTLE);
    let mut idle = idle.bind();
    assert_eq!(exhaust_with(&mut idle, Waker::noop()), Step::Idle);
    // One of them wakes the idle worker, whose owner steps it at the next frame only.
    let (tell, told) = mpsc::channel();
    for _ in 0..4 {
        let tell = tell.clone();
        executor.spawn(async move { _ = tell.send(()) }).detach();
        let ran = told.recv_timeout(GUARD);
        assert!(ran.is_ok(), "the other worker sleeps");
    }
    drop((executor, idle));
    runs.join().unwrap();
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
