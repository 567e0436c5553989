//! [`Room`]: entries of one word each, which hold the addresses of waiting tasks.
//!
//! The entries lie in chunks of [`CHUNK`] bytes, each with a head that all its entries share. The
//! chunk of an entry is found by the entry's address ([`head_of`]), so a task whose metadata is the
//! address of its entry also knows the head. A chunk is freed with its room, and not before, so any
//! thread can read all entries at any time.
//!
//! A room has one *owner*, who enters tasks and alone touches the list of free entries. An entry in
//! use is even: a task's address, to which the users of the room may add flags. A free entry is
//! odd: the address of the next free one, or null, plus 1.

use core::{
    iter,
    ptr::{self, NonNull},
};

use super::padded::CachePadded;
use joint_switch::{AtomicPtr, MODELLED, Retire, UnsafeCell, heap, order};

/// The size and the alignment of a chunk.
const CHUNK: usize = 1024;
const WORD: usize = size_of::<*mut ()>();
/// The size of the head, and of the address of the next chunk.
const HEAD: usize = 3 * WORD;
pub(crate) const ENTRIES: usize = match MODELLED {
    true => 2,
    false => (CHUNK - HEAD) / WORD,
};

/// A task's address, or a link of a list of free entries.
pub(crate) type Entry = AtomicPtr<()>;

#[repr(C, align(1024))]
pub(crate) struct Chunk<H> {
    head: H,
    /// The chunk that was added before this one, or null.
    older: *mut Self,
    entries: [Entry; ENTRIES],
}

/// Returns the head of the chunk that an entry lies in. It lives as long as the entry's room, and
/// is never written.
#[inline]
pub(crate) fn head_of<H>(entry: *const Entry) -> *const H {
    entry.map_addr(|address| address & !(CHUNK - 1)).cast()
}

const _: () = assert!(align_of::<Entry>() > 1);

/// A free entry that is followed by `next`.
fn free(next: *mut Entry) -> *mut () {
    next.map_addr(|address| address | 1).cast()
}

/// The entry that follows a free one, or null.
fn next(free: *mut ()) -> *mut Entry {
    free.map_addr(|address| address & !1).cast()
}

/// The entries of a new chunk, for this address: each is free, and followed by the next one.
fn row(entries: *mut Entry) -> [Entry; ENTRIES] {
    let link = |i| match i < ENTRIES {
        true => entries.wrapping_add(i),
        false => ptr::null_mut(),
    };
    core::array::from_fn(|i| Entry::new(free(link(i + 1))))
}

/// Writes a link into an entry that belongs to the caller.
pub(crate) fn put(word: &Entry, link: *mut ()) -> bool {
    // ORDERING: put. Relaxed: the list that the entry goes to publishes it.
    word.store(link, order!(put: Relaxed));
    true
}

pub(crate) struct Room<H> {
    /// The chunk that was added last, or null. Written by the owner.
    newest: AtomicPtr<Chunk<H>>,
    /// The first free entry, or null. Touched by the owner.
    free: UnsafeCell<*mut Entry>,
    /// The first of the entries that other threads have freed, or null. On a line of its own,
    /// because the owner touches the others for each task that waits.
    returned: CachePadded<AtomicPtr<Entry>>,
}

// SAFETY: other threads than the owner touch the entries alone, which are atomic, and read the
// heads and links of the chunks, which are not written once they are published.
unsafe impl<H> Sync for Room<H> {}
// SAFETY: as for `Sync`.
unsafe impl<H> Send for Room<H> {}

impl<H> Default for Room<H> {
    fn default() -> Self {
        Self {
            newest: AtomicPtr::new(ptr::null_mut()),
            free: UnsafeCell::new(ptr::null_mut()),
            returned: CachePadded::new(AtomicPtr::new(ptr::null_mut())),
        }
    }
}

impl<H> Room<H> {
    /// Enters a task, and returns the entry. `head` is for a new chunk.
    ///
    /// # Safety
    /// The caller is the owner.
    #[inline]
    pub(crate) unsafe fn enter(&self, task: NonNull<()>, head: H) -> *mut Entry {
        self.free.with_mut(|first| {
            // SAFETY: by this function's contract.
            let mut entry = unsafe { *first };
            if entry.is_null() {
                entry = self.refill(head);
            }
            // SAFETY: this is a free entry of a chunk of this room.
            let word = unsafe { &*entry };
            // ORDERING: free_look. Relaxed: the owner has written it, or has acquired the list.
            let link = word.load(order!(free_look: Relaxed));
            debug_assert!(link.addr() & 1 == 1, "the entry is free");
            // SAFETY: as above.
            unsafe { *first = next(link) };
            // ORDERING: enter. Release, with the registry's `walk`: a thread that finds the task
            // here may touch it.
            word.store(task.as_ptr(), order!(enter: Release));
            entry
        })
    }

    /// Frees an entry, unless `write` returns false. `write` writes the value that it is given into
    /// the entry. Lock-free.
    ///
    /// # Safety
    /// The entry is one of this room's, in use until now, and the caller's once `write` returns
    /// true. If `is_owner`, the caller is the owner.
    #[inline]
    pub(crate) unsafe fn give_back(
        &self,
        entry: *mut Entry,
        is_owner: bool,
        write: impl FnOnce(&Entry, *mut ()) -> bool,
    ) -> bool {
        // SAFETY: the entry is in a chunk of this room.
        let word = unsafe { &*entry };
        if !is_owner {
            // ORDERING: returned_look. Relaxed: the exchange decides.
            let first = self.returned.load(order!(returned_look: Relaxed));
            let is_free = write(word, free(first));
            if is_free {
                self.return_entry(entry, word, first);
            }
            return is_free;
        }
        self.free.with_mut(|first| {
            // SAFETY: by this function's contract.
            let is_free = write(word, free(unsafe { *first }));
            if is_free {
                // SAFETY: as above.
                unsafe { *first = entry };
            }
            is_free
        })
    }

    /// Adds an entry, which links to `first`, to those that the owner takes back.
    fn return_entry(&self, entry: *mut Entry, word: &Entry, mut first: *mut Entry) {
        loop {
            // ORDERING: push, push_again. Release, with `take`: the link is visible. On failure
            // nothing is read because of the value.
            let orders = (order!(push: Release), order!(push_again: Relaxed));
            match (self.returned).compare_exchange(first, entry, orders.0, orders.1) {
                Ok(_) => return,
                Err(now) => first = now,
            }
            put(word, free(first));
        }
    }

    /// Returns a list of free entries: those that were given back, or else a new chunk's.
    #[cold]
    fn refill(&self, head: H) -> *mut Entry {
        // ORDERING: take. Acquire, with each `push`, which the later ones continue.
        let returned = self.returned.swap(ptr::null_mut(), order!(take: Acquire));
        match returned.is_null() {
            true => self.grow(head),
            false => returned,
        }
    }

    /// Adds a chunk, and returns the list of its entries.
    fn grow(&self, head: H) -> *mut Entry {
        const {
            assert!(
                size_of::<Chunk<H>>() == CHUNK,
                "the address of an entry gives that of its chunk"
            );
        }
        let chunk = heap::allocate::<Chunk<H>>().as_ptr();
        // SAFETY: the field is inside the chunk.
        let entries = unsafe { &raw mut (*chunk).entries }.cast::<Entry>();
        // ORDERING: newest_look. Relaxed: the owner alone writes it.
        let older = self.newest.load(order!(newest_look: Relaxed));
        let fresh = Chunk {
            head,
            older,
            entries: row(entries),
        };
        // SAFETY: the block is fresh, and has room for a chunk.
        unsafe { chunk.write(fresh) };
        // ORDERING: grow. Release, with `chunks`: the chunk is complete.
        self.newest.store(chunk, order!(grow: Release));
        entries
    }

    pub(crate) fn chunks(&self) -> impl Iterator<Item = NonNull<Chunk<H>>> {
        // ORDERING: chunks. Acquire, with `grow`.
        let newest = self.newest.load(order!(chunks: Acquire));
        // SAFETY: a chunk lives as long as the room.
        let older = |chunk: &NonNull<Chunk<H>>| NonNull::new(unsafe { chunk.as_ref().older });
        iter::successors(NonNull::new(newest), older)
    }

    /// Calls `f` with the word of each entry in use, with the entry as its word, and with its
    /// address.
    pub(crate) fn each_used(&self, mut f: impl FnMut(NonNull<()>, &Entry, *mut Entry)) {
        for chunk in self.chunks() {
            // SAFETY: a chunk lives as long as the room.
            let entries = unsafe { &raw mut (*chunk.as_ptr()).entries }.cast::<Entry>();
            for entry in (0..ENTRIES).map(|i| entries.wrapping_add(i)) {
                // SAFETY: the entry is inside the chunk.
                let word = unsafe { &*entry };
                // ORDERING: look. Relaxed: `f` does what it must before it touches a task.
                let used = NonNull::new(word.load(order!(look: Relaxed)));
                if let Some(used) = used.filter(|used| used.addr().get() & 1 == 0) {
                    f(used, word, entry);
                }
            }
        }
    }
}

impl<H> Drop for Room<H> {
    fn drop(&mut self) {
        for mut chunk in self.chunks() {
            // SAFETY: the room is the caller's alone, and no entry is in use, because each of those
            // keeps the owner of the room alive.
            let entries = unsafe { &mut chunk.as_mut().entries };
            entries.iter_mut().for_each(Retire::retire);
            // SAFETY: the chunk is complete, and not used after this.
            unsafe { chunk.drop_in_place() };
            // SAFETY: `grow` has allocated it.
            unsafe { heap::release(chunk) };
        }
    }
}
