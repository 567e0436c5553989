//! When an idle worker measures, lingers, watches and parks, and which hooks it calls around it,
//! with both workers on one thread.

use alloc::{boxed::Box, vec::Vec};
#[cfg(feature = "io")]
use core::task::Waker;
use std::{sync::mpsc, time::Instant};

use super::*;
#[cfg(feature = "io")]
use crate::driver::clock;
use crate::{
    registry::Lane,
    worker::{
        current::with_thread_worker,
        harness::{task, two_workers, two_workers_with},
    },
};

const LONG: Duration = Duration::from_secs(10);

/// Ends the search, if the worker still searches.
fn runs(unparked: Unparked<'_>) -> Running<'_> {
    match unparked {
        Unparked::Searches(searching) => searching.stop(),
        Unparked::Runs(running) => running,
    }
}

#[test]
fn poll_time_is_measured_even_of_a_worker_that_never_parks() {
    let [worker, _other] = two_workers();
    let began = Instant::now().checked_sub(LONG);
    let began = began.expect("the system has been running for longer");
    let time = || Duration::from_nanos(worker.shared().poll_time() as u64);
    worker.lookout.began.set((began, 0));
    (1..JUDGED_RUNS).for_each(|_| worker.running().run(task()));
    // It runs dry, and finds something at once.
    let look_out = || {
        let shared = worker.shared();
        shared.inject(task(), crate::registry::Lane::Normal);
        worker.running().look_out();
    };
    look_out();
    assert_eq!((worker.runs(), time()), (JUDGED_RUNS, Duration::ZERO));
    look_out();
    assert!(time() >= LONG / JUDGED_RUNS as u32, "{:?}", time());
    let measured = time();
    look_out();
    assert_eq!(time(), measured, "it has begun again");
}

#[test]
fn a_watch_that_nobody_ends_is_followed_by_one_twice_as_long() {
    let [worker, other] = two_workers();
    let next = |neighbours, mut watch| {
        let searching = worker.running().search();
        runs(searching.park_once(neighbours, &mut watch));
        watch
    };
    assert_eq!(next(Neighbours::MakeProgress, FIRST_WATCH), 2 * FIRST_WATCH);
    assert_eq!(next(Neighbours::MakeProgress, LONGEST_WATCH), LONGEST_WATCH);
    other.queues.push_behind(task(), drop);
    assert_eq!(
        next(Neighbours::StandStill, FIRST_WATCH),
        2 * FIRST_WATCH,
        "a task is queued"
    );
    assert_eq!(worker.counters().parks.get(), 3);
}

#[cfg(feature = "io")]
#[test]
fn a_worker_that_returns_from_the_driver_with_tasks_does_not_linger() {
    let [worker, _other] = two_workers();
    let shared = worker.shared();
    let timers = shared.driver.timers(0);
    let arm = |deadline| {
        assert!(timers.insert(deadline, Waker::noop().clone()).is_ok());
        shared.driver.hurry(deadline, &shared.sleep, || {});
    };
    // Whether it takes what comes from outside before it searches its own queues.
    let lingers = || {
        runs(worker.running().search().park(Keep::IfVacant, |_, _, _| {}));
        shared.inject(task(), Lane::Normal);
        worker.running().push(task(), Lane::Pinned(0));
        worker.running().look_out();
        let lingers = !shared.has_injected();
        worker.take_injected();
        worker.next_pinned();
        lingers
    };
    assert!(lingers(), "there is no driver");
    arm(clock::NEVER - 1);
    assert!(lingers(), "nothing was due there");
    arm(0);
    assert!(!lingers());
    assert!(lingers(), "nothing was due this time");
}

/// What the workers count while the hooks are called.
#[test]
fn the_hooks_for_parking_are_called_by_a_worker_that_runs() {
    let (sender, seen) = mpsc::channel();
    let hook = |name: &'static str| -> Option<crate::hooks::WorkerHook> {
        let sender = sender.clone();
        Some(Box::new(move |worker| {
            let is_quiet = with_thread_worker(|worker| {
                let shared = worker.expect("this thread is the worker").shared();
                shared.sleep.is_anybody_idle()
            });
            sender
                .send((name, worker, is_quiet))
                .expect("the test waits");
        }))
    };
    let mut hooks = Hooks::default();
    (hooks.on_park, hooks.on_unpark) = (hook("park"), hook("unpark"));
    let [worker, _other] = two_workers_with(hooks);
    let _this_thread = worker.become_this_thread();
    let searching = worker.running().search();
    let parked = searching.park(Keep::IfVacant, |_, _, _| {
        assert!(worker.shared().sleep.is_anybody_idle());
    });
    assert!(matches!(parked, Unparked::Runs(_)));
    let seen: Vec<_> = seen.try_iter().collect();
    assert_eq!(seen, [("park", 0, false), ("unpark", 0, false)]);
}

/// The hook could wait for the task, which only this worker may run.
#[test]
fn a_worker_whose_hook_has_pushed_a_task_does_not_park() {
    let (sender, unparked) = mpsc::channel();
    let mut hooks = Hooks::default();
    hooks.on_park = Some(Box::new(|_| {
        with_thread_worker(|worker| {
            worker
                .expect("this thread is the worker")
                .push(task(), Lane::Normal);
        });
    }));
    hooks.on_unpark = Some(Box::new(move |_| sender.send(()).expect("the test waits")));
    let [worker, _other] = two_workers_with(hooks);
    let _this_thread = worker.become_this_thread();
    let searching = worker.running().search();
    let parked = searching.park(Keep::IfVacant, |_, _, _| panic!("it has a task"));
    assert!(matches!(parked, Unparked::Runs(_)) && worker.has_own());
    assert_eq!(
        unparked.try_iter().count(),
        1,
        "once for each that was called before"
    );
}

/// It runs the task next, so no other worker need be woken for it.
#[cfg(feature = "io")]
#[test]
fn a_worker_that_wakes_one_task_after_it_was_parked_in_the_driver_wakes_no_other_worker() {
    use core::{future::poll_fn, panic::Location, task::Poll};

    use crate::worker::{harness::wakes_of, launch::new_task};

    let [worker, _other] = two_workers();
    let (sender, wakers) = mpsc::channel();
    let future = poll_fn(move |cx| {
        sender.send(cx.waker().clone()).expect("the test waits");
        Poll::<()>::Pending
    });
    let (runnable, _handle) = new_task(Location::caller(), future);
    worker.as_current(|| worker.running().run(runnable));
    let waker = wakers.recv().expect("it has been polled");
    let shared = worker.shared();
    assert!(shared.driver.timers(0).insert(0, waker).is_ok());
    shared.driver.hurry(0, &shared.sleep, || {});
    let park = || {
        // Another worker is on its way to the driver.
        let _reserve = shared.driver.reserve();
        worker.as_current(|| {
            let searching = worker.running().search();
            let parked = searching.park(Keep::IfVacant, |_, _, _| {});
            assert!(matches!(parked, Unparked::Runs(_)) && worker.has_own());
        });
    };
    let wakes = wakes_of(&worker, park);
    worker.running().discard_queued();
    assert_eq!(wakes, 0);
}

#[cfg(feature = "io")]
#[test]
fn a_searching_worker_wakes_a_stranger_that_another_has_left_as_one_that_runs() {
    use alloc::{sync::Arc, task::Wake};

    struct Asks(mpsc::Sender<bool>);
    impl Wake for Asks {
        fn wake(self: Arc<Self>) {
            let is_idle = with_thread_worker(|worker| {
                let worker = worker.expect("this thread is the worker");
                worker.is_anybody_idle()
            });
            self.0.send(is_idle).expect("the test waits");
        }
    }
    let (sender, is_idle) = mpsc::channel();
    let [worker, _other] = two_workers();
    let stranger = Arc::new(Asks(sender)).into();
    worker
        .shared()
        .driver
        .due()
        .extend(&mut Vec::from([stranger]));
    let _this_thread = worker.become_this_thread();
    let searching = worker.running().search();
    let found = searching.look_round(1);
    let _running = searching.take_up(found.unwrap_or_else(|_| panic!("it is due")));
    assert_eq!(is_idle.try_recv(), Ok(false));
}
