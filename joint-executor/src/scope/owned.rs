//! [`async_scope`]: a task that lends what the scope owns, and continues after all children have
//! ended.

use alloc::sync::{Arc, Weak};
use core::{
    fmt,
    future::{Future, poll_fn},
    marker::PhantomData,
    panic::AssertUnwindSafe,
    pin::pin,
    task::Poll,
};
use std::panic::catch_unwind;

use super::{Inner, ScopedHandle};

struct Environment<E> {
    inner: Inner,
    this: Weak<Self>,
    env: E,
}

/// Starts tasks that may borrow the environment of an [`async_scope`]. It is a copy of a reference,
/// so a task that owns a copy can start further tasks.
pub struct AsyncScope<'scope, E> {
    shared: &'scope Environment<E>,
    /// Invariant: see the header of the scopes.
    ///
    /// One lifetime by value, and not `&'scope AsyncScope<'scope, E>`. When the compiler checks
    /// whether a future is `Send`, it forgets that two lifetimes in it are the same, and then
    /// refuses closures that take the latter.
    lifetime: PhantomData<&'scope mut &'scope ()>,
}

impl<E> Clone for AsyncScope<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for AsyncScope<'_, E> {}

impl<'scope, E: Send + Sync + 'static> AsyncScope<'scope, E> {
    /// Returns the environment, which the closure and all tasks may borrow.
    pub fn env(&self) -> &'scope E {
        &self.shared.env
    }

    /// Starts a task on the executor whose task calls this, or else on the
    /// [global](crate::Executor::global) one.
    ///
    /// If the handle is dropped, the task runs on, and the scope waits for it. After the scope's
    /// closure has panicked, or after the scope's future was dropped, no task is started any more:
    /// the future is dropped, and its handle reports a cancellation.
    ///
    /// # Cost
    /// As for [`Scope::spawn`](crate::Scope::spawn).
    ///
    /// # Panics
    /// Like [`joint_executor::spawn`](crate::spawn).
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> ScopedHandle<'scope, F::Output>
    where
        F: Future<Output: Send + 'scope> + Send + 'scope,
    {
        // SAFETY: everything that is borrowed for `'scope` is in the environment, of which a share
        // is kept: fact 5 of the header.
        unsafe { (self.shared.inner).spawn(|task| crate::spawn(task), future, self.share()) }
    }

    /// Starts a task as [`spawn`](AsyncScope::spawn) does, and polls it for the first time before
    /// this returns, as [`joint_executor::spawn_now`](crate::spawn_now) does.
    ///
    /// # Panics
    /// Like [`joint_executor::spawn`](crate::spawn).
    #[track_caller]
    pub fn spawn_now<F>(&self, future: F) -> ScopedHandle<'scope, F::Output>
    where
        F: Future<Output: Send + 'scope> + Send + 'scope,
    {
        // SAFETY: as for `spawn`.
        unsafe { (self.shared.inner).spawn(|task| crate::spawn_now(task), future, self.share()) }
    }

    fn share(&self) -> Arc<Environment<E>> {
        let share = self.shared.this.upgrade();
        share.expect("the caller's reference keeps it alive")
    }
}

impl<E> fmt::Debug for AsyncScope<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncScope").finish_non_exhaustive()
    }
}

/// Runs an asynchronous closure with a scope that can start tasks which borrow `env`, and continues
/// when all of them have ended.
///
/// The tasks run in parallel. They and the closure reach the environment by [`AsyncScope::env`].
/// They cannot borrow from the frame that awaits the scope, because if the scope's future were
/// leaked, nothing would keep that frame alive until they have ended. The scope therefore owns what
/// they borrow, and each of them holds a share of it. To let them change something, put it behind a
/// mutex or an atomic in the environment.
///
/// # Cancellation
/// If the future is dropped before it is ready, the scope cancels its tasks, starts no task any
/// more, and does not wait. A task that is being polled finishes that poll first. The environment
/// is dropped with the last of the tasks. If the future is leaked, its share of the environment is
/// leaked too, and the tasks run on.
///
/// # Cost
/// Two allocations, and those of each [`spawn`](AsyncScope::spawn).
///
/// # Panics
/// * If the closure panics, with that panic. No task is started any more, the tasks are cancelled,
///   and the panic continues when they have ended. If the closure awaits the [`ScopedHandle`] of a
///   task that panicked, the closure panics too.
/// * If the closure returns and a task has panicked, with the first such panic that no
///   [`ScopedHandle`] has returned. The other tasks are not cancelled.
/// * If the closure returns and a task has not run to its end, because its executor was shut down,
///   unless its [`ScopedHandle`] has returned that.
///
/// # Example
/// ```
/// let sum = joint_executor::spawn(async {
///     joint_executor::async_scope(vec![1, 2, 3, 4], async |s| {
///         let (left, right) = s.env().split_at(2);
///         let left = s.spawn(async move { left.iter().sum::<i32>() });
///         let right = s.spawn(async move { right.iter().sum::<i32>() });
///         left.await + right.await
///     })
///     .await
/// });
/// assert_eq!(joint_executor::block_on(sum), 10);
/// ```
///
/// A task cannot borrow the frame that awaits the scope, nor that of the closure:
/// ```compile_fail,E0597
/// joint_executor::block_on(async {
///     let outside = 1;
///     let outside = &outside;
///     joint_executor::async_scope((), async |s| s.spawn(async move { outside + 1 }).await).await;
/// });
/// ```
/// ```compile_fail,E0597
/// joint_executor::block_on(joint_executor::async_scope((), async |s| {
///     let inside = 1;
///     let inside = &inside;
///     s.spawn(async move { inside + 1 }).await;
/// }));
/// ```
/// Nothing of the scope can leave it, and the environment borrows nothing:
/// ```compile_fail
/// joint_executor::block_on(joint_executor::async_scope(1, async |s| s.env()));
/// ```
/// ```compile_fail
/// joint_executor::block_on(joint_executor::async_scope(1, async |s| s.spawn(async {})));
/// ```
/// ```compile_fail,E0597
/// let text = String::from("text");
/// joint_executor::block_on(joint_executor::async_scope(&text, async |_| ()));
/// ```
/// ```compile_fail,E0277
/// joint_executor::block_on(joint_executor::async_scope(std::cell::Cell::new(1), async |_| ()));
/// ```
pub async fn async_scope<E, F, R>(env: E, body: F) -> R
where
    E: Send + Sync + 'static,
    F: AsyncFnOnce(AsyncScope<'_, E>) -> R,
{
    let shared = Arc::new_cyclic(|this| Environment {
        inner: Inner::new(),
        this: this.clone(),
        env,
    });
    // The order matters: the closure's future is dropped first, then the children are cancelled,
    // then the share is given up.
    let cancel = CancelOnDrop(&shared.inner);
    let outcome = {
        let scope = AsyncScope {
            shared: &shared,
            lifetime: PhantomData,
        };
        let mut running = pin!(async { body(scope).await });
        poll_fn(|cx| {
            let polled = catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(cx)));
            polled.map_or_else(|payload| Poll::Ready(Err(payload)), |poll| poll.map(Ok))
        })
        .await
    };
    cancel.0.end(outcome.is_err()).await;
    cancel.0.resume(outcome)
}

/// Cancels the children of a scope that is dropped before its end.
struct CancelOnDrop<'a>(&'a Inner);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        drop(self.0.close());
    }
}
