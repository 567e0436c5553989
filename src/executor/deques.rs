//! The queues of one worker from which the other workers steal: a stack of the tasks that it has
//! spawned, and two queues, of the other tasks and of those of high priority.
//!
//! One thread has the [`Deques`], and all others have [`Stealer`]s. The worker's scheduling policy
//! decides what it takes next (`worker/queues/turn.rs`). A thief takes the oldest tasks.

use core::hint;

use crossbeam_deque::{Steal, Stealer as StealerOf, Worker as DequeOf};

/// The owner's side.
pub(crate) struct Deques<T> {
    /// The tasks that the worker has spawned. The owner takes the newest.
    spawned: DequeOf<T>,
    /// All other tasks: those that were woken, those from other threads and those that were stolen.
    woken: DequeOf<T>,
    high: DequeOf<T>,
}

/// Another worker's side.
pub(crate) struct Stealer<T> {
    spawned: StealerOf<T>,
    woken: StealerOf<T>,
    high: StealerOf<T>,
}

impl<T> Deques<T> {
    pub(crate) fn new() -> Self {
        Self {
            spawned: DequeOf::new_lifo(),
            woken: DequeOf::new_fifo(),
            high: DequeOf::new_fifo(),
        }
    }

    pub(crate) fn stealer(&self) -> Stealer<T> {
        Stealer {
            spawned: self.spawned.stealer(),
            woken: self.woken.stealer(),
            high: self.high.stealer(),
        }
    }

    /// Pushes a task that the worker has spawned. Returns it if there are `most` of them already.
    #[inline(always)]
    pub(crate) fn push_spawned(&self, task: T, most: usize) -> Result<(), T> {
        if self.spawned.len() >= most {
            return Err(task);
        }
        self.spawned.push(task);
        Ok(())
    }

    /// Pushes a task behind the others that were not spawned by the worker. Returns it if there are
    /// `most` of them already.
    #[inline(always)]
    pub(crate) fn push_woken(&self, task: T, most: usize) -> Result<(), T> {
        if self.woken.len() >= most {
            return Err(task);
        }
        self.woken.push(task);
        Ok(())
    }

    pub(crate) fn push_high(&self, task: T) {
        self.high.push(task);
    }

    #[inline(always)]
    pub(crate) fn pop_newest_spawned(&self) -> Option<T> {
        self.spawned.pop()
    }

    pub(crate) fn pop_oldest_spawned(&self) -> Option<T> {
        steal_one(&self.spawned.stealer())
    }

    #[inline(always)]
    pub(crate) fn pop_woken(&self) -> Option<T> {
        self.woken.pop()
    }

    pub(crate) fn pop_high(&self) -> Option<T> {
        self.high.pop()
    }

    /// The number of tasks that the worker has spawned.
    #[cfg(test)]
    pub(crate) fn spawned(&self) -> usize {
        self.spawned.len()
    }

    /// The number of other tasks of normal priority.
    #[inline]
    pub(crate) fn woken(&self) -> usize {
        self.woken.len()
    }

    #[inline]
    pub(crate) fn high(&self) -> usize {
        self.high.len()
    }

    #[inline]
    pub(crate) fn has_normal(&self) -> bool {
        !self.spawned.is_empty() || !self.woken.is_empty()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        !self.has_normal() && self.high.is_empty()
    }

    /// Steals one task, of high priority if there is any.
    pub(crate) fn steal_one_from(&self, from: &Stealer<T>) -> Option<T> {
        let stolen = steal_one(&from.high).or_else(|| steal_one(&from.spawned));
        stolen.or_else(|| steal_one(&from.woken))
    }

    /// Steals up to half of the tasks of high priority, and at most `most`, or else as many of each
    /// kind of the others. Returns one of them; the others are in these queues.
    pub(crate) fn steal_half_of(&self, from: &Stealer<T>, most: usize) -> Option<T> {
        if let Some(first) = steal(&from.high, &self.high, most) {
            return Some(first);
        }
        let first = steal(&from.woken, &self.woken, most);
        let other = || steal(&from.spawned, &self.spawned, most);
        match first {
            None => other(),
            Some(first) => {
                other()
                    .into_iter()
                    .for_each(|other| self.spawned.push(other));
                Some(first)
            }
        }
    }

    /// Moves up to half of each kind of tasks from another worker's queues into these, and at most
    /// `most` of each. Returns whether there were any. Does not retry.
    pub(crate) fn rescue_from(&self, from: &Stealer<T>, most: usize) -> bool {
        let kinds = [
            (&from.high, &self.high),
            (&from.spawned, &self.spawned),
            (&from.woken, &self.woken),
        ];
        let moved = kinds.map(|(from, own)| from.steal_batch_with_limit(own, most).is_success());
        moved.contains(&true)
    }
}

impl<T> Stealer<T> {
    /// The number of tasks.
    pub(crate) fn len(&self) -> usize {
        self.spawned.len() + self.woken.len() + self.high.len()
    }

    pub(crate) fn has_normal(&self) -> bool {
        !self.spawned.is_empty() || !self.woken.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.has_normal() && self.high.is_empty()
    }

    /// Makes a steal that finds nothing.
    pub(crate) fn steal_nothing(&self) {
        let _nothing = self.high.steal();
    }
}

/// Steals up to half of a queue, and at most `most` tasks.
fn steal<T>(from: &StealerOf<T>, own: &DequeOf<T>, most: usize) -> Option<T> {
    retried(|| from.steal_batch_with_limit_and_pop(own, most))
}

fn steal_one<T>(from: &StealerOf<T>) -> Option<T> {
    retried(|| from.steal())
}

/// Retries while other workers are stealing from the queue.
fn retried<T>(steal: impl Fn() -> Steal<T>) -> Option<T> {
    loop {
        match steal() {
            Steal::Success(task) => return Some(task),
            Steal::Empty => return None,
            Steal::Retry => hint::spin_loop(),
        }
    }
}
