//! The drop of tasks that no worker runs any more, on whatever thread this is, and the part of an
//! executor's end that no single worker does: `closing.rs` has the rest.

use alloc::{borrow::ToOwned, sync::Arc, vec::Vec};
use core::{cell::RefCell, ptr};

use super::{
    closing::discard_own,
    current::{stranger, with_current, with_worker_of},
    shared::{FAMILY, Runnable, Shared},
    state::Running,
};
use crate::{gate, guard::Frames, policy::MOST_NESTED, registry::Registry, threads, who};
use joint::{
    task::{EndedTask, TaskEnd},
    waker,
};
use joint_switch::{thread, thread_local};

/// The disposal of a runnable of `shared` on this thread.
struct Disposal {
    shared: *const Shared,
    /// Those to dispose of next.
    left: RefCell<Vec<Runnable>>,
}

thread_local! {
    static DISPOSALS: Frames<Disposal> = const { Frames::new() };
}

/// Drops a runnable of `shared`, and with it the future, on whatever thread this is.
pub(crate) fn dispose(shared: &Shared, runnable: Runnable) {
    let is_own = with_worker_of(shared, |worker| worker.is_some());
    let left = RefCell::default();
    let disposal = Disposal { shared, left };
    let mut next = Some(runnable);
    while let Some(one) = next {
        let f = || who::as_disposed(is_own, || drop(one));
        // A worker may be in the middle of a wake-up.
        stranger(|| DISPOSALS.with(|all| all.during(&disposal, f)));
        next = disposal.left.borrow_mut().pop();
    }
}

/// Disposes of a runnable that was spawned too late. Deeper on this thread's stack, the work is
/// left to the innermost disposal, so that a chain of tasks that spawn each other when they are
/// dropped needs no stack.
#[cold]
pub(super) fn dispose_spawned(shared: &Shared, runnable: Runnable) {
    let here = DISPOSALS.with(|all| {
        all.walk(|all| {
            let mut own = all.filter(|one| ptr::eq(one.shared, shared));
            match own.next() {
                Some(innermost) if own.count() + 1 >= MOST_NESTED => {
                    innermost.left.borrow_mut().push(runnable);
                    None
                }
                _ => Some(runnable),
            }
        })
    });
    if let Some(one) = here {
        dispose(shared, one);
    }
}

/// Counts a task whose future has just been dropped on this thread, by the executor's own worker,
/// by [`dispose`], or by its first poll (`start.rs`), and calls the hooks for its end.
#[inline]
pub(super) fn ended<M>(task: &EndedTask<'_, M>, how: TaskEnd) {
    with_current(|worker| match worker {
        Some(worker) if !who::is_disposed() => {
            worker.counters().ends(how).increment();
            if worker.shared().watches_tasks {
                // SAFETY: the runner calls this.
                unsafe { worker.shared().hooks.ended(task, how) };
            }
        }
        _ => ended_elsewhere(task, how),
    });
}

#[cold]
fn ended_elsewhere<M>(task: &EndedTask<'_, M>, how: TaskEnd) {
    let innermost = match who::is_disposed() {
        true => DISPOSALS.with(|all| all.walk(|all| all.next().map(|one| one.shared))),
        // SAFETY: set by `start` to a reference that it has for the time of the poll.
        false => unsafe { who::starter::<Arc<Shared>>().as_ref() }.map(Arc::as_ptr),
    };
    if let Some(shared) = innermost {
        // SAFETY: the call of `dispose` or `start` on this stack has been lent it.
        let shared = unsafe { &*shared };
        shared.outside.count_end(how);
        // SAFETY: the runner calls this.
        unsafe { shared.hooks.ended(task, how) };
    }
}

impl Shared {
    /// Tells the workers to shut down.
    #[inline(never)]
    pub(crate) fn close(&self) {
        if !self.is_closed() {
            self.gate.close();
            self.wake_all();
            if let Some(pool) = self.own_pool.get() {
                pool.close();
            }
        }
    }

    /// Records that a worker's last poll is over. A worker that waits for the others inside its
    /// last poll counts as arrived too.
    pub(crate) fn arrive(&self, worker: usize) {
        if self.gate.arrive(worker) {
            self.wake_all();
        }
    }

    fn wake_all(&self) {
        for waker in self.sleep.wake_all() {
            stranger(|| waker.wake());
        }
    }

    /// Leaves as a worker, after dropping what only it can drop. The last worker drops everything
    /// that is left.
    pub(super) fn leave(&self, worker: &Running<'_>) {
        discard_own(worker);
        if !self.gate.leave() {
            return;
        }
        // Each task that waits was cancelled by the worker that entered it, or by the first one.
        worker.discard_queued();
        self.dispose_injected();
        Registry::hold(worker.shared());
        self.gate.terminate();
        self.dispose_injected();
        // The executor's tasks first: a stranger's waker may wait for anything.
        let mut strangers = Vec::new();
        for waker in self.driver.close() {
            match waker::is_of(&waker, &FAMILY) {
                true => worker.wake_stranger(Some(waker)),
                false => strangers.push(waker),
            }
        }
        for waker in strangers {
            worker.wake_stranger(Some(waker));
        }
        worker.discard_queued();
    }

    /// Has a thread dispose of what was pushed too late, because the caller of a wake-up may hold
    /// any lock. This one does it if there can be none: the system refuses it, or the executor's
    /// host stands in for all threads.
    #[cold]
    pub(super) fn dispose_late(&self) {
        let start = || {
            let shared = self.this.upgrade().expect("the caller has a count");
            let thread = thread::Builder::new().name("joint-late".to_owned());
            let run = Box::new(move || shared.dispose_injected());
            !self.threads().has_host && threads::start(thread, run).is_ok()
        };
        let here = || self.dispose_injected();
        gate::dispose_elsewhere(|| self.has_none_injected(), start, here);
    }

    /// Drops the runnables in the injectors and inboxes, and with them the futures.
    pub(super) fn dispose_injected(&self) {
        let next = || (0..self.workers()).find_map(|worker| self.next_injected_for(worker));
        let dispose_one = || next().map(|one| dispose(self, one)).is_some();
        gate::dispose(dispose_one, || self.has_none_injected());
    }
}
