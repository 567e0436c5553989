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

/// Polls a future once, for a stranger, who comes before the task that waits for the same.
async fn poll_for<F: Future>(mut future: Pin<&mut F>, waker: &Waker) {
    poll_fn(|_| {
        assert!(poll_with(&mut future, waker).is_pending());
        Poll::Ready(())
    })
    .await;
}

#[test]
fn a_task_that_waits_for_the_same_descriptor_runs() {
    let quiet = quiet(2);
    let (stranger, watched) = stranger();
    let (waker, release) = (stranger.waker(), watched.release());
    let (socket, send) = socket();
    let task = quiet.executor.spawn(async move {
        let socket = AsyncFd::new(socket).unwrap();
        let read = || Box::pin(socket.read_with(|socket| socket.recv(&mut [0; 8])));
        let mut strangers = read();
        poll_for(strangers.as_mut(), &waker).await;
        assert_eq!(read().await.unwrap(), 1);
        let _ = release.send(());
    });
    quiet.settle_all();
    send();
    watched.begun();
    watched.assert_released();
    block_on(task);
}

#[test]
fn other_timers_fire_while_a_task_whose_timer_was_due_runs() {
    let quiet = quiet(2);
    let (stranger, watched) = stranger();
    let release = watched.release();
    let long = quiet.executor.spawn(async move {
        sleep(3 * SETTLE).await;
        stranger.call();
    });
    let later = quiet.executor.spawn(async move {
        sleep(5 * SETTLE).await;
        let _ = release.send(());
    });
    watched.begun();
    watched.assert_released();
    block_on(long);
    block_on(later);
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
