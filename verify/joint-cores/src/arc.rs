//! std's shared pointer, whose count costs what an atomic does.

use core::ops::Deref;
use std::sync;

use crate::machine::{Act, touch};

/// Its counts lie before the value.
const COUNTS: usize = 16;

fn count<T: ?Sized>(value: *const T) {
    touch(
        value.cast::<u8>().addr().wrapping_sub(COUNTS),
        Act::Exchange,
    );
}

/// A shared value.
#[derive(Debug)]
#[repr(transparent)]
pub struct Arc<T: ?Sized>(sync::Arc<T>);

/// A handle that does not keep the value.
#[derive(Debug)]
pub struct Weak<T: ?Sized>(sync::Weak<T>);

#[allow(
    missing_docs,
    clippy::missing_safety_doc,
    reason = "the names are those of std"
)]
impl<T> Arc<T> {
    pub fn new(value: T) -> Self {
        Self(sync::Arc::new(value))
    }

    pub fn into_raw(this: Self) -> *const T {
        let raw = sync::Arc::as_ptr(&this.0);
        core::mem::forget(this);
        raw
    }

    pub unsafe fn from_raw(raw: *const T) -> Self {
        // SAFETY: as the caller says.
        Self(unsafe { sync::Arc::from_raw(raw) })
    }

    pub unsafe fn increment_strong_count(raw: *const T) {
        count(raw);
        // SAFETY: as the caller says.
        unsafe { sync::Arc::increment_strong_count(raw) };
    }
}

#[allow(missing_docs, reason = "the names are those of std")]
impl<T: ?Sized> Arc<T> {
    pub fn as_ptr(this: &Self) -> *const T {
        sync::Arc::as_ptr(&this.0)
    }

    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        sync::Arc::ptr_eq(&this.0, &other.0)
    }

    pub fn downgrade(this: &Self) -> Weak<T> {
        count(Self::as_ptr(this));
        Weak(sync::Arc::downgrade(&this.0))
    }
}

#[allow(missing_docs, reason = "the names are those of std")]
impl<T: ?Sized> Weak<T> {
    pub fn upgrade(&self) -> Option<Arc<T>> {
        let arc = self.0.upgrade()?;
        count(sync::Arc::as_ptr(&arc));
        Some(Arc(arc))
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    fn clone(&self) -> Self {
        count(Self::as_ptr(self));
        Self(self.0.clone())
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    fn drop(&mut self) {
        count(Self::as_ptr(self));
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
