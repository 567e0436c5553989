//! The lock with permits.

use joint_flow::{
    Closed,
    lock::{Permit, Take},
};

use crate::prelude::*;

fn poll(take: &mut Take) -> Poll<Result<Permit, Closed>> {
    poll_with(take, Waker::noop())
}

/// Requests that have been polled once, in order, under a lock that is held.
fn queued<const N: usize>(lock: &FlowLock, amounts: [usize; N]) -> [Take; N] {
    amounts.map(|amount| {
        let mut take = lock.take(amount);
        assert!(poll(&mut take).is_pending());
        take
    })
}

/// The permit of a request that has been granted.
fn granted(take: &mut Take) -> Permit {
    match poll(take) {
        Poll::Ready(Ok(permit)) => permit,
        other => panic!("not granted: {other:?}"),
    }
}

#[test]
fn a_waker_may_use_the_lock() {
    let lock = FlowLock::new(1);
    let held = lock.try_take(1).unwrap();
    let (used, taken) = (lock.clone(), Arc::new(AtomicUsize::new(0)));
    let counted = taken.clone();
    let uses = waker_that(move || {
        assert!(used.try_take(1).is_err());
        counted.fetch_add(used.taken(), Relaxed);
    });
    let mut take = lock.take(1);
    assert!(poll_with(&mut take, &uses).is_pending());
    drop(held);
    assert_eq!(taken.load(Relaxed), 1, "woken with the permit counted");
    lock.close();
    drop(granted(&mut take));
}

#[test]
fn a_cancelled_request_leaves_nothing_behind() {
    let lock = FlowLock::new(1);
    let _held = lock.try_take(1).unwrap();
    let [first, last] = queued(&lock, [1, 1]);
    for _ in 0..10_000 {
        drop(queued(&lock, [1]));
        assert_eq!(lock.waiters(), 2);
    }
    drop((first, last));
    assert_eq!(lock.waiters(), 0);
}

#[test]
fn the_requests_behind_one_that_is_cancelled_move_up() {
    let lock = FlowLock::new(2);
    let _held = lock.try_take(1).unwrap();
    let [large, mut small] = queued(&lock, [2, 1]);
    drop(large);
    drop(granted(&mut small));
}

#[test]
fn cancelling_wakes_nobody() {
    let lock = FlowLock::new(1);
    let _held = lock.try_take(1).unwrap();
    let (wakes, waker) = counting();
    let mut take = lock.take(1);
    assert!(poll_with(&mut take, &waker).is_pending());
    drop((take, waker));
    assert_eq!((wakes.count(), wakes.wakers()), (0, 0));
}

/// A lock without a limit can be taken as a whole, and that waits like any other request.
#[test]
fn all_permits_of_a_lock_without_a_limit() {
    let lock = FlowLock::new(usize::MAX);
    let one = lock.try_take(1).unwrap();
    assert_eq!((one.amount(), lock.available()), (1, usize::MAX - 1));
    assert!(lock.try_take(usize::MAX).is_err());
    let mut all = lock.take(usize::MAX);
    assert!(poll(&mut all).is_pending());
    assert_eq!(lock.taken(), 1);
    drop(one);
    let all = granted(&mut all);
    assert_eq!((lock.taken(), lock.available()), (usize::MAX, 0));
    drop(all);
    assert_eq!(lock.taken(), 0);
}

/// A grant that is given back by the waker that it wakes is no recursion.
#[test]
fn a_long_chain_of_grants_that_are_given_back_at_once() {
    const MANY: usize = if cfg!(miri) { 100 } else { 100_000 };
    let lock = FlowLock::new(1);
    let permit = lock.try_take(1).unwrap();
    for _ in 0..MANY {
        let slot = Arc::new(Mutex::new(None));
        let own = slot.clone();
        // As the waker of a task does whose executor has been shut down.
        let waker = waker_that(move || drop(own.lock().unwrap().take()));
        let mut take = lock.take(1);
        assert!(poll_with(&mut take, &waker).is_pending());
        *slot.lock().unwrap() = Some(take);
    }
    drop(permit);
    assert_eq!((lock.taken(), lock.waiters()), (0, 0));
}
