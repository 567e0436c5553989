//! Models of the lock with permits: a release in a thread of its own against what a request does.
//!
//! Each model checks that no permit is lost or counted twice, that a request which can be granted
//! is, that its task is woken once, and that what one holder did happens before the next one.

use joint_flow::{
    Closed,
    lock::{FlowLock, Take},
};
use loom_tests::lab::thread;

use crate::prelude::*;

fn queued(lock: &FlowLock, amount: usize, wakes: &Arc<Wakes>) -> Take {
    let mut take = lock.take(amount);
    assert!(poll(&mut take, wakes).is_pending());
    take
}

/// Whether the request is granted now. If it is, its permit is given back.
fn is_granted(take: &mut Take, wakes: &Arc<Wakes>) -> bool {
    match poll(take, wakes) {
        Poll::Ready(permit) => permit.is_ok(),
        Poll::Pending => false,
    }
}

fn assert_idle(lock: &FlowLock) {
    assert_eq!((lock.taken(), lock.waiters()), (0, 0));
}

fn release_against_take() {
    model(|| {
        let (lock, drops) = (FlowLock::new(1), Drops::default());
        let value = Arc::new(drops.value());
        let held = lock.try_take(1).unwrap();
        let holder = start(&value, move |value| {
            value.take();
            drop(held);
        });
        let wakes = Wakes::new();
        let mut take = lock.take(1);
        match poll(&mut take, &wakes) {
            Poll::Ready(permit) => {
                value.take();
                drop(permit.unwrap());
                holder.join().unwrap();
                assert_eq!(wakes.count(), 0);
            }
            Poll::Pending => {
                holder.join().unwrap();
                assert_eq!(wakes.count(), 1);
                assert!(is_granted(&mut take, &wakes));
            }
        }
        assert_idle(&lock);
        assert_eq!(wakes.wakers(), 0);
    });
}

fn release_against_poll() {
    model_from_both_sides(|| {
        let (lock, drops) = (FlowLock::new(1), Drops::default());
        let value = Arc::new(drops.value());
        let held = lock.try_take(1).unwrap();
        let wakes = Wakes::new();
        let mut take = queued(&lock, 1, &wakes);
        let holder = start(&value, move |value| {
            value.take();
            drop(held);
        });
        others_first();
        if let Poll::Ready(permit) = poll(&mut take, &wakes) {
            value.take();
            drop(permit.unwrap());
            holder.join().unwrap();
        } else {
            holder.join().unwrap();
            assert!(is_granted(&mut take, &wakes));
        }
        assert_eq!((wakes.count(), wakes.wakers()), (1, 0));
        assert_idle(&lock);
    });
}

fn grant_against_cancel() {
    model(|| {
        let lock = FlowLock::new(1);
        let held = lock.try_take(1).unwrap();
        let (first, second) = (Wakes::new(), Wakes::new());
        let cancelled = queued(&lock, 1, &first);
        let mut next = queued(&lock, 1, &second);
        let holder = thread::spawn(move || drop(held));
        drop(cancelled);
        holder.join().unwrap();
        assert!(first.count() <= 1);
        assert_eq!(second.count(), 1);
        assert!(is_granted(&mut next, &second));
        assert_idle(&lock);
        assert_eq!((first.wakers(), second.wakers()), (0, 0));
    });
}

/// The first request is too large for what is given back, and is cancelled at that moment. The one
/// behind it fits.
fn release_against_a_cancel() {
    model(|| {
        let lock = FlowLock::new(2);
        let (kept, held) = (lock.try_take(1).unwrap(), lock.try_take(1).unwrap());
        let (first, second) = (Wakes::new(), Wakes::new());
        let large = queued(&lock, 2, &first);
        let mut small = queued(&lock, 1, &second);
        let holder = thread::spawn(move || drop(held));
        drop(large);
        holder.join().unwrap();
        assert_eq!((first.count(), second.count()), (0, 1));
        assert!(is_granted(&mut small, &second));
        drop(kept);
        assert_idle(&lock);
    });
}

fn two_releases() {
    model_bounded(3, || {
        let lock = FlowLock::new(2);
        let held = [(); 2].map(|()| lock.try_take(1).unwrap());
        let wakes = [(); 2].map(|()| Wakes::new());
        let mut takes = [0, 1].map(|n| queued(&lock, 1, &wakes[n]));
        let [one, other] = held;
        let holder = thread::spawn(move || drop(one));
        drop(other);
        holder.join().unwrap();
        for (take, wakes) in takes.iter_mut().zip(&wakes) {
            assert_eq!(wakes.count(), 1);
            assert!(is_granted(take, wakes));
        }
        assert_idle(&lock);
    });
}

fn release_against_close() {
    model(|| {
        let lock = FlowLock::new(1);
        let held = lock.try_take(1).unwrap();
        let wakes = Wakes::new();
        let mut take = queued(&lock, 1, &wakes);
        let holder = thread::spawn(move || drop(held));
        lock.close();
        holder.join().unwrap();
        assert_eq!(wakes.count(), 1);
        assert!(poll(&mut take, &wakes).is_ready(), "granted or closed");
        assert_idle(&lock);
        assert_eq!(wakes.wakers(), 0);
    });
}

fn take_against_close() {
    model(|| {
        let lock = FlowLock::new(1);
        let held = lock.try_take(1).unwrap();
        let closer = start(&lock, move |lock| lock.close());
        let wakes = Wakes::new();
        let mut take = lock.take(1);
        let begun = poll(&mut take, &wakes).map_ok(drop);
        closer.join().unwrap();
        match begun {
            Poll::Ready(answer) => assert_eq!(answer, Err(Closed)),
            Poll::Pending => {
                assert_eq!(wakes.count(), 1);
                assert!(matches!(poll(&mut take, &wakes), Poll::Ready(Err(Closed))));
            }
        }
        drop(held);
        assert_idle(&lock);
    });
}

models! {
    /// Cell: lock: given back on drop, against a request that begins.
    a_release_reaches_a_request_that_begins: release_against_take();
    /// Cell: lock: given back on drop, against a request that is polled.
    a_release_reaches_a_request_that_is_polled: release_against_poll();
    /// Cell: lock: given back on drop, also when cancelled before or after the grant.
    an_abandoned_grant_passes_to_the_next_request: grant_against_cancel();
    /// Cell: lock: given back on drop, also when a larger request is cancelled.
    a_release_and_a_cancel_let_the_next_one_in: release_against_a_cancel();
    /// Cell: lock: several at once.
    two_releases_grant_two_requests: two_releases();
    /// Cell: lock: closed with an error for all waiters, against a grant.
    a_request_is_granted_or_closed: release_against_close();
    /// Cell: lock: closed with an error for all waiters, against a request that begins.
    no_request_begins_under_a_closed_lock: take_against_close();
}
