//! A copy of the example `priorities`: an executor with timers that its workers serve.
//!
//! loom has no time, and its condition variable never times out. So the model has a clock of its
//! own, which a worker that waits for a timer sets forward. A wait with a deadline is then over at
//! once, and the wake-ups that may come before the deadline are those that come before the wait.

use std::{
    collections::{BTreeMap, VecDeque},
    future::Future,
    mem,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use joint::{
    JoinError, JoinHandle, block_on,
    task::{Builder, Schedule, ScheduleInfo},
};
use loom::{
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
};
use loom_tests::{Drops, model, model_bounded};

use super::fails_with;

/// The time of the model.
type Instant = u64;

/// Which mistake an executor makes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// Nobody is told of a new timer.
    Silent,
    /// A timer is armed although the executor is closed.
    Late,
}

// The executor.

type Runnable = joint::task::Runnable<Owner>;

/// The metadata of each task: its priority, 0 being the higher one, and its executor.
struct Owner(usize, Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    mistake: Mistake,
}

#[derive(Default)]
struct State {
    is_closed: bool,
    queues: [VecDeque<Runnable>; 2],
    /// The number of tasks of high priority that were taken in a row.
    urgent: usize,
    timers: BTreeMap<(Instant, usize), Waker>,
    /// The number of timers that were made.
    made: usize,
    now: Instant,
}

impl State {
    /// Takes a task: one of high priority, but at most 8 of them in a row.
    fn take(&mut self) -> Option<Runnable> {
        let [high, normal] = &mut self.queues;
        let next = match self.urgent {
            0..8 => high.pop_front(),
            _ => None,
        };
        self.urgent = next.as_ref().map_or(0, |_| self.urgent + 1);
        next.or_else(|| normal.pop_front())
            .or_else(|| high.pop_front())
    }

    fn take_due(&mut self) -> Vec<Waker> {
        let later = self.timers.split_off(&(self.now + 1, 0));
        mem::replace(&mut self.timers, later)
            .into_values()
            .collect()
    }
}

#[derive(Clone, Copy)]
struct Push;

impl Schedule<Owner> for Push {
    fn schedule(&self, runnable: Runnable, _: ScheduleInfo) {
        let shared = runnable.metadata().1.clone();
        shared.push(runnable);
    }
}

impl Shared {
    fn push(&self, runnable: Runnable) {
        let mut state = self.state.lock().unwrap();
        if !state.is_closed {
            state.queues[runnable.metadata().0].push_back(runnable);
            self.changed.notify_one();
        } else {
            // Without the lock: a future's drop may wake another task.
            drop(state);
            drop(runnable);
        }
    }

    fn work(&self) {
        let mut state = self.state.lock().unwrap();
        while !state.is_closed {
            let due = state.take_due();
            if !due.is_empty() {
                drop(state);
                due.into_iter().for_each(Waker::wake);
                state = self.state.lock().unwrap();
            } else if let Some(runnable) = state.take() {
                drop(state);
                runnable.run();
                state = self.state.lock().unwrap();
            } else {
                state = self.wait(state);
            }
        }
    }

    /// Waits for a change, or until the earliest timer is due.
    fn wait<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        match state.timers.first_key_value() {
            None => self.changed.wait(state).unwrap(),
            Some((&(deadline, _), _)) => {
                state.now = deadline;
                state
            }
        }
    }

    fn close(&self) {
        let mut state = self.state.lock().unwrap();
        state.is_closed = true;
        let left = mem::take(&mut state.queues);
        let timers = mem::take(&mut state.timers);
        self.changed.notify_all();
        drop(state);
        drop(left);
        // Each wake-up finds the executor closed, and cancels its task.
        timers.into_values().for_each(Waker::wake);
    }
}

struct Sleep {
    shared: Arc<Shared>,
    key: (Instant, usize),
}

impl Sleep {
    fn new(shared: &Arc<Shared>, time: Instant) -> Self {
        let mut state = shared.state.lock().unwrap();
        state.made += 1;
        let key = (state.now + time, state.made);
        let shared = shared.clone();
        Self { shared, key }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut state = self.shared.state.lock().unwrap();
        if state.now >= self.key.0 {
            return Poll::Ready(());
        }
        if state.is_closed && self.shared.mistake != Mistake::Late {
            drop(state);
            waker.wake();
            return Poll::Pending;
        }
        let before = state.timers.insert(self.key, waker);
        if self.shared.mistake != Mistake::Silent {
            // A worker may wait for a later timer, or for none.
            self.shared.changed.notify_one();
        }
        drop(state);
        drop(before);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        let waker = self.shared.state.lock().unwrap().timers.remove(&self.key);
        // Without the lock: the drop of a task's last waker may schedule the task.
        drop(waker);
    }
}

fn spawn<F>(shared: &Arc<Shared>, priority: usize, future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let builder = Builder::new().metadata(Owner(priority, shared.clone()));
    let (runnable, handle) = builder.spawn(|_| future, Push);
    shared.push(runnable);
    handle.without_metadata()
}

/// Runs `f` beside that many workers, and then shuts the executor down.
fn with_workers(workers: usize, mistake: Mistake, f: impl FnOnce(&Arc<Shared>)) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State::default()),
        changed: Condvar::new(),
        mistake,
    });
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
        with_workers(1, Mistake::None, |shared| {
            block_on(spawn(shared, 1, Sleep::new(shared, 5)));
            assert_eq!(shared.state.lock().unwrap().now, 5);
        });
    });
}

/// A thread that is not a worker arms the timer, when the worker may already wait for none.
#[test]
fn a_timer_that_another_thread_arms() {
    model(|| {
        with_workers(1, Mistake::None, |shared| block_on(Sleep::new(shared, 5)));
    });
}

/// Preemption bound 2.
#[test]
fn two_workers_and_two_timers() {
    model_bounded(2, || {
        with_workers(2, Mistake::None, |shared| {
            let sleeps = [7, 5].map(|time| spawn(shared, 1, Sleep::new(shared, time)));
            let _ = sleeps.map(block_on);
        });
    });
}

#[test]
fn a_task_that_begins_to_sleep_against_the_end() {
    model(|| {
        let drops = Drops::default();
        let mut handle = None;
        with_workers(1, Mistake::None, |shared| {
            let (value, sleep) = (drops.value(), Sleep::new(shared, 5));
            handle = Some(spawn(shared, 1, async move {
                sleep.await;
                drop(value);
            }));
        });
        match block_on(handle.take().unwrap().result()) {
            Ok(()) | Err(JoinError::Cancelled) => drops.assert_all_of(1),
            Err(JoinError::Panicked(panic)) => panic.resume(),
        }
    });
}

#[test]
fn urgent_tasks_run_first_but_at_most_eight_in_a_row() {
    model(|| {
        with_workers(0, Mistake::None, |shared| {
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
    fails_with(name, "deadlock", || {
        model(|| {
            with_workers(1, Mistake::Silent, |shared| block_on(Sleep::new(shared, 5)));
        });
    });
}

#[test]
fn the_model_catches_a_timer_that_is_armed_too_late() {
    let name = "guide::timers::the_model_catches_a_timer_that_is_armed_too_late";
    fails_with(name, "deadlock", || {
        model(|| {
            let mut handle = None;
            with_workers(1, Mistake::Late, |shared| {
                handle = Some(spawn(shared, 1, Sleep::new(shared, 5)));
            });
            let _ = block_on(handle.take().unwrap().result());
        });
    });
}
