//! [`scope`]: a thread that lends its frames to tasks, and does not continue before they have
//! ended.

use core::{fmt, future::Future, marker::PhantomData, panic::AssertUnwindSafe};
use std::panic::catch_unwind;

use super::{Inner, ScopedHandle};
use crate::{Executor, entered, fork_join::job::while_lent, hosted};
use joint::park::block_on;

/// Starts tasks that may borrow everything that outlives the call of [`scope`], and the scope
/// itself, so that they can start further tasks.
pub struct Scope<'scope, 'env: 'scope> {
    inner: Inner,
    executor: &'scope Executor,
    /// Invariant: see the header of the scopes.
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a task. It may run at once, on any of the executor's threads.
    ///
    /// If the handle is dropped, the task runs on, and the scope waits for it. After the scope's
    /// closure has panicked, no task is started any more: the future is dropped, and its handle
    /// reports a cancellation.
    ///
    /// # Cost
    /// Four allocations: the task, the future behind a pointer in the task, the result, and the
    /// entry by which the scope learns of the end.
    #[track_caller]
    pub fn spawn<F>(&'scope self, future: F) -> ScopedHandle<'scope, F::Output>
    where
        F: Future<Output: Send + 'scope> + Send + 'scope,
    {
        // SAFETY: `'scope` is the lifetime of `Executor::scope`, which joins the task before it
        // ends: fact 4 of the header.
        unsafe { (self.inner).spawn(|task| self.executor.spawn(task), future, ()) }
    }

    /// Starts a task as [`spawn`](Scope::spawn) does, and polls it for the first time before this
    /// returns, on this thread, as [`joint_executor::spawn_now`](crate::spawn_now) does.
    ///
    /// # Example
    /// ```
    /// let text = String::from("text");
    /// joint_executor::scope(|s| assert!(s.spawn_now(async { text.len() }).is_finished()));
    /// ```
    #[track_caller]
    pub fn spawn_now<F>(&'scope self, future: F) -> ScopedHandle<'scope, F::Output>
    where
        F: Future<Output: Send + 'scope> + Send + 'scope,
    {
        // SAFETY: as for `spawn`.
        unsafe { (self.inner).spawn(|task| self.executor.spawn_now(task), future, ()) }
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl Executor {
    /// Calls `f` with a scope that can start tasks which borrow, and blocks this thread until all
    /// of them have ended.
    ///
    /// It is for threads outside the executor, as [`std::thread::scope`] is for any thread. Inside
    /// a task use [`async_scope`](crate::async_scope), because on a worker of another executor this
    /// call would block that worker. The executor is borrowed, so it cannot be dropped meanwhile.
    /// If a task never ends, or if the handle of another task is awaited in vain, the call never
    /// returns.
    ///
    /// Everything that the tasks did happens before the call returns.
    ///
    /// # Cost
    /// One allocation, and those of each [`Scope::spawn`].
    ///
    /// # Panics
    /// * If `f` panics, with that panic. No task is started any more, the tasks are cancelled, and
    ///   the call returns when they have ended. A task that is being polled finishes that poll
    ///   first.
    /// * If `f` returns and a task has panicked, with the first such panic that no [`ScopedHandle`]
    ///   has returned. The other tasks are not cancelled.
    /// * If `f` returns and a task has not run to its end, because the executor was shut down,
    ///   unless its [`ScopedHandle`] has returned that. If the call returns, all other tasks have
    ///   run.
    /// * It ends the program if the wait panics, as [`install`](Executor::install) does.
    /// * If it is called on a worker of this executor. That worker would be blocked, and could not
    ///   run the tasks that it waits for.
    ///
    /// # Example
    /// ```
    /// let executor = joint_executor::Executor::builder().workers(2).build()?;
    /// let mut numbers = [1, 2, 3, 4];
    /// executor.scope(|s| {
    ///     for half in numbers.chunks_mut(2) {
    ///         s.spawn(async move { half.iter_mut().for_each(|n| *n *= 10) });
    ///     }
    /// });
    /// assert_eq!(numbers, [10, 20, 30, 40]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn scope<'env, F, R>(&self, f: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    {
        assert!(
            !self.runs_this_thread(),
            "`scope` was called on a worker of its own executor, which it would block; use \
             `joint_executor::async_scope` inside a task, or call `scope` on another thread"
        );
        hosted::check_place(self);
        let scope = Scope {
            inner: Inner::new(),
            executor: self,
            lifetimes: PhantomData,
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| f(&scope)));
        while_lent(|| block_on(scope.inner.end(outcome.is_err())));
        scope.inner.resume(outcome)
    }
}

/// Calls `f` with a scope that can start tasks which borrow, and blocks this thread until all of
/// them have ended. It is [`Executor::scope`] on the executor in whose
/// [`block_on`](Executor::block_on) it is called, or else on the [global](Executor::global) one.
///
/// # Panics
/// Like [`Executor::scope`]; or if the global executor cannot be started.
///
/// # Example
/// ```
/// let words = vec!["one", "two", "three"];
/// let longest = joint_executor::scope(|s| {
///     let lengths: Vec<_> = words.iter().map(|word| s.spawn(async { word.len() })).collect();
///     lengths.into_iter().map(joint_executor::block_on).max()
/// });
/// assert_eq!(longest, Some(5));
/// ```
///
/// A task cannot borrow anything that ends before the scope does:
/// ```compile_fail,E0373
/// joint_executor::scope(|s| {
///     let inside = 1;
///     s.spawn(async { inside + 1 });
/// });
/// ```
/// ```compile_fail,E0597
/// joint_executor::scope(|s| {
///     let inside = 1;
///     let inside = &inside;
///     s.spawn(async move { inside + 1 });
/// });
/// ```
/// Nor can it borrow anything that is in use meanwhile:
/// ```compile_fail,E0499
/// let mut count = 0;
/// joint_executor::scope(|s| {
///     s.spawn(async { count += 1 });
///     s.spawn(async { count += 1 });
/// });
/// ```
/// And nothing of a task can leave the scope:
/// ```compile_fail
/// let text = String::from("text");
/// let handle = joint_executor::scope(|s| s.spawn(async { text.len() }));
/// ```
/// ```compile_fail,E0521
/// let mut handles = Vec::new();
/// joint_executor::scope(|s| handles.push(s.spawn(async {})));
/// ```
/// ```compile_fail
/// let shared = std::rc::Rc::new(1);
/// joint_executor::scope(|s| s.spawn(async { drop(shared) }));
/// ```
pub fn scope<'env, F, R>(f: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    entered::ambient().scope(f)
}
