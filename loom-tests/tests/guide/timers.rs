//! The example `priorities`, an executor with timers that its workers serve.
//!
//! loom has no time, and its condition variable never times out. So the model has a clock of its
//! own, which a worker that waits for a timer sets forward. A wait with a deadline is then over at
//! once, and the wake-ups that may come before the deadline are those that come before the wait.

use std::{
    cell::Cell,
    future::{Future, poll_fn},
    ops::Add,
    sync::LockResult,
    task::Poll,
};

use executor::{Shared, Sleep, spawn};
use joint::{JoinError, block_on};
use loom::{
    sync::{self, Arc, Mutex, MutexGuard},
    thread,
};
use loom_tests::{Drops, fails_with, model, model_bounded};

#[path = "../../../examples/priorities/executor.rs"]
mod executor;

thread_local! {
    /// The time of the model, which is used under the executor's lock alone.
    static NOW: Cell<u64> = const { Cell::new(0) };
    /// The first mistake: nobody is told of a change.
    static SILENT: Cell<bool> = const { Cell::new(false) };
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Instant(u64);

#[derive(Clone, Copy)]
struct Duration(u64);

impl Instant {
    fn now() -> Self {
        Self(NOW.get())
    }

    fn saturating_duration_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0 + time.0)
    }
}

struct Condvar(sync::Condvar);

impl Condvar {
    fn new() -> Self {
        Self(sync::Condvar::new())
    }

    fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.0.wait(guard)
    }

    fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        time: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, ())> {
        NOW.set(NOW.get() + time.0);
        Ok((guard, ()))
    }

    fn notify_one(&self) {
        if !SILENT.get() {
            self.0.notify_one();
        }
    }

    fn notify_all(&self) {
        self.0.notify_all();
    }
}

fn sleep(shared: &Arc<Shared>, time: u64) -> Sleep {
    Sleep::new(shared, Duration(time))
}

/// Runs `f` beside that many workers, and then shuts the executor down.
fn with_workers(workers: usize, f: impl FnOnce(&Arc<Shared>)) {
    NOW.set(0);
    let shared = Shared::new();
    let start = |_| {
        let shared = shared.clone();
        thread::spawn(move || shared.work())
    };
    let workers: Vec<_> = (0..workers).map(start).collect();
    f(&shared);
    shared.close();
    for worker in workers {
        worker.join().unwrap();
    }
}

// The models.

#[test]
fn a_task_sleeps_until_its_time() {
    model(|| {
        with_workers(1, |shared| {
            block_on(spawn(shared, 1, sleep(shared, 5)));
            assert_eq!(NOW.get(), 5);
        });
    });
}

/// A thread that is not a worker arms the timer, when the worker may already wait for none.
#[test]
fn a_timer_that_another_thread_arms() {
    model(|| {
        with_workers(1, |shared| block_on(sleep(shared, 5)));
    });
}

#[test]
fn two_workers_and_two_timers() {
    model_bounded(2, || {
        with_workers(2, |shared| {
            let sleeps = [7, 5].map(|time| spawn(shared, 1, sleep(shared, time)));
            let _ = sleeps.map(block_on);
        });
    });
}

#[test]
fn a_task_that_begins_to_sleep_against_the_end() {
    model(|| {
        let drops = Drops::default();
        let mut handle = None;
        with_workers(1, |shared| {
            let (value, sleep) = (drops.value(), sleep(shared, 5));
            handle = Some(spawn(shared, 1, async move {
                sleep.await;
                drop(value);
            }));
        });
        match block_on(handle.take().unwrap().result()) {
            Ok(()) | Err(JoinError::Cancelled(_)) => drops.assert_all_of(1),
            Err(JoinError::Panicked(panic)) => panic.resume(),
        }
    });
}

#[test]
fn urgent_tasks_run_first_but_at_most_eight_in_a_row() {
    model(|| {
        with_workers(0, |shared| {
            let order = Arc::new(std::sync::Mutex::new(Vec::new()));
            let handles: Vec<_> = [1, 1]
                .into_iter()
                .chain([0; 10])
                .map(|priority| {
                    let order = order.clone();
                    spawn(shared, priority, async move {
                        order.lock().unwrap().push(priority)
                    })
                })
                .collect();
            loop {
                let next = shared.state.lock().unwrap().take();
                let Some(runnable) = next else { break };
                runnable.run();
            }
            handles.into_iter().for_each(block_on);
            assert_eq!(*order.lock().unwrap(), [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1]);
        });
    });
}

// Two mistakes: a new timer that no waiting worker is told of, and one that is armed after the end
// has woken all others.

#[test]
fn the_model_catches_a_timer_that_nobody_waits_for() {
    let name = "guide::timers::the_model_catches_a_timer_that_nobody_waits_for";
    fails_with(name, &["deadlock"], || {
        SILENT.set(true);
        model(|| with_workers(1, |shared| block_on(sleep(shared, 5))));
    });
}

/// Arms the timer without a look whether the executor is closed.
fn arm_late(sleep: Sleep) -> impl Future<Output = ()> {
    poll_fn(move |cx| {
        let waker = cx.waker().clone();
        let mut state = sleep.shared.state.lock().unwrap();
        if Instant::now() >= sleep.key.0 {
            return Poll::Ready(());
        }
        let before = state.timers.insert(sleep.key, waker);
        sleep.shared.changed.notify_one();
        drop(state);
        drop(before);
        Poll::Pending
    })
}

#[test]
fn the_model_catches_a_timer_that_is_armed_too_late() {
    let name = "guide::timers::the_model_catches_a_timer_that_is_armed_too_late";
    fails_with(name, &["deadlock"], || {
        model(|| {
            let mut handle = None;
            with_workers(1, |shared| {
                let late = arm_late(sleep(shared, 5));
                handle = Some(spawn(shared, 1, late));
            });
            let _ = block_on(handle.take().unwrap().result());
        });
    });
}
