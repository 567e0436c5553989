//! [`Job`]: a closure in one thread's stack frame that another thread may run.
//!
//! # Which thread may touch what
//! The *owner* is the thread in whose frame the job lies. The *taker* is the thread that holds a
//! [`Taken`]. There is at most one.
//!
//! 1. `work` belongs to the taker from the moment that it takes the job. Before that, and if the
//!    job was never taken, it belongs to the owner.
//! 2. `result` belongs to the taker until its exchange on `completion`, and to the owner once the
//!    owner has learnt of that exchange.
//! 3. The frame stays until the owner has the job back, which means that the job was not taken or
//!    that the taker has finished. This includes panics.
//! 4. After its exchange on `completion` the taker touches only what the exchange returned, because
//!    the frame may be gone.
//! 5. `run` is written before any other thread can see the job, and never again.
//!
//! Rule 3 is held by types. [`Job::lend`] is the only way to hand out the address. It also returns
//! the owner's [`Wait`], which ends the program if a panic drops it before the job is back. A wait
//! that panics ends the program in any case ([`while_lent`]). The scopes, whose tasks borrow from
//! frames, use the same guard, [`Lent`].

use core::{
    mem::{self, ManuallyDrop, MaybeUninit},
    ptr::NonNull,
    task::Poll,
};
use std::{
    io::{Write, stderr},
    panic::{AssertUnwindSafe, catch_unwind},
    process, thread,
    time::Instant,
};

use crate::{latch::block_by, ring::Word, who};
use joint::completion::{Completed, Completion, Ended, Registration};
use joint_switch::{Retire, UnsafeCell};

/// The part of a job that does not depend on its closure.
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

    /// Lends the job to another thread, until the owner has it back.
    ///
    /// # Safety
    /// The owner's half is not leaked, and the job stays where it is until then.
    #[inline]
    pub(crate) unsafe fn lend(&self) -> (Taken, Wait)
    where
        F: Send,
        R: Send,
    {
        let header = NonNull::from(self).cast::<Header>();
        let wait = Wait {
            completion: Header::completion(header),
            registration: Registration::new(),
        };
        (Taken(header), wait)
    }

    /// # Safety
    /// By rule 1 the work belongs to the caller, and it was not taken out yet.
    #[inline]
    pub(crate) unsafe fn take_work(&self) -> F {
        // SAFETY: the caller promises it. The work is not used again.
        let work = self.work.with_mut(|work| unsafe { work.read() });
        ManuallyDrop::into_inner(work)
    }

    /// Returns the result of the work.
    ///
    /// # Safety
    /// The caller is the owner, has learnt that the taker has finished, and has not called this
    /// before.
    pub(crate) unsafe fn take_result(&self) -> thread::Result<R> {
        // SAFETY: by rule 2 the result is the owner's, and it is not used again.
        let result = self.result.with_mut(|result| unsafe { result.read() });
        // SAFETY: the taker has finished, so it has written the result.
        unsafe { result.assume_init() }
    }

    /// Checks, under the model, that nothing is in use any more. Called before the frame goes away.
    #[inline]
    pub(crate) fn retire(&mut self) {
        self.header.completion.retire();
        self.work.retire();
        self.result.retire();
    }

    /// # Safety
    /// `header` belongs to a job of this type, and the caller is its taker.
    unsafe fn run(header: NonNull<Header>) {
        // SAFETY: the frame stays until the exchange (rule 3).
        let job = unsafe { header.cast::<Self>().as_ref() };
        // SAFETY: the work is the taker's (rule 1).
        let work = unsafe { job.take_work() };
        let outcome = catch_unwind(AssertUnwindSafe(work));
        // SAFETY: the result is the taker's (rule 2).
        (job.result).with_mut(|result| unsafe { result.write(MaybeUninit::new(outcome)) });
        // SAFETY: the frame stays until then, and this is the taker's one exchange.
        let completed = unsafe { Completion::raw_complete(Header::completion(header)) };
        wake(completed);
    }
}

impl Header {
    #[inline]
    fn completion(this: NonNull<Self>) -> *const Completion {
        // SAFETY: the place is only named here. The callers say why it is alive where they use it.
        unsafe { &raw const (*this.as_ptr()).completion }
    }
}

/// Waits in `f` for what this thread has lent. A panic of `f` ends the program.
pub(crate) fn while_lent<R>(f: impl FnOnce() -> R) -> R {
    let lent = Lent(|| false);
    let result = who::while_lent(f);
    lent.returned();
    result
}

/// Ends the program if it is dropped, as a panic does, while another thread may use a frame that
/// this one would leave: unless the function returns true.
pub(crate) struct Lent<F: Fn() -> bool>(pub(crate) F);

impl<F: Fn() -> bool> Lent<F> {
    #[inline]
    pub(crate) fn returned(self) {
        mem::forget(self);
    }
}

impl<F: Fn() -> bool> Drop for Lent<F> {
    #[cold]
    fn drop(&mut self) {
        if (self.0)() {
            return;
        }
        // There is nowhere else to report to.
        let _ = writeln!(
            stderr(),
            "joint: the program is aborted, because a panic was about to leave a function whose \
             stack other threads use: a call of `install`, `join` or `scope` waits for them. If \
             `wait` or `attend` of the thread's `joint::host::Host` has panicked, let it wait \
             instead"
        );
        process::abort();
    }
}

/// The owner's half of a job: the means to wait for the taker, and the guard of the frame.
#[must_use = "the program ends if it is dropped before the job is back"]
pub(crate) struct Wait {
    completion: *const Completion,
    registration: Registration,
}

impl Wait {
    pub(crate) fn ended(&self) -> Option<Ended> {
        // SAFETY: the frame is kept while this exists.
        unsafe { Completion::raw_ended(self.completion) }
    }

    pub(crate) fn poll(&mut self, cx: &mut core::task::Context<'_>) -> Poll<Ended> {
        // SAFETY: the frame is kept, and the owner never detaches.
        unsafe { Completion::raw_poll(self.completion, cx.waker(), &mut self.registration) }
    }

    pub(crate) fn block(mut self) -> Ended {
        let ended = self.block_until(None);
        ended.unwrap_or_else(|| unreachable!("a wait without a deadline ends with the job"))
    }

    /// Blocks as [`block`](Wait::block) does, but returns `None` after the deadline.
    pub(crate) fn block_until(&mut self, deadline: Option<Instant>) -> Option<Ended> {
        let mut ended = None;
        while_lent(|| {
            block_by(deadline, &mut |cx| self.poll(cx).map(|by| ended = Some(by)));
        });
        ended
    }

    /// Takes back a job that was not taken. Its work is the owner's again (rule 1).
    #[inline]
    pub(crate) fn take_back(self, taken: Taken) {
        debug_assert!(Header::completion(taken.0) == self.completion);
        mem::forget((self, taken));
    }
}

impl Drop for Wait {
    #[inline]
    fn drop(&mut self) {
        let completion = self.completion;
        let lent = Lent(move || {
            // SAFETY: the frame is kept while the wait exists.
            unsafe { Completion::raw_ended(completion) }.is_some()
        });
        drop(lent);
    }
}

/// A job in the hands of its taker. If it is dropped without being run, it goes back to its owner.
#[must_use = "the owner waits until the job is completed"]
pub(crate) struct Taken(NonNull<Header>);

// SAFETY: it stands for work that its creator allowed another thread to run.
unsafe impl Send for Taken {}

impl Taken {
    pub(crate) fn run(self) {
        let this = ManuallyDrop::new(self);
        // SAFETY: the frame stays until the exchange (rule 3).
        let run = unsafe { (*this.0.as_ptr()).run };
        // SAFETY: this is the header's own function (rule 5), and the one taker calls it, once.
        unsafe { run(this.0) };
    }
}

impl Word for Taken {
    #[inline(always)]
    fn into_word(self) -> NonNull<()> {
        ManuallyDrop::new(self).0.cast()
    }

    #[inline(always)]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        Self(word.cast())
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // SAFETY: the job is alive up to the exchange (rule 3), and this is the taker's one
        // exchange, because `run` does not drop.
        wake(unsafe { Completion::raw_abandon(Header::completion(self.0)) });
    }
}

fn wake(completed: Completed) {
    match completed {
        Completed::Unobserved => {}
        Completed::Wake(waker) => waker.wake(),
        Completed::Detached => unreachable!("the owner of a job does not leave before the thief"),
    }
}
