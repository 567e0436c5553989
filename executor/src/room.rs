//! [`Room`]: entries of one word each, which hold the addresses of waiting tasks.
//!
//! The entries lie in chunks of [`CHUNK`] bytes, each with a head that all its entries share. The
//! chunk of an entry is found by the entry's address ([`head_of`]), so a task whose metadata is the
//! address of its entry also knows the head.
//!
//! An entry in use is a task's address. A free entry is the address of the next free one, or null,
//! made odd.

use alloc::{alloc::handle_alloc_error, vec::Vec};
use core::{
    alloc::Layout,
    cell::UnsafeCell,
    ptr::{self, NonNull},
};

/// The size and the alignment of a chunk.
const CHUNK: usize = 1024;
const HEAD: usize = 32;
pub(crate) const ENTRIES: usize = (CHUNK - HEAD) / size_of::<*mut ()>();

#[repr(C, align(1024))]
struct Chunk<H> {
    head: H,
    entries: UnsafeCell<[*mut (); ENTRIES]>,
}

/// Returns the head of the chunk that an entry lies in, or `None` for null. It lives as long as the
/// entry's room, and is never written.
#[inline]
pub(crate) fn head_of<H>(entry: *mut ()) -> Option<NonNull<H>> {
    NonNull::new(entry.map_addr(|address| address & !(CHUNK - 1)).cast())
}

/// A free entry that is followed by `next`.
fn free(next: *mut ()) -> *mut () {
    next.map_addr(|address| address | 1)
}

/// The entry that follows a free one, or null.
fn next(free: *mut ()) -> *mut () {
    free.map_addr(|address| address & !1)
}

/// Makes an entry that is not in use the first of a list.
///
/// # Safety
/// The caller has the entry.
pub(crate) unsafe fn link(entry: *mut (), first: *mut ()) {
    // SAFETY: the entry is the caller's, and holds one word.
    unsafe { entry.cast::<*mut ()>().write(free(first)) };
}

/// Room for entries. A thread that touches it has exclusive access.
pub(crate) struct Room<H> {
    chunks: Vec<NonNull<Chunk<H>>>,
    /// The first free entry, or null.
    free: *mut (),
    live: usize,
}

impl<H> Default for Room<H> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            free: ptr::null_mut(),
            live: 0,
        }
    }
}

// SAFETY: the chunks belong to the room, except for their heads, which are never written.
unsafe impl<H> Send for Room<H> {}

impl<H> Room<H> {
    /// Returns whether the next entry needs another chunk.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.free.is_null()
    }

    /// Returns the number of entries in use.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    #[cfg(test)]
    pub(crate) fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// Enters a task, and returns the entry. `head` makes the head of a new chunk.
    #[inline]
    pub(crate) fn enter(&mut self, task: NonNull<()>, head: impl FnOnce() -> H) -> *mut () {
        if self.is_full() {
            self.grow(head());
        }
        let entry = self.free;
        // SAFETY: this is a free entry of a chunk of this room.
        let taken = unsafe { entry.cast::<*mut ()>().replace(task.as_ptr()) };
        self.free = next(taken);
        self.live += 1;
        entry
    }

    /// # Safety
    /// `entry` is one of this room's, and was in use until now.
    #[inline]
    pub(crate) unsafe fn give_back(&mut self, entry: *mut ()) {
        // SAFETY: by this function's contract.
        unsafe { link(entry, self.free) };
        self.free = entry;
        self.live -= 1;
    }

    /// Takes back a list of entries that are no longer in use.
    ///
    /// # Safety
    /// They are linked by [`link`], and are this room's, which has no free entry.
    #[cold]
    pub(crate) unsafe fn take_back(&mut self, first: *mut ()) {
        self.free = first;
        // SAFETY: by this function's contract.
        unsafe { self.count_off(first) };
    }

    /// Counts a list of entries as no longer in use, and forgets them.
    ///
    /// # Safety
    /// They are linked by [`link`], and are this room's.
    pub(crate) unsafe fn count_off(&mut self, first: *mut ()) {
        let mut entry = first;
        while !entry.is_null() {
            self.live -= 1;
            // SAFETY: this is a free entry of a chunk of this room.
            entry = next(unsafe { entry.cast::<*mut ()>().read() });
        }
    }

    #[cold]
    fn grow(&mut self, head: H) {
        let chunk = Chunk::new(head);
        self.chunks.push(chunk);
        // SAFETY: the chunk is fresh.
        let entries = unsafe { &raw mut (*chunk.as_ptr()).entries }.cast::<*mut ()>();
        for i in (0..ENTRIES).rev() {
            // SAFETY: the entry is inside the chunk.
            let entry = unsafe { entries.add(i) };
            // SAFETY: as above.
            unsafe { link(entry.cast(), self.free) };
            self.free = entry.cast();
        }
    }

    /// Calls `f` with each task that is entered.
    pub(crate) fn each_task(&self, mut f: impl FnMut(NonNull<()>)) {
        for chunk in &self.chunks {
            // SAFETY: a chunk lives as long as the room.
            let entries = unsafe { &raw const (*chunk.as_ptr()).entries }.cast::<*mut ()>();
            for i in 0..ENTRIES {
                // SAFETY: the entry is inside the chunk.
                let entry = unsafe { entries.add(i) };
                // SAFETY: no other thread touches the entries now.
                let task = unsafe { entry.read() };
                let task = NonNull::new(task).filter(|task| task.addr().get() & 1 == 0);
                task.into_iter().for_each(&mut f);
            }
        }
    }
}

impl<H> Chunk<H> {
    fn new(head: H) -> NonNull<Self> {
        const {
            assert!(
                size_of::<Self>() == CHUNK && !core::mem::needs_drop::<H>(),
                "the address of an entry gives that of its chunk, whose head is not dropped"
            );
        }
        let layout = Layout::new::<Self>();
        // SAFETY: the layout's size is not zero.
        let chunk = unsafe { alloc::alloc::alloc(layout) }.cast::<Self>();
        let Some(chunk) = NonNull::new(chunk) else {
            handle_alloc_error(layout)
        };
        let empty = Self {
            head,
            entries: UnsafeCell::new([ptr::null_mut(); ENTRIES]),
        };
        // SAFETY: the memory is fresh, and has that layout.
        unsafe { chunk.write(empty) };
        chunk
    }
}

impl<H> Drop for Room<H> {
    fn drop(&mut self) {
        for chunk in self.chunks.drain(..) {
            // SAFETY: the chunk was made by `Chunk::new`. No entry is in use, because each of those
            // keeps the owner of the room alive.
            unsafe { alloc::alloc::dealloc(chunk.as_ptr().cast(), Layout::new::<Chunk<H>>()) };
        }
    }
}
