//! [`JoinHandle`]: awaits a task, cancels it, or detaches it; [`AbortHandle`], which only cancels
//! it; and the futures that a handle can be turned into, which give something other than the plain
//! output.

use core::{
    fmt,
    future::Future,
    marker::PhantomData,
    mem::ManuallyDrop,
    panic::{Location, RefUnwindSafe, UnwindSafe},
    pin::Pin,
    task::{Context, Poll, ready},
};

use super::{
    CancelledTask, JoinError, PanicPayload, Runnable, TaskView,
    header::Task,
    state::{Finisher, Next, State},
};
use crate::completion::{Completion, Detached, Ended, Registration};

/// Owns a task, and awaits its output. Dropping the handle cancels the task.
///
/// # Awaiting
/// The handle is a future of the task's output. If the task panicked, polling the handle resumes
/// the panic. If the task was cancelled, polling the handle panics with a message that says so.
/// Await [`result`](JoinHandle::result) to get either as a value.
///
/// Everything that the task did happens before the `await` returns.
///
/// # Dropping
/// Dropping the handle of a task that has not ended cancels the task. Dropping the handle of a task
/// that has ended drops its result, which is the output or the payload of the task's panic. If the
/// result's destructor panics, the panic hook runs, but the panic is caught: it leaves neither the
/// drop nor [`detach`](JoinHandle::detach). It therefore makes no difference whether the task ends
/// or the handle is dropped first, and a handle may be dropped while another panic unwinds. To see
/// a panic of the output's destructor, await the task and drop the output yourself. (Without the
/// feature `std` such a panic ends the program.)
///
/// # Cost
/// In atomic read-modify-writes:
///
/// * awaiting a task that has ended: 0;
/// * registering a waiter: 1, and the clone of its waker;
/// * polling again with the same waker: 0;
/// * dropping the handle of a task that has ended: 0, or 1 if a waker is left;
/// * dropping the handle of a task that has not ended: 2.
///
/// A waker of another crate is boxed while it is registered.
///
/// An operation that may call a schedule function that is stored in the task takes 2 more. No
/// operation waits for another thread.
///
/// # Example
/// ```
/// use joint::task::{self, Runnable};
/// use std::thread;
///
/// let schedule = |runnable: Runnable| drop(thread::spawn(move || runnable.run()));
/// let (runnable, handle) = task::spawn(async { 6 * 7 }, schedule);
/// runnable.schedule();
/// assert_eq!(joint::block_on(handle), 42);
/// ```
#[must_use = "dropping a `JoinHandle` cancels its task, and so does `let _ =`: await the handle, or let the task run on by `detach()` or `spawn_detached`"]
#[repr(C)]
pub struct JoinHandle<T, M = ()> {
    /// [`Registration::ENDED`] once the result has been taken. It comes first because its two words
    /// are written and moved as one. A move that took one of them together with the task would have
    /// to wait for both writes.
    registration: Registration,
    task: Task,
    output: PhantomData<(T, M)>,
}

// SAFETY: the handle gives out the output, which may be sent. Several threads reach the metadata by
// reference, and any of them may drop it. Everything else is atomic.
unsafe impl<T: Send, M: Send + Sync> Send for JoinHandle<T, M> {}
// SAFETY: a reference to the handle does not reach the output, and everything else is as for
// `Send`.
unsafe impl<T: Send, M: Send + Sync> Sync for JoinHandle<T, M> {}

impl<T, M> Unpin for JoinHandle<T, M> {}
impl<T, M> UnwindSafe for JoinHandle<T, M> {}
impl<T, M> RefUnwindSafe for JoinHandle<T, M> {}

impl<T, M> JoinHandle<T, M> {
    /// # Safety
    /// The caller has the one handle of the task, whose output is a `T` and whose metadata is an
    /// `M`, and gives it to the new value.
    #[inline]
    pub(super) unsafe fn from_task(task: Task) -> Self {
        Self {
            task,
            registration: Registration::new(),
            output: PhantomData,
        }
    }

    #[inline]
    pub(super) fn view(&self) -> TaskView<'_, M> {
        // SAFETY: the handle keeps the task alive, and its metadata is an `M`.
        unsafe { self.task.view() }
    }

    /// Gives up the handle without cancelling the task. The thread that ends the task drops its
    /// output. If the task has ended already, this call drops the output.
    pub fn detach(self) {
        let this = ManuallyDrop::new(self);
        // SAFETY: the handle is given up: it is not dropped.
        unsafe { give_up(this.view(), this.registration, State::detach) };
    }

    /// Cancels the task, without waiting for the cancellation. The task's next run drops the future
    /// instead of polling it.
    ///
    /// If the task is being polled right now, it finishes that poll. If the poll is ready, the task
    /// ends with its output. Otherwise its future is dropped at once, and awaiting the task reports
    /// that it was [cancelled](super::JoinError::Cancelled). A task that has ended is left as it
    /// is.
    ///
    /// # Progress
    /// Lock-free.
    ///
    /// # Cost
    /// At most one atomic read-modify-write, unless another thread changes the task meanwhile.
    pub fn abort(&self) {
        self.view().abort();
    }

    /// Cancels the task as [`abort`](JoinHandle::abort) does, but returns the runnable if the task
    /// was idle, instead of passing it to the schedule function. Drop it, and the task has ended.
    ///
    /// # Safety
    /// What [`spawn_unchecked`](super::spawn_unchecked) demands of runnables holds for the one that
    /// is returned.
    ///
    /// # Example
    /// ```
    /// # use joint::task;
    /// # use std::future::pending;
    /// let (runnable, handle) = task::spawn(pending::<()>(), |_| unreachable!("never woken"));
    /// runnable.run();
    /// // SAFETY: the future and the schedule function may be sent, and borrow nothing.
    /// drop(unsafe { handle.abort_idle() });
    /// assert!(handle.is_finished());
    /// ```
    pub unsafe fn abort_idle(&self) -> Option<Runnable<M>> {
        self.view().abort_idle()
    }

    /// Cancels the task at once, and returns a future that waits until the task's future has been
    /// dropped. Awaiting it gives the output if the task had ended already, or if it becomes ready
    /// in a poll that is under way.
    ///
    /// # Example
    /// ```
    /// # use joint::task::{self, Runnable};
    /// # use std::{future::pending, thread};
    /// # let schedule = |runnable: Runnable| drop(thread::spawn(move || runnable.run()));
    /// let (runnable, never) = task::spawn(pending::<()>(), schedule);
    /// runnable.schedule();
    /// assert_eq!(joint::block_on(never.cancel()), None);
    /// ```
    pub fn cancel(self) -> Fallible<T, M> {
        self.abort();
        self.fallible()
    }

    /// Awaits the task as an option, which is `None` if it was cancelled. If the task panicked,
    /// polling the future resumes the panic.
    ///
    /// # Example
    /// ```
    /// let (runnable, handle) = joint::task::spawn(async { 1 }, |_| {});
    /// drop(runnable);
    /// assert_eq!(joint::block_on(handle.fallible()), None);
    /// ```
    pub fn fallible(self) -> Fallible<T, M> {
        Fallible { handle: self }
    }

    /// Returns whether the task has ended, with an output, a panic or its cancellation, so that
    /// awaiting it would not wait.
    pub fn is_finished(&self) -> bool {
        self.view().header().join.ended().is_some()
    }

    /// Returns the metadata that the task was made with.
    pub fn metadata(&self) -> &M {
        self.view().metadata()
    }

    /// Converts the handle to one without the metadata in its type, for an executor whose metadata
    /// is its own affair. It costs nothing.
    ///
    /// # Example
    /// ```
    /// use joint::task::{Builder, JoinHandle};
    ///
    /// let builder = Builder::new().metadata("of the executor");
    /// let (runnable, handle) = builder.spawn(|_| async { 5 }, |_| {});
    /// let handle: JoinHandle<i32> = handle.without_metadata();
    /// runnable.run();
    /// assert_eq!(joint::block_on(handle), 5);
    /// ```
    ///
    /// The new type no longer says that the metadata must stay on its thread, or what it borrows,
    /// so the metadata must be `Send`, `Sync` and `'static`:
    /// ```compile_fail,E0277
    /// use joint::task::JoinHandle;
    ///
    /// fn hide(handle: JoinHandle<(), std::cell::Cell<u8>>) -> JoinHandle<()> {
    ///     handle.without_metadata()
    /// }
    /// ```
    /// ```compile_fail
    /// use joint::task::JoinHandle;
    ///
    /// fn hide<'a>(handle: JoinHandle<(), &'a u8>) -> JoinHandle<()> {
    ///     handle.without_metadata()
    /// }
    /// ```
    #[inline]
    pub fn without_metadata(self) -> JoinHandle<T>
    where
        M: Send + Sync + 'static,
    {
        let this = ManuallyDrop::new(self);
        // The metadata of the new type is `()`, which has no size and can be read at the address of
        // any other.
        JoinHandle {
            registration: this.registration,
            task: this.task,
            output: PhantomData,
        }
    }

    /// Returns the task's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.view().name()
    }

    /// Returns where the task was spawned.
    pub fn spawned(&self) -> &'static Location<'static> {
        self.view().spawned()
    }

    /// Awaits the task as a `Result`: its output, or the reason why there is none.
    ///
    /// # Example
    /// ```
    /// let (runnable, handle) = joint::task::spawn(async { panic!("no") }, |_| {});
    /// runnable.run();
    /// let error = joint::block_on(handle.result()).unwrap_err();
    /// assert!(error.to_string().ends_with("panicked: no"));
    /// ```
    pub fn result(self) -> JoinResult<T, M> {
        JoinResult { handle: self }
    }

    /// Returns a handle that can cancel the task, and nothing else.
    pub fn abort_handle(&self) -> AbortHandle {
        self.view().reference()
    }

    /// Polls for the output or the panic of the task, or for `None` if it was cancelled.
    #[inline]
    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, PanicPayload>>> {
        if self.registration.is_ended() {
            polled_again();
        }
        let join = &self.view().header().join;
        // SAFETY: the handle keeps the task alive, and has not detached.
        let poll = unsafe { Completion::raw_poll(join, cx.waker(), &mut self.registration) };
        let ended = ready!(poll);
        self.registration = Registration::ENDED;
        Poll::Ready(match ended {
            // SAFETY: the task has ended with an output or a panic in the stage, which now belongs
            // to the handle, and which the handle has not taken.
            Ended::Done => Some(unsafe { self.view().take_output::<T>() }),
            Ended::Abandoned => None,
        })
    }

    /// The task was cancelled, and the code that awaits it has no other way to learn of it.
    #[cold]
    fn raise_cancelled(&self) -> ! {
        // Without the task, whose text would bring formatting into a small program.
        if cfg!(not(feature = "alloc")) {
            panic!("awaited a task that was cancelled by an abort or by the end of its executor")
        }
        panic!(
            "awaited a task that was cancelled by an abort or by the end of its executor; await \
             `JoinHandle::result` to get the cancellation as a value. The task: {self:?}"
        )
    }
}

/// Gives the handle of a task up, which leaves the state word by `leave` if the task has not ended.
///
/// # Safety
/// The caller has the handle of the task, with its registration, and gives it up.
#[inline]
unsafe fn give_up<M>(task: TaskView<'_, M>, registration: Registration, leave: fn(&State) -> Next) {
    if registration.is_ended() {
        let outcome = task.header().state.finish(Finisher::Handle);
        // SAFETY: this is the state word's answer, which is not to schedule. The handle is given
        // up, and has taken the result.
        unsafe { task.follow(outcome) }
    } else {
        // SAFETY: passed on from the caller.
        unsafe { give_up_unjoined(task, leave) }
    }
}

/// # Safety
/// The caller has the handle of the task, which has not taken the result, and gives it up.
#[inline(never)]
unsafe fn give_up_unjoined<M>(task: TaskView<'_, M>, leave: fn(&State) -> Next) {
    let detached = match task.header().join.ended() {
        Some(ended) => Detached::Finished(ended),
        // SAFETY: the handle keeps the task alive, and this is its last act on the word.
        None => unsafe { Completion::raw_detach(&task.header().join) },
    };
    match detached {
        Detached::Finished(ended) => {
            // The result's drop may look for the end, which the join word may show no more.
            task.header().link.note_end();
            if ended == Ended::Done {
                // SAFETY: ended with an output or a panic in the stage, which is the handle's now.
                unsafe { (task.vtable().drop_output)(task.task) };
            }
            let outcome = task.header().state.finish(Finisher::Handle);
            // SAFETY: this is the state word's answer, which is not to schedule. The handle is
            // given up. The stage is empty: the result was dropped above, or there was none.
            unsafe { task.follow(outcome) };
        }
        // The registered waker is user code, so it is dropped last, and also if the schedule
        // function panics.
        Detached::Pending(_registered) => {
            let _held = task.hold();
            let outcome = leave(&task.header().state);
            // SAFETY: this is the state word's answer, and `_held` keeps rule 3.
            unsafe { task.follow(outcome) };
        }
    }
}

impl<T, M> Future for JoinHandle<T, M> {
    type Output = T;

    /// # Panics
    /// Resumes the panic of the task. Panics if the task was cancelled, and if it is polled again
    /// after it was ready.
    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        self.poll_ended(cx).map(|ended| match ended {
            Some(Ok(output)) => output,
            Some(Err(payload)) => payload.resume(),
            None => self.raise_cancelled(),
        })
    }
}

#[cold]
fn polled_again() -> ! {
    panic!(
        "a `JoinHandle` was polled again after it had returned the result; do not poll it after that"
    );
}

#[cfg(feature = "futures-core")]
impl<T, M> futures_core::FusedFuture for JoinHandle<T, M> {
    fn is_terminated(&self) -> bool {
        self.registration.is_ended()
    }
}

impl<T, M> Drop for JoinHandle<T, M> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the handle is given up.
        unsafe { give_up(self.view(), self.registration, State::cancel) };
    }
}

/// Cancels a task from anywhere, without its [`JoinHandle`]. Made by [`JoinHandle::abort_handle`].
///
/// Dropping it does nothing to the task. It keeps the task's [memory](super#memory), though not its
/// future, until it is dropped. Like a waker, it also keeps a detached task from being dropped when
/// nothing else could wake that task any more.
///
/// # Cost
/// One atomic read-modify-write each to make, clone and drop it.
///
/// # Example
/// ```
/// use joint::task;
///
/// let (runnable, handle) = task::spawn(async { 1 }, |_| {});
/// let abort = handle.abort_handle();
/// abort.abort();
/// runnable.run();
/// assert!(abort.is_finished());
/// assert_eq!(joint::block_on(handle.fallible()), None);
/// ```
pub struct AbortHandle(pub(super) Task);

impl UnwindSafe for AbortHandle {}
impl RefUnwindSafe for AbortHandle {}

impl AbortHandle {
    pub(super) fn view(&self) -> TaskView<'_> {
        // SAFETY: it has a waker's reference, which keeps the task alive.
        unsafe { self.0.view() }
    }

    /// Cancels the task without waiting for it, as [`JoinHandle::abort`] does.
    pub fn abort(&self) {
        self.view().abort();
    }

    /// Returns whether the task has ended. Once an abort handle of the task has returned true, all
    /// of them do. This orders nothing.
    pub fn is_finished(&self) -> bool {
        self.view().has_ended()
    }
}

impl Clone for AbortHandle {
    fn clone(&self) -> Self {
        self.view().reference()
    }
}

impl Drop for AbortHandle {
    fn drop(&mut self) {
        let task = self.view();
        // SAFETY: this is the state word's answer. Giving up a waker asks to schedule only an
        // orphan, and `schedule_orphan` holds a reference of its own.
        unsafe { task.follow(task.header().state.drop_waker()) };
    }
}

/// The future of [`JoinHandle::result`]. Dropping it cancels the task.
#[must_use = "futures do nothing unless awaited; dropping this one cancels the task"]
pub struct JoinResult<T, M = ()> {
    handle: JoinHandle<T, M>,
}

impl<T, M> Future for JoinResult<T, M> {
    type Output = Result<T, JoinError>;

    /// # Panics
    /// Panics if it is polled again after it was ready.
    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.handle.poll_ended(cx).map(|ended| match ended {
            Some(ended) => ended.map_err(JoinError::Panicked),
            None => Err(JoinError::Cancelled(CancelledTask::of(self.handle.view()))),
        })
    }
}

/// The future of [`JoinHandle::fallible`] and of [`JoinHandle::cancel`]: the output, or `None` if
/// the task was cancelled. It is ready once the task's future has been dropped. Dropping it cancels
/// the task.
#[must_use = "await this to know how the task ends; dropping it cancels the task"]
pub struct Fallible<T, M = ()> {
    handle: JoinHandle<T, M>,
}

impl<T, M> Future for Fallible<T, M> {
    type Output = Option<T>;

    /// # Panics
    /// Resumes the panic of the task. Panics if it is polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.handle.poll_ended(cx).map(|ended| match ended? {
            Ok(output) => Some(output),
            Err(payload) => payload.resume(),
        })
    }
}

/// Implements what these futures share, which is access to the handle that they own.
macro_rules! owns_handle {
    ($($name:ident),*) => {$(
        impl<T, M> $name<T, M> {
            /// Returns the handle by reference, for example to abort the task or to inspect it.
            pub fn handle(&self) -> &JoinHandle<T, M> {
                &self.handle
            }

            /// Returns the handle.
            pub fn into_handle(self) -> JoinHandle<T, M> {
                self.handle
            }
        }

        impl<T, M> fmt::Debug for $name<T, M> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.handle).finish()
            }
        }
    )*};
}

owns_handle!(JoinResult, Fallible);
