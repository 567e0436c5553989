//! [`Arrivals`]: what has arrived from any thread, or the waker of the one owner that waits for it,
//! in one word. The tasks that other threads queue for a local executor are such, and the children
//! of a [`JoinSet`](crate::JoinSet) that have ended.
//!
//! | word | means |
//! |---|---|
//! | null | nothing has arrived since the owner has taken everything, and it does not wait |
//! | an item, tagged with `ITEM` | the last arrival. The pusher has linked it to the word before it, which ends the list if it is no item |
//! | a waker's word | nothing has arrived, and the owner waits |
//!
//! | event | before -> after | and then |
//! |---|---|---|
//! | a thread pushes | null, or an item -> its item | |
//! | a thread pushes | waker -> its item | the thread owns the waker, and wakes it |
//! | the owner waits | null, or an older waker -> waker | waits. If it finds an item instead, it does not |
//! | the owner empties the word | item -> null | has all that was pushed |
//! | the owner empties the word | waker -> null | has its waker back |
//!
//! The exchange that pushes also learns whether to wake the owner, so no second word could disagree
//! with it. An item is what its pusher says, and not an address that is followed here: if the word
//! changes and changes back between a look and an exchange, it still means what it says.
//!
//! Rule: the exchange is the last thing of the word that a push touches. From then on the owner may
//! have the item, and free both.

use core::{
    ptr::{self, NonNull},
    task::{Poll, Waker},
};

use joint::waker::{Header, Registration, ThinWaker};
use joint_switch::{AtomicPtr, Retire, order};

/// Marks an item. A waker's word is the address of a header or of a boxed waker, of which only the
/// lowest bit may be tagged.
pub(crate) const ITEM: usize = 2;
const _: () = assert!(align_of::<Header>() > ITEM && align_of::<Waker>() > ITEM);

#[inline]
pub(crate) fn is_item(word: *mut ()) -> bool {
    word.addr() & ITEM != 0
}

/// If there is a waker, the owner must empty it before it is dropped. Items need nothing here.
#[derive(Debug)]
pub(crate) struct Arrivals(AtomicPtr<()>);

pub(crate) enum Taken {
    Nothing,
    /// The last item.
    Items(*mut ()),
    Waker(ThinWaker),
}

impl Arrivals {
    pub(crate) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Pushes an item. `link` links it to the word that it is given, perhaps several times. The
    /// caller must wake the waker that is returned. Lock-free: it tries again only if another push,
    /// or the owner, was faster.
    ///
    /// # Safety
    /// `this` is alive until the owner has the item.
    #[must_use = "the returned waker must be woken"]
    pub(crate) unsafe fn push(
        this: *const Self,
        item: *mut (),
        mut link: impl FnMut(*mut ()),
    ) -> Option<ThinWaker> {
        // SAFETY: alive until the exchange that succeeds, and not touched after it.
        let word = unsafe { &(*this).0 };
        // ORDERING: push_look. Relaxed: the exchange checks it.
        let mut seen = word.load(order!(push_look: Relaxed));
        loop {
            link(seen);
            // ORDERING: push, push_again. Release, with `empty`: the owner sees the link and those
            // below it, because each push continues the release of the pushes before it. Acquire,
            // with `wait`: the waker that this takes out is whole. Relaxed on failure, as for
            // `push_look`.
            let orders = (order!(push: AcqRel), order!(push_again: Relaxed));
            match word.compare_exchange(seen, item, orders.0, orders.1) {
                // SAFETY: the exchange hands it over.
                Ok(before) => return unsafe { waker_of(before) },
                Err(now) => seen = now,
            }
        }
    }

    #[inline]
    fn look(&self) -> *mut () {
        // ORDERING: look. Relaxed: an arrival that it misses is found by the next look, or keeps
        // the owner from waiting. A waker is one that the owner has put here. If a push takes it at
        // this moment, the owner is woken.
        self.0.load(order!(look: Relaxed))
    }

    #[inline]
    pub(crate) fn has_items(&self) -> bool {
        is_item(self.look())
    }

    /// Whether there is neither an item nor a waker.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.look().is_null()
    }

    /// Takes all items, or else the owner's waker. Only the owner may call this, which looks first
    /// whether there is any.
    pub(crate) fn empty(&self) -> Taken {
        // ORDERING: empty. Acquire, with each `push`: the links are visible. An item is replaced
        // only by another item until it is taken.
        let taken = self.0.swap(ptr::null_mut(), order!(empty: Acquire));
        if is_item(taken) {
            return Taken::Items(taken);
        }
        // SAFETY: the exchange hands it over.
        unsafe { waker_of(taken) }.map_or(Taken::Nothing, Taken::Waker)
    }

    /// Waits with this waker if the word is still as it was seen, without an item. Returns the
    /// waker that it replaces, or gives this one back with the word as it is.
    fn put(
        &self,
        seen: *mut (),
        waker: ThinWaker,
    ) -> Result<Option<ThinWaker>, (ThinWaker, *mut ())> {
        let raw = waker.into_raw();
        debug_assert!(!is_item(raw.as_ptr()), "the address of a waker is aligned");
        // ORDERING: wait, wait_again. Release, with `push`: the thread that takes the waker sees
        // all of it. The owner itself has put in the one that this replaces. Relaxed on failure,
        // because an item is left to `empty`.
        let orders = (order!(wait: Release), order!(wait_again: Relaxed));
        match (self.0).compare_exchange(seen, raw.as_ptr(), orders.0, orders.1) {
            // SAFETY: the exchange hands it over.
            Ok(before) => Ok(unsafe { waker_of(before) }),
            // SAFETY: this is the word of the waker that was not put in.
            Err(now) => Err((unsafe { ThinWaker::from_raw(raw) }, now)),
        }
    }

    /// Waits until the next arrival wakes `waker`. Gives the waker back if something has arrived.
    /// Only the owner may call this, and not while it waits already.
    pub(crate) fn wait(&self, waker: ThinWaker) -> Result<(), ThinWaker> {
        let put = self.put(ptr::null_mut(), waker);
        put.map(drop).map_err(|(waker, _)| waker)
    }

    /// Returns `Ready` if something has arrived, and otherwise waits until the next arrival wakes
    /// the waker. One caller at a time may call this, but [`empty`](Self::empty) may run meanwhile.
    ///
    /// `last` is the caller's memory of the waker that it registered. It must be the same place for
    /// every call, and empty for the first.
    pub(crate) fn poll(&self, waker: &Waker, last: &mut Registration) -> Poll<()> {
        let mut seen = self.look();
        if !is_item(seen) && !seen.is_null() && last.is_of(waker) {
            return Poll::Pending;
        }
        let mut new = None;
        while !is_item(seen) {
            match self.put(seen, new.take().unwrap_or_else(|| waker.into())) {
                Ok(_older) => {
                    *last = Registration::of(waker);
                    return Poll::Pending;
                }
                Err((back, now)) => (new, seen) = (Some(back), now),
            }
        }
        Poll::Ready(())
    }

    /// Returns the [data](Waker::data) of the registered waker, if it is that of a task, which may
    /// be gone by now.
    #[cfg(feature = "dump")]
    pub(crate) fn waiter(&self) -> Option<usize> {
        // ORDERING: waiter. Relaxed: the address is compared, and nothing behind it is read.
        let word = self.0.load(order!(waiter: Relaxed));
        (!word.is_null() && !is_item(word)).then(|| word.addr())
    }
}

impl Retire for Arrivals {
    fn retire(&mut self) {
        self.0.retire();
    }
}

/// # Safety
/// `word` was taken out of an [`Arrivals`] by an exchange.
unsafe fn waker_of(word: *mut ()) -> Option<ThinWaker> {
    let raw = NonNull::new(word).filter(|_| !is_item(word))?;
    // SAFETY: neither null nor an item, so `put` has put it in, and the exchange hands it over.
    Some(unsafe { ThinWaker::from_raw(raw) })
}
