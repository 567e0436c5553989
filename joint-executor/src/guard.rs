//! Running user code that may panic, where a panic must not stop anything else.

use alloc::boxed::Box;
use core::{any::Any, cell::Cell, iter, mem, ptr};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::PoisonError,
};

use joint_switch::{Mutex, MutexGuard};

/// Runs a function that may panic and must not take the worker down. The panic hook has already
/// reported the panic.
#[inline]
pub(super) fn guarded(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        drop_payload(payload);
    }
}

/// A function that is called at most once. Code that takes a `&mut dyn Once` is compiled once for
/// all functions, and each function is compiled once, where `dyn FnMut` would compile it twice.
pub(super) trait Once {
    fn call(&mut self);
}

impl<F: FnOnce()> Once for Option<F> {
    fn call(&mut self) {
        if let Some(f) = self.take() {
            f();
        }
    }
}

/// Does the same as [`guarded`] for functions that need not be fast.
pub(super) fn caught(f: &mut dyn Once) {
    guarded(|| f.call());
}

/// The payload's own drop may panic as well. Leaking the second payload costs less than the worker.
#[cold]
fn drop_payload(payload: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(again);
    }
}

/// Drops a value that nobody takes. A panic of the drop goes no further, as for the output of a
/// task whose handle is dropped: whether anybody took the value may be up to chance.
pub(super) fn drop_quietly<T>(left: T) {
    guarded(|| drop(left));
}

/// A value that is [dropped quietly](drop_quietly) unless somebody takes it.
pub(super) struct Quiet<T>(pub(super) Option<T>);

impl<T> Default for Quiet<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Drop for Quiet<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(left) = self.0.take() {
            drop_quietly(left);
        }
    }
}

/// Calls `f` while a cell has this value. Then the cell has its earlier value again, also if `f`
/// panics.
#[inline(always)]
pub(super) fn with_value<T: Copy, R>(cell: &Cell<T>, value: T, f: impl FnOnce() -> R) -> R {
    struct Restore<'a, T: Copy>(&'a Cell<T>, T);
    impl<T: Copy> Drop for Restore<'_, T> {
        #[inline(always)]
        fn drop(&mut self) {
            self.0.set(self.1);
        }
    }
    let _restore = Restore(cell, cell.replace(value));
    f()
}

/// The list of values that calls on this thread's stack have lent, each for the time of another
/// call.
pub(super) struct Frames<T>(Cell<*const Frame<T>>);

struct Frame<T> {
    lent: *const T,
    outer: *const Self,
}

impl<T> Frames<T> {
    pub(super) const fn new() -> Self {
        Self(Cell::new(ptr::null()))
    }

    /// Calls `f` while `lent` is the innermost one.
    pub(super) fn during<R>(&self, lent: &T, f: impl FnOnce() -> R) -> R {
        let frame = Frame {
            lent,
            outer: self.0.get(),
        };
        with_value(&self.0, &raw const frame, f)
    }

    /// Calls `f` with all that is lent, innermost first. `f` can keep no reference to it.
    pub(super) fn walk<R>(&self, f: impl FnOnce(&mut dyn Iterator<Item = &T>) -> R) -> R {
        let mut next = self.0.get();
        let mut all = iter::from_fn(|| {
            // SAFETY: a call of `during` further down this stack has it, and cannot end before `f`.
            let frame = unsafe { next.as_ref() }?;
            next = frame.outer;
            // SAFETY: that call has borrowed it.
            unsafe { frame.lent.as_ref() }
        });
        f(&mut all)
    }
}

/// Locks a mutex whose data no panic leaves half-changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
