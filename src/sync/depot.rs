//! [`Depot`]: blocks on their way from threads that free more than they allocate to threads that
//! allocate more than they free.
//!
//! Blocks travel in batches, so that a thread pays for the exchange once in some tens of blocks.
//! The batches of one size are a chain behind one pointer, and all accesses to the pointer but the
//! first looks are exchanges:
//!
//! | operation | exchange | what comes back |
//! |---|---|---|
//! | give | `compare_exchange(chain -> batch, Release)` | nothing. Another chain: retry |
//! | take | `swap(null, Acquire)` | the chain, of which the caller keeps the first batch |
//! | take, the rest | `swap(rest, Acquire)` | batches that were given in between, which are given again |
//!
//! A thread uses a batch only after the exchange has made it the thread's own. Giving does not look
//! into the chain: only the address of its first batch counts, even if that has been taken, freed
//! and given again since the first look. A chain that is taken is empty until the rest is back.
//! Another thread that looks in between finds nothing, and asks the allocator.
//!
//! Both operations are lock-free: a retry means that another thread has given or taken.

use core::{
    alloc::Layout,
    ptr::{self, NonNull},
};

use super::{
    AtomicPtr, AtomicUsize, UnsafeCell, array_of,
    cache::{Free, SIZES, index},
    const_unless_modelled, order,
};

/// The content of the first block of a batch.
#[repr(C)]
struct Batch {
    /// The list of the batch's blocks, of which this is the first.
    blocks: Free,
    /// The next batch of the chain.
    next: UnsafeCell<*mut Batch>,
}

impl Batch {
    /// Returns the batch behind this one, or null.
    ///
    /// # Safety
    /// The chain is the caller's alone.
    unsafe fn next(this: NonNull<Self>) -> *mut Self {
        // SAFETY: the caller's own, and written by `push`. The reference is to the cell alone.
        let next = unsafe { &(*this.as_ptr()).next };
        // SAFETY: the caller's own.
        next.with(|next| unsafe { *next })
    }

    /// Links a batch in front of a chain.
    ///
    /// # Safety
    /// The batch is the caller's alone.
    unsafe fn put_before(this: NonNull<Self>, next: *mut Self) {
        // SAFETY: only the place of the field is computed.
        let link = unsafe { &raw mut (*this.as_ptr()).next };
        // SAFETY: the caller's own. A cell that was there needs no drop.
        unsafe { link.write(UnsafeCell::new(next)) };
    }
}

/// The batches of one size that no thread has. Alone on its cache lines, because threads that use
/// different sizes have nothing to share.
#[repr(align(128))]
struct Chain {
    first: AtomicPtr<Batch>,
    /// How many there are, and how many are on the way to or from the chain.
    batches: AtomicUsize,
}

impl Chain {
    const_unless_modelled! {
        fn new() -> Chain {
            Chain {
                first: AtomicPtr::new(ptr::null_mut()),
                batches: AtomicUsize::new(0),
            }
        }
    }
}

/// The batches that no thread has.
pub(crate) struct Depot {
    chains: [Chain; SIZES],
    /// How many bytes of each size there may be.
    most: usize,
    /// How many bytes a batch has.
    batch: usize,
}

impl Depot {
    const_unless_modelled! {
        /// Creates a depot for up to `most` bytes of each size, in batches of `batch` bytes.
        pub(crate) fn new(most: usize, batch: usize) -> Depot {
            Depot {
                chains: array_of!(Chain::new(); SIZES),
                most,
                batch,
            }
        }
    }

    fn chain(&self, layout: Layout) -> &Chain {
        &self.chains[index(layout)]
    }

    /// Returns how many blocks of this layout make a batch, or `None` if such blocks do not travel,
    /// because a batch's pointers do not fit into one.
    pub(super) fn batch(&self, layout: Layout) -> Option<usize> {
        (layout.size() >= size_of::<Batch>()).then(|| (self.batch / layout.size()).max(1))
    }

    /// Reserves a place for a batch. Returns false if there is none. Otherwise a batch must be
    /// [given](Self::give).
    pub(super) fn reserve(&self, layout: Layout) -> bool {
        let count = &self.chain(layout).batches;
        let most = self.most / self.batch;
        // ORDERING: count, reserve, reserve_again. Relaxed: only the number counts, and no batch is
        // found by it.
        let mut batches = count.load(order!(count: Relaxed));
        while batches < most {
            let done = order!(reserve: Relaxed);
            let failed = order!(reserve_again: Relaxed);
            let reserved = count.compare_exchange(batches, batches + 1, done, failed);
            match reserved {
                Ok(_) => return true,
                Err(other) => batches = other,
            }
        }
        false
    }

    /// Gives a batch, for which the caller has [reserved](Self::reserve) a place.
    ///
    /// # Safety
    /// `first` is the first in a list of [`batch(layout)`](Self::batch) blocks of this layout, and
    /// all of them are the caller's to give up.
    pub(super) unsafe fn give(&self, layout: Layout, first: NonNull<Free>) {
        let batch = first.cast();
        // SAFETY: the caller's own, and large enough, because `batch` has returned a number.
        unsafe { self.push(layout, batch, batch) };
    }

    /// Puts a chain in front of the one that is there.
    ///
    /// # Safety
    /// The chain from `first` to `last` is the caller's alone, and its blocks have this layout.
    unsafe fn push(&self, layout: Layout, first: NonNull<Batch>, last: NonNull<Batch>) {
        let chain = &self.chain(layout).first;
        // ORDERING: before_push, push_again. Relaxed: the address is only written down.
        let mut next = chain.load(order!(before_push: Relaxed));
        loop {
            // SAFETY: the caller's alone until the exchange succeeds.
            unsafe { Batch::put_before(last, next) };
            // ORDERING: push. Release, with the Acquire of `take` and `put_back`: all uses of the
            // blocks, and their links, come before those of the thread that takes them. Later
            // exchanges are part of the same release sequence.
            let done = order!(push: Release);
            let failed = order!(push_again: Relaxed);
            match chain.compare_exchange(next, first.as_ptr(), done, failed) {
                Ok(_) => return,
                Err(other) => next = other,
            }
        }
    }

    /// Takes a batch, if there is one. Returns the first in a list of
    /// [`batch(layout)`](Self::batch) blocks of this layout, which are the caller's.
    pub(super) fn take(&self, layout: Layout) -> Option<NonNull<Free>> {
        let chain = self.chain(layout);
        // ORDERING: is_empty. Relaxed: a guess, which spares an empty chain the exchange.
        if chain.first.load(order!(is_empty: Relaxed)).is_null() {
            return None;
        }
        // ORDERING: take. Acquire, with the Release of `push`, for each batch of the chain.
        let first = chain.first.swap(ptr::null_mut(), order!(take: Acquire));
        let first = NonNull::new(first)?;
        // SAFETY: the chain is ours, because it came out of the exchange.
        let rest = unsafe { Batch::next(first) };
        if !rest.is_null() {
            self.put_back(layout, rest);
        }
        // ORDERING: leave. Relaxed: as for `reserve`.
        chain.batches.fetch_sub(1, order!(leave: Relaxed));
        Some(first.cast())
    }

    /// Puts back the rest of the chain that was taken.
    #[cold]
    fn put_back(&self, layout: Layout, rest: *mut Batch) {
        // ORDERING: put_back. Acquire, with the Release of `push`, for what has been given since
        // `take`. Not Release: nothing has been written into the rest since its batches were
        // pushed, and those pushes release it also to whoever takes it from this exchange.
        let chain = &self.chain(layout).first;
        let given = chain.swap(rest, order!(put_back: Acquire));
        let Some(first) = NonNull::new(given) else {
            return;
        };
        let mut last = first;
        // The chain is short, unless another thread has put back its rest meanwhile.
        // SAFETY: it is ours, because it came out of the exchange.
        while let Some(next) = NonNull::new(unsafe { Batch::next(last) }) {
            last = next;
        }
        // SAFETY: as above, and its blocks were given with this layout.
        unsafe { self.push(layout, first, last) };
    }
}
