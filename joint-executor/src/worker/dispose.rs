//! The disposal of a task that no worker runs any more, on whatever thread this is.

use alloc::vec::Vec;
use core::{cell::RefCell, ptr};

use super::{
    current::{stranger, with_current, with_worker_of},
    shared::{EntryLink, Runnable, Shared},
};
use crate::{guard::Frames, policy::MOST_INSIDE, who};
use joint::task::{EndedTask, TaskEnd};
use joint_switch::thread_local;

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
                Some(innermost) if own.count() + 1 >= MOST_INSIDE => {
                    innermost.left.borrow_mut().push(runnable);
                    None
                }
                _ => Some(runnable),
            }
        })
    });
    here.into_iter().for_each(|one| dispose(shared, one));
}

/// Counts a task whose future has just been dropped on this thread, by the executor's own worker or
/// by [`dispose`], and calls the hooks for its end.
#[inline]
pub(super) fn ended(task: &EndedTask<'_, EntryLink>, how: TaskEnd) {
    with_current(|worker| match worker {
        Some(worker) if !who::is_disposed() => {
            worker.count_end(how);
            if worker.shared().watches_tasks {
                // SAFETY: the runner calls this.
                unsafe { worker.shared().hooks.ended(task, how) };
            }
        }
        _ => ended_elsewhere(task, how),
    });
}

#[cold]
fn ended_elsewhere(task: &EndedTask<'_, EntryLink>, how: TaskEnd) {
    let innermost = DISPOSALS.with(|all| all.walk(|all| all.next().map(|one| one.shared)));
    if let Some(shared) = innermost {
        // SAFETY: the call of `dispose` on this stack has been lent it.
        let shared = unsafe { &*shared };
        shared.outside.count_end(how);
        // SAFETY: the runner calls this.
        unsafe { shared.hooks.ended(task, how) };
    }
}
