//! [`Parker`]: a thread's own waker.
//!
//! The thread and its wakers share one counted block with one word for the wake-up:
//!
//! | state | meaning | left by |
//! |---|---|---|
//! | `IDLE` | no wake-up, and the thread does not rely on being unparked | a look, or a wake-up |
//! | `ASKED` | the thread has looked, and asks to be unparked | a wake-up, which unparks the thread |
//! | `NOTIFIED` | a wake-up that the thread has not taken yet | the thread, which takes it |
//!
//! No wake-up is lost, because the thread looks before each park. Either the look finds the
//! wake-up, or the wake-up finds `ASKED`. Its unpark then ends the park that follows the look. This
//! also holds for a wake-up in a signal handler that runs on the thread itself, between its look
//! and its park. A thread that wakes itself in between is not unparked, because it has not asked.
//!
//! A thread often wakes itself: a task that ends wakes the future that the same thread blocks on.
//! That takes no read-modify-write, because the thread keeps its own wake-up apart: only it uses
//! `own`, and a signal handler that runs on it. A wake-up by that thread goes there unless the
//! state is `ASKED`, when the thread may be about to park.
//!
//! What is here beside a counted block and that word, and the case that it holds:
//!
//! | part | without it | test |
//! |---|---|---|
//! | a count of its own, not that of an `Arc` | [`clones`](Parker::clones) would not see what was done with a clone that is gone | `writes_before_the_drop_of_a_clone_are_visible_to_a_count` |
//! | `ASKED` beside `IDLE` | each wake-up would call the system, whether the thread sleeps or not | `a_wake_up_of_a_thread_that_has_not_looked_does_not_unpark_it` |
//! | `own`, and the looks at it | a thread that wakes itself would exchange | `a_thread_that_wakes_itself_takes_no_read_modify_write` |
//! | `own` is left alone if `ASKED` | a wake-up by a signal handler would be slept through | `a_wake_up_in_a_signal_handler_is_not_lost` |
//! | `home` is an address, not an id | a wake-up on a thread that std has not made would allocate | `a_wake_up_on_a_thread_that_std_has_not_made_allocates_nothing` |
//! | the two fences for the compiler | it could move what a signal handler has written past the look | none: it needs such a compiler |
//! | a look before each exchange | a thread that has woken itself would exchange to take that | `a_thread_that_wakes_itself_takes_no_read_modify_write` |

use core::{marker::PhantomData, ptr::NonNull, task::Waker};

use super::unpark;
use crate::waker::{Header, ThinWaker, VTable};
use joint_switch::{
    AtomicUsize, Retire, compiler_fence, fence, heap, order,
    thread::{self, Thread},
    thread_address,
};

const IDLE: usize = 0;
const ASKED: usize = 1;
/// It has the bit of `ASKED`, so a thread that asks leaves it as it is.
const NOTIFIED: usize = 3;

/// The count at which one more clone ends the program. Only leaked clones can reach it.
const MAX: usize = usize::MAX / 2;

#[repr(C)]
struct Inner {
    header: Header,
    /// The number of wakers, including the parker's own.
    references: AtomicUsize,
    state: AtomicUsize,
    /// `NOTIFIED` if the thread has woken itself, or else `IDLE`.
    own: AtomicUsize,
    /// The address of `thread`. Another thread may have it once that has ended. The parker is gone
    /// then, and a wake-up may be lost.
    home: usize,
    thread: Thread,
}

retires!(Inner: references, state, own);

static TABLE: VTable = {
    unsafe fn clone(header: NonNull<Header>) {
        // SAFETY: the block is alive, because the caller holds a reference.
        let inner = unsafe { header.cast::<Inner>().as_ref() };
        // ORDERING: clone. Relaxed: the new reference reaches another thread by an edge of its own.
        if inner.references.fetch_add(1, order!(clone: Relaxed)) > MAX {
            std::process::abort();
        }
    }
    unsafe fn wake(header: NonNull<Header>) {
        // SAFETY: the caller gives a reference up. It is dropped also if the thread's host panics.
        unsafe { ThinWaker::waker_from_header(header) }.wake_by_ref();
    }
    unsafe fn wake_by_ref(header: NonNull<Header>) {
        // SAFETY: the block is alive, because the caller holds a reference.
        let inner = unsafe { header.cast::<Inner>().as_ref() };
        // ORDERING: own_asked, own. Relaxed: only this thread writes `ASKED` and `own`.
        if inner.home == thread_address() && inner.state.load(order!(own_asked: Relaxed)) != ASKED {
            return inner.own.store(NOTIFIED, order!(own: Relaxed));
        }
        // ORDERING: notify. Release, with the Acquire of `take`: what came before the wake-up is
        // visible to the thread.
        if inner.state.swap(NOTIFIED, order!(notify: Release)) == ASKED {
            unpark(&inner.thread);
        }
    }
    unsafe fn drop(header: NonNull<Header>) {
        let inner = header.cast::<Inner>();
        // SAFETY: alive by the caller's reference. No reference to the whole is formed, because it
        // may be freed during the call.
        let references = unsafe { &(*inner.as_ptr()).references };
        // ORDERING: release, free. Release, with the fence below: all uses of the block come before
        // it is freed.
        if references.fetch_sub(1, order!(release: Release)) != 1 {
            return;
        }
        fence(order!(free: Acquire));
        // SAFETY: that was the last reference, so the block is ours alone.
        let owned = unsafe { &mut *inner.as_ptr() };
        owned.retire();
        // SAFETY: the block is ours alone, initialised, and not used after this.
        unsafe { inner.drop_in_place() };
        // SAFETY: allocated in `Parker::new` as an `Inner`.
        unsafe { heap::release(inner) };
    }
    VTable {
        clone,
        wake,
        wake_by_ref,
        drop,
        family: None,
    }
};

/// Parks the thread that it was made on, until its [`Waker`] is woken.
///
/// It is [`std::thread::park`] for futures. A wake-up that comes before the thread parks is kept,
/// and several of them count as one. The thread's own token is used to unpark it, but is not taken
/// for a wake-up. While the thread is parked, it [attends](super::Host::attend) to others.
///
/// A parker does not leave its thread. Its wakers may be used on any thread, and may outlive it.
///
/// # Happens-before
/// Everything before a wake-up happens before the [`park`](Parker::park) or
/// [`take_wake`](Parker::take_wake) that takes it.
///
/// # Cost
/// One allocation. A clone and a drop of a waker take one atomic read-modify-write each. On another
/// thread so does a wake-up, and so do taking it, and the first look after that which finds none. A
/// wake-up after such a look also unparks the thread. A wake-up by the parker's own thread takes
/// none, unless it follows such a look.
///
/// # Signal handlers
/// [`Waker::wake_by_ref`] takes no lock and no memory beside what
/// [`Thread::unpark`](std::thread::Thread::unpark) takes, and that takes none on Linux. There a
/// signal handler may therefore call it, on the parker's own thread, and on one that std has not
/// made. `wake` and `drop` may free memory, but not while the parker exists.
///
/// # Example
/// ```
/// use joint::park::Parker;
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
#[derive(Debug)]
pub struct Parker {
    waker: Waker,
    /// It stays on its thread.
    thread: PhantomData<*mut ()>,
}

impl Parker {
    /// Makes a parker of this thread.
    pub fn new() -> Self {
        let inner = heap::allocate();
        let value = Inner {
            header: Header::new(&TABLE),
            references: AtomicUsize::new(1),
            state: AtomicUsize::new(IDLE),
            own: AtomicUsize::new(IDLE),
            home: thread_address(),
            thread: thread::current(),
        };
        // SAFETY: the block is fresh and ours.
        unsafe { inner.write(value) };
        // SAFETY: this is the header of a parker, whose functions count references and wake from
        // any thread. The waker stands for the reference that the parker itself holds.
        let waker = unsafe { ThinWaker::waker_from_header(inner.cast()) };
        Self {
            waker,
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
        let Inner { state, own, .. } = self.inner();
        let is_woken = self.is_woken();
        // ORDERING: own_taken. Relaxed: only this thread writes it. If there was no wake-up, the
        // state is not `IDLE`, and keeps those that come from now on.
        own.store(IDLE, order!(own_taken: Relaxed));
        // ORDERING: handler_taken. SeqCst, for the compiler alone: the caller reads after this what
        // a signal handler has written before it set `own`.
        compiler_fence(order!(handler_taken: SeqCst));
        // ORDERING: take_look, take. Relaxed: a wake-up that this misses is left to the next look.
        // Acquire, with the Release of `notify`.
        is_woken
            && (state.load(order!(take_look: Relaxed)) != NOTIFIED
                || state.swap(IDLE, order!(take: Acquire)) == NOTIFIED)
    }

    /// Returns whether [`take_wake`](Parker::take_wake) would return true, and leaves the wake-up
    /// to be taken.
    #[inline]
    pub fn is_woken(&self) -> bool {
        // ORDERING: own_look. Relaxed: only this thread writes it.
        self.inner().own.load(order!(own_look: Relaxed)) == NOTIFIED || self.ask()
    }

    /// Returns the number of clones of the [waker](Parker::waker) that are alive. If there is none,
    /// nobody can wake the parker any more but by a reference to that waker.
    ///
    /// # Happens-before
    /// What was done with a clone that is gone happens before this returns. A wake-up by it is
    /// therefore seen by the next [`is_woken`](Parker::is_woken).
    pub fn clones(&self) -> usize {
        // ORDERING: clones. Acquire, with the Release of `release`.
        self.inner().references.load(order!(clones: Acquire)) - 1
    }

    /// Asks the next wake-up to unpark the thread. Returns whether there is one already.
    fn ask(&self) -> bool {
        let Inner { state, own, .. } = self.inner();
        // ORDERING: look, ask. Relaxed: what came before the wake-up becomes visible by `take`.
        let before = match state.load(order!(look: Relaxed)) {
            IDLE => state.fetch_or(ASKED, order!(ask: Relaxed)),
            state => state,
        };
        // ORDERING: handler_asked. SeqCst, for the compiler alone: a signal handler that has run
        // before this without seeing `ASKED` has set `own`.
        compiler_fence(order!(handler_asked: SeqCst));
        // ORDERING: own_again. Relaxed: only this thread writes it.
        before == NOTIFIED || own.load(order!(own_again: Relaxed)) == NOTIFIED
    }
}

default_is_new!(Parker);
