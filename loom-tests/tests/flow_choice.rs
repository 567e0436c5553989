//! Models of the ordered choice: its branches complete in threads of their own.

use joint_flow::choice::choose;
use loom_tests::join_all;

use crate::{flow::end_all, prelude::*};

fn two_completions(is_cancelled: bool) {
    model_bounded(3, move || {
        let drops = Drops::default();
        let (first, receives_first) = oneshot::channel();
        let (second, receives_second) = oneshot::channel();
        let senders = end_all([first, second], [true; 2], &drops);
        let wakes = Wakes::new();
        let handler = |n| {
            move |value: Result<Value, _>| {
                value.unwrap().look();
                n
            }
        };
        let mut choice = Box::pin(
            choose()
                .when(|| receives_first, handler(1))
                .when(|| receives_second, handler(2)),
        );
        let waker = wakes.waker();
        let mut cx = Context::from_waker(&waker);
        let polled = choice.as_mut().poll(&mut cx);
        let mut choice = (!is_cancelled).then_some(choice);
        join_all(senders);
        if let (Some(choice), true) = (&mut choice, polled.is_pending()) {
            // A wake-up polls both branches, so the first one wins.
            assert_eq!(choice.as_mut().poll(&mut cx), Poll::Ready(1));
            assert!(wakes.count() >= 1);
        }
        drop(choice);
        drop(waker);
        assert_eq!(wakes.wakers(), 0);
        drops.assert_all_of(2);
    });
}

/// Cell: choice: exactly one of two branches that complete at once wins, and the other is dropped.
#[test]
fn two_completions_against_a_choice() {
    two_completions(false);
}

/// Cell: choice: cancelled while its branches complete, it drops what they have sent.
#[test]
fn two_completions_against_a_cancel() {
    two_completions(true);
}
