//! [`Task`]: the handles of a task, and how one is started.

use std::{
    any::Any,
    future::Future,
    panic::{Location, RefUnwindSafe, UnwindSafe},
    pin::Pin,
    ptr::NonNull,
    sync::Arc,
    task::{Context, Poll, ready},
};

use joint::{
    budget::{self, Turn},
    task::PanicPayload,
};

use super::{Canceller, Driver, Sink, TaskError, cell::Abandon, output::Output};
use crate::shared::{Awaited, Closed, SharedWaiter};

type Outcome<T> = Result<Output<T>, TaskError>;

/// Starts a task on [`joint_executor::spawn`]'s executor.
///
/// It runs at once, on the caller's stack up to its first wait (see [the module](super#start)), and
/// goes on whether or not somebody waits for it. Dropping the last handle cancels it: see
/// [the module](super). To let a task run on, spawn it as [`uncancellable`].
///
/// # Panics
/// If the global executor is needed and cannot be started.
///
/// # Example
/// ```
/// use joint_flow::spawn;
///
/// let six = spawn(async { 6 });
/// let products = [7, 8].map(|n| {
///     let six = six.clone();
///     spawn(async move { n * six.await.unwrap() })
/// });
/// for (task, product) in products.into_iter().zip([42, 48]) {
///     assert_eq!(joint::block_on(task).unwrap(), product);
/// }
/// ```
#[track_caller]
pub fn spawn<F>(future: F) -> Task<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Task::first(Driver::start(future, Answer::new()))
}

/// Starts a task on [`joint_executor::spawn`]'s executor that runs to its end even if every handle
/// is dropped.
///
/// [`Task::cancel`] does nothing to it. Only the end of its executor cancels it. This function
/// spawns, instead of marking a future for [`spawn`], so that nobody can await the marked future in
/// a task that is cancelled after all.
///
/// # Panics
/// If the global executor is needed and cannot be started.
///
/// # Example
/// ```
/// use joint_flow::uncancellable;
///
/// let (sender, receiver) = joint::oneshot::channel();
/// drop(uncancellable(async move {
///     joint_executor::yield_now().await;
///     sender.send("written").unwrap();
/// }));
/// assert_eq!(joint::block_on(receiver), Ok("written"));
/// ```
#[track_caller]
pub fn uncancellable<F>(future: F) -> Task<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Task::first(Driver::start_uncancellable(future, Answer::new()))
}

/// Starts a task that need not be `Send`, where [`joint_executor::spawn_local`] does: on the worker
/// or the local executor of this thread. Its output need not be `Send` either.
///
/// Dropping the last handle cancels it, as for [`spawn`], but its future is always dropped by its
/// own thread. A handle on another thread does not wait for that, and waiters get
/// [`TaskError::Cancelled`] after it. That is also what they get if the executor shuts down. A
/// panic is [`TaskError::Panicked`].
///
/// # Panics
/// On a thread that is neither a worker nor runs a local executor.
///
/// # Example
/// ```
/// use std::rc::Rc;
///
/// let local = joint_executor::LocalExecutor::new();
/// let answer = local.block_on(async {
///     let name = Rc::new(String::from("here"));
///     let task = joint_flow::task::spawn_local(async move { name });
///     task.await.unwrap().len()
/// });
/// assert_eq!(answer, 4);
/// ```
#[track_caller]
pub fn spawn_local<F>(future: F) -> Task<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    // The handles are `Send` only if the output is.
    Task::first(Driver::start_local(future, Answer::new()))
}

/// Splits a future into a driver, to be spawned on any executor, and the first handle.
///
/// The driver is ready when the future has ended or was cancelled. If it is dropped before, the
/// future is cancelled.
///
/// # Example
/// ```
/// let executor = joint_executor::Executor::builder().workers(1).build()?;
/// let (driver, task) = joint_flow::task::from_future(async { 5 });
/// executor.spawn_detached(driver);
/// assert_eq!(joint::block_on(task).unwrap(), 5);
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn from_future<F>(
    future: F,
) -> (
    impl Future<Output = ()> + Send + 'static + use<F>,
    Task<F::Output>,
)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let (driver, canceller, answer) = Driver::pair(future, Answer::new());
    (driver, Task::first((canceller, answer)))
}

/// Has the result for the waiters.
struct Answer<T> {
    awaited: Awaited<Outcome<T>>,
    spawned: &'static Location<'static>,
}

impl<T> Answer<T> {
    #[track_caller]
    fn new() -> Self {
        Self {
            awaited: Awaited::new(),
            spawned: Location::caller(),
        }
    }
}

// SAFETY: it may be used by the threads that have a handle, and freed by the last of them or by the
// driver's.
unsafe impl<T: Send> Send for Answer<T> {}

impl<T> Sink<T> for Answer<T> {
    unsafe fn finish(&self, result: Result<T, Box<dyn Any + Send>>) {
        let result = result.map(Output::new).map_err(|payload| {
            TaskError::Panicked(Arc::new(PanicPayload::new(payload, self.spawned)))
        });
        // SAFETY: passed on from the caller.
        unsafe { self.awaited.send(result) };
    }
}

impl<T> Abandon for Answer<T> {
    unsafe fn abandon(&self, is_unused: bool) {
        // SAFETY: passed on from the caller.
        unsafe { self.awaited.abandon(is_unused) };
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        struct Retire<'a, T>(&'a mut Awaited<Outcome<T>>);
        impl<T> Drop for Retire<'_, T> {
            fn drop(&mut self) {
                // SAFETY: the driver and all handles have left.
                unsafe { self.0.retire() };
            }
        }
        let retire = Retire(&mut self.awaited);
        // SAFETY: the output is ours to drop, once.
        let discard = |value: *mut Outcome<T>| unsafe { value.drop_in_place() };
        // SAFETY: nobody else has the answer any more.
        unsafe { retire.0.take(discard) };
    }
}

/// A handle to a cell, and to the answer in it.
struct Handle<T> {
    /// It is alive as long as the canceller is there, and gives no exclusive access.
    answer: NonNull<Answer<T>>,
    canceller: Canceller,
}

// SAFETY: all handles read the output by reference, and the thread of the last one may drop it.
unsafe impl<T: Send + Sync> Send for Handle<T> {}
// SAFETY: as for `Send`; a handle is cloned by reference.
unsafe impl<T: Send + Sync> Sync for Handle<T> {}

/// A handle of a task. Clone it to get more. Dropping the last one **cancels** the task: see [the
/// module](super).
///
/// Awaiting it gives a clone of the output. [`wait`](Task::wait) gives a reference. Each handle is
/// a waiter of its own, which may be polled with changing wakers and dropped at any time. Once
/// there is a result, every further poll gives the same one.
///
/// # Errors
/// [`TaskError::Cancelled`] if the task was cancelled by [`cancel`](Task::cancel) or by the end of
/// its executor. [`TaskError::Panicked`] if it panicked.
///
/// # Panics
/// Dropping the last handle panics if it drops the future and one of the future's destructors
/// panics.
///
/// # Example
/// ```
/// let task = joint_flow::spawn(async { String::from("here") });
/// let other = task.clone();
/// assert_eq!(joint::block_on(task).unwrap(), "here");
/// assert_eq!(joint::block_on(other).unwrap(), "here");
/// ```
///
/// The handles of a task may be used by several threads, so its output has to be `Sync` for that:
/// ```compile_fail,E0277
/// fn is_send<T: Send>(_: T) {}
/// is_send(joint_flow::spawn(async { std::cell::Cell::new(1) }));
/// ```
#[must_use = "dropping the last handle cancels the task"]
pub struct Task<T> {
    waiter: SharedWaiter,
    handle: Handle<T>,
    turn: Turn,
}

// A future that has panicked is dropped, and never seen again. By reference, the handles give only
// the output.
impl<T: RefUnwindSafe> UnwindSafe for Task<T> {}
impl<T: RefUnwindSafe> RefUnwindSafe for Task<T> {}

impl<T> Unpin for Task<T> {}

impl<T> Task<T> {
    fn first((canceller, answer): (Canceller, NonNull<Answer<T>>)) -> Self {
        Self {
            waiter: SharedWaiter::first(),
            handle: Handle { answer, canceller },
            turn: Turn::new(),
        }
    }

    fn answer(&self) -> &Answer<T> {
        // SAFETY: alive by the handle.
        unsafe { self.handle.answer.as_ref() }
    }

    /// Cancels the task, although there may be other handles. See [the module](super#cancellation).
    /// Their waiters get [`TaskError::Cancelled`]. Does nothing if the task has ended, or if it is
    /// [`uncancellable`].
    ///
    /// # Panics
    /// If a destructor of the future panics. The task is cancelled even then.
    ///
    /// # Example
    /// ```
    /// let task = joint_flow::spawn(std::future::pending::<()>());
    /// let waiter = task.clone();
    /// task.cancel();
    /// assert!(joint::block_on(waiter).unwrap_err().is_cancelled());
    /// ```
    pub fn cancel(&self) {
        self.handle.canceller.cancel();
    }

    /// Returns whether the task has ended, with an output, a panic or its cancellation, so that
    /// awaiting it would not wait. One load.
    pub fn is_finished(&self) -> bool {
        self.answer().awaited.answer().is_some()
    }

    /// Waits for a reference to the output.
    ///
    /// # Example
    /// ```
    /// struct NoClone(u32);
    ///
    /// let task = joint_flow::spawn(async { NoClone(7) });
    /// assert_eq!(joint::block_on(async { task.wait().await.unwrap().0 }), 7);
    /// ```
    pub fn wait(&self) -> Wait<'_, T> {
        Wait {
            task: self,
            waiter: SharedWaiter::new(),
            turn: Turn::new(),
        }
    }

    /// Waits for the output itself, which need not be `Clone`. This has to be the only handle.
    ///
    /// Dropping the returned future cancels the task, as dropping the handle does.
    ///
    /// # Panics
    /// If there is another handle. [`wait`](Task::wait) for a reference then, or drop the others
    /// before.
    ///
    /// # Example
    /// ```
    /// use std::io;
    ///
    /// let task = joint_flow::spawn(async { io::Result::Ok(String::from("read")) });
    /// let text: io::Result<String> = joint::block_on(task.into_output()).unwrap();
    /// assert_eq!(text.unwrap(), "read");
    /// ```
    #[track_caller]
    pub fn into_output(self) -> impl Future<Output = Result<T, TaskError>> + use<T> {
        assert!(
            self.handle.canceller.is_last(),
            "`into_output` was called while the task has another handle; drop the others before, or use \
             `wait`"
        );
        async move {
            self.wait().await?;
            let Some(Ok(Ok(output))) = self.answer().awaited.answer() else {
                unreachable!("an output stays")
            };
            // SAFETY: there was no other handle at the call, and nobody else could clone this one.
            // The sender writes the output, and does not look at it after that.
            let output = unsafe { output.take() };
            Ok(output.expect("it is taken once"))
        }
    }
}

impl<T> Clone for Task<T> {
    fn clone(&self) -> Self {
        Self {
            waiter: SharedWaiter::new(),
            handle: Handle {
                answer: self.handle.answer,
                canceller: self.handle.canceller.clone(),
            },
            turn: Turn::new(),
        }
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        // It leaves before the future is dropped, which may panic.
        // SAFETY: alive by the handle, which is dropped after this.
        let answer = unsafe { self.handle.answer.as_ref() };
        // SAFETY: the waiter is always polled with these.
        unsafe { self.waiter.leave(answer.awaited.waiters()) };
    }
}

/// Polls a waiter for the result of a task.
fn poll_outcome<'a, T>(
    answer: &'a Answer<T>,
    waiter: &mut SharedWaiter,
    turn: &mut Turn,
    cx: &mut Context<'_>,
) -> Poll<Result<&'a Output<T>, TaskError>> {
    ready!(turn.poll_proceed(cx));
    let awaited = &answer.awaited;
    // SAFETY: a waiter is always polled with the answer of its task, which its handle keeps alive.
    let ended = ready!(unsafe { waiter.poll(awaited.waiters(), cx.waker()) });
    budget::spend();
    // SAFETY: the waiters have just said so.
    Poll::Ready(match unsafe { awaited.answer_of(ended) } {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(error)) => Err(error.clone()),
        Err(Closed) => Err(TaskError::Cancelled),
    })
}

impl<T: Clone> Future for Task<T> {
    type Output = Result<T, TaskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        // SAFETY: alive by the handle.
        let answer = unsafe { this.handle.answer.as_ref() };
        let outcome = poll_outcome(answer, &mut this.waiter, &mut this.turn, cx);
        outcome.map_ok(|output| output.get().clone())
    }
}

debug!(<T> Task<T>, |it| is_finished: it.is_finished(), ..);

/// The future of [`Task::wait`], which gives a reference to the output. It may be dropped at any
/// time.
#[must_use = "futures do nothing unless awaited"]
pub struct Wait<'a, T> {
    task: &'a Task<T>,
    waiter: SharedWaiter,
    turn: Turn,
}

impl<'a, T> Future for Wait<'a, T> {
    type Output = Result<&'a T, TaskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let outcome = poll_outcome(this.task.answer(), &mut this.waiter, &mut this.turn, cx);
        outcome.map_ok(Output::get)
    }
}

impl<T> Drop for Wait<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the waiter is always polled with these, which the borrow keeps alive.
        unsafe { self.waiter.leave(self.task.answer().awaited.waiters()) };
    }
}

debug!(<T> Wait<'_, T>, |it| is_finished: it.task.is_finished(), ..);
