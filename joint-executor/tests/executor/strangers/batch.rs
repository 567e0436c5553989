//! A task that is due together with a stranger's waker. The stranger comes first, and waits for the
//! task.

use super::support::{SETTLE, quiet, socket, stranger};
use crate::prelude::*;

/// Polls a future once, for a stranger.
async fn poll_for<F: Future>(mut future: Pin<&mut F>, waker: &Waker) {
    poll_fn(|_| {
        assert!(poll_with(&mut future, waker).is_pending());
        Poll::Ready(())
    })
    .await;
}

#[test]
fn a_task_whose_timer_is_due_at_the_same_time_runs() {
    let quiet = quiet(2);
    let (stranger, watched) = stranger();
    let (waker, release) = (stranger.waker(), watched.release());
    let task = quiet.executor.spawn(async move {
        let deadline = Instant::now() + 3 * SETTLE;
        let mut strangers = Box::pin(sleep_until(deadline));
        poll_for(strangers.as_mut(), &waker).await;
        sleep_until(deadline).await;
        let _ = release.send(());
    });
    watched.begun();
    watched.assert_released();
    joint_executor::block_on(task);
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
    joint_executor::block_on(task);
}
