//! A reference count whose changes are operations of the model, so that the drop of the value has
//! the order that std gives it, and a handle that is never dropped is found.

use core::{
    mem::ManuallyDrop,
    ops::Deref,
    sync::atomic::Ordering::{Acquire, Relaxed, Release},
};
use std::sync;

use super::handles::{Handles, WEAK, strong};
use crate::run;

/// A handle of a shared value. A model fails if it leaks one.
///
/// Each handle holds one of std's, and both counts change in the same order. So std frees the value
/// where the model does.
pub struct Arc<T: ?Sized> {
    value: ManuallyDrop<sync::Arc<T>>,
    count: Handles,
}

/// A handle that does not keep the value alive.
pub struct Weak<T: ?Sized> {
    value: sync::Weak<T>,
    /// None if it never had a value.
    count: Option<Handles>,
}

impl<T> Arc<T> {
    /// Creates a value with one handle.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self::from_std(sync::Arc::new(value))
    }

    /// Returns the value, if this is the only handle.
    ///
    /// # Errors
    /// If it is not.
    #[track_caller]
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        if this.count.is_only() {
            return Self::into_inner(this).ok_or_else(|| unreachable!("it is the only handle"));
        }
        let take_last = |word: u64, _: [u64; 2]| (strong(word) == 1).then(|| word - 1);
        let before = this
            .count
            .look()
            .update("try_unwrap", 0, Relaxed, take_last);
        if strong(before) == 1 {
            Ok(this.last())
        } else {
            Err(this)
        }
    }

    /// Drops the handle, and returns the value if it was the last.
    #[track_caller]
    pub fn into_inner(this: Self) -> Option<T> {
        if this.count.drop("into_inner") {
            return Some(this.last());
        }
        drop(this.without_count());
        None
    }

    /// Returns the value of a handle that is no longer counted, and was the last.
    #[track_caller]
    fn last(self) -> T {
        self.ended();
        let value = self.without_count();
        sync::Arc::into_inner(value).expect("both counts agree")
    }
}

impl<T: ?Sized> Arc<T> {
    /// Makes a handle of the pointer of [`into_raw`](Self::into_raw).
    ///
    /// # Safety
    /// The pointer came from there, and its count is not given up again.
    ///
    /// # Panics
    /// If it did not come from a handle of this model.
    pub unsafe fn from_raw(pointer: *const T) -> Self {
        let count = run::counted(pointer.cast::<()>().addr());
        // SAFETY: as the caller says.
        let value = unsafe { sync::Arc::from_raw(pointer) };
        Self {
            value: ManuallyDrop::new(value),
            count: Handles::at(count),
        }
    }

    /// Makes a handle of std's, which must be the only one. This is the way to an unsized value.
    ///
    /// # Panics
    /// If it is not the only one.
    #[track_caller]
    pub fn from_std(value: sync::Arc<T>) -> Self {
        let is_only = sync::Arc::strong_count(&value) == 1 && sync::Arc::weak_count(&value) == 0;
        assert!(is_only, "the handle is shared");
        let count = Handles::new("Arc");
        run::count(sync::Arc::as_ptr(&value).cast::<()>().addr(), count.place());
        run::made_alive(count.place());
        Self {
            value: ManuallyDrop::new(value),
            count,
        }
    }

    /// Returns std's handle without changing the count.
    fn without_count(self) -> sync::Arc<T> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: this handle is not used again.
        unsafe { ManuallyDrop::take(&mut this.value) }
    }

    /// Orders all uses of the value before its drop.
    #[track_caller]
    fn ended(&self) {
        if !run::commutes(self.count.place()) {
            self.count.look().load("last handle", Acquire);
        }
        run::ended(self.count.place());
    }

    /// Returns the number of handles. As in std, this orders nothing.
    #[track_caller]
    pub fn strong_count(this: &Self) -> usize {
        if this.count.is_only() {
            return 1;
        }
        strong(this.count.look().load("strong_count", Relaxed)) as usize
    }

    /// Returns the number of weak handles. As in std, this orders nothing.
    #[track_caller]
    pub fn weak_count(this: &Self) -> usize {
        (this.count.look().load("weak_count", Relaxed) / WEAK) as usize
    }

    /// Returns the value if this is the only handle.
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        let is_only = this.count.is_only() || this.count.look().load("get_mut", Acquire) == 1;
        let value = &mut this.value;
        is_only.then(|| sync::Arc::get_mut(value)).flatten()
    }

    /// Returns whether both are handles of one value.
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        sync::Arc::ptr_eq(&this.value, &other.value)
    }

    /// Returns the pointer without giving up the handle.
    pub fn as_ptr(this: &Self) -> *const T {
        sync::Arc::as_ptr(&this.value)
    }

    /// Gives up the handle for a pointer.
    pub fn into_raw(this: Self) -> *const T {
        sync::Arc::into_raw(this.without_count())
    }

    /// Makes a weak handle.
    #[track_caller]
    pub fn downgrade(this: &Self) -> Weak<T> {
        this.count.look().add("downgrade", WEAK, Relaxed);
        Weak {
            value: sync::Arc::downgrade(&this.value),
            count: Some(this.count),
        }
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.count.add("clone Arc");
        Self {
            value: self.value.clone(),
            count: self.count,
        }
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    #[track_caller]
    fn drop(&mut self) {
        if self.count.drop("drop Arc") {
            self.ended();
        }
        // SAFETY: the handle is not used again.
        unsafe { ManuallyDrop::drop(&mut self.value) };
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

joint_facade::arc! { Arc Weak }

impl<T> Weak<T> {
    /// Makes a weak handle of no value.
    pub fn new() -> Self {
        Self {
            value: sync::Weak::new(),
            count: None,
        }
    }
}

impl<T: ?Sized> Weak<T> {
    /// Makes a handle, if the value is alive.
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        let more = |word: u64, _| (strong(word) > 0).then_some(word + 1);
        let count = self.count?;
        let before = count.look().update("upgrade", 0, Acquire, more);
        (strong(before) > 0).then(|| Arc {
            value: ManuallyDrop::new(self.value.upgrade().expect("both counts agree")),
            count,
        })
    }

    /// Returns the number of handles.
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        self.count.map_or(0, |count| {
            strong(count.look().load("strong_count", Relaxed)) as usize
        })
    }

    /// Returns whether both are handles of one value, or of none.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.value.ptr_eq(&other.value)
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        if let Some(count) = self.count {
            count.look().add("clone Weak", WEAK, Relaxed);
        }
        Self {
            value: self.value.clone(),
            count: self.count,
        }
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    #[track_caller]
    fn drop(&mut self) {
        if let Some(count) = self.count {
            count.look().add("drop Weak", WEAK.wrapping_neg(), Release);
        }
    }
}

impl Arc<()> {
    /// Lets an execution end before the value is dropped.
    #[doc(hidden)]
    pub fn may_leak(this: &Self) {
        run::ended(this.count.place());
    }
}
