//! The list of children that have ended, in one atomic word together with the waker of whoever
//! waits for the next.
//!
//! | word | means | written by |
//! |---|---|---|
//! | `NOTHING` (null) | no child has ended since the list was taken, nobody waits | creation; the set, which takes |
//! | a key, tagged with `KEY` | that child has ended, and its node knows the key of the one before | children, each once |
//! | a waker's word | no child has ended, and somebody waits | the set |
//!
//! A child that ends puts its key in the place of what is there. A key that was there becomes its
//! next; a waker is its to wake. The set takes all keys by one exchange. So a list with something
//! in it has no waker, and there is no order between two locations to be kept.
//!
//! The list holds keys and not addresses: what a key stands for is known to the set alone. A word
//! that came back to what it was while somebody looked away means what it says, and nothing in the
//! list is kept alive by it.
//!
//! **A node is pushed at most once.** Its waker is registered in one join word, once, and a join
//! word wakes what was registered by value or gives it back. A child that has ended before is
//! pushed by the set, and has no waker.

use alloc::sync::Arc;
use core::{
    mem::ManuallyDrop,
    ptr::{self, NonNull},
    task::Waker,
};

use crate::{
    sync::{AtomicPtr, AtomicUsize, order},
    waker::{Header, ThinWaker, VTable, WakerWords},
};

const NOTHING: *mut () = ptr::null_mut();
/// Marks a key. No waker's word has the bit: it is the address of a header or of a boxed waker,
/// tagged in the lowest bit at most.
const KEY: usize = 2;
const TAG_BITS: u32 = 2;
const _: () = assert!(align_of::<Header>() >= 4 && align_of::<Waker>() >= 4);

/// A key as it stands in a list, or that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link(usize);

impl Link {
    pub(super) const END: Self = Self(0);

    pub(super) fn to(key: usize) -> Self {
        Self((key << TAG_BITS) | KEY)
    }

    pub(super) fn key(self) -> Option<usize> {
        (self != Self::END).then_some(self.0 >> TAG_BITS)
    }

    /// What a word says of keys: the last one pushed, or none when it is a waker's.
    fn of(word: *mut ()) -> Self {
        if is_key(word) {
            Self(word.addr())
        } else {
            Self::END
        }
    }

    fn word(self) -> *mut () {
        ptr::without_provenance_mut(self.0)
    }
}

fn is_key(word: *mut ()) -> bool {
    word.addr() & KEY != 0
}

/// The word. Whoever drops the set empties it of a waker; nothing else in it needs that.
#[derive(Debug)]
pub(in super::super) struct Ready {
    word: AtomicPtr<()>,
}

impl Ready {
    pub(super) fn new() -> Self {
        Self {
            word: AtomicPtr::new(NOTHING),
        }
    }

    /// Takes all keys, the last one pushed in front. To be called by one at a time.
    pub(super) fn take(&self) -> Link {
        // ORDERING: take_look. Relaxed: who finds a key here takes it by an exchange, and no key is
        // lost by being missed.
        if !is_key(self.word.load(order!(take_look: Relaxed))) {
            return Link::END;
        }
        // ORDERING: take. Acquire, with the Release of each `push`, which is a read-modify-write
        // and so continues the release of those before it: the links of all the nodes in the list
        // are seen. A key is replaced by keys alone until it is taken.
        Link::of(self.word.swap(NOTHING, order!(take: Acquire)))
    }

    /// Puts a waker where the next child that ends finds it, or says no: one has ended. To be
    /// called by one at a time, but beside `take`.
    ///
    /// `last` is the caller's memory of what it registered: the same place for every call, `NONE`
    /// for the first.
    pub(in super::super) fn register(&self, waker: &Waker, last: &mut WakerWords) -> bool {
        // ORDERING: register_look. Relaxed: a key is left to `take`. A waker is the one that the
        // caller put in last: if it is being taken at this moment, it is woken, and the caller with
        // it.
        let mut seen = self.word.load(order!(register_look: Relaxed));
        if is_key(seen) {
            return false;
        }
        if seen != NOTHING && last.are_of(waker) {
            return true;
        }
        let new = ThinWaker::from(waker);
        let raw = new.into_raw();
        debug_assert!(!is_key(raw.as_ptr()), "a waker's word is aligned");
        loop {
            // ORDERING: register, register_again. Release: the child that takes the waker sees all
            // of it (`push`, Acquire). An older waker that comes back was put in by the caller
            // itself. Relaxed when it fails: as for `register_look`.
            let exchanged = self.word.compare_exchange(
                seen,
                raw.as_ptr(),
                order!(register: Release),
                order!(register_again: Relaxed),
            );
            match exchanged {
                Ok(before) => {
                    *last = WakerWords::of(waker);
                    // SAFETY: no key was expected, and the exchange hands over what was there.
                    drop(unsafe { waker_of(before) });
                    return true;
                }
                Err(now) if is_key(now) => {
                    // SAFETY: the word of the waker that was not put in.
                    drop(unsafe { ThinWaker::from_raw(raw) });
                    return false;
                }
                Err(now) => seen = now,
            }
        }
    }

    /// Takes the waker out, if there is one, and all keys with it. For the end of the set.
    pub(super) fn close(&self) -> Option<ThinWaker> {
        // ORDERING: close. Relaxed: a waker was put in by the caller itself, and keys are not
        // looked at.
        let before = self.word.swap(NOTHING, order!(close: Relaxed));
        if is_key(before) {
            return None;
        }
        // SAFETY: no key, and the exchange hands it over.
        unsafe { waker_of(before) }
    }
}

/// # Safety
/// `word` came out of a list by an exchange, and is no key.
unsafe fn waker_of(word: *mut ()) -> Option<ThinWaker> {
    let raw = NonNull::new(word)?;
    // SAFETY: neither null nor a key, so it is what `register` put in, and the exchange has handed
    // it over.
    Some(unsafe { ThinWaker::from_raw(raw) })
}

/// What wakes a set on behalf of one child.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Node {
    header: Header,
    key: usize,
    /// A `Link`: written by whoever pushes the node, and after that by the set.
    next: AtomicUsize,
    ready: Arc<Ready>,
}

static NODE: VTable = {
    unsafe fn clone(header: NonNull<Header>) {
        // SAFETY: a node's header, from `Arc::as_ptr`, of which the caller holds a count.
        unsafe { Arc::increment_strong_count(node(header)) }
    }
    unsafe fn wake(header: NonNull<Header>) {
        // SAFETY: as for `clone`; the count is given up here.
        let node = unsafe { Arc::from_raw(node(header)) };
        let waiter = node.push();
        core::mem::drop(node);
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }
    unsafe fn wake_by_ref(header: NonNull<Header>) {
        // SAFETY: as for `clone`.
        unsafe { clone(header) };
        // SAFETY: the count that was just added is given up.
        unsafe { wake(header) }
    }
    unsafe fn drop(header: NonNull<Header>) {
        // SAFETY: as for `wake`.
        core::mem::drop(unsafe { Arc::from_raw(node(header)) });
    }
    fn node(header: NonNull<Header>) -> *const Node {
        header.as_ptr().cast()
    }
    VTable {
        clone,
        wake,
        wake_by_ref,
        drop,
    }
};

impl Node {
    pub(super) fn new(key: usize, ready: Arc<Ready>) -> Arc<Self> {
        Arc::new(Self {
            header: Header::new(&NODE),
            key,
            next: AtomicUsize::new(Link::END.0),
            ready,
        })
    }

    /// A waker that may be used as long as the node is held, and must not be dropped.
    pub(super) fn waker(self: &Arc<Self>) -> ManuallyDrop<Waker> {
        let header = Arc::as_ptr(self).cast_mut().cast::<Header>();
        // SAFETY: the address of a value is not null.
        let header = unsafe { NonNull::new_unchecked(header) };
        // SAFETY: a node is headed by its header, and the pointer is the `Arc`'s own. The functions
        // count with the `Arc` and wake from any thread. The count that the waker stands for is the
        // one that the caller holds: it is not dropped.
        ManuallyDrop::new(unsafe { ThinWaker::waker_of_header(header) })
    }

    /// Enters the child into the list. What comes back is to be woken.
    #[must_use = "whoever waits for the set is to be woken"]
    pub(super) fn push(&self) -> Option<ThinWaker> {
        let word = &self.ready.word;
        // ORDERING: push_look. Relaxed: only its value goes into the link, and the exchange checks
        // it.
        let mut seen = word.load(order!(push_look: Relaxed));
        loop {
            // ORDERING: link. Relaxed: published by `push`.
            self.next.store(Link::of(seen).0, order!(link: Relaxed));
            // ORDERING: push, push_again. Release: the link is seen by whoever takes the list
            // (`take`, Acquire). Acquire: a waker that comes back is seen whole (`register`,
            // Release). Relaxed when it fails: as for `push_look`.
            let exchanged = word.compare_exchange(
                seen,
                Link::to(self.key).word(),
                order!(push: AcqRel),
                order!(push_again: Relaxed),
            );
            match exchanged {
                Ok(before) if is_key(before) => return None,
                // SAFETY: no key, and the exchange hands it over.
                Ok(before) => return unsafe { waker_of(before) },
                Err(now) => seen = now,
            }
        }
    }

    /// The next in the list. To be called by the set, once the list was taken.
    pub(super) fn next(&self) -> Link {
        // ORDERING: next. Relaxed: `take` has made the link visible, and the set alone writes it
        // after that.
        Link(self.next.load(order!(next: Relaxed)))
    }

    /// Puts another in the place of the next. To be called by the set, once the list was taken.
    pub(super) fn relink(&self, next: Link) {
        // ORDERING: relink. Relaxed: the set's own from here on.
        self.next.store(next.0, order!(relink: Relaxed));
    }
}
