//! [`Times`]: when each task was spawned and polled. Only an executor that was told to records it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use joint::{task::Id, waker::clock::now};

use crate::{Builder, TaskInfo};

/// The times of all tasks that have not ended.
#[derive(Default)]
pub(crate) struct Times(Mutex<HashMap<Id, TaskTimes>>);

/// When a task was spawned and polled, for an executor that [records it](Builder::record_times).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskTimes {
    /// When the task was spawned.
    pub spawned: Instant,
    /// When its last poll began, or `None` if it has not been polled.
    pub polled: Option<Instant>,
    /// The number of its polls, including one that is under way.
    pub polls: u64,
}

impl TaskTimes {
    /// Returns how long before `now` the task was spawned, and its last poll began.
    pub(super) fn ages(&self, now: Instant) -> (Duration, Option<Duration>) {
        let age = |since| now.saturating_duration_since(since);
        (age(self.spawned), self.polled.map(age))
    }
}

impl Times {
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut HashMap<Id, TaskTimes>) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn begin(&self, task: &TaskInfo<'_>) {
        let times = TaskTimes {
            spawned: now(),
            polled: None,
            polls: 0,
        };
        self.with(|all| all.insert(task.id(), times));
    }

    fn poll(&self, task: &TaskInfo<'_>) {
        let polled = Some(now());
        self.with(|all| {
            if let Some(times) = all.get_mut(&task.id()) {
                times.polled = polled;
                times.polls += 1;
            }
        });
    }
}

impl Builder {
    /// Records when each task was spawned, and when and how often it was polled, for
    /// [`Executor::dump`](crate::Executor::dump).
    ///
    /// # Cost
    /// For each spawn, poll and end of a task, the clock is read, and a lock is taken that all
    /// workers share. This is for finding out why a program stands still, not for one that must be
    /// fast.
    ///
    /// # Example
    /// ```
    /// let executor = joint_executor::Executor::builder().workers(1).record_times().build()?;
    /// let _stuck = executor.spawn(std::future::pending::<()>());
    /// while executor.dump().tasks().is_empty() {
    ///     std::thread::yield_now();
    /// }
    /// let times = executor.dump().tasks()[0].times().unwrap();
    /// assert_eq!(times.polls, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn record_times(self) -> Self {
        let times = Arc::<Times>::default();
        let [spawned, polled, ended] = [(); 3].map(|()| times.clone());
        self.on_spawn(move |task| spawned.begin(task))
            .before_poll(move |task| polled.poll(task))
            .on_end(move |task, _| _ = ended.with(|all| all.remove(&task.id())))
            .with_times(times)
    }
}
