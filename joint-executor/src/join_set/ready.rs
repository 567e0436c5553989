//! The children of a set that have ended: keys of its children, as [`Arrivals`], and the nodes that
//! push them.
//!
//! A child's node links its key to the word before it. The list holds keys and not addresses, and
//! only the set knows which child a key stands for, so nothing in the list is kept alive by it.
//!
//! **A node is pushed at most once.** Its waker is registered in one join word, once, and a join
//! word wakes a registered waker by value or gives it back. A child that had already ended when it
//! was added is pushed by the set, and has no waker.

use alloc::sync::Arc;
use core::{
    mem::ManuallyDrop,
    ptr::{self, NonNull},
    task::Waker,
};
#[cfg(feature = "dump")]
use std::{
    collections::HashMap,
    sync::{Mutex, OnceLock, PoisonError},
};

use crate::arrivals::{Arrivals, ITEM, Taken, is_item};
use joint::waker::{Header, ThinWaker, VTable};
use joint_switch::{AtomicPtr, order};

const TAG_BITS: u32 = 2;

/// Returns the key in a word, or `None` at the end of the list.
fn key_of(word: *mut ()) -> Option<usize> {
    is_item(word).then(|| word.addr() >> TAG_BITS)
}

/// Takes all keys, and returns the one that was pushed last. One caller at a time may call this.
pub(super) fn take(ready: &Arrivals) -> Option<usize> {
    match ready.has_items().then(|| ready.empty())? {
        Taken::Items(last) => key_of(last),
        Taken::Nothing | Taken::Waker(_) => None,
    }
}

#[repr(C)]
#[derive(Debug)]
pub(super) struct Node {
    header: Header,
    key: usize,
    /// The word that this node has replaced: the next key, if it is a key, or else the end of the
    /// list. Written by the thread that pushes the node.
    next: AtomicPtr<()>,
    ready: Arc<Arrivals>,
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
    pub(super) fn new(key: usize, ready: Arc<Arrivals>) -> Arc<Self> {
        let node = Arc::new(Self {
            header: Header::new(&NODE),
            key,
            next: AtomicPtr::new(ptr::null_mut()),
            ready,
        });
        #[cfg(feature = "dump")]
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
        let item = ptr::without_provenance_mut(self.key << TAG_BITS | ITEM);
        // ORDERING: link. Relaxed: the push publishes it.
        let link = |before| self.next.store(before, order!(link: Relaxed));
        // SAFETY: the node keeps the word alive, and the caller keeps the node.
        unsafe { Arrivals::push(Arc::as_ptr(&self.ready), item, link) }
    }

    /// Returns the next key in the list. Only the set may call this, after it has taken the list.
    pub(super) fn next(&self) -> Option<usize> {
        // ORDERING: next. Relaxed: the link is visible since the list was taken.
        key_of(self.next.load(order!(next: Relaxed)))
    }
}

#[cfg(feature = "dump")]
impl Drop for Node {
    fn drop(&mut self) {
        recorded(|nodes| nodes.remove(&ptr::from_mut(self).addr()));
    }
}

/// The list that each node belongs to, by the node's address. A dump finds that address in the join
/// word of a child, but must not read the node, which may be gone by then.
#[cfg(feature = "dump")]
type Nodes = HashMap<usize, Arc<Arrivals>>;

/// All nodes that were made since [`record`] was called, and that still exist.
#[cfg(feature = "dump")]
static NODES: OnceLock<Mutex<Nodes>> = OnceLock::new();

/// Records the nodes that are made from now on.
#[cfg(feature = "dump")]
pub(in super::super) fn record() {
    NODES.get_or_init(Mutex::default);
}

#[cfg(feature = "dump")]
fn recorded<R>(f: impl FnOnce(&mut Nodes) -> R) -> Option<R> {
    let nodes = NODES.get()?;
    Some(f(&mut nodes.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Returns a number of the set that the end of a child wakes, and the [data](Waker::data) of the
/// waker of the task that waits for the set. `waiter` is what is registered with the child.
#[cfg(feature = "dump")]
pub(in super::super) fn set_of(waiter: usize) -> Option<(usize, usize)> {
    recorded(|nodes| {
        let ready = nodes.get(&waiter)?;
        Some((Arc::as_ptr(ready).addr(), ready.waiter()?))
    })?
}

#[cfg(all(test, feature = "dump"))]
mod tests {
    use super::*;
    use joint::waker::Registration;

    #[test]
    fn a_node_is_recorded_until_it_is_gone() {
        record();
        let ready = Arc::new(Arrivals::new());
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
