//! [`JoinHandle`]: the one who waits for a task, or cancels it, or lets it go.

use core::{
    fmt,
    future::Future,
    marker::PhantomData,
    mem::ManuallyDrop,
    panic::{Location, RefUnwindSafe, UnwindSafe},
    pin::Pin,
    task::{Context, Poll},
};

use super::{
    Cancel, Fallible, Id, JoinError, JoinResult, ScheduleInfo, header::Task, state::OnWake,
};
use crate::completion::{Completion, Detached, Ended, Registration};

/// Awaits a task, and owns it: dropped, it cancels the task.
///
/// # Awaiting
/// The handle is a future of the task's output. A panic of the task goes on in the one who awaits it; so does the cancellation
/// of a task, as a panic that says so. Await [`result`](JoinHandle::result) to have either as a value.
///
/// All that the task did happens before the one who awaits it goes on.
///
/// # Dropping
/// The handle of a task that has not ended cancels it. The handle of a task that has drops its
/// result, the output or what the task panicked with. If the destructor of that panics, the panic
/// hook runs, and the panic goes no further: it does not come out of the drop, nor out of
/// [`detach`](JoinHandle::detach). So it makes no difference which comes first, the task's end or
/// the drop, and a handle may be dropped while another panic unwinds. Await the task to be the one
/// who drops its output. (Without the feature `std` such a panic ends the program.)
///
/// # Cost
/// In atomic read-modify-writes: to await a task that has ended, 0; to register who waits, 1 and the clone of its waker; to
/// poll again with the same waker, 0. To drop the handle of a task that has ended, 0, or 1 when a waker is left; of another, 2. A
/// stored schedule function (see [`Copied`](super::Copied)) takes 2 more where it may be called. No operation waits for another
/// thread.
///
/// # Example
/// ```
/// let executor = joint::Executor::builder().workers(1).build()?;
/// let handle = executor.spawn(async { 6 * 7 });
/// assert_eq!(joint::block_on(handle), 42);
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "dropping a handle cancels the task: await it, or `detach` it"]
#[repr(C)]
pub struct JoinHandle<T, M = ()> {
    /// [`Registration::ENDED`] once the result has been taken. In front: the two words are written and moved as one, and a move
    /// that takes one of them together with the task waits for both writes.
    registration: Registration,
    task: Task,
    output: PhantomData<(T, M)>,
}

// SAFETY: it hands out the output, which may be sent. The metadata is reached by reference from several threads, and dropped by
// any. All else is atomic.
unsafe impl<T: Send, M: Send + Sync> Send for JoinHandle<T, M> {}
// SAFETY: by reference nothing of the output is reached, and all else is as for `Send`.
unsafe impl<T: Send, M: Send + Sync> Sync for JoinHandle<T, M> {}

impl<T, M> Unpin for JoinHandle<T, M> {}
impl<T, M> UnwindSafe for JoinHandle<T, M> {}
impl<T, M> RefUnwindSafe for JoinHandle<T, M> {}

impl<T, M> JoinHandle<T, M> {
    /// # Safety
    /// The caller has the one handle of the task, whose output is a `T` and whose metadata is an `M`, and gives it to the new
    /// value.
    #[inline]
    pub(super) unsafe fn from_task(task: Task) -> Self {
        Self {
            task,
            registration: Registration::new(),
            output: PhantomData,
        }
    }

    /// Lets the task run on by itself. Its output will be dropped where it ends, or here when it has ended already.
    pub fn detach(self) {
        let this = ManuallyDrop::new(self);
        // SAFETY: the handle is given up: it is not dropped.
        unsafe { give_up(this.task, this.registration, OnDrop::Detach) };
    }

    /// Cancels the task, without waiting for that: its next run drops the future instead of polling it.
    ///
    /// A task that is being polled right now ends that poll first, and if that makes it ready, it is; otherwise its future is
    /// dropped there and then. The one who awaits the task learns that it was [cancelled](JoinError::Cancelled). A task that
    /// has ended is left as it is.
    ///
    /// At most one atomic read-modify-write, when no other thread changes the task meanwhile. Lock-free.
    pub fn abort(&self) {
        if self.is_finished() {
            return;
        }
        // SAFETY: the handle keeps the task alive.
        if let OnWake::Schedule = unsafe { self.task.state() }.abort() {
            // SAFETY: the state word has said so, and the handle lives on across the call.
            unsafe { self.task.schedule(ScheduleInfo::WOKEN) }
        }
    }

    /// Cancels the task at once, and waits until its future is gone. Awaiting gives the output if it was there already, or if
    /// the task became ready in a poll that was under way.
    ///
    /// # Example
    /// ```
    /// # let executor = joint::Executor::builder().workers(1).build()?;
    /// let never = executor.spawn(std::future::pending::<()>());
    /// assert_eq!(joint::block_on(never.cancel()), None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn cancel(self) -> Cancel<T, M> {
        self.abort();
        Cancel::new(self)
    }

    /// Awaits the task as an option: `None` when it was cancelled. A panic of the task goes on in the one who awaits it.
    ///
    /// # Example
    /// ```
    /// let (runnable, handle) = joint::task::spawn(async { 1 }, |_| {});
    /// drop(runnable);
    /// assert_eq!(joint::block_on(handle.fallible()), None);
    /// ```
    pub fn fallible(self) -> Fallible<T, M> {
        Fallible::new(self)
    }

    /// Whether the task has ended, by an output, a panic or its cancellation, so that awaiting it would not wait.
    pub fn is_finished(&self) -> bool {
        // SAFETY: the handle keeps the task alive.
        unsafe { Completion::raw_ended(self.task.join()) }.is_some()
    }

    /// The metadata that the task was made with.
    pub fn metadata(&self) -> &M {
        // SAFETY: the handle keeps the task alive, and its metadata is an `M`.
        unsafe { self.task.metadata() }
    }

    /// A handle that does not show the metadata.
    #[cfg(feature = "std")]
    #[inline]
    pub(crate) fn without_metadata(self) -> JoinHandle<T> {
        let this = ManuallyDrop::new(self);
        // Its metadata is of no size, and so can be read in the place of any other.
        JoinHandle {
            registration: this.registration,
            task: this.task,
            output: PhantomData,
        }
    }

    /// What tells this task from others.
    pub fn id(&self) -> Id {
        Id::of(self.task)
    }

    /// The task's name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        // SAFETY: the handle keeps the task alive.
        unsafe { self.task.name() }
    }

    /// Where the task was spawned.
    pub fn spawned(&self) -> &'static Location<'static> {
        // SAFETY: the handle keeps the task alive.
        unsafe { self.task.spawned() }
    }

    /// Awaits the task as a value: its output, or why there is none.
    ///
    /// # Example
    /// ```
    /// # let executor = joint::Executor::builder().workers(1).build()?;
    /// let handle = executor.spawn(async { panic!("no") });
    /// let error = joint::block_on(handle.result()).unwrap_err();
    /// assert!(error.to_string().ends_with("panicked: no"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn result(self) -> JoinResult<T, M> {
        JoinResult::new(self)
    }

    #[inline]
    pub(super) fn poll_result(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
        if self.registration.is_ended() {
            polled_again();
        }
        let registration = &mut self.registration;
        // SAFETY: the handle keeps the task alive, and has not detached.
        let poll = unsafe { Completion::raw_poll(self.task.join(), cx.waker(), registration) };
        let Poll::Ready(ended) = poll else {
            return Poll::Pending;
        };
        self.registration = Registration::ENDED;
        Poll::Ready(match ended {
            // SAFETY: ended with an output or a panic in the stage, which is the handle's now, and which it has not taken.
            Ended::Done => unsafe { self.task.take_output::<T>() }.map_err(JoinError::Panicked),
            Ended::Abandoned => Err(JoinError::Cancelled),
        })
    }

    /// Passes the task's failure on to whoever awaits the output.
    #[cold]
    pub(super) fn raise(&self, error: JoinError) -> ! {
        match error {
            JoinError::Panicked(payload) => payload.resume(),
            JoinError::Cancelled => panic!(
                "awaited a task that was cancelled, by an abort or by the end of its executor; await `JoinHandle::result` to \
                 have that as a value. The task: {self:?}"
            ),
        }
    }
}

#[cold]
fn polled_again() -> ! {
    panic!("a task's handle was polled again after it had given the result");
}

/// What becomes of a task whose handle goes before its end.
enum OnDrop {
    Detach,
    Cancel,
}

/// # Safety
/// The caller has the handle of the task, with its registration, and gives it up.
#[inline]
unsafe fn give_up(task: Task, registration: Registration, how: OnDrop) {
    if registration.is_ended() {
        // SAFETY: passed on from the caller, who has taken the result.
        unsafe { give_up_ended(task) }
    } else {
        // SAFETY: passed on from the caller.
        unsafe { give_up_unjoined(task, how) }
    }
}

/// # Safety
/// The caller has the handle of the task, which has not taken the result, and gives it up.
#[inline(never)]
unsafe fn give_up_unjoined(task: Task, how: OnDrop) {
    // SAFETY: the handle keeps the task alive.
    if let Some(ended) = unsafe { Completion::raw_ended(task.join()) } {
        // SAFETY: the join word has ended so, and the handle is given up.
        return unsafe { dispose(task, ended) };
    }
    // SAFETY: as above, and the handle's last act on the word.
    let _registered = match unsafe { Completion::raw_detach(task.join()) } {
        // SAFETY: the join word has ended so, and the handle is given up.
        Detached::Finished(ended) => return unsafe { dispose(task, ended) },
        // What was registered is the user's code: it is dropped last, and also when the schedule function panics.
        Detached::Pending(registered) => registered,
    };
    // SAFETY: the handle is still in the state word, and keeps the task alive.
    let _held = unsafe { task.hold() };
    // SAFETY: as above.
    let state = unsafe { task.state() };
    let outcome = match how {
        OnDrop::Detach => state.detach(),
        OnDrop::Cancel => state.cancel(),
    };
    // SAFETY: the state word's answer; rule 3 by `_held`.
    unsafe { task.after_release(outcome) };
}

/// Drops the result of an ended task, and gives the handle up.
///
/// # Safety
/// The caller has the handle of the task, whose join word has ended as `ended` says, and which has not taken the result.
unsafe fn dispose(task: Task, ended: Ended) {
    if ended == Ended::Done {
        // SAFETY: ended with an output or a panic in the stage, which is the handle's now.
        unsafe { task.drop_output() };
    }
    // SAFETY: passed on from the caller; a task that has not ended so has an empty stage.
    unsafe { give_up_ended(task) };
}

/// # Safety
/// The caller has the handle of the task, which has ended and whose stage is empty, and gives it
/// up.
#[inline]
unsafe fn give_up_ended(task: Task) {
    // SAFETY: the handle keeps the task alive.
    if unsafe { task.state() }.release_joined() {
        // SAFETY: the state word has said so, and the stage is empty.
        unsafe { task.free() }
    }
}

impl<T, M> Future for JoinHandle<T, M> {
    type Output = T;

    /// # Panics
    /// With the panic of the task; when the task was cancelled; when polled again after it was ready.
    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let poll = self.poll_result(cx);
        poll.map(|result| result.unwrap_or_else(|error| self.raise(error)))
    }
}

impl<T, M> Drop for JoinHandle<T, M> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the handle is given up.
        unsafe { give_up(self.task, self.registration, OnDrop::Cancel) };
    }
}

impl<T, M> fmt::Debug for JoinHandle<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the handle keeps the task alive.
        unsafe { self.task.fmt("JoinHandle", f) }
    }
}
