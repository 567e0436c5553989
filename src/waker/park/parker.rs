//! [`Parker`]: a thread's own waker, and the count of its references.
//!
//! A thread that waits mostly wakes itself: a task that ends wakes the future that the same thread
//! blocks on. The home thread therefore uses its parker without atomic operations. Other threads
//! have one word for the wake-up and one for the references.
//!
//! Rule 1: only the home thread touches `own`, and the thread that frees the parker. Rule 2: `BIAS`
//! in `references` stands for the home thread's count. The number of references is
//! `references - BIAS + own.references`. A reference that is counted in one part may be given up in
//! the other, so over time the two parts may drift apart without limit. The home thread therefore
//! moves its part over when it is far from 0. The parker's end replaces the bias by the home
//! thread's own count. After that the home thread's wakers count as all others do, and the thread
//! that brings the count to 0 frees the parker.

use core::{
    fmt,
    marker::PhantomData,
    mem::{self, ManuallyDrop},
    ptr::NonNull,
    task::Waker,
};
use std::time::{Duration, Instant};

use super::{Parked, park_until, unpark};
use crate::waker::clock;
use crate::waker::{Header, ThinWaker, VTable};
use joint_switch::{
    AtomicUsize, Retire, UnsafeCell, fence, heap, order, ref_limit, this_thread,
    thread::{self, Thread, ThreadId},
};

const IDLE: usize = 0;
const NOTIFIED: usize = 1;

/// More than the possible number of references. If clones are leaked, the program aborts before
/// they reach it.
const BIAS: usize = 1 << (usize::BITS - 2);

/// The count from which on one more clone ends the program.
const MAX: usize = BIAS + BIAS / 2;

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
        let inner = header.cast::<Inner>();
        // SAFETY: the parker is alive, because the caller holds a reference.
        if unsafe { count_at_home(inner, 1) } {
            return;
        }
        // SAFETY: as above.
        let references = unsafe { &(*inner.as_ptr()).references };
        // ORDERING: clone. Relaxed: the new reference reaches another thread by an edge of its own.
        if references.fetch_add(1, order!(clone: Relaxed)) > MAX {
            std::process::abort();
        }
    }
    unsafe fn wake(header: NonNull<Header>) {
        // SAFETY: passed on from the caller, which gives up one reference.
        unsafe { wake_by_ref(header) };
        // SAFETY: passed on from the caller.
        unsafe { drop(header) };
    }
    unsafe fn wake_by_ref(header: NonNull<Header>) {
        // SAFETY: the parker is alive, because the caller holds a reference.
        let inner = unsafe { header.cast::<Inner>().as_ref() };
        if inner.home == this_thread() {
            // SAFETY: this is the home thread (rule 1).
            return inner.own.with_mut(|own| unsafe { (*own).woken = true });
        }
        // ORDERING: notify. Release, with the Acquire of `take`: what came before the wake-up is
        // visible to the thread.
        if inner.notified.swap(NOTIFIED, order!(notify: Release)) == IDLE {
            unpark(&inner.thread);
        }
    }
    unsafe fn drop(header: NonNull<Header>) {
        let inner = header.cast::<Inner>();
        // SAFETY: the parker is alive, because the caller holds a reference, which it gives up.
        if !unsafe { count_at_home(inner, usize::MAX) } {
            // SAFETY: passed on from the caller.
            unsafe { release(inner, 1) };
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
unsafe fn count_at_home(inner: NonNull<Inner>, change: usize) -> bool {
    // SAFETY: alive by this function's contract.
    let inner = unsafe { inner.as_ref() };
    if inner.home != this_thread() {
        return false;
    }
    inner.own.with_mut(|own| {
        // SAFETY: this is the home thread (rule 1), and no other reference to `own` is in use.
        let own = unsafe { &mut *own };
        if own.left {
            return false;
        }
        own.references = own.references.wrapping_add(change);
        if own.references.wrapping_add(far()) > 2 * far() {
            move_over(&inner.references, mem::take(&mut own.references));
        }
        true
    })
}

/// How far from 0 the home thread's count may be before it is moved over. That is rare, and far
/// from where the counts would overflow.
#[inline]
fn far() -> usize {
    ref_limit() as usize
}

/// Moves the home thread's count over to the count of all threads. Without this, a thread that
/// clones its waker for another thread half a billion times would end the program on a machine of
/// 32 bits, although hardly any waker is alive.
#[cold]
fn move_over(references: &AtomicUsize, own: usize) {
    // ORDERING: move_over. Relaxed: the parker's end comes later on this thread, and it releases
    // what this thread did before it gave the references up.
    let before = references.fetch_add(own, order!(move_over: Relaxed));
    if before.wrapping_add(own) > MAX {
        std::process::abort();
    }
}

/// Gives up references, and frees the parker after the last one.
///
/// # Safety
/// The caller holds that many (rule 2), and does not use the parker after this.
unsafe fn release(inner: NonNull<Inner>, held: usize) {
    // SAFETY: alive by the caller's references. No reference to the whole is formed, because it may
    // be freed during the call.
    let references = unsafe { &(*inner.as_ptr()).references };
    // ORDERING: release, free. Release, with the fence below: all uses of the parker come before it
    // is freed.
    if references.fetch_sub(held, order!(release: Release)) != held {
        return;
    }
    fence(order!(free: Acquire));
    // SAFETY: that was the last reference, so the parker is ours alone.
    let owned = unsafe { &mut *inner.as_ptr() };
    owned.references.retire();
    owned.notified.retire();
    owned.own.retire();
    // SAFETY: the parker is ours alone, initialised, and not used after this.
    unsafe { inner.drop_in_place() };
    // SAFETY: allocated in `Parker::new` as an `Inner`.
    unsafe { heap::release(inner) };
}

/// Parks the thread that it was made on, until its [`Waker`] is woken.
///
/// It is [`std::thread::park`] for futures. A wake-up that comes before the thread parks is kept,
/// and several of them count as one. The thread's own token is used to unpark it, but is not taken
/// for a wake-up. While the thread is parked, it calls the function that was set by
/// [`set_attend`](super::set_attend), if there is one.
///
/// A parker does not leave its thread. Its wakers may be used on any thread, and may outlive it.
///
/// # Happens-before
/// Everything before a wake-up happens before the [`park`](Parker::park) or
/// [`take_wake`](Parker::take_wake) that takes it.
///
/// # Cost
/// One allocation. On its own thread, a clone, a wake-up and a drop of a waker take no atomic
/// operation. On another thread a clone and a drop take one read-modify-write each, and so does a
/// wake-up, which also unparks the thread unless an earlier wake-up has not been taken yet.
///
/// # Example
/// ```
/// use joint::waker::park::Parker;
/// use std::pin::pin;
/// use std::task::{Context, Poll};
/// use std::thread;
///
/// fn block_on<F: Future>(future: F) -> F::Output {
///     let mut future = pin!(future);
///     let parker = Parker::new();
///     let mut cx = Context::from_waker(parker.waker());
///     loop {
///         match future.as_mut().poll(&mut cx) {
///             Poll::Ready(output) => return output,
///             Poll::Pending => parker.park(),
///         }
///     }
/// }
///
/// let (sender, receiver) = joint::oneshot::channel();
/// let other = thread::spawn(move || sender.send(5));
/// assert_eq!(block_on(receiver), Ok(5));
/// other.join().unwrap().unwrap();
/// ```
pub struct Parker {
    waker: ManuallyDrop<Waker>,
    /// It stays on its thread.
    thread: PhantomData<*mut ()>,
}

impl Parker {
    /// Makes a parker of this thread.
    pub fn new() -> Self {
        let inner = heap::allocate();
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
        unsafe { inner.write(value) };
        // SAFETY: this is the header of a parker, whose functions count references and wake from
        // any thread. The waker stands for the reference that the parker itself holds.
        let waker = unsafe { ThinWaker::waker_from_header(inner.cast()) };
        Self {
            waker: ManuallyDrop::new(waker),
            thread: PhantomData,
        }
    }

    #[inline]
    fn inner(&self) -> &Inner {
        // SAFETY: the waker's data is the address of an `Inner`, which is alive by the reference
        // that `self` holds.
        unsafe { &*self.waker.data().cast::<Inner>() }
    }

    /// Returns the waker that ends the thread's [`park`](Parker::park).
    #[inline]
    pub fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Returns whether there was a wake-up that no earlier call has taken.
    #[inline]
    pub fn take_wake(&self) -> bool {
        let elsewhere = self.take_from_elsewhere();
        self.with_own(|own| mem::take(&mut own.woken)) || elsewhere
    }

    /// Returns whether [`take_wake`](Parker::take_wake) would return true, and leaves the wake-up
    /// to be taken.
    #[inline]
    pub fn is_woken(&self) -> bool {
        self.with_own(|own| own.woken)
            || self.take_from_elsewhere() && {
                self.with_own(|own| own.woken = true);
                true
            }
    }

    /// Blocks the thread until there is a wake-up that no earlier call has taken, and takes it.
    pub fn park(&self) {
        self.park_until(None);
    }

    /// Parks as [`park`](Parker::park) does, for `limit` at most. Returns whether there was a
    /// wake-up. A limit beyond the range of the clock is no limit.
    pub fn park_timeout(&self, limit: Duration) -> bool {
        self.park_until(clock::now().checked_add(limit)) != Parked::TimedOut
    }

    /// Parks as [`park`](Parker::park) does, until `deadline` at most. Returns whether there was a
    /// wake-up.
    pub fn park_deadline(&self, deadline: Instant) -> bool {
        self.park_until(Some(deadline)) != Parked::TimedOut
    }

    pub(super) fn park_until(&self, deadline: Option<Instant>) -> Parked {
        park_until(deadline, || self.take_wake())
    }

    #[inline]
    fn with_own<R>(&self, f: impl FnOnce(&mut Own) -> R) -> R {
        // SAFETY: `self` is on the home thread (rule 1), and `f` calls no code of a user.
        self.inner().own.with_mut(|own| f(unsafe { &mut *own }))
    }

    #[inline]
    fn take_from_elsewhere(&self) -> bool {
        let notified = &self.inner().notified;
        // ORDERING: take_look, take. Relaxed: a wake-up that the look misses is found by the next
        // one, or keeps the thread from sleeping. Acquire, with the Release of `notify`.
        notified.load(order!(take_look: Relaxed)) != IDLE
            && notified.swap(IDLE, order!(take: Acquire)) != IDLE
    }
}

impl Default for Parker {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Parker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parker").finish_non_exhaustive()
    }
}

impl Drop for Parker {
    fn drop(&mut self) {
        let own = self.with_own(|own| {
            own.left = true;
            own.references
        });
        let inner = self.waker.data().cast_mut().cast::<Inner>();
        // SAFETY: the address of an `Inner` is not null.
        let inner = unsafe { NonNull::new_unchecked(inner) };
        // SAFETY: the bias stands for what `own` counts, `self` included. This gives up all of the
        // bias except for the other references of `own`.
        unsafe { release(inner, BIAS.wrapping_sub(own.wrapping_sub(1))) };
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering::Relaxed;
    use std::thread;

    use super::*;

    /// Brings the counts to where they would be if the home thread had cloned `count` wakers, and
    /// other threads had dropped them; or the other way round, if `count` is below zero.
    fn drift(parker: &Parker, count: usize) {
        parker.with_own(|own| own.references = own.references.wrapping_add(count));
        let references = &parker.inner().references;
        references.store(references.load(Relaxed).wrapping_sub(count), Relaxed);
    }

    fn references(parker: &Parker) -> usize {
        let own = parker.with_own(|own| own.references);
        let all = parker.inner().references.load(Relaxed);
        all.wrapping_sub(BIAS).wrapping_add(own)
    }

    #[test]
    fn the_counts_of_the_threads_do_not_drift_apart() {
        let parker = Parker::new();
        let half = BIAS / 2;
        for count in [half, half, half.wrapping_neg(), half.wrapping_neg()] {
            drift(&parker, count);
            let kept = parker.waker().clone();
            assert_eq!(references(&parker), 2);
            assert!(parker.with_own(|own| own.references) <= 1);
            thread::spawn(move || drop(kept.clone())).join().unwrap();
            assert_eq!(references(&parker), 1);
        }
        let last = parker.waker().clone();
        drop(parker);
        thread::spawn(move || drop(last)).join().unwrap();
    }
}
