//! `race`, `all` and `quorum` of up to 8 futures allocate nothing, after the first time.

use std::{
    future::{pending, ready},
    time::Duration,
};

use crate::counting::{COUNT, alone};
use joint::{block_on, oneshot};
use joint_executor::{time, yield_now};
use joint_flow::shared;
use joint_flow::{OneOf3, all, any, quorum, race, spawn, task::from_future, try_all};

const ROUNDS: usize = if cfg!(miri) { 20 } else { 10_000 };

/// Runs it twice to warm up, and then demands that a round makes only the allocations of its
/// channels. Alone, because threads that are not workers share a queue of timers, which grows when
/// more are armed at once.
fn assert_only(channels: usize, what: &str, mut round: impl AsyncFnMut()) {
    let _alone = alone();
    block_on(async {
        for _ in 0..2 {
            round().await;
        }
        let before = COUNT.get().allocated;
        for _ in 0..ROUNDS {
            round().await;
        }
        assert_eq!(COUNT.get().allocated - before, channels * ROUNDS, "{what}");
    });
}

/// Sends after the first poll.
async fn send<T>(senders: impl IntoIterator<Item = oneshot::Sender<T>>, value: impl Fn() -> T) {
    yield_now().await;
    for sender in senders {
        let _ = sender.send(value());
    }
}

#[test]
fn a_task_allocates_its_future_with_its_result() {
    assert_only(1, "beside the executor's task", async || {
        let (driver, task) = from_future(ready("a result"));
        driver.await;
        assert_eq!(task.clone().await.unwrap(), "a result");
        assert_eq!(task.into_output().await.unwrap(), "a result");
    });
}

#[test]
fn an_actor_is_one_allocation_with_its_task() {
    let executor = joint_executor::Executor::builder().workers(1).build();
    block_on(executor.unwrap().spawn(async {
        let before = COUNT.get();
        for _ in 0..ROUNDS {
            let _waits = spawn(pending::<[usize; 20]>());
            assert_eq!(spawn(ready(7)).await.unwrap(), 7);
        }
        let after = COUNT.get();
        let others = after.allocated - before.allocated - 2 * ROUNDS;
        // The executor makes room a few times.
        assert!(others < 10 && after.live - before.live < 10, "{others}");
        let before = COUNT.get().allocated;
        drop(spawn(pending::<[usize; 2_100]>()));
        assert_eq!(COUNT.get().allocated - before, 2, "a block of its own");
    }));
}

#[test]
fn races_allocate_nothing() {
    assert_only(0, "ready", async || {
        assert_eq!(race([ready(1), ready(2)]).await, (0, 1))
    });
    assert_only(7, "oneshots", async || {
        let (senders, receivers): ([_; 7], [_; 7]) = split();
        let sends = async {
            send(senders, || 1).await;
            std::future::pending::<()>().await;
        };
        let OneOf3::B((0, Ok(1))) = race((sends, race(receivers), time_out())).await else {
            panic!("all were sent at once, and the leftmost wins");
        };
    });
    // The channel, and a place for each of two waiters.
    assert_only(3, "shared", async || {
        let (sender, shared) = shared::channel::<u8>();
        let send = async {
            yield_now().await;
            sender.send(1);
            std::future::pending::<()>().await;
        };
        let waits = [shared.wait(), shared.wait()];
        race((send, race(waits))).await;
    });
}

#[test]
fn all_allocate_nothing() {
    assert_only(8, "oneshots", async || {
        let (senders, receivers): ([_; 8], [_; 8]) = split();
        let (values, ()) = all((all(receivers), send(senders, || 1))).await;
        assert_eq!(values, [Ok(1); 8]);
    });
    assert_only(8, "errors", async || {
        let (senders, receivers): ([_; 8], [_; 8]) = split::<u8, 8>();
        let sends = async {
            yield_now().await;
            drop(senders);
            Ok(())
        };
        assert!(try_all((try_all(receivers), sends)).await.is_err());
    });
}

#[test]
fn quorums_allocate_nothing() {
    assert_only(8, "quorum", async || {
        let (senders, receivers): ([_; 8], [_; 8]) = split();
        let sends = send(senders.into_iter().take(3), || 1);
        let (values, ()) = all((quorum(3, receivers), sends)).await;
        assert_eq!(values.unwrap().iter().flatten().count(), 3);
    });
    assert_only(5, "strict", async || {
        let (senders, receivers): ([_; 5], [_; 5]) = split();
        let sends = send(senders, || 1);
        let (values, ()) = all((quorum(5, receivers).strict(), sends)).await;
        assert_eq!(values, Ok([Some(1); 5]));
    });
    assert_only(3, "any", async || {
        let (senders, receivers): ([_; 3], [_; 3]) = split::<u8, 3>();
        let drops = async {
            yield_now().await;
            drop(senders);
        };
        let (values, ()) = all((any(receivers), drops)).await;
        assert!(values.is_err());
    });
    assert_only(0, "timers", async || {
        let timers = [time_out(), time::sleep(Duration::ZERO)];
        let ready = timers.map(async |timer| {
            timer.await;
            Ok::<_, ()>("in time")
        });
        assert!(any(ready).await.is_ok());
    });
}

fn time_out() -> time::Sleep {
    time::sleep(Duration::from_secs(60))
}

fn split<T, const N: usize>() -> ([oneshot::Sender<T>; N], [oneshot::Receiver<T>; N]) {
    let mut receivers = [const { None }; N];
    let senders = std::array::from_fn(|index| {
        let (sender, receiver) = oneshot::channel();
        receivers[index] = Some(receiver);
        sender
    });
    (
        senders,
        receivers.map(|receiver| receiver.expect("made above")),
    )
}
