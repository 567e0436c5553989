//! [`LocalParker`]: the waker of the future that a thread blocks on, and how that thread sleeps.
//!
//! It is the parker of `waker/park.rs` for a thread that mostly wakes itself: a task that ends
//! wakes the main future of the same thread. The home thread uses it without atomic operations.
//! Other threads have one word for the wake-up and one for the references.
//!
//! Rule 1: only the home thread touches `own`, and the thread that frees the parker. Rule 2: `BIAS`
//! in `references` stands for the home thread's count. The number of references is
//! `references - BIAS + own.references`. A reference that is counted in one part may be given up in
//! the other. The parker's end replaces the bias by the home thread's own count. After that the
//! home thread's wakers count as all others do, and the thread that brings the count to 0 frees the
//! parker.

use core::{mem::ManuallyDrop, ptr::NonNull, task::Waker};

use crate::{
    sync::{
        AtomicUsize, Retire, UnsafeCell, fence, heap, order,
        thread::{self, Thread, ThreadId},
    },
    task::this_thread,
    waker::{
        Header, ThinWaker, VTable,
        park::{Rested, rest},
    },
};

const IDLE: usize = 0;
const NOTIFIED: usize = 1;

/// More than the possible number of references. If clones are leaked, the program aborts before
/// they reach it.
const BIAS: usize = 1 << (usize::BITS - 2);

#[repr(C)]
struct Inner {
    header: Header,
    home: ThreadId,
    thread: Thread,
    references: AtomicUsize,
    /// `NOTIFIED` if another thread has sent a wake-up that the home thread has not taken yet.
    notified: AtomicUsize,
    own: UnsafeCell<Own>,
}

/// The home thread's part.
struct Own {
    /// May be below zero, and then wraps, because a reference that was cloned on another thread may
    /// be dropped here.
    references: usize,
    woken: bool,
    /// Whether the parker has ended.
    left: bool,
}

static TABLE: VTable = {
    unsafe fn clone(header: NonNull<Header>) {
        let shared = header.cast::<Inner>();
        // SAFETY: the parker is alive, because the caller holds a reference.
        if unsafe { count_at_home(shared, 1) } {
            return;
        }
        // SAFETY: as above.
        let references = unsafe { &(*shared.as_ptr()).references };
        // ORDERING: clone. Relaxed: the new reference reaches another thread by an edge of its own.
        if references.fetch_add(1, order!(clone: Relaxed)) > BIAS + BIAS / 2 {
            std::process::abort();
        }
    }
    unsafe fn wake(header: NonNull<Header>) {
        // SAFETY: the caller promises it, and gives up one reference.
        unsafe { wake_by_ref(header) };
        // SAFETY: the caller promises it.
        unsafe { drop(header) };
    }
    unsafe fn wake_by_ref(header: NonNull<Header>) {
        // SAFETY: the parker is alive, because the caller holds a reference.
        let shared = unsafe { header.cast::<Inner>().as_ref() };
        if shared.home == this_thread() {
            // SAFETY: this is the home thread (rule 1).
            return shared.own.with_mut(|own| unsafe { (*own).woken = true });
        }
        // ORDERING: notify. Release, with the Acquire of `take`: what came before the wake-up is
        // visible to the thread.
        if shared.notified.swap(NOTIFIED, order!(notify: Release)) == IDLE {
            shared.thread.unpark();
        }
    }
    unsafe fn drop(header: NonNull<Header>) {
        let shared = header.cast::<Inner>();
        // SAFETY: the parker is alive, because the caller holds a reference, which it gives up.
        if !unsafe { count_at_home(shared, usize::MAX) } {
            // SAFETY: the caller promises it.
            unsafe { release(shared, 1) };
        }
    }
    VTable {
        clone,
        wake,
        wake_by_ref,
        drop,
    }
};

/// Adds to the home thread's count, if this is that thread and it still has a count of its own.
///
/// # Safety
/// The parker is alive.
unsafe fn count_at_home(shared: NonNull<Inner>, change: usize) -> bool {
    // SAFETY: alive by this function's contract.
    let shared = unsafe { shared.as_ref() };
    if shared.home != this_thread() {
        return false;
    }
    shared.own.with_mut(|own| {
        // SAFETY: this is the home thread (rule 1), and no other reference to `own` is in use.
        let own = unsafe { &mut *own };
        if own.left {
            return false;
        }
        own.references = own.references.wrapping_add(change);
        if own.references > BIAS / 2 && own.references < BIAS {
            std::process::abort();
        }
        true
    })
}

/// Gives up references, and frees the parker after the last one.
///
/// # Safety
/// The caller holds that many (rule 2), and does not use the parker after this.
unsafe fn release(shared: NonNull<Inner>, held: usize) {
    // SAFETY: alive by the caller's references. No reference to the whole is formed, because it may
    // be freed during the call.
    let references = unsafe { &(*shared.as_ptr()).references };
    // ORDERING: release, free. Release, with the fence below: all uses of the parker come before it
    // is freed.
    if references.fetch_sub(held, order!(release: Release)) != held {
        return;
    }
    fence(order!(free: Acquire));
    // SAFETY: that was the last reference, so the parker is ours alone.
    let owned = unsafe { &mut *shared.as_ptr() };
    owned.references.retire();
    owned.notified.retire();
    owned.own.retire();
    // SAFETY: the parker is ours alone, initialised, and not used after this.
    unsafe { shared.drop_in_place() };
    // SAFETY: allocated in `LocalParker::new` as a `Inner`.
    unsafe { heap::release(shared) };
}

/// The home thread's reference, which stays on that thread.
pub(crate) struct LocalParker(NonNull<Inner>);

impl LocalParker {
    pub(crate) fn new() -> Self {
        let shared = heap::allocate();
        let value = Inner {
            header: Header::new(&TABLE),
            home: this_thread(),
            thread: thread::current(),
            references: AtomicUsize::new(BIAS),
            notified: AtomicUsize::new(IDLE),
            own: UnsafeCell::new(Own {
                references: 1,
                woken: false,
                left: false,
            }),
        };
        // SAFETY: the block is fresh and ours.
        unsafe { shared.write(value) };
        Self(shared)
    }

    fn shared(&self) -> &Inner {
        // SAFETY: alive by the reference that `self` holds.
        unsafe { self.0.as_ref() }
    }

    /// Returns a waker that may be used while the parker is held, and that must not be dropped.
    pub(crate) fn lent_waker(&self) -> ManuallyDrop<Waker> {
        // SAFETY: this is a parker's header, whose functions follow the contract. The waker stands
        // for the reference that `self` holds, so it is not dropped.
        ManuallyDrop::new(unsafe { ThinWaker::waker_of_header(self.0.cast()) })
    }

    pub(crate) fn waker(&self) -> ThinWaker {
        ThinWaker::from(&*self.lent_waker())
    }

    /// Wakes the main future.
    pub(crate) fn wake(&self) {
        // SAFETY: `self` is on the home thread (rule 1).
        self.shared()
            .own
            .with_mut(|own| unsafe { (*own).woken = true });
    }

    /// Returns whether there was a wake-up that no earlier call has taken.
    #[inline]
    pub(crate) fn take_wake(&self) -> bool {
        let shared = self.shared();
        let own = |own: *mut Own| {
            // SAFETY: `self` is on the home thread (rule 1).
            core::mem::take(unsafe { &mut (*own).woken })
        };
        // ORDERING: take_look. Relaxed: a wake-up that it misses is found by the next look, or
        // keeps the thread from sleeping.
        let elsewhere = shared.notified.load(order!(take_look: Relaxed)) != IDLE && self.take();
        shared.own.with_mut(own) || elsewhere
    }

    /// Returns whether [`take_wake`](LocalParker::take_wake) would find a wake-up.
    pub(crate) fn is_woken(&self) -> bool {
        let woken = self.take_wake();
        if woken {
            self.wake();
        }
        woken
    }

    fn take(&self) -> bool {
        // ORDERING: take. Acquire, with the Release of `notify`.
        self.shared().notified.swap(IDLE, order!(take: Acquire)) != IDLE
    }

    /// Blocks until there is a wake-up that no earlier call has taken, and leaves it to be taken.
    /// Also returns once `is_due` returns true, which means that the home thread itself has put
    /// something aside for this executor, for which no thread unparks it. Returns whether it slept.
    pub(crate) fn park(&self, is_due: impl Fn() -> bool) -> bool {
        rest(None, || self.is_woken() || is_due()) == Rested::Due { slept: true }
    }
}

impl Drop for LocalParker {
    fn drop(&mut self) {
        let own = self.shared().own.with_mut(|own| {
            // SAFETY: this is the home thread (rule 1), and no other reference to `own` is in use.
            let own = unsafe { &mut *own };
            own.left = true;
            own.references
        });
        // SAFETY: the bias stands for what `own` counts, `self` included. This gives up all of the
        // bias except for the other references of `own`.
        unsafe { release(self.0, BIAS.wrapping_sub(own.wrapping_sub(1))) };
    }
}
