//! How a thread waits: `park` and `host` through their public interface.

use std::sync::atomic::AtomicBool;

use joint::{
    budget,
    park::{Parked, Turns, block_on, block_on_deadline, block_on_timeout, park_until},
};

use crate::{
    common::{each_row, ends, yield_now},
    prelude::*,
    support::pending_once_with,
};

/// Runs a test on a thread of its own, so that what it sets for its thread is gone afterwards.
fn alone(test: impl FnOnce() + Send + 'static) {
    ends(test);
}

#[test]
fn wake_ups_before_the_park_are_kept_and_count_once() {
    fn elsewhere(parker: &Parker, wake: fn(Waker)) {
        let waker = parker.waker().clone();
        thread::spawn(move || wake(waker)).join().unwrap();
    }
    type Way = fn(&Parker);
    let ways: [(&str, Way); 3] = [
        ("of this thread", |parker| {
            parker.waker().wake_by_ref();
            let waker = parker.waker().clone();
            waker.wake();
        }),
        ("of another thread", |parker| {
            elsewhere(parker, |waker| {
                waker.wake_by_ref();
                waker.wake();
            });
        }),
        ("of both", |parker| {
            elsewhere(parker, Waker::wake);
            parker.waker().wake_by_ref();
        }),
    ];
    each_row(ways, |wake| {
        alone(move || {
            let parker = Parker::new();
            // Before the first one the thread has not looked for any, and before the next it has.
            for _ in 0..2 {
                wake(&parker);
                assert!(parker.is_woken() && parker.is_woken());
                parker.park();
                assert!(!parker.is_woken() && !parker.take_wake());
            }
        });
    });
}

/// The token of `std::thread::park` is left to the thread's other uses of it.
#[test]
fn a_wake_up_of_a_thread_that_has_not_looked_does_not_unpark_it() {
    alone(|| {
        let parker = Parker::new();
        parker.waker().wake_by_ref();
        parker.park();
        let start = Instant::now();
        thread::park_timeout(Duration::from_millis(50));
        assert!(start.elapsed() >= Duration::from_millis(50));
    });
}

#[test]
fn a_parked_thread_is_woken_and_is_not_by_an_unpark() {
    alone(|| {
        let parker = Parker::new();
        let woken = Arc::new(AtomicBool::new(false));
        let (waker, flag) = (parker.waker().clone(), woken.clone());
        let this = thread::current();
        let other = thread::spawn(move || {
            this.unpark();
            flag.store(true, Relaxed);
            waker.wake();
        });
        parker.park();
        assert!(woken.load(Relaxed));
        other.join().unwrap();
    });
}

/// Uses a waker when its thread's other values may be gone already, and blocks.
struct AtEnd(Waker, Option<Parker>, mpsc::Sender<()>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        let waker = self.0.clone();
        waker.wake_by_ref();
        waker.wake();
        if let Some(parker) = self.1.take() {
            assert!(parker.take_wake());
        }
        self.0.wake_by_ref();
        block_on(pending_once_with(Waker::wake));
        self.2.send(()).unwrap();
    }
}

/// The values of a thread are destroyed in the order in which they were first used, or in the other
/// one. The parker that the thread keeps for its next wait is among them (tokio #5162).
#[test]
fn a_thread_may_block_and_use_a_waker_while_it_ends() {
    thread_local! { static AT_END: RefCell<Option<AtEnd>> = const { RefCell::new(None) } }
    let elsewhere = Parker::new();
    let (sender, at_end) = mpsc::channel();
    for is_first in [false, true] {
        for of in 0..3 {
            let (foreign, sender) = (elsewhere.waker().clone(), sender.clone());
            let end = move || {
                if is_first {
                    AT_END.with_borrow_mut(|at_end| assert!(at_end.is_none()));
                }
                let value = match of {
                    // That of another thread's parker, on a thread that has not waited.
                    0 => AtEnd(foreign, None, sender),
                    // That of its own parker.
                    1 => {
                        let parker = Parker::new();
                        AtEnd(parker.waker().clone(), Some(parker), sender)
                    }
                    // That of the parker that the thread keeps for its waits.
                    _ => {
                        let waker = block_on(poll_fn(|cx| Poll::Ready(cx.waker().clone())));
                        AtEnd(waker, None, sender)
                    }
                };
                AT_END.set(Some(value));
            };
            thread::spawn(end).join().unwrap();
            at_end.recv().unwrap();
        }
    }
    assert!(elsewhere.take_wake());
}

#[test]
fn a_parker_waits_for_a_time_at_most() {
    alone(|| {
        let parker = Parker::new();
        let limit = Duration::from_millis(1);
        assert!(!parker.park_timeout(limit));
        let deadline = Instant::now() + limit;
        assert!(!parker.park_deadline(deadline) && Instant::now() >= deadline);
        parker.waker().wake_by_ref();
        assert!(parker.park_deadline(deadline), "woken before it parked");
        assert!(!parker.park_timeout(Duration::ZERO));
        let waker = parker.waker().clone();
        let other = thread::spawn(move || waker.wake());
        assert!(parker.park_timeout(Duration::MAX));
        other.join().unwrap();
    });
}

#[test]
fn a_waker_converts_without_a_box() {
    let parker = Parker::default();
    let thin = ThinWaker::from(parker.waker());
    assert!(format!("{thin:?}").starts_with("ThinWaker::Own"));
    assert!(thin.will_wake(parker.waker()));
    thin.wake();
    assert!(parker.take_wake());
}

#[test]
fn the_deadline_ends_the_wait() {
    let deadline = Instant::now() + Duration::from_millis(1);
    assert_eq!(park_until(Some(deadline), || false), Parked::TimedOut);
    assert!(Instant::now() >= deadline);
    let passed = Some(deadline);
    assert_eq!(park_until(passed, || true), Parked::Due { slept: false });
}

thread_local! {
    static ATTENDED: Cell<usize> = const { Cell::new(0) };
    static WAITER: RefCell<Option<Waker>> = const { RefCell::new(None) };
}

fn attend(_: Option<&Parker>) -> Option<Duration> {
    ATTENDED.set(ATTENDED.get() + 1);
    if let Some(waiter) = WAITER.take() {
        waiter.wake();
    }
    None
}

/// Nothing is due yet at the first call, and there is no deadline.
#[test]
fn a_wait_function_that_returns_too_early_is_called_again() {
    thread_local! {
        static CALLS: Cell<usize> = const { Cell::new(0) };
        static WAKER: Cell<Option<Waker>> = const { Cell::new(None) };
    }
    fn wakes() {
        if CALLS.replace(CALLS.get() + 1) == 2 {
            WAKER.take().unwrap().wake();
        }
    }
    let ways: [host::Wait; 4] = [
        |_, _| (wakes(), Parked::TimedOut).1,
        |_, is_due| (wakes(), is_due(), Parked::TimedOut).2,
        |_, _| (wakes(), Parked::Due { slept: true }).1,
        // It uses up the wake-up.
        |_, is_due| (wakes(), is_due(), is_due(), Parked::Due { slept: true }).3,
    ];
    for wait in ways {
        alone(move || {
            let parker = Parker::new();
            host::update(|host| host.wait = Some(wait));
            WAKER.set(Some(parker.waker().clone()));
            parker.park();
            assert_eq!(CALLS.take(), 3);
            let after = Instant::now() + Duration::from_secs(3600);
            let future = || pending_once_with(|waker| WAKER.set(Some(waker)));
            block_on(future());
            assert_eq!(CALLS.take(), 3);
            CALLS.set(2);
            assert_eq!(block_on_deadline(future(), after), Some(()));
        });
    }
}

#[test]
fn every_61_turns_a_busy_loop_attends() {
    alone(|| {
        host::update(|host| host.attend = Some(attend));
        let mut turns = Turns::new();
        for attended in 0..3 {
            turns.count(60);
            assert_eq!(ATTENDED.get(), attended);
            turns.count(1);
            assert_eq!(ATTENDED.get(), attended + 1);
        }
        turns.count(1);
        turns.count(usize::MAX);
        assert_eq!(ATTENDED.get(), 4);
        host::update(|host| host.attend = None);
        turns.count(1_000);
        assert_eq!(ATTENDED.get(), 4);
    });
}

#[test]
fn only_a_wait_for_a_future_without_a_limit_shows_its_parker() {
    thread_local! { static CLONES: RefCell<Vec<Option<usize>>> = const { RefCell::new(Vec::new()) } }
    let once = || pending_once_with(|waker| WAITER.set(Some(waker)));
    alone(move || {
        host::update(|host| {
            host.attend = Some(|parker| {
                CLONES.with_borrow_mut(|clones| clones.push(parker.map(Parker::clones)));
                attend(parker)
            })
        });
        block_on(once());
        block_on_timeout(once(), Duration::from_secs(3_600)).unwrap();
        let parker = Parker::new();
        WAITER.set(Some(parker.waker().clone()));
        parker.park();
        assert_eq!(CLONES.take(), [Some(1), None, None]);
    });
}

#[test]
fn a_wait_that_never_parks_attends() {
    alone(|| {
        host::update(|host| host.attend = Some(attend));
        block_on(async {
            for _ in 0..199 {
                yield_now().await;
            }
        });
        assert_eq!(ATTENDED.get(), 199 / 61);
    });
}

#[test]
fn a_limit_ends_the_wait_and_a_last_poll_may_still_find_the_end() {
    let limit = Duration::from_millis(1);
    assert_eq!(block_on_timeout(pending::<()>(), limit), None);
    assert_eq!(block_on_timeout(async { 5 }, Duration::ZERO), Some(5));
    assert_eq!(block_on_timeout(async { 5 }, Duration::MAX), Some(5));
    let now = Instant::now();
    assert_eq!(block_on_deadline(pending::<()>(), now), None);
    assert_eq!(block_on_deadline(async { 5 }, now), Some(5));
    assert_eq!(block_on_deadline(pending_once_with(drop), now), Some(()));
}

/// The number of operations that a future may do until it is refused.
fn operations() -> usize {
    let mut done = 0;
    let mut cx = std::task::Context::from_waker(Waker::noop());
    while done < 1_000 && budget::poll_proceed(&mut cx).is_ready() {
        budget::spend();
        done += 1;
    }
    done
}

#[test]
fn a_wait_has_a_budget_for_each_poll_and_restores_the_outer_one() {
    alone(|| {
        assert_eq!(
            operations(),
            1_000,
            "a thread without an executor has no limit"
        );
        budget::refill();
        for _ in 0..28 {
            budget::spend();
        }
        block_on(async { assert_eq!(operations(), 128) });
        assert_eq!(operations(), 100);
        assert_eq!(operations(), 0, "a poll ends");
        assert!(!budget::has_left());
    });
}

#[test]
fn a_refusal_is_announced_and_wakes() {
    thread_local! { static REFUSED: Cell<usize> = const { Cell::new(0) } }
    alone(|| {
        budget::refill();
        host::update(|host| host.on_refused = Some(|| REFUSED.set(REFUSED.get() + 1)));
        assert_eq!(operations(), 128);
        assert_eq!(REFUSED.get(), 1);
        assert!(budget::is_used_up());
        host::update(|host| host.on_refused = None);
        assert_eq!(operations(), 0);
        assert_eq!(REFUSED.get(), 1);
        let parker = Parker::new();
        let mut cx = std::task::Context::from_waker(parker.waker());
        assert!(budget::poll_proceed(&mut cx).is_pending());
        assert!(parker.take_wake());
    });
}

#[test]
fn a_panic_that_passes_through_leaves_the_thread_whole() {
    alone(|| {
        let wait = || block_on(async { panic!("in poll") });
        std::panic::catch_unwind(wait).unwrap_err();
        assert_eq!(block_on(async { 5 }), 5);
        assert_eq!(operations(), 1_000, "the budget is that of before");
    });
}

#[test]
fn a_thread_is_unparked_although_the_waking_threads_host_panics() {
    ends(|| {
        let parker = Parker::new();
        let waker = parker.waker().clone();
        // From here on, this thread asks to be unparked.
        assert!(!parker.take_wake());
        let wakes = thread::spawn(move || {
            host::update(|host| host.on_unpark = Some(|_| resume_unwind(Box::new("no"))));
            waker.wake();
        });
        parker.park();
        assert!(wakes.join().is_err());
    });
}
