//! The ordered choice: Flow's `Choose`.

use joint::oneshot;
use joint_flow::{
    choice::{choose, try_choose},
    spawn,
    time::delay,
};
use std::time::Duration;

use crate::common::{check, settled};

/// Flow: /flow/coro/chooseTwoActor.
/// Flow: /flow/flow/chooseTwoActor.
#[test]
fn choose_two_actor() {
    check(|| async {
        let (first, a) = oneshot::channel::<()>();
        let (second, b) = oneshot::channel::<()>();
        let task = spawn(choose().when(|| a, |_| 'a').when(|| b, |_| 'b'));
        settled().await;
        assert!(!task.is_finished() && !first.is_closed() && !second.is_closed());
        second.send(()).unwrap();
        assert_eq!(*task.wait().await.unwrap(), 'b');
        assert!(first.is_closed(), "the loser has left its promise");
    });
}

fn never_handled<T, R>(_: T) -> R {
    panic!("a choice that is cancelled runs no handler")
}

/// Flow: /flow/coro/chooseCancelWaiting.
/// Flow: /flow/coro/chooseRepeatedCancel.
#[test]
fn choose_cancel_waiting_and_repeated() {
    check(|| async {
        for cancels in 1..=2 {
            let (first, a) = oneshot::channel::<()>();
            let (second, b) = oneshot::channel::<i32>();
            let choice = choose::<()>()
                .when(|| a, never_handled)
                .when(|| b, never_handled);
            let task = spawn(choice);
            settled().await;
            (0..cancels).for_each(|_| task.cancel());
            assert!(first.send(()).is_err());
            assert!(second.send(3).is_err());
            settled().await;
            assert!(task.await.unwrap_err().is_cancelled());
        }
    });
}

/// Flow: /flow/coro/chooseCancelReady.
#[test]
fn choose_cancel_ready() {
    check(|| async {
        let (sender, sent) = oneshot::channel();
        let task = spawn(try_choose().when(|| sent, Ok));
        sender.send(5).unwrap();
        assert_eq!(*task.wait().await.unwrap(), Ok(5));
        task.cancel();
        assert_eq!(task.await.unwrap(), Ok(5));
    });
}

/// Flow: /flow/actorCollection/chooseWhen.
///
/// A handler that makes another branch ready does not run that branch.
///
/// Differs: the other branches are dropped before the handler, so its send is refused.
#[test]
fn choose_when() {
    check(|| async {
        let (sender, sent) = oneshot::channel();
        let sent_to = choose()
            .when(|| delay(Duration::ZERO), |()| sender.send(()).is_ok())
            .when(|| sent, never_handled)
            .await;
        assert!(!sent_to);
    });
}
