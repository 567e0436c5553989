//! [`waiting_for`]: a wait that says in a dump what it is for, and whether it is polled when it is
//! woken.

use alloc::{sync::Arc, task::Wake};
use core::{
    future::{Future, poll_fn},
    mem,
    panic::Location,
    pin::pin,
    ptr,
    task::{Context, Waker},
};
use std::sync::{Mutex, MutexGuard, PoisonError};

use joint::task::{Id, try_id};
use slab::Slab;

use crate::hosted::{NamedWait, WaitChange, host};

/// What a task has told about one of its waits.
pub(super) struct Told {
    pub(super) what: &'static str,
    pub(super) place: &'static Location<'static>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The task that has polled the wait last. It is an id, because the task may end before the
    /// wait does.
    task: Option<Id>,
    /// The waker of that poll. `None` once the wait was woken.
    waker: Option<Waker>,
}

static TOLD: Mutex<Slab<Arc<Told>>> = Mutex::new(Slab::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `f` with each wait that a task has polled, with that task, and with the
/// [data](Waker::data) of the poll's waker, unless the wait was woken since. `f` must not wake or
/// drop a waker.
pub(super) fn each(mut f: impl FnMut(&Told, Id, Option<usize>)) {
    for (_, told) in lock(&TOLD).iter() {
        let State { task, waker } = &*lock(&told.state);
        if let &Some(task) = task {
            f(told, task, waker.as_ref().map(|waker| waker.data().addr()));
        }
    }
}

impl Told {
    fn tell(&self, how: WaitChange) {
        if let Some(host) = host() {
            let wait = NamedWait {
                key: ptr::from_ref(self).addr(),
                what: self.what,
                place: self.place,
            };
            host.wait_changed(wait, how);
        }
    }

    fn polled(&self, waker: &Waker) {
        self.tell(WaitChange::Polled);
        let (task, waker) = (try_id(), Some(waker.clone()));
        let before = mem::replace(&mut *lock(&self.state), State { task, waker });
        // The lock is free again, because dropping a waker runs the user's code.
        drop(before);
    }
}

impl Wake for Told {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let waker = lock(&self.state).waker.take();
        if let Some(waker) = waker {
            self.tell(WaitChange::Woken);
            waker.wake();
        }
    }
}

/// Returns a future that polls `future`, and says in a [dump](crate::Executor::dump) what a task
/// that awaits it waits for.
///
/// A dump finds out by itself that a task waits for another task, for a timer or for a descriptor,
/// and, if the executor [records it](crate::Builder::record_times), for a oneshot. Use this for
/// what it cannot know, such as a lock, another channel or a queue.
///
/// # Snoozing
/// The dump also says if `future` was woken, and its task has run since without polling it. Such a
/// future *snoozes*: it may have been given a lock or a permit that others wait for, and does
/// nothing with it. That happens to a future that is kept while its task awaits something else, as
/// after a `select!` of which another branch was first. If what the task awaits needs that lock,
/// the program stands still. Drop the future, or await it in a task of its own: `docs/snoozing.md`
/// in the repository shows both. `joint-sim` names each such future in the report of a run that
/// fails, and can fail because of one.
///
/// # Cost
/// An allocation, and that of the task's [`Id`]; a lock of its own for each poll and each wake-up;
/// and once at the begin and at the end a lock that the whole program shares. This is for finding
/// out why a program stands still.
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
        let told = Arc::new(Told {
            what,
            place,
            state: Mutex::default(),
        });
        let _wait = Wait(lock(&TOLD).insert(told.clone()));
        let waker = Waker::from(told.clone());
        let mut future = pin!(future);
        poll_fn(|cx| {
            told.polled(cx.waker());
            future.as_mut().poll(&mut Context::from_waker(&waker))
        })
        .await
    }
}

/// The key of a wait. Dropping it takes the wait back.
struct Wait(usize);

impl Drop for Wait {
    fn drop(&mut self) {
        let told = lock(&TOLD).remove(self.0);
        told.tell(WaitChange::Over);
        // Its waker is dropped outside of the lock, and a wake-up that comes late wakes nothing.
        let waker = lock(&told.state).waker.take();
        drop(waker);
    }
}
