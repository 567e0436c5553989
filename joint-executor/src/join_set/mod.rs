//! [`JoinSet`]: many tasks, joined in the order in which they end.
//!
//! When a child is added, its handle is polled once, with a waker of the child's own. That waker
//! pushes the child's key onto the list of ended children (`ready.rs`), and wakes the task that
//! waits for the set. The set reads that list, and polls a child only if the list names it. However
//! many children there are, no handle is polled in vain.
//!
//! `children` and `ended` belong to the set alone. `ready` is shared with the wakers, which may
//! outlive the set.

use alloc::{sync::Arc, vec::Vec};
use core::{
    fmt,
    future::{Future, poll_fn},
    mem,
    panic::AssertUnwindSafe,
    pin::Pin,
    task::{Context, Poll, ready},
};
use std::panic::{catch_unwind, resume_unwind};

use slab::Slab;

use self::ready::Node;
use super::{
    Executor,
    arrivals::{Arrivals, Taken},
    guard::{Quiet, drop_quietly},
};
use joint::{
    budget,
    task::{Id, JoinError, JoinHandle, JoinResult},
    waker::{Registration, ThinWaker},
};

mod ready;

#[cfg(feature = "dump")]
pub(super) use ready::{record, set_of};

/// Tasks that are joined in the order in which they end.
///
/// # Dropping
/// Cancels all tasks, in no particular order, and waits for none of them: see [`JoinHandle`]. Of an
/// output that nobody takes, a panic in the drop is caught, as there.
///
/// # Happens-before
/// Everything that a task did happens before its result is returned here.
///
/// # Cost
/// One allocation for each task, in addition to the task's own, and room for its handle. In atomic
/// read-modify-writes, in addition to those of the task:
///
/// * three to add a task;
/// * two when the task ends, and one more for each other task that ends at that very moment;
/// * two when its result is returned, and one for all results that have arrived together.
///
/// The number of tasks makes no difference. Nothing takes a lock, and nothing waits for another
/// thread. Everything is wait-free, except for the end of a task, which is lock-free. For a process
/// that records (`Builder::record_times`) what its tasks wait for, this does not hold.
///
/// # Example
/// ```
/// use joint_executor::JoinSet;
///
/// let sum = joint_executor::spawn(async {
///     let mut set = JoinSet::new();
///     for i in 0..10u64 {
///         set.spawn(async move { i * i });
///     }
///     let mut sum = 0;
///     while let Some(square) = set.join_next().await {
///         sum += square?;
///     }
///     Ok::<_, joint_executor::JoinError>(sum)
/// });
/// assert_eq!(joint_executor::block_on(sum)?, 285);
/// # Ok::<(), joint_executor::JoinError>(())
/// ```
#[must_use = "dropping a set cancels its tasks"]
pub struct JoinSet<T> {
    children: Slab<Child<T>>,
    ready: Arc<Arrivals>,
    /// The keys that were taken from `ready`, the latest first.
    ended: Vec<usize>,
    waiter: Registration,
    turn: budget::Turn,
}

struct Child<T> {
    node: Arc<Node>,
    task: JoinResult<T>,
    /// The result of a task that had ended when it was added.
    result: Quiet<Result<T, JoinError>>,
}

impl<T> Child<T> {
    /// Polls for the result. The caller must remove the child once it is ready.
    fn poll(&mut self) -> Poll<Result<T, JoinError>> {
        match self.result.0.take() {
            Some(result) => Poll::Ready(result),
            None => poll(&mut self.task, &self.node),
        }
    }
}

/// Polls a task, so that `node` learns of the end.
fn poll<T>(task: &mut JoinResult<T>, node: &Arc<Node>) -> Poll<Result<T, JoinError>> {
    Pin::new(task).poll(&mut Context::from_waker(&node.waker()))
}

/// A task is pinned in its own block, and an output is never pinned.
impl<T> Unpin for JoinSet<T> {}

impl<T> JoinSet<T> {
    /// Creates a set without tasks.
    pub fn new() -> Self {
        Self {
            children: Slab::new(),
            ready: Arc::new(Arrivals::new()),
            ended: Vec::new(),
            waiter: Registration::new(),
            turn: budget::Turn::new(),
        }
    }

    /// Returns the number of tasks whose results have not been returned yet.
    pub fn len(&self) -> usize {
        self.children.len()
    }

    /// Returns whether there are no tasks whose results have not been returned yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Starts a task like [`joint_executor::spawn`](crate::spawn), and adds it to the set. Returns
    /// the task's handle, which stays in the set, for its [id](JoinHandle::id) or an
    /// [abort handle](JoinHandle::abort_handle).
    ///
    /// # Panics
    /// Like [`joint_executor::spawn`](crate::spawn).
    ///
    /// # Example
    /// ```
    /// let mut set = joint_executor::JoinSet::<()>::new();
    /// let abort = set.spawn(std::future::pending()).abort_handle();
    /// abort.abort();
    /// let (id, result) = joint_executor::block_on(set.join_next_with_id()).unwrap();
    /// assert_eq!(id, abort.id());
    /// assert!(result.is_err_and(|error| error.is_cancelled()));
    /// ```
    #[track_caller]
    pub fn spawn<F>(&mut self, future: F) -> &JoinHandle<T>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        self.insert(super::spawn(future))
    }

    /// Starts a task like [`joint_executor::spawn_now`](crate::spawn_now), which polls it for the
    /// first time before this returns, and adds it to the set. A task that is ready then is the
    /// last of those that have ended so far. Returns what [`spawn`](JoinSet::spawn) returns.
    ///
    /// # Panics
    /// Like [`joint_executor::spawn`](crate::spawn).
    ///
    /// # Example
    /// ```
    /// let mut set = joint_executor::JoinSet::new();
    /// assert!(set.spawn_now(async { 1 }).is_finished());
    /// assert!(matches!(set.try_join_next(), Some(Ok(1))));
    /// ```
    #[track_caller]
    pub fn spawn_now<F>(&mut self, future: F) -> &JoinHandle<T>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        self.insert(super::spawn_now(future))
    }

    /// Starts a task on an executor, and adds it to the set. Returns what
    /// [`spawn`](JoinSet::spawn) returns.
    #[track_caller]
    pub fn spawn_on<F>(&mut self, executor: &Executor, future: F) -> &JoinHandle<T>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        self.insert(executor.spawn(future))
    }

    /// Starts a task that need not be `Send`, like
    /// [`joint_executor::spawn_local`](crate::spawn_local), and adds it to the set. Returns what
    /// [`spawn`](JoinSet::spawn) returns.
    ///
    /// # Panics
    /// Like [`joint_executor::spawn_local`](crate::spawn_local).
    #[track_caller]
    pub fn spawn_local<F>(&mut self, future: F) -> &JoinHandle<T>
    where
        F: Future<Output = T> + 'static,
        T: 'static,
    {
        self.insert(super::spawn_local(future))
    }

    /// Runs a function that blocks, like
    /// [`joint_executor::spawn_blocking`](crate::spawn_blocking), and adds its task to the set.
    /// Returns what [`spawn`](JoinSet::spawn) returns. On threads of a certain executor, use
    /// [`insert`](JoinSet::insert) and [`Executor::spawn_blocking`].
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, f: F) -> &JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.insert(super::spawn_blocking(f))
    }

    /// Adds a task that was started elsewhere, on any executor, and returns its handle, which stays
    /// in the set. The task may have ended already.
    ///
    /// A waker that was registered by an earlier poll of the handle is not woken any more. If a
    /// poll of the set is pending and the task has already ended, the waker of that poll is woken.
    ///
    /// # Panics
    /// If the handle has already given its result.
    ///
    /// # Example
    /// ```
    /// let (runnable, handle) = joint::task::spawn(async { 1 }, |_| {});
    /// let mut set = joint_executor::JoinSet::new();
    /// set.insert(handle);
    /// runnable.run();
    /// assert!(matches!(set.try_join_next(), Some(Ok(1))));
    /// ```
    pub fn insert(&mut self, handle: JoinHandle<T>) -> &JoinHandle<T> {
        let key = self.children.vacant_key();
        if let Some(waiter) = self.insert_quietly(handle) {
            waiter.wake();
        }
        self.children[key].task.handle()
    }

    /// Returns the list of ended children, for waiters that do not use the set's own functions.
    pub(super) fn ready(&self) -> &Arc<Arrivals> {
        &self.ready
    }

    /// Like `insert`, but if it returns a waker, the caller must wake it: it belongs to the task
    /// that waits for the set.
    #[must_use = "the returned waker must be woken"]
    pub(super) fn insert_quietly(&mut self, handle: JoinHandle<T>) -> Option<ThinWaker> {
        let node = Node::new(self.children.vacant_key(), self.ready.clone());
        let has_ended = handle.is_finished();
        let mut task = handle.result();
        // If the result was taken before, this panics while nothing is registered and nothing is in
        // the set yet.
        let early = has_ended.then(|| poll(&mut task, &node));
        let result = Quiet(None);
        let key = self.children.insert(Child { node, task, result });
        let child = &mut self.children[key];
        // This can panic in the drop of a waker that was registered before. The child is in the set
        // then, and its node is registered.
        match early.unwrap_or_else(|| child.poll()) {
            Poll::Pending => None,
            // The child has ended, and did not find the node.
            Poll::Ready(result) => {
                child.result = Quiet(Some(result));
                child.node.push()
            }
        }
    }

    /// Waits for the next task to end, and returns its result. Returns `None` if there are no
    /// tasks.
    ///
    /// Results are returned in the order in which the tasks ended. If a task panicked or was
    /// cancelled, its result says so.
    ///
    /// # Cancel safety
    /// Dropping the future before it is ready loses nothing: the next call returns the result. The
    /// future can be dropped in one task and the function called again in another.
    #[doc(alias = "select")]
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// Waits for the next task to end, as [`join_next`](JoinSet::join_next) does, and also returns
    /// the task's id.
    ///
    /// # Cancel safety
    /// As for [`join_next`](JoinSet::join_next).
    pub async fn join_next_with_id(&mut self) -> Option<(Id, Result<T, JoinError>)> {
        poll_fn(|cx| self.poll_next_with(cx, |handle| handle.id())).await
    }

    /// Polls for the next task to end, for authors of futures and streams.
    ///
    /// If it returns `Pending`, the waker of the latest call is woken once, when a task ends.
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        let next = self.poll_next_with(cx, |_| ());
        next.map(|next| next.map(|(_, result)| result))
    }

    /// Polls for the next task to end, and for what `with` returns for its handle.
    fn poll_next_with<R>(
        &mut self,
        cx: &mut Context<'_>,
        with: impl Fn(&JoinHandle<T>) -> R,
    ) -> Poll<Option<(R, Result<T, JoinError>)>> {
        ready!(self.turn.poll_proceed(cx));
        loop {
            if let Some(next) = self.try_next_with(&with) {
                self.turn.spend();
                return Poll::Ready(Some(next));
            }
            if self.is_empty() {
                return Poll::Ready(None);
            }
            if self.ready.poll(cx.waker(), &mut self.waiter).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Returns the result of the next task that has ended, without waiting. Returns `None` if none
    /// has ended yet, or if there are no tasks.
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.try_next_with(|_| ()).map(|(_, result)| result)
    }

    fn try_next_with<R>(
        &mut self,
        with: impl Fn(&JoinHandle<T>) -> R,
    ) -> Option<(R, Result<T, JoinError>)> {
        loop {
            let key = self.next_ended()?;
            // A child that was woken too early stays in the set, and will be woken again.
            if let Poll::Ready(result) = self.children[key].poll() {
                let child = self.children.remove(key);
                return Some((with(child.task.handle()), result));
            }
        }
    }

    fn next_ended(&mut self) -> Option<usize> {
        if self.ended.is_empty() {
            let mut next = ready::take(&self.ready);
            while let Some(key) = next {
                self.ended.push(key);
                next = self.children[key].node.next();
            }
        }
        self.ended.pop()
    }

    /// Waits for all tasks, and returns their outputs in the order in which the tasks ended.
    ///
    /// # Panics
    /// With the panic of the first task that panicked, or if a task was cancelled. The remaining
    /// tasks are cancelled then. To get these cases as values, call
    /// [`join_next`](JoinSet::join_next) until it returns `None`.
    ///
    /// # Example
    /// ```
    /// use joint_executor::{JoinSet, spawn};
    ///
    /// let set: JoinSet<_> = (0..3).map(|i| spawn(async move { i })).collect();
    /// let mut numbers = joint_executor::block_on(set.join_all());
    /// numbers.sort_unstable();
    /// assert_eq!(numbers, [0, 1, 2]);
    /// ```
    pub async fn join_all(mut self) -> Vec<T> {
        let mut outputs = Vec::with_capacity(self.len());
        while let Some(result) = self.join_next().await {
            let error = match result {
                Ok(output) => {
                    outputs.push(output);
                    continue;
                }
                Err(error) => error,
            };
            outputs.into_iter().for_each(drop_quietly);
            match error {
                JoinError::Panicked(payload) => payload.resume(),
                JoinError::Cancelled(task) => {
                    panic!(
                        "`join_all` found that {task}; use `join_next` to get the cancellation as a \
                         value"
                    )
                }
            }
        }
        outputs
    }

    /// Cancels all tasks without waiting, and keeps them in the set. The result of each task says
    /// that it was cancelled, or is what the task ended with if it was faster. See
    /// [`JoinHandle::abort`].
    pub fn abort_all(&self) {
        for_each(self.children.iter(), |(_, child)| {
            child.task.handle().abort();
        });
    }

    /// Cancels all tasks, and waits until each has ended and its future is dropped. The set is
    /// empty after that, and can be used again.
    ///
    /// The results are dropped, including panics. To see them, call
    /// [`abort_all`](JoinSet::abort_all) and then [`join_next`](JoinSet::join_next) until it
    /// returns `None`. A function of `spawn_blocking` that has begun cannot be stopped, so its end
    /// is waited for.
    ///
    /// # Cancel safety
    /// The first poll cancels the tasks. If the future is dropped after that, the set still
    /// contains the tasks whose end the future has not seen.
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while let Some(result) = self.join_next().await {
            drop_quietly(result);
        }
    }

    /// Detaches all tasks, which run on by themselves, and empties the set. The results of tasks
    /// that have ended are dropped.
    pub fn detach_all(&mut self) {
        // Tasks that are ending at this moment may still push their keys onto the list, so it is
        // not used again.
        let before = mem::replace(&mut self.ready, Arc::new(Arrivals::new()));
        let waiter = before.empty();
        self.ended.clear();
        for_each(self.children.drain(), |child| {
            child.task.into_handle().detach();
        });
        // The waiter learns that there are no tasks.
        if let Taken::Waker(waiter) = waiter {
            waiter.wake();
        }
    }
}

/// The results, as [`join_next`](JoinSet::join_next) returns them.
#[cfg(feature = "futures-core")]
impl<T> futures_core::Stream for JoinSet<T> {
    type Item = Result<T, JoinError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_join_next(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

/// Calls `f` with each item. If some calls panic, the others are made nevertheless, and the first
/// panic is passed on.
fn for_each<I: Iterator>(items: I, f: impl Fn(I::Item)) {
    let call = |item| catch_unwind(AssertUnwindSafe(|| f(item)));
    let first = items.map(call).fold(Ok(()), Result::and);
    first.unwrap_or_else(|payload| resume_unwind(payload));
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        // The registered waker is the user's code, so it is dropped last, and also if a task's drop
        // panics.
        let _waiter = self.ready.empty();
        self.children.clear();
    }
}

impl<T> Default for JoinSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Extend<JoinHandle<T>> for JoinSet<T> {
    fn extend<I: IntoIterator<Item = JoinHandle<T>>>(&mut self, handles: I) {
        handles.into_iter().for_each(|handle| {
            self.insert(handle);
        });
    }
}

impl<T> FromIterator<JoinHandle<T>> for JoinSet<T> {
    fn from_iter<I: IntoIterator<Item = JoinHandle<T>>>(handles: I) -> Self {
        let mut set = Self::new();
        set.extend(handles);
        set
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
