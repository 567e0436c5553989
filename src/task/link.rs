//! [`Link`]: a word in each task for an executor's own queue.

use core::sync::atomic::Ordering;

use joint_switch::{AtomicPtr, order};

/// A word in each task that belongs to the owner of its [`Runnable`](super::Runnable), for the link
/// of an intrusive queue.
///
/// A queue that links tasks through this word needs no memory of its own. The task does not use the
/// word before it has ended, and does not order the accesses to it across a run. Get it by
/// [`Runnable::link`](super::Runnable::link), or by
/// [`Runnable::raw_link`](super::Runnable::raw_link) if the queue keeps addresses.
///
/// # Example
/// A stack of runnables, each linked to the one below.
/// ```
/// use joint::task::{self, Runnable};
/// use std::ptr::{self, NonNull};
/// use std::sync::atomic::Ordering::Relaxed;
///
/// let mut top = ptr::null_mut();
/// let mut handles = Vec::new();
/// for i in 0..3 {
///     let (runnable, handle) = task::spawn(async move { i }, |_| {});
///     runnable.link().set(top, Relaxed);
///     top = runnable.into_raw().as_ptr();
///     handles.push(handle);
/// }
/// while let Some(raw) = NonNull::new(top) {
///     // SAFETY: every address came from `into_raw` above, and is used once.
///     let runnable: Runnable = unsafe { Runnable::from_raw(raw) };
///     top = runnable.link().get(Relaxed);
///     runnable.run();
/// }
/// assert!(handles.iter().all(|handle| handle.is_finished()));
/// ```
#[derive(Debug)]
#[repr(transparent)]
pub struct Link(AtomicPtr<()>);

/// A link with its address belongs to a task that has ended.
static ENDED: u8 = 0;

fn ended() -> *mut () {
    (&raw const ENDED).cast_mut().cast()
}

impl Link {
    pub(super) fn new() -> Self {
        Self(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// Returns the word. A new task has null.
    ///
    /// # Panics
    /// Panics as [`AtomicPtr::load`](core::sync::atomic::AtomicPtr::load) does.
    #[inline]
    pub fn get(&self, order: Ordering) -> *mut () {
        self.0.load(order)
    }

    /// Writes the word.
    ///
    /// # Panics
    /// Panics as [`AtomicPtr::store`](core::sync::atomic::AtomicPtr::store) does.
    #[inline]
    pub fn set(&self, to: *mut (), order: Ordering) {
        self.0.store(to, order);
    }

    /// Writes the word, and returns the old value.
    #[inline]
    pub fn swap(&self, to: *mut (), order: Ordering) -> *mut () {
        self.0.swap(to, order)
    }

    /// Takes note that the task has ended: nobody has its runnable any more, and so its link.
    pub(super) fn note_end(&self) {
        // ORDERING: note_end. Relaxed: it orders nothing. Nobody writes the word after this.
        self.0.store(ended(), order!(note_end: Relaxed));
    }

    /// Returns whether somebody has taken note that the task has ended.
    pub(super) fn has_noted_end(&self) -> bool {
        // ORDERING: noted_end. Relaxed: as for `note_end`.
        self.0.load(order!(noted_end: Relaxed)) == ended()
    }
}

retires!(Link: 0);
