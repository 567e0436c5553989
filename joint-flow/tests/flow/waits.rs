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

/// Counts its drops and its clones.
struct Counted<'a> {
    drops: &'a Cell<usize>,
    clones: &'a Cell<usize>,
}

impl Clone for Counted<'_> {
    fn clone(&self) -> Self {
        self.clones.set(self.clones.get() + 1);
        Self { ..*self }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.drops.set(self.drops.get() + 1);
    }
}

#[test]
fn a_value_sent_before_the_first_poll_is_there_at_once() {
    let (tx, mut shared) = channel();
    tx.send(1);
    let (wakes, waker) = counting();
    assert_eq!(poll_with(&mut shared, &waker), Poll::Ready(Ok(1)));
    assert_eq!(poll_with(&mut shared.wait(), &waker), Poll::Ready(Ok(&1)));
    assert_eq!((wakes.count(), wakes.wakers()), (0, 1));
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
        assert_eq!(shared.try_get().map(Option::unwrap).copied(), answer);
        assert_eq!(shared.get().copied(), answer.ok());
        assert_eq!(shared.blocking_wait().copied(), answer);
    }
}

#[test]
fn an_answer_is_given_again() {
    let (tx, mut shared) = channel();
    let (_, waker) = counting();
    assert!(poll_with(&mut shared, &waker).is_pending());
    tx.send(1);
    for _ in 0..3 {
        assert_eq!(poll_with(&mut shared, &waker), Poll::Ready(Ok(1)));
        assert_eq!(shared.blocking_wait(), Ok(&1));
        assert_eq!(shared.blocking_wait_timeout(Duration::ZERO), Ok(Some(&1)));
        assert_eq!(shared.blocking_wait_deadline(Instant::now()), Ok(Some(&1)));
    }
}

#[test]
fn the_last_waker_is_woken_and_no_other() {
    let (tx, mut shared) = channel();
    let wakers = [counting(), counting(), counting()];
    for (_, waker) in &wakers {
        assert!(poll_with(&mut shared, waker).is_pending());
    }
    for (wakes, _) in &wakers[..2] {
        assert_eq!(wakes.wakers(), 1, "an older waker is kept");
    }
    tx.send(1);
    let counts = wakers.each_ref().map(|(wakes, _)| wakes.count());
    assert_eq!(counts, [0, 0, 1]);
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
fn the_value_is_cloned_for_each_answer_and_dropped_with_the_last_shared() {
    let (drops, clones) = (Cell::new(0), Cell::new(0));
    let (drops, clones) = (&drops, &clones);
    let (tx, mut shared) = channel();
    tx.send(Counted { drops, clones });
    assert!(shared.get().is_some() && block_on(shared.wait()).is_ok());
    assert_eq!(clones.get(), 0);
    drop(poll_with(&mut shared, Waker::noop()));
    drop(block_on(shared.clone()));
    assert_eq!((drops.get(), clones.get()), (2, 2));
    let last = shared.clone();
    drop(shared);
    assert_eq!(drops.get(), 2);
    drop(last);
    assert_eq!((drops.get(), clones.get()), (3, 2));
}

#[test]
fn a_value_that_nobody_waits_for_is_dropped() {
    let (drops, clones) = (Cell::new(0), Cell::new(0));
    let (tx, shared) = channel();
    assert!(!tx.is_closed());
    drop(shared.clone());
    assert!(!tx.is_closed());
    drop(shared);
    assert!(tx.is_closed());
    tx.send(Counted {
        drops: &drops,
        clones: &clones,
    });
    assert_eq!(drops.get(), 1);
}

#[test]
fn a_value_without_clone_is_waited_for_by_reference() {
    struct NoClone(u32);
    let (tx, shared) = channel();
    let mut wait = pin!(async { shared.wait().await.map(|value: &NoClone| value.0) });
    let (wakes, waker) = counting();
    let mut cx = Context::from_waker(&waker);
    assert!(wait.as_mut().poll(&mut cx).is_pending());
    tx.send(NoClone(7));
    assert_eq!(wakes.count(), 1);
    assert_eq!(wait.as_mut().poll(&mut cx), Poll::Ready(Ok(7)));
}

#[test]
fn a_thread_that_blocks_up_to_a_limit_gets_the_value_of_another() {
    // Where the value comes before the call, the call does not wait: so many times.
    for i in 0..100 {
        let (tx, shared) = channel();
        let sender = thread::spawn(move || tx.send(i));
        let answer = match i % 2 {
            0 => shared.blocking_wait_timeout(Duration::MAX),
            _ => shared.blocking_wait_deadline(Instant::now() + FOR_LONG),
        };
        assert_eq!(answer, Ok(Some(&i)));
        sender.join().unwrap();
    }
}

#[test]
fn threads_that_block_and_tasks_that_await_all_get_the_value() {
    for _ in 0..if cfg!(miri) { 3 } else { 50 } {
        let (tx, shared) = channel();
        let start = Arc::new(Barrier::new(5));
        let waiters = [0, 1, 2, 3].map(|n| {
            let (shared, start) = (shared.clone(), start.clone());
            thread::spawn(move || {
                start.wait();
                match n % 2 {
                    0 => shared.blocking_wait().cloned(),
                    _ => block_on(shared),
                }
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
fn a_waker_that_panics_keeps_no_other_from_being_woken() {
    for sends in [true, false] {
        let (tx, shared) = channel();
        let (wakes, waker) = counting();
        let mut waiters: Vec<_> = (0..6).map(|_| shared.clone()).collect();
        for (n, waiter) in waiters.iter_mut().enumerate() {
            let bad = waker_that(|| quiet_panic("wake"));
            let waker = if n % 2 == 0 { &bad } else { &waker };
            assert!(poll_with(waiter, waker).is_pending());
        }
        let end = || if sends { tx.send(1) } else { drop(tx) };
        let panic = catch_unwind(AssertUnwindSafe(end)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"wake"));
        assert_eq!(wakes.count(), 3);
        let answer = if sends { Ok(1) } else { Err(Closed) };
        for mut waiter in waiters {
            assert_eq!(poll_with(&mut waiter, &waker), Poll::Ready(answer));
        }
        assert_eq!(wakes.wakers(), 1);
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
fn a_waker_that_polls_the_others_while_it_is_woken_finds_the_value() {
    let (tx, mut shared) = channel();
    let (wakes, other) = counting();
    let mut others = [shared.clone(), shared.clone()];
    assert!(poll_with(&mut others[0], &other).is_pending());
    let answers = Arc::new(Mutex::new(Vec::new()));
    let theirs = answers.clone();
    let waiting = Arc::new(Mutex::new(None::<[Shared<i32>; 2]>));
    let taken = waiting.clone();
    let waker = waker_that(move || {
        for mut shared in taken.lock().unwrap().take().unwrap() {
            theirs.lock().unwrap().push(poll_with(&mut shared, &other));
            let late = shared.clone();
            theirs
                .lock()
                .unwrap()
                .push(poll_with(&mut { late }, &other));
        }
    });
    assert!(poll_with(&mut shared, &waker).is_pending());
    let (_, third) = counting();
    assert!(poll_with(&mut others[1], &third).is_pending());
    *waiting.lock().unwrap() = Some(others);
    tx.send(5);
    assert_eq!(*answers.lock().unwrap(), [Poll::Ready(Ok(5)); 4]);
    assert!(wakes.count() <= 1);
}

#[test]
fn a_waker_whose_drop_panics_leaves_all_sound() {
    fn armed(shared: &mut Shared<u8>) {
        let panics = on_drop(|| quiet_panic("drop"));
        let waker = waker_that(move || drop(panics));
        assert!(poll_with(shared, &waker).is_pending());
    }
    // The waiter goes.
    let (tx, shared) = channel();
    let mut clone = shared.clone();
    armed(&mut clone);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(clone))).is_err());
    // It takes another waker.
    let mut again = shared.clone();
    armed(&mut again);
    let (wakes, waker) = counting();
    assert!(catch_unwind(AssertUnwindSafe(|| poll_with(&mut again, &waker))).is_err());
    // It is woken.
    let mut woken = shared.clone();
    armed(&mut woken);
    assert!(catch_unwind(AssertUnwindSafe(|| tx.send(1))).is_err());
    assert_eq!(wakes.count(), 1);
    assert_eq!(poll_with(&mut again, &waker), Poll::Ready(Ok(1)));
    assert_eq!(poll_with(&mut woken, &waker), Poll::Ready(Ok(1)));
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
fn a_future_is_shared_by_its_driver() {
    let (input, output) = channel();
    let (driver, shared) = from_future(async move { output.await.map(|n: u32| 2 * n) });
    let (wakes, waker) = counting();
    let mut cx = Context::from_waker(&waker);
    let mut driver = pin!(driver);
    assert!(driver.as_mut().poll(&mut cx).is_pending());
    let mut wait = shared.wait();
    assert!(poll_with(&mut wait, &waker).is_pending());
    input.send(21);
    assert_eq!(wakes.count(), 1);
    assert_eq!(driver.as_mut().poll(&mut cx), Poll::Ready(()));
    assert_eq!(wakes.count(), 2);
    assert_eq!(driver.as_mut().poll(&mut cx), Poll::Ready(()));
    assert_eq!(poll_with(&mut wait, &waker), Poll::Ready(Ok(&Ok(42))));
}

#[test]
fn a_driver_runs_on_when_nobody_waits() {
    let (done, is_done) = channel();
    let (driver, shared) = from_future(async move { done.send(1) });
    drop(shared);
    block_on(driver);
    assert_eq!(is_done.try_get(), Ok(Some(&1)));
}

#[test]
fn a_driver_that_is_dropped_or_panics_closes() {
    let (driver, shared) = from_future(std::future::pending::<u8>());
    drop(driver);
    assert_eq!(block_on(shared), Err(Closed));

    let (driver, shared) = from_future(async { quiet_panic("poll") });
    let run = || block_on(driver);
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    let answer: Result<u8, Closed> = block_on(shared);
    assert_eq!(answer, Err(Closed));
}

#[test]
fn a_driver_whose_panic_is_caught_closes_when_it_is_dropped() {
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
fn shared_types_implement_debug() {
    let (tx, shared) = channel::<u8>();
    assert_eq!(format!("{tx:?}"), "Sender { is_closed: false }");
    assert_eq!(format!("{shared:?}"), "Shared { is_finished: false }");
    let wait = shared.wait();
    drop(tx);
    assert_eq!(format!("{wait:?}"), "Wait { is_finished: true }");
    let (driver, _shared) = from_future(async { 1 });
    assert_eq!(format!("{driver:?}"), "Driver { is_finished: false }");
    let closed: &dyn std::error::Error = &Closed;
    assert_eq!(closed.to_string(), "closed: nothing more will come");
}

#[test]
fn the_last_shared_gives_its_value_away() {
    let (drops, clones) = (Cell::new(0), Cell::new(0));
    let (tx, shared) = channel();
    let shared = shared.try_unwrap().map(|_: Counted<'_>| ()).unwrap_err();
    let mut other = shared.clone();
    let (wakes, waker) = counting();
    assert!(poll_with(&mut other, &waker).is_pending());
    tx.send(Counted {
        drops: &drops,
        clones: &clones,
    });
    let shared = shared.try_unwrap().map(|_| ()).unwrap_err();
    drop(shared);
    // It has waited, and has not been polled since.
    let value = other.try_unwrap().expect("the last one");
    assert_eq!((drops.get(), clones.get()), (0, 0));
    drop(value);
    assert_eq!((drops.get(), wakes.count(), wakes.wakers()), (1, 1, 1));
}

#[test]
fn a_shared_without_a_value_gives_nothing_away() {
    let (tx, shared) = channel::<u8>();
    drop(tx);
    let shared = shared.try_unwrap().unwrap_err();
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

#[test]
fn its_values_are_must_use() {
    fn take<T>(value: T) -> T {
        value
    }
    let (sender, receiver) = channel();
    #[expect(unused_must_use, reason = "does nothing")]
    take::<Shared<()>>(receiver);
    #[expect(unused_must_use, reason = "tells the receivers")]
    take::<Sender<()>>(sender);
    #[expect(unused_must_use, reason = "drops both ends")]
    channel::<()>();
}
