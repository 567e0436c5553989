//! The worker that has waited in the driver calls wakers, or turns to something long. Another
//! worker takes its place.

use joint::task;

use super::support::{SETTLE, Stranger, quiet, stranger};
use crate::prelude::*;

/// The waker of a task that another runtime runs. It schedules the task by calling a stranger.
fn waker_of_a_task(stranger: Arc<Stranger>) -> Waker {
    let (runnable, handle) = task::spawn(pending::<()>(), move |runnable: task::Runnable| {
        stranger.call();
        runnable.run();
    });
    handle.detach();
    let waker = runnable.waker();
    runnable.run();
    waker
}

fn timer(workers: usize, waker: impl FnOnce(Arc<Stranger>) -> Waker) {
    let quiet = quiet(workers);
    let (stranger, watched) = stranger();
    let waker = waker(stranger);
    let mut timer = pin!(sleep(3 * SETTLE));
    let polled = quiet.executor.enter(|| poll_with(&mut timer, &waker));
    assert!(polled.is_pending());
    watched.assert_others_run(&quiet.executor);
}

fn descriptor(workers: usize, waker: impl FnOnce(Arc<Stranger>) -> Waker) {
    let quiet = quiet(workers);
    let (stranger, watched) = stranger();
    let waker = waker(stranger);
    let (socket, send) = socket();
    let socket = quiet.executor.enter(|| AsyncFd::new(socket).unwrap());
    let mut read = pin!(socket.read_with(|socket| socket.recv(&mut [0; 8])));
    assert!(poll_with(&mut read, &waker).is_pending());
    quiet.settle_all();
    send();
    watched.assert_others_run(&quiet.executor);
}

/// Also while the task that it wakes is scheduled.
#[test]
fn while_the_waker_of_a_timer_or_descriptor_runs_others_run() {
    let wakers: [fn(Arc<Stranger>) -> Waker; 2] = [|stranger| stranger.waker(), waker_of_a_task];
    for (waker, is_of_task) in wakers.into_iter().zip([false, true]) {
        for workers in [2, 4] {
            println!("{workers} workers, of a task: {is_of_task}");
            timer(workers, waker);
            descriptor(workers, waker);
        }
    }
}

#[test]
fn a_descriptor_wakes_after_an_earlier_wakers_drop_panicked() {
    let quiet = quiet(1);
    quiet.executor.enter(|| {
        let (socket, send) = socket();
        socket.set_nonblocking(true).unwrap();
        let descriptor = AsyncFd::new(socket).unwrap();
        let poll = |waker: &Waker| descriptor.poll_read_ready(&mut Context::from_waker(waker));
        let bomb = Panics;
        let panics = waker_that(move || drop(bomb));
        let first = poll(&panics);
        // Only the descriptor has it now.
        drop(panics);
        let (wakes, waker) = counting();
        let second = catch_unwind(AssertUnwindSafe(|| poll(&waker)));
        assert!(first.is_pending() && second.is_err());
        assert!(poll(&waker).is_pending());
        send();
        wait_until(|| wakes.count() > 0);
    });
}
