//! loom's `Arc`, with the handles that are made and dropped recorded.

use std::{borrow::Borrow, ops::Deref, panic::Location};

use crate::{event::Step, recorder};

/// [`loom::sync::Arc`], which fails a model that leaks it.
#[derive(Debug)]
pub struct Arc<T: ?Sized> {
    /// None once it is dropped or taken apart.
    inner: Option<loom::sync::Arc<T>>,
    place: u64,
    /// The number of this handle, or 0 for the first one.
    handle: usize,
}

impl<T> Arc<T> {
    /// Works as [`std::sync::Arc::new`].
    #[track_caller]
    pub fn new(value: T) -> Self {
        let place = recorder::made("Arc", 0, Location::caller());
        Self::of(loom::sync::Arc::new(value), place, 0)
    }

    /// Works as [`std::sync::Arc::try_unwrap`].
    ///
    /// # Errors
    /// Returns the handle, if there are others.
    #[track_caller]
    pub fn try_unwrap(mut this: Self) -> Result<T, Self> {
        let (place, handle) = (this.place, this.handle);
        match loom::sync::Arc::try_unwrap(this.take()) {
            Ok(value) => {
                recorder::now(place, Step::Drop(handle), Location::caller());
                Ok(value)
            }
            Err(inner) => Err(Self::of(inner, place, handle)),
        }
    }
}

impl<T: ?Sized> Arc<T> {
    fn of(inner: loom::sync::Arc<T>, place: u64, handle: usize) -> Self {
        Self {
            inner: Some(inner),
            place,
            handle,
        }
    }

    fn take(&mut self) -> loom::sync::Arc<T> {
        self.inner.take().expect("it is not dropped")
    }

    fn inner(&self) -> &loom::sync::Arc<T> {
        self.inner.as_ref().expect("it is not dropped")
    }

    /// Names this `Arc` in pictures.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        recorder::name_place(self.place, name);
        self
    }

    /// Makes an `Arc` from one of std's, as [`loom::sync::Arc::from_std`] does, for example an
    /// `Arc` of a trait object.
    #[track_caller]
    pub fn from_std(std: std::sync::Arc<T>) -> Self {
        let place = recorder::made("Arc", 0, Location::caller());
        Self::of(loom::sync::Arc::from_std(std), place, 0)
    }

    /// Works as [`std::sync::Arc::strong_count`].
    #[track_caller]
    pub fn strong_count(this: &Self) -> usize {
        loom::sync::Arc::strong_count(this.inner())
    }

    /// Works as [`std::sync::Arc::get_mut`].
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        loom::sync::Arc::get_mut(this.inner.as_mut()?)
    }

    /// Works as [`std::sync::Arc::ptr_eq`].
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        loom::sync::Arc::ptr_eq(this.inner(), other.inner())
    }

    /// Works as [`std::sync::Arc::as_ptr`].
    pub fn as_ptr(this: &Self) -> *const T {
        loom::sync::Arc::as_ptr(this.inner())
    }

    /// Works as [`std::sync::Arc::into_raw`].
    #[track_caller]
    pub fn into_raw(mut this: Self) -> *const T {
        recorder::now(this.place, Step::IntoRaw(this.handle), Location::caller());
        let raw = loom::sync::Arc::into_raw(this.take());
        recorder::into_raw(raw.addr(), this.place, this.handle);
        raw
    }

    /// Works as [`std::sync::Arc::from_raw`].
    ///
    /// # Safety
    /// As in std.
    #[track_caller]
    pub unsafe fn from_raw(raw: *const T) -> Self {
        let (place, handle) = recorder::from_raw(raw.addr());
        // SAFETY: the caller has made the pointer by `into_raw`, which gave up loom's handle.
        let inner = unsafe { loom::sync::Arc::from_raw(raw) };
        Self::of(inner, place, handle)
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner()
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let handle = recorder::token();
        let inner = record!(self.place, Step::Clone(handle), self.inner().clone());
        Self::of(inner, self.place, handle)
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    #[track_caller]
    fn drop(&mut self) {
        if self.inner.is_some() {
            // Recorded before the drop, because the value's destructor has steps of its own.
            recorder::now(self.place, Step::Drop(self.handle), Location::caller());
        }
    }
}

joint_facade::of_a_value! { Arc }

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}
