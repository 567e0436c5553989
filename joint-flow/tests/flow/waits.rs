//! The promises of the shared result, through its public API.

use std::{sync::Barrier, time::Instant};

use joint::task;
use joint_flow::shared::{Closed, Sender, Shared, channel, from_future};

use crate::{
    common::{Unwound, panicking},
    prelude::*,
};

/// No test waits that long.
const FOR_LONG: Duration = Duration::from_secs(3600);

/// Panics without the hook, whose report nobody reads.
fn quiet_panic(what: &'static str) -> ! {
    std::panic::resume_unwind(Box::new(what))
}

#[test]
fn the_end_wakes_each_waiter_once() {
    for answer in [Ok("value"), Err(Closed)] {
        let (tx, shared) = channel();
        let waiters = [(); 5].map(|()| (shared.clone(), counting()));
        let waiters = waiters.map(|(mut shared, (wakes, waker))| {
            assert!(poll_with(&mut shared, &waker).is_pending());
            assert!(poll_with(&mut shared, &waker).is_pending());
            (shared, wakes, waker)
        });
        match answer {
            Ok(value) => tx.send(value),
            Err(Closed) => drop(tx),
        }
        for (mut shared, wakes, waker) in waiters {
            assert_eq!((wakes.count(), wakes.wakers()), (1, 1));
            assert_eq!(poll_with(&mut shared, &waker), Poll::Ready(answer));
        }
        // It is given again and again.
        for _ in 0..2 {
            assert_eq!(shared.try_get().map(Option::unwrap).copied(), answer);
            assert_eq!(shared.get().copied(), answer.ok());
            assert_eq!(shared.blocking_wait().copied(), answer);
            for limited in [
                shared.blocking_wait_timeout(Duration::ZERO),
                shared.blocking_wait_deadline(Instant::now()),
            ] {
                assert_eq!(limited.map(Option::unwrap).copied(), answer);
            }
        }
    }
}

#[test]
fn a_waiter_that_has_gone_is_not_woken_and_leaves_no_waker() {
    let (tx, mut shared) = channel();
    let (stays, stays_waker) = counting();
    assert!(poll_with(&mut shared, &stays_waker).is_pending());
    let (gone, gone_waker) = counting();
    let mut clone = shared.clone();
    assert!(poll_with(&mut clone, &gone_waker).is_pending());
    let mut wait = shared.wait();
    assert!(poll_with(&mut wait, &gone_waker).is_pending());
    drop(wait);
    drop(clone);
    drop(gone_waker);
    assert_eq!(gone.wakers(), 0);
    tx.send(1);
    assert_eq!((stays.count(), gone.count()), (1, 0));
}

#[test]
fn a_value_that_nobody_waits_for_is_dropped() {
    let value = Arc::new(());
    let (tx, shared) = channel();
    assert!(!tx.is_closed());
    drop(shared.clone());
    assert!(!tx.is_closed());
    drop(shared);
    assert!(tx.is_closed());
    tx.send(value.clone());
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn threads_that_block_and_tasks_that_await_all_get_the_value() {
    for _ in 0..if cfg!(miri) { 3 } else { 50 } {
        let (tx, shared) = channel::<Vec<u8>>();
        let start = Arc::new(Barrier::new(5));
        let waiters = [0, 1, 2, 3].map(|n| {
            let (shared, start) = (shared.clone(), start.clone());
            thread::spawn(move || {
                start.wait();
                let limited = match n {
                    0 => shared.blocking_wait().map(Some),
                    1 => shared.blocking_wait_timeout(Duration::MAX),
                    2 => shared.blocking_wait_deadline(Instant::now() + FOR_LONG),
                    _ => return block_on(shared),
                };
                limited.map(|value| value.unwrap().clone())
            })
        });
        drop(shared);
        start.wait();
        tx.send(vec![1, 2, 3]);
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap(), Ok(vec![1, 2, 3]));
        }
    }
}

#[test]
fn a_waker_that_drops_the_last_shared_while_it_is_woken() {
    let (tx, mut shared) = channel();
    let value = Arc::new(());
    let slot = Arc::new(Mutex::new(None::<Vec<Shared<Arc<()>>>>));
    let theirs = slot.clone();
    let waker = waker_that(move || drop(theirs.lock().unwrap().take()));
    let (wakes, other) = counting();
    let mut clone = shared.clone();
    assert!(poll_with(&mut clone, &other).is_pending());
    assert!(poll_with(&mut shared, &waker).is_pending());
    let mut last = shared.clone();
    assert!(poll_with(&mut last, &other).is_pending());
    *slot.lock().unwrap() = Some(vec![clone, shared, last]);
    tx.send(value.clone());
    assert!(slot.lock().unwrap().is_none());
    assert_eq!(Arc::strong_count(&value), 1);
    // Of the two others the one that comes after the drop is not there any more.
    assert!(wakes.count() <= 2);
    assert_eq!(wakes.wakers(), 1);
}

#[test]
fn a_value_whose_clone_panics_can_be_asked_for_again() {
    struct Once(Cell<bool>);
    impl Clone for Once {
        fn clone(&self) -> Self {
            if !self.0.replace(true) {
                quiet_panic("clone");
            }
            Self(Cell::new(true))
        }
    }
    let (tx, mut shared) = channel();
    let (wakes, waker) = counting();
    assert!(poll_with(&mut shared, &waker).is_pending());
    tx.send(Once(Cell::new(false)));
    assert!(catch_unwind(AssertUnwindSafe(|| poll_with(&mut shared, &waker))).is_err());
    assert!(matches!(poll_with(&mut shared, &waker), Poll::Ready(Ok(_))));
    assert_eq!((wakes.count(), wakes.wakers()), (1, 1));
}

#[test]
fn every_order_of_drops_drops_the_value_and_the_wakers_once() {
    // Which of the three, the sender and two waiters, acts in which order, and whether the waiters
    // were polled before.
    const ORDERS: [[usize; 3]; 6] = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [2, 0, 1],
        [1, 2, 0],
        [2, 1, 0],
    ];
    for order in ORDERS {
        for polled in 0..4 {
            for sends in [true, false] {
                let value = Arc::new(());
                let (wakes, waker) = counting();
                let (tx, first) = channel();
                let mut waiters = [Some(first.clone()), Some(first)];
                let mut tx = Some(tx);
                for (n, waiter) in waiters.iter_mut().flatten().enumerate() {
                    if polled & (1 << n) != 0 {
                        assert!(poll_with(waiter, &waker).is_pending());
                    }
                }
                for who in order {
                    match who {
                        0 => match tx.take() {
                            Some(tx) if sends => tx.send(value.clone()),
                            tx => drop(tx),
                        },
                        n => drop(waiters[n - 1].take()),
                    }
                }
                assert_eq!(Arc::strong_count(&value), 1, "{order:?} {polled} {sends}");
                assert_eq!(wakes.wakers(), 1, "{order:?} {polled} {sends}");
            }
        }
    }
}

#[test]
fn a_driver_runs_on_when_nobody_waits() {
    let (done, is_done) = channel();
    let (driver, shared) = from_future(async move { done.send(1) });
    drop(shared);
    let mut driver = pin!(driver);
    block_on(driver.as_mut());
    assert_eq!(is_done.try_get(), Ok(Some(&1)));
    // It stays ready.
    block_on(driver);
}

#[test]
fn a_driver_that_is_dropped_or_panics_closes() {
    let (driver, shared) = from_future(std::future::pending::<u8>());
    drop(driver);
    assert_eq!(block_on(shared), Err(Closed));

    // A caller that catches the panic must also drop its payload.
    let (mut driver, shared) = from_future(poll_fn(|_| -> Poll<u8> { quiet_panic("poll") }));
    let run = || block_on(&mut driver);
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    assert_eq!(shared.try_get(), Ok(None));
    drop(driver);
    assert_eq!(shared.try_get(), Err(Closed));
}

#[test]
fn the_handles_of_a_shared_value_are_small() {
    assert_eq!(size_of::<Sender<u8>>(), size_of::<usize>());
    assert_eq!(size_of::<Shared<u8>>(), 4 * size_of::<usize>());
}

#[test]
fn the_last_shared_gives_its_value_away() {
    let value = Arc::new(());
    let (tx, shared) = channel();
    let shared = shared.try_unwrap().map(|_: Arc<()>| ()).unwrap_err();
    let mut other = shared.clone();
    let (wakes, waker) = counting();
    assert!(poll_with(&mut other, &waker).is_pending());
    tx.send(value.clone());
    let shared = shared.try_unwrap().map(|_| ()).unwrap_err();
    drop(shared);
    // It has waited, and has not been polled since.
    let given = other.try_unwrap().expect("the last one");
    assert_eq!(Arc::strong_count(&value), 2, "it is not cloned");
    drop(given);
    assert_eq!(Arc::strong_count(&value), 1);
    assert_eq!((wakes.count(), wakes.wakers()), (1, 1));

    let (tx, shared) = channel::<u8>();
    drop(tx);
    let shared = shared.try_unwrap().expect_err("there is no value");
    assert_eq!(shared.try_get(), Err(Closed));
}

#[test]
fn a_driver_drops_its_panicking_future_during_the_unwinding() {
    let seen = Unwound::default();
    let (driver, output) = from_future(panicking(&seen));
    let (runnable, handle) = task::spawn_local(driver, |_| {});
    runnable.run();
    assert!(block_on(handle.result()).is_err_and(|error| error.is_panic()));
    assert_eq!(block_on(output), Err(Closed));
    assert_eq!(*seen.lock().unwrap(), [true]);
}
