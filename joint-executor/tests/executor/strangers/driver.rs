//! The worker that has waited in the driver turns to something long. Another worker takes its
//! place.

use super::support::{SETTLE, quiet, socket, stranger};
use crate::prelude::*;

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
    joint_executor::block_on(long);
    joint_executor::block_on(later);
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
