//! [`this_thread`]: the id of the current thread, for one read of a thread-local; and
//! [`thread_address`], for none.

use core::cell::Cell;
#[cfg(not(joint_loom))]
use core::ptr;

use super::{
    thread::{self, ThreadId},
    thread_local,
};

thread_local! {
    /// The thread's id, cached because `thread::current` takes a reference to the thread's handle.
    static ID: Cell<Option<ThreadId>> = const { Cell::new(None) };
    /// Its address is the thread's. It has no destructor, so it is there as long as the thread. In
    /// a model it has the thread's number.
    static HERE: Cell<usize> = const { Cell::new(0) };
}

/// Returns the id of the current thread. Ids are never reused, not even after a thread has ended.
#[inline]
pub fn this_thread() -> ThreadId {
    let kept = ID.try_with(|kept| {
        let id = kept.get().unwrap_or_else(|| thread::current().id());
        kept.set(Some(id));
        id
    });
    // After the thread-locals are destroyed, the thread's handle still has the id.
    kept.unwrap_or_else(|_| thread::current().id())
}

/// Returns a number that no other living thread has. Unlike [`this_thread`], it allocates nothing
/// on a thread that std has not made.
#[inline]
#[cfg(not(joint_loom))]
pub fn thread_address() -> usize {
    HERE.with(|here| ptr::from_ref(here).addr())
}

/// Returns a number that no other thread has: the address of one that has ended would be that of
/// another one in some runs, and a model must do the same in each.
#[cfg(joint_loom)]
pub fn thread_address() -> usize {
    std::thread_local!(static LAST: Cell<usize> = const { Cell::new(0) });
    HERE.with(|here| {
        if here.get() == 0 {
            LAST.set(LAST.get() + 1);
            here.set(LAST.get());
        }
        here.get()
    })
}
