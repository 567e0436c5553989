//! The threads' caches of blocks, for models with a heap of their own.

use alloc::boxed::Box;
use core::{alloc::Layout, ptr::NonNull};

use crate::sync::{cache, depot};

/// The depot between the caches.
#[allow(missing_debug_implementations, reason = "only models use it")]
pub struct Depot(depot::Depot);

#[allow(missing_docs, reason = "only models use it")]
impl Depot {
    pub fn new(most: usize, batch: usize) -> Self {
        Self(depot::Depot::new(most, batch))
    }
}

/// A cache that its thread closes. Not on the stack, because the threads of a model have little.
#[allow(missing_debug_implementations, reason = "only models use it")]
pub struct Cache(Box<cache::Cache>);

#[allow(missing_docs, reason = "only models use it")]
impl Cache {
    pub fn new(most: usize) -> Self {
        Self(Box::new(cache::Cache::new(most)))
    }

    pub fn take(&self, layout: Layout, depot: &Depot) -> Option<NonNull<u8>> {
        self.0.take(layout, &depot.0, || true)
    }

    /// # Safety
    /// The block was allocated with this layout, whose size is a multiple of its alignment and not
    /// 0, and belongs to the caller.
    pub unsafe fn put(&self, block: NonNull<u8>, layout: Layout, depot: &Depot) -> bool {
        // SAFETY: the caller promises it.
        unsafe { self.0.put(block, layout, &depot.0, || true) }
    }

    pub fn close(&self, give_back: impl FnMut(NonNull<u8>, Layout)) {
        self.0.close(give_back);
    }
}
