//! An executor with a queue for each of two priorities, and with timers, which its workers serve.
//! Which queue a task goes to is part of its metadata. Tasks of high priority run first, but not
//! always, because the others would starve while there are enough of them.
//!
//! A worker that has nothing to run waits for a change of the state or for the earliest timer. Both
//! mistakes that are likely here lose a wake-up. A timer may become the earliest while a worker
//! waits for a later one, or for none, so arming it is a change of which a worker must be told. And
//! a timer that is armed after the executor has closed is served by nobody, so a future that finds
//! the executor closed wakes its task at once. The push that follows refuses the task, and cancels
//! it. A task that waits for anything but a timer is cancelled at the end as in the example
//! `shutdown`.
//!
//! `super` has the clock, and the mutex and the condition variable of std. The models in
//! `loom-tests/tests/guide` compile this file with those of loom and a clock of their own.

use std::{
    collections::{BTreeMap, VecDeque},
    mem,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use joint::task::{Builder, JoinHandle, Schedule, ScheduleInfo};

use super::{Arc, Condvar, Duration, Instant, Mutex, MutexGuard};

pub(crate) type Runnable = joint::task::Runnable<Owner>;

/// The metadata of each task: its priority, 0 being the higher one, and its executor.
pub(crate) struct Owner(usize, Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) state: Mutex<State>,
    pub(crate) changed: Condvar,
}

#[derive(Default)]
pub(crate) struct State {
    is_closed: bool,
    queues: [VecDeque<Runnable>; 2],
    /// The number of tasks of high priority that were taken in a row.
    urgent: usize,
    pub(crate) timers: BTreeMap<(Instant, usize), Waker>,
    /// The number of timers that were made.
    made: usize,
}

impl State {
    /// Takes a task: one of high priority, but at most 8 of them in a row.
    pub(crate) fn take(&mut self) -> Option<Runnable> {
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
        let later = self.timers.split_off(&(Instant::now(), usize::MAX));
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
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
        })
    }

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

    pub(crate) fn work(&self) {
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
    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        match state.timers.first_key_value() {
            None => self.changed.wait(state).unwrap(),
            Some((&(deadline, _), _)) => {
                let left = deadline.saturating_duration_since(Instant::now());
                self.changed.wait_timeout(state, left).unwrap().0
            }
        }
    }

    pub(crate) fn close(&self) {
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

pub(crate) struct Sleep {
    pub(crate) shared: Arc<Shared>,
    pub(crate) key: (Instant, usize),
}

impl Sleep {
    pub(crate) fn new(shared: &Arc<Shared>, time: Duration) -> Self {
        let mut state = shared.state.lock().unwrap();
        state.made += 1;
        let key = (Instant::now() + time, state.made);
        let shared = shared.clone();
        Self { shared, key }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut state = self.shared.state.lock().unwrap();
        if Instant::now() >= self.key.0 {
            return Poll::Ready(());
        }
        if state.is_closed {
            drop(state);
            waker.wake();
            return Poll::Pending;
        }
        let before = state.timers.insert(self.key, waker);
        // A worker may wait for a later timer, or for none.
        self.shared.changed.notify_one();
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

#[track_caller]
pub(crate) fn spawn<F>(shared: &Arc<Shared>, priority: usize, future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let builder = Builder::new().metadata(Owner(priority, shared.clone()));
    let (runnable, handle) = builder.spawn(|_| future, Push);
    shared.push(runnable);
    handle.without_metadata()
}
