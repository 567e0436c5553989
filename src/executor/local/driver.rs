//! [`Driver`]: the waker of the future that a thread blocks on, and how that thread sleeps.
//!
//! It is the parker of `waker/park.rs` for a thread that mostly wakes itself: a task that ends
//! wakes the main future of the same thread. What the home thread does to it is without atomic
//! operations; other threads have a word of their own each for the wake-up and for the references.
//!
//! Rule 1: `own` is touched by the home thread alone, and by whoever frees. Rule 2: `BIAS` in
//! `references` stands for the home thread's count. References are
//! `references - BIAS + own.references`, where either part may be what the other has given up. The
//! driver's end adds its own count in place of the bias; the home thread's later wakers count as
//! all others do, and whoever brings it to 0 frees.

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

/// More than there can be references: clones that are leaked end the program before they reach it.
const BIAS: usize = 1 << (usize::BITS - 2);

#[repr(C)]
struct Shared {
    header: Header,
    home: ThreadId,
    thread: Thread,
    references: AtomicUsize,
    /// `NOTIFIED` by a wake-up of another thread that the home thread has not taken yet.
    notified: AtomicUsize,
    own: UnsafeCell<Own>,
}

/// The home thread's part.
struct Own {
    /// May be below zero, and then wraps: what was cloned elsewhere may be dropped here.
    references: usize,
    woken: bool,
    /// The driver has gone.
    left: bool,
}

static TABLE: VTable = {
    unsafe fn clone(header: NonNull<Header>) {
        let shared = header.cast::<Shared>();
        // SAFETY: alive: the caller holds a reference.
        if unsafe { count_at_home(shared, 1) } {
            return;
        }
        // SAFETY: as above.
        let references = unsafe { &(*shared.as_ptr()).references };
        // ORDERING: clone. Relaxed: the new reference reaches another thread by some edge of its
        // own.
        if references.fetch_add(1, order!(clone: Relaxed)) > BIAS + BIAS / 2 {
            std::process::abort();
        }
    }
    unsafe fn wake(header: NonNull<Header>) {
        // SAFETY: passed on from the caller, who gives up one reference.
        unsafe { wake_by_ref(header) };
        // SAFETY: passed on from the caller.
        unsafe { drop(header) };
    }
    unsafe fn wake_by_ref(header: NonNull<Header>) {
        // SAFETY: alive: the caller holds a reference.
        let shared = unsafe { header.cast::<Shared>().as_ref() };
        if shared.home == this_thread() {
            // SAFETY: on the home thread (rule 1).
            return shared.own.with_mut(|own| unsafe { (*own).woken = true });
        }
        // ORDERING: notify. Release, with the Acquire of `take`: what came before the wake-up is
        // visible to the thread.
        if shared.notified.swap(NOTIFIED, order!(notify: Release)) == IDLE {
            shared.thread.unpark();
        }
    }
    unsafe fn drop(header: NonNull<Header>) {
        let shared = header.cast::<Shared>();
        // SAFETY: alive: the caller holds a reference, and gives it up.
        if !unsafe { count_at_home(shared, usize::MAX) } {
            // SAFETY: passed on from the caller.
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

/// Adds to the home thread's count, if this is that thread and still counts by itself.
///
/// # Safety
/// The driver is alive.
unsafe fn count_at_home(shared: NonNull<Shared>, change: usize) -> bool {
    // SAFETY: alive by this function's contract.
    let shared = unsafe { shared.as_ref() };
    if shared.home != this_thread() {
        return false;
    }
    shared.own.with_mut(|own| {
        // SAFETY: on the home thread (rule 1), and no other reference to it is in use.
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

/// Gives references up, and frees after the last.
///
/// # Safety
/// The caller holds that many (rule 2), and does not use the driver after this.
unsafe fn release(shared: NonNull<Shared>, held: usize) {
    // SAFETY: alive by the caller's references. No reference to the whole is formed, which may
    // vanish during the call.
    let references = unsafe { &(*shared.as_ptr()).references };
    // ORDERING: release, free. Release, with the fence below: all uses of the driver come before it
    // is freed.
    if references.fetch_sub(held, order!(release: Release)) != held {
        return;
    }
    fence(order!(free: Acquire));
    // SAFETY: that was the last reference, so the driver is ours alone.
    let owned = unsafe { &mut *shared.as_ptr() };
    owned.references.retire();
    owned.notified.retire();
    owned.own.retire();
    // SAFETY: ours alone, initialised, and not used after this.
    unsafe { shared.drop_in_place() };
    // SAFETY: allocated in `Driver::new` as a `Shared`.
    unsafe { heap::release(shared) };
}

/// The home thread's reference. It stays there.
pub(crate) struct Driver(NonNull<Shared>);

impl Driver {
    pub(crate) fn new() -> Self {
        let shared = heap::allocate();
        let value = Shared {
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

    fn shared(&self) -> &Shared {
        // SAFETY: alive by the reference that `self` holds.
        unsafe { self.0.as_ref() }
    }

    /// A waker that may be used as long as the driver is held, and must not be dropped.
    pub(crate) fn lent_waker(&self) -> ManuallyDrop<Waker> {
        // SAFETY: a driver's header, whose functions follow the contract. The reference that the
        // waker stands for is the one that `self` holds: the waker is not dropped.
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

    /// Whether there was a wake-up that no earlier call has taken.
    #[inline]
    pub(crate) fn take_wake(&self) -> bool {
        let shared = self.shared();
        let own = |own: *mut Own| {
            // SAFETY: `self` is on the home thread (rule 1).
            core::mem::take(unsafe { &mut (*own).woken })
        };
        // ORDERING: take_look. Relaxed: what it misses is there at the next look, or keeps the
        // thread from sleeping.
        let elsewhere = shared.notified.load(order!(take_look: Relaxed)) != IDLE && self.take();
        shared.own.with_mut(own) || elsewhere
    }

    /// Whether [`take_wake`](Driver::take_wake) would find one.
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

    /// Blocks until there is a wake-up that no earlier call has taken, which is left to be taken,
    /// or until `is_due` says that the home thread itself has put something aside for this
    /// executor: for that, nobody unparks it. True: it slept.
    pub(crate) fn park(&self, is_due: impl Fn() -> bool) -> bool {
        rest(None, || self.is_woken() || is_due()) == Rested::Due { slept: true }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let own = self.shared().own.with_mut(|own| {
            // SAFETY: on the home thread (rule 1), and no other reference to it is in use.
            let own = unsafe { &mut *own };
            own.left = true;
            own.references
        });
        // SAFETY: the bias stands for what `own` counts, `self` included, and is given up but for
        // the others of these.
        unsafe { release(self.0, BIAS.wrapping_sub(own.wrapping_sub(1))) };
    }
}
