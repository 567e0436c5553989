//! `timeout` and `timeout_at`.

use std::{
    error::Error as _,
    future::{IntoFuture, ready},
};

use super::past;
use crate::prelude::*;

#[test]
fn the_timer_is_disarmed_when_the_operation_is_ready() {
    let (wakes, waker) = counting();
    let (sender, receiver) = oneshot::channel();
    let mut in_time = timeout(HOUR, receiver);
    assert_eq!(poll_with(&mut in_time, &waker), Poll::Pending);
    sender.send(5).unwrap();
    assert_eq!(poll_with(&mut in_time, &waker), Poll::Ready(Ok(Ok(5))));
    assert_eq!(
        wakes.wakers(),
        1,
        "of those, the timer and the channel have none"
    );
}

#[test]
fn a_ready_operation_wins_over_an_expired_timeout() {
    ends(|| {
        assert_eq!(block_on(timeout(Duration::ZERO, ready(1))), Ok(1));
        assert_eq!(block_on(timeout_at(past(), ready(1))), Ok(1));
        // Both are over when it is polled again.
        let (wakes, waker) = counting();
        let mut is_ready = false;
        let operation = poll_fn(|_| match mem::replace(&mut is_ready, true) {
            true => Poll::Ready(3),
            false => Poll::Pending,
        });
        let end = Instant::now() + MILLI;
        let mut tie = timeout_at(end, operation);
        if poll_with(&mut tie, &waker).is_pending() {
            block_on(sleep(2 * MILLI));
            assert_eq!(poll_with(&mut tie, &waker), Poll::Ready(Ok(3)));
        }
        drop(tie);
        assert_eq!(wakes.wakers(), 1);
    });
}

/// An operation whose poll is refused is polled once more, and only once.
#[test]
fn an_operation_that_is_refused_at_the_deadline_is_not_too_late() {
    let _outer = budget::save();
    for is_ready in [true, false] {
        let (wakes, waker) = counting();
        let mut is_first = true;
        let operation = poll_fn(|cx| {
            std::task::ready!(budget::poll_proceed(cx));
            match mem::replace(&mut is_first, false) || !is_ready {
                true => Poll::Pending,
                false => Poll::Ready(7),
            }
        });
        let deadline = Instant::now() + 20 * MILLI;
        let mut tie = timeout_at(deadline, operation);
        if poll_with(&mut tie, &waker).is_ready() {
            // This thread did not get its turn in time.
            continue;
        }
        while Instant::now() < deadline {}
        budget::refill_to(0);
        let before = wakes.count();
        assert_eq!(poll_with(&mut tie, &waker), Poll::Pending);
        assert!(wakes.count() > before);
        budget::refill();
        match poll_with(&mut tie, &waker) {
            Poll::Ready(ended) => assert_eq!(ended.ok(), is_ready.then_some(7)),
            Poll::Pending => panic!("it was polled more than once more"),
        }
    }
}

#[test]
fn zero_polls_once() {
    let (wakes, waker) = counting();
    let mut polls = 0;
    let operation = poll_fn(|_| {
        polls += 1;
        Poll::<()>::Pending
    });
    let mut once = timeout(Duration::ZERO, operation);
    assert!(matches!(poll_with(&mut once, &waker), Poll::Ready(Err(_))));
    drop(once);
    assert_eq!((polls, wakes.count(), wakes.wakers()), (1, 0, 1));
}

#[test]
fn the_loser_is_dropped_before_the_caller_resumes() {
    ends(|| {
        block_on(executor(1).spawn(async {
            let alive = Arc::new(());
            // Kept, so that its own drop does not come into it.
            let mut late = pin!(timeout(MILLI, hold(alive.clone())));
            assert!(late.as_mut().await.is_err());
            assert_eq!(Arc::strong_count(&alive), 1);
            let held = alive.clone();
            let mut in_time = pin!(timeout(
                HOUR,
                poll_fn(move |_| {
                    let _held = &held;
                    Poll::Ready(())
                })
            ));
            assert!(in_time.as_mut().await.is_ok());
            assert_eq!(Arc::strong_count(&alive), 1);
        }));
    });
}

#[test]
fn elapsed_is_an_error() {
    let elapsed = block_on(timeout(Duration::ZERO, pending::<()>())).unwrap_err();
    assert_eq!(elapsed.to_string(), "the deadline has passed");
    assert!(elapsed.source().is_none());
    let error = io::Error::from(elapsed);
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert_eq!(error.to_string(), elapsed.to_string());
}

struct Request;

impl IntoFuture for Request {
    type Output = u32;
    type IntoFuture = std::future::Ready<u32>;

    fn into_future(self) -> Self::IntoFuture {
        ready(9)
    }
}

#[test]
fn timeout_accepts_into_future_and_implements_debug() {
    let mut request = timeout(Duration::MAX, Request);
    assert_eq!(request.deadline(), None);
    let text = format!("{request:?}");
    assert!(
        text.contains("has_ended: false") && text.contains("Idle"),
        "{text}"
    );
    assert_eq!(block_on(&mut request), Ok(9));
    assert!(panic_text(|| block_on(&mut request)).contains("polled again"));
}
