//! [`Job`]: a closure in one thread's stack frame that another thread may run.
//!
//! # Who may touch what
//! The *owner* is the thread in whose frame the job lies. Whoever holds a [`Taken`] is the *taker*;
//! there is at most one.
//!
//! 1. `work` is the taker's from the taking on; before, and if it was never taken, the owner's.
//! 2. `result` is the taker's until its exchange on `completion`, and the owner's once it has
//!    learnt of that.
//! 3. The frame stays until the owner has the job back: it was not taken, or the taker has
//!    finished. Panics included.
//! 4. After its exchange on `completion` the taker touches only what the exchange returned: the
//!    frame may be gone.
//! 5. `run` is written before the job is shown to anybody, and never again.
//!
//! Rule 3 is the owner's to keep, and all that is unsafe about a job for its user.

use core::{
    future::poll_fn,
    mem::{ManuallyDrop, MaybeUninit},
    ptr::NonNull,
    task::Poll,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

use crate::{
    completion::{Completed, Completion, Ended, Registration},
    sync::{Retire, UnsafeCell},
    waker::park::block_on,
};

/// The part of a job that does not depend on what is run.
#[repr(C, align(8))]
pub(crate) struct Header {
    run: unsafe fn(NonNull<Header>),
    completion: Completion,
}

#[repr(C)]
pub(crate) struct Job<F, R> {
    header: Header,
    work: UnsafeCell<ManuallyDrop<F>>,
    result: UnsafeCell<MaybeUninit<thread::Result<R>>>,
}

impl<F: FnOnce() -> R, R> Job<F, R> {
    #[inline]
    pub(crate) fn new(work: F) -> Self {
        Self {
            header: Header {
                run: Self::run,
                completion: Completion::new(),
            },
            work: UnsafeCell::new(ManuallyDrop::new(work)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// The address by which it is shown to others.
    #[inline]
    pub(crate) fn as_ptr(this: *const Self) -> *mut Header {
        this.cast_mut().cast()
    }

    /// # Safety
    /// By rule 1 the work is the caller's, and it was not taken out yet.
    #[inline]
    pub(crate) unsafe fn take_work(&self) -> F {
        // SAFETY: passed on from the caller. It is not used again.
        let work = self.work.with_mut(|work| unsafe { work.read() });
        ManuallyDrop::into_inner(work)
    }

    /// What came of the work.
    ///
    /// # Safety
    /// The caller is the owner, has learnt that the taker has finished, and has not called this
    /// before.
    pub(crate) unsafe fn take_result(&self) -> thread::Result<R> {
        // SAFETY: by rule 2 it is the owner's, and not used again.
        let result = self.result.with_mut(|result| unsafe { result.read() });
        // SAFETY: a taker that has finished has written it.
        unsafe { result.assume_init() }
    }

    /// The last look before the frame goes.
    #[inline]
    pub(crate) fn retire(&mut self) {
        self.header.completion.retire();
        self.work.retire();
        self.result.retire();
    }

    /// # Safety
    /// `header` is that of a job of this type, and the caller its taker.
    unsafe fn run(header: NonNull<Header>) {
        let job = header.cast::<Self>().as_ptr();
        // SAFETY: the frame stays until the exchange (rule 3).
        let work = unsafe { &(*job).work };
        // SAFETY: the taker's (rule 1), and not used again.
        let work = ManuallyDrop::into_inner(work.with_mut(|work| unsafe { work.read() }));
        let outcome = catch_unwind(AssertUnwindSafe(work));
        // SAFETY: as above.
        let result = unsafe { &(*job).result };
        // SAFETY: the taker's (rule 2).
        result.with_mut(|result| unsafe { result.write(MaybeUninit::new(outcome)) });
        // SAFETY: as above: the taker's one exchange.
        let completed = unsafe { Completion::raw_complete(Header::completion(header)) };
        wake(completed);
    }
}

impl Header {
    #[inline]
    fn completion(this: NonNull<Self>) -> *const Completion {
        // SAFETY: the place is only named; the callers say why it is alive where it is used.
        unsafe { &raw const (*this.as_ptr()).completion }
    }
}

/// The owner's way to wait for a taker.
pub(crate) struct Wait {
    completion: *const Completion,
    registration: Registration,
}

impl Wait {
    /// # Safety
    /// The caller is the owner, keeps the frame as long as this is used, and uses no other wait for
    /// the job.
    pub(crate) unsafe fn new(job: NonNull<Header>) -> Self {
        Self {
            completion: Header::completion(job),
            registration: Registration::new(),
        }
    }

    /// How the taker finished, if it has.
    pub(crate) fn ended(&self) -> Option<Ended> {
        // SAFETY: the frame is kept.
        unsafe { Completion::raw_ended(self.completion) }
    }

    pub(crate) fn poll(&mut self, cx: &mut core::task::Context<'_>) -> Poll<Ended> {
        // SAFETY: the frame is kept, and the owner never detaches.
        unsafe { Completion::raw_poll(self.completion, cx.waker(), &mut self.registration) }
    }

    /// Blocks the thread until the taker has finished.
    pub(crate) fn block(mut self) -> Ended {
        block_on(poll_fn(|cx| self.poll(cx)))
    }
}

/// A job in the hands of its taker. Dropped without being run, it goes back to its owner.
#[must_use = "the owner waits for it"]
pub(crate) struct Taken(NonNull<Header>);

// SAFETY: it stands for work that its maker allowed to be run by another thread.
unsafe impl Send for Taken {}

impl Taken {
    /// # Safety
    /// `job` is alive and stays so by rule 3; its work and its result may go to other threads; this
    /// is its one taker.
    pub(crate) unsafe fn new(job: NonNull<Header>) -> Self {
        Self(job)
    }

    pub(crate) fn run(self) {
        let this = ManuallyDrop::new(self);
        // SAFETY: the frame stays until the exchange (rule 3).
        let run = unsafe { (*this.0.as_ptr()).run };
        // SAFETY: the header's own function (rule 5), called by the one taker, once.
        unsafe { run(this.0) };
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // SAFETY: alive up to the exchange (rule 3), and this is the taker's one exchange: `run`
        // does not drop.
        wake(unsafe { Completion::raw_abandon(Header::completion(self.0)) });
    }
}

fn wake(completed: Completed) {
    match completed {
        Completed::Unobserved => {}
        Completed::Wake(waker) => waker.wake(),
        Completed::Detached => unreachable!("the owner of a job does not leave before its taker"),
    }
}
