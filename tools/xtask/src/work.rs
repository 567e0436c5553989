//! Many jobs on all processors.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, PoisonError},
    thread,
};

/// Starts the jobs in their order, one on each processor at a time, and returns their results in
/// the same order.
pub(crate) fn work<J: Send, R: Send>(jobs: Vec<J>, each: impl Fn(J) -> R + Sync) -> Vec<R> {
    let left = Mutex::new(jobs.into_iter().enumerate().collect::<VecDeque<_>>());
    let done = Mutex::new(BTreeMap::new());
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let next = || {
        let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
        left.pop_front()
    };
    thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                while let Some((n, job)) = next() {
                    let result = each(job);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.insert(n, result);
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.into_values().collect()
}
