//! [`Task`]: the handles of a task, and how one is started.

use std::{
    any::Any,
    fmt,
    future::Future,
    panic::{Location, RefUnwindSafe, UnwindSafe},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use joint::{
    budget::{self, Turn},
    task::PanicPayload,
};

use super::{Driver, Sink, TaskError, hold::Hold, output::Output};
use crate::shared::{self, Closed, Sender, Shared};

type Outcome<T> = Result<Output<T>, TaskError>;

/// Starts a task on [`joint_executor::spawn`]'s executor.
///
/// It runs at once, whether or not somebody waits for it. Dropping the last handle cancels it: see
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
    let (driver, task) = from_future(future);
    joint_executor::spawn_detached(driver);
    task
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
    let (answer, shared) = answer();
    joint_executor::spawn_detached(Driver::alone(future, answer));
    let hold = Hold::task(None);
    Task::new(shared, hold)
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
    let (answer, shared) = answer();
    let local = joint_executor::spawn_local(future);
    // The executor catches the panic. This one has the answer, and is dropped with it.
    let task = joint_executor::spawn_local(async move {
        match local.result().await {
            Ok(output) => answer.finish(Ok(output)),
            Err(error) => {
                if let Ok(payload) = error.try_into_panic() {
                    answer.finish(Err(payload));
                }
            }
        }
    });
    let hold = Hold::task(Some(task));
    Task::new(shared, hold)
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
    let (answer, shared) = answer();
    let (driver, canceller) = Driver::pair(future, answer);
    let hold = Hold::Future(canceller);
    (driver, Task::new(shared, hold))
}

#[track_caller]
fn answer<T>() -> (Answer<T>, Shared<Outcome<T>>) {
    let (sender, shared) = shared::channel();
    let answer = Answer {
        sender,
        spawned: Location::caller(),
    };
    (answer, shared)
}

/// Gives the result to the waiters.
struct Answer<T> {
    sender: Sender<Outcome<T>>,
    spawned: &'static Location<'static>,
}

impl<T> Sink<T> for Answer<T> {
    fn finish(self, result: Result<T, Box<dyn Any + Send>>) {
        self.sender.send(result.map(Output::new).map_err(|payload| {
            TaskError::Panicked(Arc::new(PanicPayload::new(payload, self.spawned)))
        }));
    }
}

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
    /// The first field: it leaves before the future is dropped, which may panic.
    shared: Shared<Outcome<T>>,
    hold: Hold,
    turn: Turn,
}

// A future that has panicked is dropped, and never seen again. By reference, the handles give only
// the output.
impl<T: RefUnwindSafe> UnwindSafe for Task<T> {}
impl<T: RefUnwindSafe> RefUnwindSafe for Task<T> {}

impl<T> Task<T> {
    fn new(shared: Shared<Outcome<T>>, hold: Hold) -> Self {
        Self {
            shared,
            hold,
            turn: Turn::new(),
        }
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
        self.hold.cancel();
    }

    /// Returns whether the task has ended, with an output, a panic or its cancellation, so that
    /// awaiting it would not wait. One load.
    pub fn is_finished(&self) -> bool {
        self.shared.is_finished()
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
        Wait(self.shared.wait(), Turn::new())
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
    pub fn into_output(mut self) -> impl Future<Output = Result<T, TaskError>> + use<T> {
        assert!(
            self.hold.is_last(),
            "`into_output` was called while the task has another handle; drop the others before, or use \
             `wait`"
        );
        async move {
            self.wait().await?;
            let Some(Ok(output)) = self.shared.get() else {
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
        Self::new(self.shared.clone(), self.hold.clone())
    }
}

impl<T: Clone> Future for Task<T> {
    type Output = Result<T, TaskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(self.turn.poll_proceed(cx));
        let answer = ready!(Pin::new(&mut self.shared).poll(cx));
        budget::spend();
        Poll::Ready(match answer {
            Ok(outcome) => outcome.map(|output| output.get().clone()),
            Err(Closed) => Err(TaskError::Cancelled),
        })
    }
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("is_finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}

/// The future of [`Task::wait`], which gives a reference to the output. It may be dropped at any
/// time.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Wait<'a, T>(shared::Wait<'a, Outcome<T>>, Turn);

impl<'a, T> Future for Wait<'a, T> {
    type Output = Result<&'a T, TaskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(self.1.poll_proceed(cx));
        let answer = ready!(Pin::new(&mut self.0).poll(cx));
        budget::spend();
        Poll::Ready(match answer {
            Ok(Ok(output)) => Ok(output.get()),
            Ok(Err(error)) => Err(error.clone()),
            Err(Closed) => Err(TaskError::Cancelled),
        })
    }
}
