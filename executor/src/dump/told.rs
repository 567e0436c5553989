//! [`waiting_for`]: a wait that says in a dump what it is for.

use core::{
    future::{Future, poll_fn},
    panic::Location,
    pin::pin,
    task::Waker,
};
use std::sync::{Mutex, MutexGuard, PoisonError};

use slab::Slab;

/// What a task has told about one of its waits.
#[derive(Clone, Copy)]
pub(super) struct Told {
    /// The [data](Waker::data) of the task's waker.
    pub(super) waker: usize,
    pub(super) what: &'static str,
    pub(super) place: &'static Location<'static>,
}

static TOLD: Mutex<Slab<Told>> = Mutex::new(Slab::new());

pub(super) fn told() -> MutexGuard<'static, Slab<Told>> {
    TOLD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a future that polls `future`, and says in a [dump](crate::Executor::dump) what a task
/// that awaits it waits for.
///
/// A dump finds out by itself that a task waits for another task, for a timer or for a descriptor.
/// Use this for what it cannot know, such as a lock, a channel or a queue.
///
/// # Cost
/// A lock that the whole program shares, once when the future is pending for the first time, once
/// when it is dropped, and once whenever another task polls it. A future that is ready at its first
/// poll takes no lock.
///
/// # Example
/// ```
/// use joint_executor::{Executor, WaitsFor, oneshot, waiting_for};
///
/// let executor = Executor::builder().workers(1).build()?;
/// let (sender, receiver) = oneshot::channel::<u32>();
/// let task = executor.spawn(waiting_for("the price", receiver));
/// let mut dump = executor.dump();
/// while dump.tasks().iter().all(|task| task.is_runnable()) {
///     std::thread::yield_now();
///     dump = executor.dump();
/// }
/// assert!(matches!(dump.tasks()[0].waits_for(), [WaitsFor::Told("the price", _)]));
/// sender.send(5).unwrap();
/// assert_eq!(executor.block_on(task), Ok(5));
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn waiting_for<F: Future>(what: &'static str, future: F) -> impl Future<Output = F::Output> {
    let place = Location::caller();
    async move {
        let mut wait = Wait(None);
        let mut future = pin!(future);
        poll_fn(|cx| {
            let polled = future.as_mut().poll(cx);
            if polled.is_pending() {
                wait.tell(cx.waker(), what, place);
            }
            polled
        })
        .await
    }
}

/// A wait that is told, by its key, and by which waker. Dropping it takes it back.
struct Wait(Option<(usize, usize)>);

impl Wait {
    fn tell(&mut self, waker: &Waker, what: &'static str, place: &'static Location<'static>) {
        let waker = waker.data().addr();
        if self.0.is_some_and(|(_, told)| told == waker) {
            return;
        }
        let mut all = told();
        let new = Told { waker, what, place };
        let key = match self.0 {
            Some((key, _)) => {
                all[key] = new;
                key
            }
            None => all.insert(new),
        };
        self.0 = Some((key, waker));
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some((key, _)) = self.0 {
            told().remove(key);
        }
    }
}
