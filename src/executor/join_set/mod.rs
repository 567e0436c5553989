//! [`JoinSet`]: many tasks, joined in the order in which they end.
//!
//! Each child's handle is polled once, when it comes, with a waker of its own; that waker enters the child's key into the list of
//! those that have ended (`ready.rs`) and wakes whoever waits for the set. The set looks into that list, and at a child only when
//! it is there: no handle is ever looked at in vain, however many there are.
//!
//! `children` and `front` are the set's alone. `ready` is shared with the wakers, which may outlive the set.

use alloc::{sync::Arc, vec::Vec};
use core::{
    fmt,
    future::{Future, poll_fn},
    mem,
    task::{Context, Poll},
};

use self::{
    children::{Child, Children, Task},
    ready::{Link, Node},
};
use super::Executor;
use crate::{
    task::{JoinError, JoinHandle},
    waker::{ThinWaker, WakerWords},
};

mod children;
mod ready;

pub(super) use ready::Ready;

/// Tasks that are joined in the order in which they end.
///
/// # Dropping
/// Cancels all tasks in the order in which they came, and waits for none: see [`JoinHandle`].
///
/// # Happens-before
/// All that a task did happens before its result is returned here.
///
/// # Cost
/// One allocation for each task, beside the task's own, and room for its handle. In atomic read-modify-writes, beside those of the
/// task: three to put a task in; two when it ends, and one more for each other that ends at that very moment; two when its result is
/// returned, and one for all results that have come together. How many tasks there are makes no difference. Nothing takes a lock, and
/// nothing waits for another thread: all is wait-free, but the end of a task, which is lock-free.
///
/// # Example
/// ```
/// use joint::JoinSet;
///
/// let sum = joint::spawn(async {
///     let mut set = JoinSet::new();
///     for i in 0..10u64 {
///         set.spawn(async move { i * i });
///     }
///     let mut sum = 0;
///     while let Some(square) = set.join_next().await {
///         sum += square?;
///     }
///     Ok::<_, joint::JoinError>(sum)
/// });
/// assert_eq!(joint::block_on(sum)?, 285);
/// # Ok::<(), joint::JoinError>(())
/// ```
///
/// The first to end, and the others cancelled:
/// ```
/// # use joint::JoinSet;
/// let mut set = JoinSet::new();
/// set.spawn(async { "now" });
/// set.spawn(std::future::pending());
/// let first = joint::block_on(set.join_next());
/// assert!(matches!(first, Some(Ok("now"))));
/// drop(set);
/// ```
#[must_use = "dropping a set cancels its tasks"]
pub struct JoinSet<T> {
    children: Children<T>,
    ready: Arc<Ready>,
    /// Of those that were taken from `ready`, the first that ended.
    front: Link,
    waiter: WakerWords,
}

/// A task is pinned in its own block, and an output never.
impl<T> Unpin for JoinSet<T> {}

impl<T> JoinSet<T> {
    /// No tasks.
    pub fn new() -> Self {
        Self {
            children: Children::new(),
            ready: Arc::new(Ready::new()),
            front: Link::END,
            waiter: WakerWords::NONE,
        }
    }

    /// How many tasks there are whose results have not been returned yet.
    pub fn len(&self) -> usize {
        self.children.len()
    }

    /// Whether there are no tasks whose results have not been returned yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Starts a task as [`joint::spawn`](crate::spawn) does, and puts it into the set.
    ///
    /// # Panics
    /// As [`joint::spawn`](crate::spawn).
    #[track_caller]
    pub fn spawn<F>(&mut self, future: F)
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        self.insert(super::spawn(future));
    }

    /// Starts a task on an executor, and puts it into the set.
    ///
    /// # Example
    /// ```
    /// let executor = joint::Executor::builder().workers(1).build()?;
    /// let mut set = joint::JoinSet::new();
    /// set.spawn_on(&executor, async { 1 });
    /// assert_eq!(joint::block_on(set.join_all()), [1]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(&mut self, executor: &Executor, future: F)
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        self.insert(executor.spawn(future));
    }

    /// Puts a task that has been started into the set, of whatever executor: also one that has ended.
    ///
    /// Whoever has polled the handle before is not woken by it any more. If a poll of the set is pending and the task has ended, the
    /// one who polled is woken.
    ///
    /// # Panics
    /// When the handle has given its result already.
    ///
    /// # Example
    /// ```
    /// let (runnable, handle) = joint::task::spawn(async { 1 }, |_| {});
    /// let mut set = joint::JoinSet::new();
    /// set.insert(handle);
    /// runnable.run();
    /// assert!(matches!(set.try_join_next(), Some(Ok(1))));
    /// ```
    pub fn insert(&mut self, handle: JoinHandle<T>) {
        if let Some(waiter) = self.insert_quietly(handle) {
            waiter.wake();
        }
    }

    /// The list of those that have ended: for those who wait for it beside the set's own functions.
    pub(super) fn ready(&self) -> &Arc<Ready> {
        &self.ready
    }

    /// As `insert`, but leaves it to the caller to wake the one who waits for the set, if a waker comes back.
    #[must_use = "whoever waits for the set is to be woken"]
    pub(super) fn insert_quietly(&mut self, handle: JoinHandle<T>) -> Option<ThinWaker> {
        let key = self.children.next_key();
        let node = Node::new(key, self.ready.clone());
        let ended = handle.is_finished();
        let mut result = handle.result();
        if ended {
            // It panics when the result was taken before: nothing is registered, and nothing is in the set yet.
            if let Poll::Ready(result) = children::poll(&mut result, &node) {
                let task = Task::Ended(Some(result));
                self.children.push(Child { node, task });
                return self.children[key].node.push();
            }
        }
        let task = Task::Running(result);
        self.children.push(Child { node, task });
        // It can panic in the drop of a waker that was registered before: the child is in the set then, and its node registered.
        let Poll::Ready(result) = self.children.poll(key) else {
            return None;
        };
        // It has ended meanwhile, and did not find the node.
        let _handle = self.children.end(key, result);
        self.children[key].node.push()
    }

    /// Waits for the next task to end, and returns its result; `None` when there are no tasks.
    ///
    /// Results come in the order in which the tasks ended. A task that panicked or was cancelled has a result that says so.
    ///
    /// # Cancel safety
    /// Dropped before it is ready, it has taken nothing: the results come with the next call. It can be dropped in one task and
    /// called again in another.
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// Polls for the next task to end: for those who write futures and streams.
    ///
    /// Pending, it wakes the waker of the latest call, once, when a task ends.
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        loop {
            if let Some(result) = self.try_join_next() {
                return Poll::Ready(Some(result));
            }
            if self.is_empty() {
                return Poll::Ready(None);
            }
            if self.ready.register(cx.waker(), &mut self.waiter) {
                return Poll::Pending;
            }
        }
    }

    /// The result of the next task that has ended; `None` when there is none yet, or no task at all. Never waits.
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        loop {
            let key = self.next_ended()?;
            // One that was woken too early stays, and is woken again.
            if let Poll::Ready(result) = self.children.poll(key) {
                drop(self.children.remove(key));
                return Some(result);
            }
        }
    }

    /// Takes the next key of those that have ended.
    fn next_ended(&mut self) -> Option<usize> {
        if self.front == Link::END {
            // The last that ended is in front: turn them round.
            let mut link = self.ready.take();
            while let Some(key) = link.key() {
                let node = &self.children[key].node;
                let next = node.next();
                node.relink(self.front);
                self.front = link;
                link = next;
            }
        }
        let key = self.front.key()?;
        self.front = self.children[key].node.next();
        Some(key)
    }

    /// Waits for all tasks, and returns their outputs in the order in which they ended.
    ///
    /// # Panics
    /// With the panic of the first task that has one, or when a task was cancelled. The tasks that are left are cancelled then. To have
    /// that as values, call [`join_next`](JoinSet::join_next) until it returns `None`.
    ///
    /// # Example
    /// ```
    /// let set: joint::JoinSet<_> = (0..3).map(|i| joint::spawn(async move { i })).collect();
    /// let mut numbers = joint::block_on(set.join_all());
    /// numbers.sort_unstable();
    /// assert_eq!(numbers, [0, 1, 2]);
    /// ```
    pub async fn join_all(mut self) -> Vec<T> {
        let mut outputs = Vec::with_capacity(self.len());
        while let Some(result) = self.join_next().await {
            outputs.push(match result {
                Ok(output) => output,
                Err(JoinError::Panicked(payload)) => payload.resume(),
                Err(JoinError::Cancelled) => {
                    panic!("`join_all` met a task that was cancelled; use `join_next` to have that as a value")
                }
            });
        }
        outputs
    }

    /// Cancels all tasks without waiting, and keeps them in the set. Each has a result: that it was
    /// cancelled, or what it ended with if it was faster. See [`JoinHandle::abort`].
    ///
    /// # Example
    /// ```
    /// let mut set = joint::JoinSet::<()>::new();
    /// set.spawn(std::future::pending());
    /// set.abort_all();
    /// let result = joint::block_on(set.join_next());
    /// assert!(matches!(result, Some(Err(joint::JoinError::Cancelled))));
    /// ```
    pub fn abort_all(&self) {
        for_each(self.children.iter(), |child| {
            if let Task::Running(result) = &child.task {
                result.handle().abort();
            }
        });
    }

    /// Cancels all tasks, and waits until each has ended and its future is dropped. The set is
    /// empty then, and can be used again.
    ///
    /// The results are dropped, panics included. To see them, call
    /// [`abort_all`](JoinSet::abort_all) and then [`join_next`](JoinSet::join_next) until it
    /// returns `None`. A function of `spawn_blocking` that has begun cannot be stopped, and is
    /// waited for.
    ///
    /// # Cancel safety
    /// The first poll cancels the tasks. If the future is dropped after that, tasks whose end it
    /// has not seen are still in the set.
    ///
    /// # Example
    /// ```
    /// let mut set = joint::JoinSet::<()>::new();
    /// set.spawn(std::future::pending());
    /// joint::block_on(set.shutdown());
    /// assert!(set.is_empty());
    /// ```
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while let Some(result) = self.join_next().await {
            drop(result);
        }
    }

    /// Detaches all tasks: they run on by themselves, and the set is empty. Results of tasks that
    /// have ended are dropped.
    pub fn detach_all(&mut self) {
        // Those that are ending at this moment may still enter their keys into the list, so it is not used again.
        let before = mem::replace(&mut self.ready, Arc::new(Ready::new()));
        let waiter = before.close();
        self.release_all(|child| {
            if let Some(handle) = child.into_handle() {
                handle.detach();
            }
        });
        // Whoever waits learns that there are no tasks.
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    /// Takes all tasks out, in the order in which they came. The list is not to be used again.
    fn release_all(&mut self, release: impl FnMut(Child<T>)) {
        self.front = Link::END;
        let children = &mut self.children;
        for_each(core::iter::from_fn(|| children.pop()), release);
    }
}

/// Calls `f` with each. When it panics, it is called with the rest all the same; a second panic ends the program.
fn for_each<I: Iterator, F: FnMut(I::Item)>(items: I, f: F) {
    struct Rest<I: Iterator, F: FnMut(I::Item)> {
        items: I,
        f: F,
    }
    impl<I: Iterator, F: FnMut(I::Item)> Rest<I, F> {
        fn run(&mut self) {
            self.items.by_ref().for_each(&mut self.f);
        }
    }
    impl<I: Iterator, F: FnMut(I::Item)> Drop for Rest<I, F> {
        fn drop(&mut self) {
            self.run();
        }
    }
    Rest { items, f }.run();
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        // What was registered is the user's code: it is dropped last, and also when a task's drop panics.
        let ready = self.ready.clone();
        let _waiter = ready.close();
        self.release_all(drop);
    }
}

impl<T> Default for JoinSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Extend<JoinHandle<T>> for JoinSet<T> {
    fn extend<I: IntoIterator<Item = JoinHandle<T>>>(&mut self, handles: I) {
        handles.into_iter().for_each(|handle| self.insert(handle));
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
