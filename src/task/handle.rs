//! [`JoinHandle`]: the one who waits for a task, or cancels it, or lets it go.

use core::{
    fmt,
    future::Future,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use super::{JoinError, header::Task, state::OnWake};
use crate::completion::{Completion, Detached, Ended, Registration};

/// Awaits a task, and owns it: dropped, it cancels the task.
///
/// # Awaiting
/// The handle is a future of the task's output. A panic of the task goes on in the one who awaits it; so does the cancellation
/// of a task, as a panic that says so. Await [`result`](JoinHandle::result) to have either as a value.
///
/// All that the task did happens before the one who awaits it goes on.
///
/// # Cost
/// In atomic read-modify-writes: to await a task that has ended, 0; to register who waits, 1 and the clone of its waker; to
/// poll again with the same waker, 0. To drop the handle of a task that has ended, 0; of another, 2. No operation waits for
/// another thread.
///
/// # Example
/// ```
/// let executor = joint::Executor::builder().workers(1).build()?;
/// let handle = executor.spawn(async { 6 * 7 });
/// assert_eq!(joint::block_on(handle), 42);
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "dropping a handle cancels the task: await it, or `detach` it"]
pub struct JoinHandle<T> {
    /// `None` once the task has been joined or given up.
    task: Option<Task>,
    registration: Registration,
    output: PhantomData<T>,
}

// SAFETY: it hands out the output, which may be sent. All else is atomic.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: by reference nothing of the output is reached, and all else is atomic. That it may then be dropped by whoever holds
// it last is covered by `T: Send`.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> Unpin for JoinHandle<T> {}
impl<T> core::panic::UnwindSafe for JoinHandle<T> {}
impl<T> core::panic::RefUnwindSafe for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// # Safety
    /// The caller has the one handle of the task, whose output is a `T`, and gives it to the new value.
    pub(super) unsafe fn from_task(task: Task) -> Self {
        Self {
            task: Some(task),
            registration: Registration::new(),
            output: PhantomData,
        }
    }

    /// Lets the task run on by itself. Its output will be dropped where it ends, or here when it has ended already.
    pub fn detach(mut self) {
        if let Some(task) = self.task.take() {
            // SAFETY: the handle is given up.
            unsafe { give_up(task, OnDrop::Detach) };
        }
    }

    /// Cancels the task, without waiting for that: its next run drops the future instead of polling it.
    ///
    /// A task that is being polled right now ends that poll first, and if that makes it ready, it is; otherwise the one who
    /// awaits it learns that it was [cancelled](JoinError::Cancelled). A task that has ended is left as it is. At most one
    /// atomic read-modify-write, when no other thread changes the task meanwhile. Lock-free.
    pub fn abort(&self) {
        let Some(task) = self.task else { return };
        if self.is_finished() {
            return;
        }
        // SAFETY: the handle keeps the task alive.
        if let OnWake::Schedule = unsafe { task.state() }.abort() {
            // SAFETY: the state word has said so, and the handle lives on across the call.
            unsafe { task.schedule() }
        }
    }

    /// Cancels the task at once, and waits until its future is gone. Awaiting gives the output if it was there already.
    ///
    /// # Example
    /// ```
    /// # let executor = joint::Executor::builder().workers(1).build()?;
    /// let never = executor.spawn(std::future::pending::<()>());
    /// assert_eq!(joint::block_on(never.cancel()), None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn cancel(self) -> Cancel<T> {
        self.abort();
        Cancel { handle: self }
    }

    /// Whether the task has ended, by an output, a panic or its cancellation, so that awaiting it would not wait.
    pub fn is_finished(&self) -> bool {
        // SAFETY: the handle keeps the task alive.
        self.task
            .is_none_or(|task| unsafe { Completion::raw_ended(task.join()) }.is_some())
    }

    /// Awaits the task as a value: its output, or why there is none.
    ///
    /// # Example
    /// ```
    /// # let executor = joint::Executor::builder().workers(1).build()?;
    /// let handle = executor.spawn(async { panic!("no") });
    /// let error = joint::block_on(handle.result()).unwrap_err();
    /// assert_eq!(error.to_string(), "the task panicked: no");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn result(self) -> JoinResult<T> {
        JoinResult { handle: self }
    }

    #[inline]
    fn poll_result(&mut self, cx: &mut Context<'_>) -> Poll<Result<T, JoinError>> {
        let task = self
            .task
            .expect("a `JoinHandle` was polled after it had given the output");
        // SAFETY: the handle keeps the task alive, and has not detached.
        let poll = unsafe { Completion::raw_poll(task.join(), cx.waker(), &mut self.registration) };
        let Poll::Ready(ended) = poll else {
            return Poll::Pending;
        };
        self.task = None;
        // SAFETY: the join word has ended so, and the handle is given up.
        Poll::Ready(unsafe { take(task, ended) })
    }
}

/// What becomes of a task whose handle goes before its end.
enum OnDrop {
    Detach,
    Cancel,
}

/// # Safety
/// The caller has the handle of the task, and gives it up.
#[inline(never)]
unsafe fn give_up(task: Task, how: OnDrop) {
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

/// Takes the result out of an ended task, and gives the handle up.
///
/// # Safety
/// The caller has the handle of the task, whose output is a `T` and whose join word has ended as `ended` says.
#[inline]
unsafe fn take<T>(task: Task, ended: Ended) -> Result<T, JoinError> {
    let _handle = Joined(task);
    match ended {
        // SAFETY: ended with an output or a panic in the stage, which is the handle's now.
        Ended::Done => unsafe { task.take_output::<T>() }.map_err(JoinError::Panicked),
        Ended::Abandoned => Err(JoinError::Cancelled),
    }
}

/// Drops the result of an ended task, and gives the handle up.
///
/// # Safety
/// As for [`take`].
unsafe fn dispose(task: Task, ended: Ended) {
    let _handle = Joined(task);
    if ended == Ended::Done {
        // SAFETY: ended with an output or a panic in the stage, which is the handle's now.
        unsafe { task.drop_output() };
    }
}

/// The handle of an ended task, to be given up when the output is out of the way: also when its drop panics.
struct Joined(Task);

impl Drop for Joined {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the handle keeps the task alive.
        if unsafe { self.0.state() }.release_joined() {
            // SAFETY: the state word has said so, and the stage is empty.
            unsafe { self.0.free() }
        }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = T;

    /// # Panics
    /// With the panic of the task; when the task was cancelled; when polled again after it was ready.
    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        self.poll_result(cx)
            .map(|result| result.unwrap_or_else(|error| raise(error)))
    }
}

/// Passes a task's failure on to whoever awaits the output.
#[cold]
fn raise(error: JoinError) -> ! {
    match error {
        JoinError::Panicked(payload) => payload.resume(),
        JoinError::Cancelled => panic!(
            "awaited a task that was cancelled: await `JoinHandle::result` to have that as a value"
        ),
    }
}

impl<T> Drop for JoinHandle<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            // SAFETY: the handle is given up.
            unsafe { give_up(task, OnDrop::Cancel) };
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.task {
            Some(task) => {
                // SAFETY: the handle keeps the task alive.
                let state = unsafe { task.state() }.snapshot();
                f.debug_tuple("JoinHandle").field(&state).finish()
            }
            None => f.write_str("JoinHandle(joined)"),
        }
    }
}

/// The future of [`JoinHandle::result`]. Dropped, it cancels the task.
#[must_use = "futures do nothing unless awaited; dropping this one cancels the task"]
pub struct JoinResult<T> {
    handle: JoinHandle<T>,
}

impl<T> Future for JoinResult<T> {
    type Output = Result<T, JoinError>;

    /// # Panics
    /// When polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.handle.poll_result(cx)
    }
}

impl<T> fmt::Debug for JoinResult<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JoinResult").field(&self.handle).finish()
    }
}

/// The future of [`JoinHandle::cancel`]: the output if the task had it already, or else `None`, once the future is gone.
///
/// Dropped, it lets the cancelled task end by itself.
#[must_use = "the task is cancelled already; await this to know that it has ended, or drop it"]
pub struct Cancel<T> {
    handle: JoinHandle<T>,
}

impl<T> Future for Cancel<T> {
    type Output = Option<T>;

    /// # Panics
    /// With the panic of the task; when polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.handle.poll_result(cx).map(|result| match result {
            Ok(output) => Some(output),
            Err(JoinError::Cancelled) => None,
            Err(panicked) => raise(panicked),
        })
    }
}

impl<T> fmt::Debug for Cancel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.handle).finish()
    }
}
