//! When an idle worker watches and parks, and which hooks it calls around it,
//! with both workers on one thread.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::*;
use crate::{fork_join::job::Wait, policy::WORTH_A_WAKE, worker::harness::*};

fn seen(makes_progress: bool) -> Round {
    Round {
        makes_progress,
        is_slow: false,
    }
}

impl Worker {
    /// Parks once after a search that has found nothing. Returns whether it runs again, and ends
    /// its search if it does not.
    fn park_once(&self, makes_progress: bool, watch: &mut Duration) -> bool {
        let attendant = &self.attendant;
        self.ends((self.idle).park_once(self.search(), attendant, seen(makes_progress), watch))
    }

    /// Parks as `park` does, after a search that has found nothing. Returns the same.
    fn park(&self, keeps: bool, mut park: impl FnMut(&dyn Fn() -> bool, Parking<'_>)) -> bool {
        self.ends((self.idle).park(self.search(), &self.attendant, keeps, &mut park))
    }

    fn ends<'w>(&'w self, parked: ControlFlow<Running<'w>, Searching<'w>>) -> bool {
        match parked {
            Continue(searching) => {
                self.idle.stop(searching);
                false
            }
            Break(_running) => true,
        }
    }

    fn search_and_take_up(&self, found: Found) {
        self.idle.take_up(self.search(), found);
    }
}

#[test]
fn a_watch_that_nobody_ends_is_followed_by_one_twice_as_long() {
    let [worker, other] = two_workers();
    let next = |is_slow, mut watch| {
        let seen = Round {
            makes_progress: true,
            is_slow,
        };
        let searching = worker.search();
        worker.ends((worker.idle).park_once(searching, &worker.attendant, seen, &mut watch));
        watch
    };
    assert_eq!(next(false, SOON), 2 * STUCK, "nothing is queued");
    assert_eq!(next(false, LONGEST_WATCH), LONGEST_WATCH);
    other.queues.push_beyond(task());
    assert_eq!(next(false, SOON), 2 * SOON);
    assert_eq!(next(true, SOON), 2 * SOON);
    assert_eq!(next(false, LONGEST_WATCH), LONGEST_WATCH);
    // Otherwise this does not end.
    assert_eq!(next(true, Duration::MAX), 2 * SOON);
    assert_eq!(worker.counters().parks.get(), 6);
}

/// Whether a worker that has found nothing parks until another thread wakes it. A watcher does not:
/// it counts as a lookout until it runs again.
fn parks_until_woken(worker: &Worker, makes_progress: bool) -> bool {
    let sleep = &worker.shared().sleep;
    let lookouts = sleep.lookouts();
    sleep.begin(0);
    thread::scope(|scope| {
        let searching = worker.search();
        let is_woken = scope.spawn(|| {
            while sleep.lookouts() > lookouts {
                thread::yield_now();
            }
            matches!(sleep.wake_worker(0), Woke::One)
        });
        let (idle, attendant) = (&worker.idle, &worker.attendant);
        worker.ends(idle.park_once(searching, attendant, seen(makes_progress), &mut { SOON }));
        is_woken.join().expect("it does not panic")
    })
}

/// It is not told when the other has gone, and then a long poll may follow.
#[cfg(feature = "io")]
#[test]
fn a_worker_sleeps_beside_a_driver_only_if_another_sleeps_in_it() {
    let [worker, other] = two_workers();
    let (driver, sleep) = (&worker.shared().driver, &worker.shared().sleep);
    assert!(parks_until_woken(&worker, false), "the driver is not used");
    driver.hurry(crate::driver::clock::NEVER, sleep, || {});
    let _visit = driver.keep();
    assert!(!parks_until_woken(&worker, false), "the other only visits");
    driver.set_kept(true);
    assert!(parks_until_woken(&worker, false));
    other.counters().visits_until.set(u64::MAX);
    assert!(!parks_until_woken(&worker, false), "the other was busy");
}

/// The thread that has the tasks may need this processor.
#[test]
fn a_worker_that_often_looked_in_vain_parks_in_spite_of_tasks() {
    let [worker, other] = two_workers();
    other.queues.push_beyond(task());
    worker.shared().inject(task(), Lane::Pinned(0));
    // So that this worker need not watch.
    worker.shared().sleep.search();
    for _ in 0..LOOKS {
        worker.park_once(false, &mut { SOON });
    }
    assert_eq!(worker.counters().parks.get(), 0);
    worker.park_once(false, &mut { SOON });
    assert_eq!(worker.counters().parks.get(), 1);
}

/// A timer is due, which the worker learns of only in the driver.
#[cfg(feature = "io")]
#[test]
fn a_watcher_leaves_the_driver_to_a_worker_that_visits_it_often() {
    // The clock begins before the first visit.
    crate::driver::clock::base();
    for (visited_until, has_other_lookout, keeps) in [
        (0, false, true),
        (u64::MAX, false, false),
        (u64::MAX, true, true),
    ] {
        let [worker, other] = two_workers();
        let shared = worker.shared();
        arm(&worker, 0, 0, Waker::noop().clone());
        other.queues.push_beyond(task());
        other.counters().visits_until.set(visited_until);
        if has_other_lookout {
            shared.sleep.search();
        }
        let has_kept = worker.park_once(false, &mut { SOON });
        assert_eq!(has_kept, keeps, "{visited_until} {has_other_lookout}");
    }
}

/// Its waker may wait for what this worker has found.
#[test]
fn the_end_of_a_search_wakes_a_worker_that_is_away_for_the_rest() {
    let (sender, woken) = mpsc::channel();
    for (found, queued) in [
        (Found::Task(task(), None), [1].as_slice()),
        (Found::Stranger(Waker::noop().clone()), &[0]),
    ] {
        let [worker, other] = two_workers();
        let _this_thread = worker.become_this_thread();
        other.queues.push_beyond(task());
        send_away(&worker, sender.clone());
        worker.search_and_take_up(found);
        assert_eq!(woken.try_iter().collect::<Vec<_>>(), queued);
    }
    let mut hooks = Hooks::default();
    hooks.on_unpark = Some(Box::new(|_| {}));
    let [worker, other] = two_workers_with(hooks);
    let _this_thread = worker.become_this_thread();
    other.queues.push_beyond(task());
    send_away(&worker, sender);
    worker.park(false, |_, _| {});
    assert_eq!(woken.try_iter().count(), 1);
}

/// Its owner may be what the waker waits for.
#[test]
fn a_found_fork_runs_unless_a_worker_that_is_away_is_woken() {
    for is_away in [false, true] {
        let [worker, other] = two_workers();
        let _this_thread = worker.become_this_thread();
        let (sender, woken) = mpsc::channel();
        let (forks, has_run) = (&worker.shared().forks[1], AtomicBool::new(false));
        let take_up = || {
            let taken = forks.steal().expect("it is open");
            if is_away {
                other.queues.push_beyond(task());
                send_away(&worker, sender);
            }
            worker.search_and_take_up(Found::Fork(taken));
            assert_eq!(has_run.load(Relaxed), !is_away);
        };
        let run = || has_run.store(true, Relaxed);
        // SAFETY: this thread is the owner.
        unsafe { forks.join(|| {}, Wait::block, take_up, run) };
        assert!(has_run.load(Relaxed), "its owner runs it otherwise");
        assert_eq!(woken.try_iter().count(), usize::from(is_away));
    }
}

#[test]
fn an_injected_task_is_queued_before_a_worker_away_is_woken() {
    let (sender, woken) = mpsc::channel();
    let [worker, _other] = two_workers();
    let _this_thread = worker.become_this_thread();
    (0..2).for_each(|_| worker.shared().inject(task(), Lane::Normal));
    send_away(&worker, sender);
    assert!(worker.take_next().is_some());
    assert_eq!(woken.try_iter().collect::<Vec<_>>(), [2]);
}

#[test]
fn the_last_worker_to_search_wakes_another_for_what_it_leaves() {
    let watches = Some(LONGEST_WATCH);
    for (queued, limit, poll_time, wakes) in [
        (0, None, 0, false),
        (1, None, 0, true),
        // A watcher looks by itself, but late if polls are long.
        (1, watches, WORTH_A_WAKE - 1, false),
        (1, watches, WORTH_A_WAKE, true),
    ] {
        let [worker, other] = two_workers();
        (0..queued).for_each(|_| other.queues.push_beyond(task()));
        worker.shared().set_poll_time(poll_time);
        while_another_parks(&worker, limit, || {
            worker.search_and_stop();
            let woke = worker.shared().sleep.wake_worker(1);
            assert_eq!(matches!(woke, Woke::Nobody), wakes);
        });
    }
}

#[test]
fn polls_are_measured_from_the_end_of_one_search_to_the_next() {
    /// Almost as long as 32 bits can tell.
    const LONG: Duration = Duration::from_secs(4);
    let [worker, _other] = two_workers();
    let began = Instant::now().checked_sub(LONG);
    let began = began.expect("the system has been running for longer");
    // The run before that does not count.
    worker.running().run(task());
    worker.idle.lookout.began.set((began, 1));
    worker.running().run(task());
    let searching = worker.search();
    let time = Duration::from_nanos(worker.shared().poll_time() as u64);
    assert!(time >= LONG, "{time:?}");
    worker.idle.stop(searching);
    let (now, runs) = worker.idle.lookout.began.get();
    assert!(now - began >= LONG && runs == 2);
}

/// The keeper has seen this worker search, and therefore has woken no other worker.
#[test]
fn no_worker_parks_beside_a_driver_that_its_keeper_just_left() {
    let [worker, _other] = two_workers();
    let shared = worker.shared();
    let driver = &shared.driver;
    driver.hurry(crate::driver::clock::NEVER, &shared.sleep, || {});
    for keeps in [true, false] {
        let mut keeper = driver.keep();
        assert!(keeper.is_some());
        let searching = worker.search();
        worker.ends(
            (worker.idle).park(searching, &worker.attendant, keeps, &mut |urgent, _| {
                assert!(!urgent(), "another worker keeps the driver");
                keeper = None;
                assert_eq!(urgent(), keeps);
            }),
        );
    }
}

/// The hook could wait for the task, which only this worker may run.
#[test]
fn a_worker_whose_hook_has_pushed_a_task_does_not_park() {
    let (sender, unparked) = mpsc::channel();
    let mut hooks = Hooks::default();
    hooks.on_park = Some(Box::new(|_| {
        with_thread_worker(|worker| {
            let (_, running) = worker.expect("this thread is the worker");
            running.push(task(), Lane::Normal);
        });
    }));
    hooks.on_unpark = Some(Box::new(move |_| sender.send(()).expect("the test waits")));
    let [worker, _other] = two_workers_with(hooks);
    let _this_thread = worker.become_this_thread();
    let runs = worker.park(true, |_, _| panic!("it has a task"));
    assert!(runs && worker.queues.has_own());
    assert_eq!(unparked.try_iter().count(), 1, "as often as the other hook");
}

/// It runs the task next, so no other worker need be woken for it.
#[test]
fn a_keeper_that_wakes_one_task_wakes_no_other_worker() {
    let [worker, _other] = two_workers();
    let (_handle, waker) = waiting(&worker, Lane::Normal);
    arm(&worker, 0, 0, waker);
    // Another worker watches.
    worker.shared().sleep.search();
    let park = || {
        worker.as_current(|| {
            let runs = worker.park(true, |_, parking| _ = (parking.park)(None));
            assert!(runs && worker.queues.has_own());
        });
    };
    let wakes = wakes_of(&worker, park);
    worker.running().discard_queued();
    assert_eq!(wakes, 0);
}
