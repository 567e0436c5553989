//! [`Times`]: when each task was spawned and polled. Only an executor that was told to records it.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use joint::{host::now, task::Id};

/// The times of all tasks that have not ended.
#[derive(Default)]
pub(crate) struct Times(Mutex<HashMap<Id, TaskTimes>>);

/// When a task was spawned and polled, for an executor that [records
/// it](crate::Builder::record_times).
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
    pub(crate) fn ages(&self, now: Instant) -> (Duration, Option<Duration>) {
        let age = |since| now.saturating_duration_since(since);
        (age(self.spawned), self.polled.map(age))
    }
}

impl Times {
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut HashMap<Id, TaskTimes>) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn begin(&self, task: Id) {
        let times = TaskTimes {
            spawned: now(),
            polled: None,
            polls: 0,
        };
        self.with(|all| all.insert(task, times));
    }

    pub(crate) fn poll(&self, task: Id) {
        let polled = Some(now());
        self.with(|all| {
            if let Some(times) = all.get_mut(&task) {
                times.polled = polled;
                times.polls += 1;
            }
        });
    }
}
