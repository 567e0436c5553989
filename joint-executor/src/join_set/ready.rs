//! The list of children that have ended, in one atomic word together with the waker of the task
//! that waits for the next end.
//!
//! | word | means | written by |
//! |---|---|---|
//! | `NOTHING` (null) | no child has ended since the list was taken, and no task waits | creation; the set, when it takes the list |
//! | a key, tagged with `KEY` | that child has ended, and its node has the key of the child before it | each child, once |
//! | a waker's word | no child has ended, and a task waits | the set |
//!
//! A child that ends replaces the word by its own key. If the word was a key, that key becomes the
//! child's `next`. If it was a waker, the child now owns the waker, and must wake it. The set takes
//! all keys by one exchange. A list that is not empty therefore has no waker, and no order between
//! two locations has to be kept.
//!
//! The list holds keys and not addresses, and only the set knows which child a key stands for. If
//! the word changes and changes back between a read and an exchange, it still means what it says,
//! and nothing in the list is kept alive by it.
//!
//! **A node is pushed at most once.** Its waker is registered in one join word, once, and a join
//! word wakes a registered waker by value or gives it back. A child that had already ended when it
//! was added is pushed by the set, and has no waker.

use alloc::{collections::BTreeMap, sync::Arc};
use core::{
    mem::ManuallyDrop,
    ptr::{self, NonNull},
    task::{Poll, Waker},
};
use std::sync::{Mutex, OnceLock, PoisonError};

use joint::waker::{Header, Registration, ThinWaker, VTable};
use joint_switch::{AtomicPtr, order};

const NOTHING: *mut () = ptr::null_mut();
/// Marks a key. No waker's word has this bit, because such a word is the address of a header or of
/// a boxed waker, and only its lowest bit may be tagged.
const KEY: usize = 2;
const TAG_BITS: u32 = 2;
const _: () = assert!(align_of::<Header>() >= 4 && align_of::<Waker>() >= 4);

/// Returns the key in a word, or `None` if the word is a waker's or null.
fn key_of(word: *mut ()) -> Option<usize> {
    is_key(word).then(|| word.addr() >> TAG_BITS)
}

fn is_key(word: *mut ()) -> bool {
    word.addr() & KEY != 0
}

/// The word. If it holds a waker, the set must empty it before it is dropped; any other content
/// needs nothing.
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

    /// Takes all keys, and returns the one that was pushed last. Only one caller at a time may call
    /// this.
    pub(super) fn take(&self) -> Option<usize> {
        // ORDERING: take_look. Relaxed: a caller that finds a key here takes it by an exchange, and
        // a key that is missed is not lost.
        key_of(self.word.load(order!(take_look: Relaxed)))?;
        // ORDERING: take. Acquire, with the Release of each `push`. A push is a read-modify-write,
        // so it continues the release of the pushes before it, and the links of all nodes in the
        // list are visible. A key is replaced only by another key until it is taken.
        key_of(self.word.swap(NOTHING, order!(take: Acquire)))
    }

    /// Returns `Ready` if a child has ended, and otherwise registers the waker, which the next
    /// child that ends will wake. Only one caller at a time may call this, but `take` may run at
    /// the same time.
    ///
    /// `last` is the caller's memory of the waker that it registered. It must be the same place for
    /// every call, and `NONE` for the first.
    pub(in super::super) fn poll(&self, waker: &Waker, last: &mut Registration) -> Poll<()> {
        // ORDERING: register_look. Relaxed: a key is left to `take`. A waker is the one that the
        // caller registered last. If a child is taking it at this moment, it is woken, and with it
        // the caller.
        let mut seen = self.word.load(order!(register_look: Relaxed));
        if is_key(seen) {
            return Poll::Ready(());
        }
        if seen != NOTHING && last.is_of(waker) {
            return Poll::Pending;
        }
        let new = ThinWaker::from(waker);
        let raw = new.into_raw();
        debug_assert!(
            !is_key(raw.as_ptr()),
            "the address of a task header is aligned"
        );
        loop {
            // ORDERING: register, register_again. Release: the child that takes the waker sees all
            // of it (`push`, Acquire). An older waker that is returned was registered by the caller
            // itself. Relaxed on failure, as for `register_look`.
            let exchanged = self.word.compare_exchange(
                seen,
                raw.as_ptr(),
                order!(register: Release),
                order!(register_again: Relaxed),
            );
            match exchanged {
                Ok(before) => {
                    *last = Registration::of(waker);
                    // SAFETY: the exchange hands over what was there.
                    drop(unsafe { waker_of(before) });
                    return Poll::Pending;
                }
                Err(now) if is_key(now) => {
                    // SAFETY: this is the word of the waker that was not registered.
                    drop(unsafe { ThinWaker::from_raw(raw) });
                    return Poll::Ready(());
                }
                Err(now) => seen = now,
            }
        }
    }

    /// Returns the [data](Waker::data) of the registered waker, if it is that of a task. Its owner
    /// may be gone by now.
    fn waiter(&self) -> Option<usize> {
        // ORDERING: waiter. Relaxed: the address is compared, and nothing behind it is read.
        let word = self.word.load(order!(waiter: Relaxed));
        (word != NOTHING && !is_key(word)).then(|| word.addr())
    }

    /// Removes the waker, if there is one, or else all keys. Called at the end of the set.
    pub(super) fn close(&self) -> Option<ThinWaker> {
        // ORDERING: close. Relaxed: a waker was registered by the caller itself, and keys are not
        // looked at.
        let before = self.word.swap(NOTHING, order!(close: Relaxed));
        // SAFETY: the exchange hands the word over.
        unsafe { waker_of(before) }
    }
}

/// # Safety
/// `word` was taken out of a list by an exchange.
unsafe fn waker_of(word: *mut ()) -> Option<ThinWaker> {
    let raw = NonNull::new(word).filter(|_| !is_key(word))?;
    // SAFETY: the word is neither null nor a key, so it is one that `register` put in, and the
    // exchange has handed it over.
    Some(unsafe { ThinWaker::from_raw(raw) })
}

/// A node that wakes a set when its child ends.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Node {
    header: Header,
    key: usize,
    /// The word that this node has replaced: the next key, if it is a key, or else the end of the
    /// list. Written by the thread that pushes the node.
    next: AtomicPtr<()>,
    ready: Arc<Ready>,
}

static NODE: VTable = {
    unsafe fn clone(header: NonNull<Header>) {
        // SAFETY: this is a node's header, from `Arc::as_ptr`, and the caller holds a count of the
        // node.
        unsafe { Arc::increment_strong_count(node(header)) }
    }
    unsafe fn wake(header: NonNull<Header>) {
        // SAFETY: as for `clone`. The count is given up here.
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
        family: None,
    }
};

impl Node {
    pub(super) fn new(key: usize, ready: Arc<Ready>) -> Arc<Self> {
        let node = Arc::new(Self {
            header: Header::new(&NODE),
            key,
            next: AtomicPtr::new(NOTHING),
            ready,
        });
        recorded(|nodes| nodes.insert(Arc::as_ptr(&node).addr(), node.ready.clone()));
        node
    }

    /// Returns a waker that may be used while the node is held, and that must not be dropped.
    pub(super) fn waker(self: &Arc<Self>) -> ManuallyDrop<Waker> {
        let header = Arc::as_ptr(self).cast_mut().cast::<Header>();
        // SAFETY: the address of a value is not null.
        let header = unsafe { NonNull::new_unchecked(header) };
        // SAFETY: a node begins with its header, and the pointer is the `Arc`'s own. The functions
        // count with the `Arc`, and wake from any thread. The waker stands for the count that the
        // caller holds, so it is not dropped.
        ManuallyDrop::new(unsafe { ThinWaker::waker_from_header(header) })
    }

    /// Pushes the child onto the list. The caller must wake the waker that is returned, if any.
    #[must_use = "the returned waker must be woken"]
    pub(super) fn push(&self) -> Option<ThinWaker> {
        let word = &self.ready.word;
        let own = ptr::without_provenance_mut((self.key << TAG_BITS) | KEY);
        // ORDERING: push_look. Relaxed: only the value goes into the link, and the exchange checks
        // it.
        let mut seen = word.load(order!(push_look: Relaxed));
        loop {
            // ORDERING: link. Relaxed: published by `push`.
            self.next.store(seen, order!(link: Relaxed));
            // ORDERING: push, push_again. Release: the thread that takes the list sees the link
            // (`take`, Acquire). Acquire: a waker that is taken is seen whole (`register`,
            // Release). Relaxed on failure, as for `push_look`.
            let exchanged =
                word.compare_exchange(seen, own, order!(push: AcqRel), order!(push_again: Relaxed));
            match exchanged {
                // SAFETY: the exchange hands the word over.
                Ok(before) => return unsafe { waker_of(before) },
                Err(now) => seen = now,
            }
        }
    }

    /// Returns the next key in the list. Only the set may call this, after it has taken the list.
    pub(super) fn next(&self) -> Option<usize> {
        // ORDERING: next. Relaxed: `take` has made the link visible.
        key_of(self.next.load(order!(next: Relaxed)))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        recorded(|nodes| nodes.remove(&ptr::from_mut(self).addr()));
    }
}

/// The list that each node belongs to, by the node's address. A dump finds that address in the join
/// word of a child, but must not read the node, which may be gone by then.
type Nodes = BTreeMap<usize, Arc<Ready>>;

/// All nodes that were made since [`record`] was called, and that still exist.
static NODES: OnceLock<Mutex<Nodes>> = OnceLock::new();

/// Records the nodes that are made from now on.
pub(in super::super) fn record() {
    NODES.get_or_init(Mutex::default);
}

fn recorded<R>(f: impl FnOnce(&mut Nodes) -> R) -> Option<R> {
    let nodes = NODES.get()?;
    Some(f(&mut nodes.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Returns a number of the set that the end of a child wakes, and the [data](Waker::data) of the
/// waker of the task that waits for the set. `waiter` is what is registered with the child.
pub(in super::super) fn set_of(waiter: usize) -> Option<(usize, usize)> {
    recorded(|nodes| {
        let ready = nodes.get(&waiter)?;
        Some((Arc::as_ptr(ready).addr(), ready.waiter()?))
    })?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_recorded_until_it_is_gone() {
        record();
        let ready = Arc::new(Ready::new());
        let node = Node::new(0, ready.clone());
        let address = node.waker().data().addr();
        assert_eq!(set_of(address), None, "nobody waits for the set");
        let mut last = Registration::new();
        assert!(ready.poll(Waker::noop(), &mut last).is_pending());
        let (set, _) = set_of(address).expect("somebody waits");
        assert_eq!(set, Arc::as_ptr(&ready).addr());
        drop(node.push());
        assert_eq!(set_of(address), None, "the waker was taken");
        drop(node);
        assert_eq!(Arc::strong_count(&ready), 1);
    }
}
