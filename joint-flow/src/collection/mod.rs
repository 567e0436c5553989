//! [`Collection`]: running tasks, of which the first error surfaces at once.
//!
//! This is Flow's `ActorCollection`:
//!
//! | Flow | here |
//! |---|---|
//! | `ActorCollection(false)` | [`Collection::new`] |
//! | `ActorCollection(true)`, `returnWhenEmptied` | [`Collection::until_empty`] |
//! | `add(actor)` | [`Collection::add`], which also starts the task |
//! | `add(future)` | [`Adder::add_task`] |
//! | `PromiseStream<Future<Void>> addActor` | [`Adder`], which adds at once and not later |
//! | `getResult()` | awaiting the collection, also by reference |
//! | drop it | drop it |
//!
//! # What a child does to the collection
//! | the child | the collection |
//! |---|---|
//! | returns `Ok` | has one child less. If that was the last one, [`until_empty`](Collection::until_empty) is decided: `Ok` |
//! | returns `Err(e)` | is decided: `Err(e)`, if it was not before |
//! | panics | is decided: whoever awaits it gets the panic |
//! | is cancelled, as by the end of its executor | keeps counting it, so it never becomes empty, and says nothing |
//!
//! It is decided once, in the order in which the children end. The remaining children run on until
//! the collection is dropped, and so do those that are added later. What they return is dropped.
//!
//! A child that adds another one before it ends never leaves the collection empty, because the
//! addition comes first. That holds for all additions that happen before the end of the last child.
//!
//! # Dropping
//! Dropping the collection cancels the children in the order in which they were added: see
//! [cancellation](crate::task#cancellation). Those that are idle are dropped before the drop
//! returns, one after the other, and each drops what it awaits. A destructor of a child may end
//! another child, add one, or cancel a task. A future that is added from then on is dropped instead
//! of started.
//!
//! # Cost
//! To add and to end is O(1), with two allocations for each child, its task included, and a short
//! critical section each. The lock is never held while a future, a destructor or a waker runs.
//!
//! # Example
//! A server that fails as soon as one of its parts fails, and then stops the others:
//! ```
//! use joint_flow::collection::Collection;
//!
//! let server = joint_executor::spawn(async {
//!     let parts = Collection::new();
//!     parts.add(std::future::pending::<Result<(), String>>());
//!     parts.add(async { Err("the disk is full".to_owned()) });
//!     parts.await
//! });
//! assert_eq!(joint::block_on(server).unwrap_err(), "the disk is full");
//! ```

mod list;
mod members;

use std::{
    future::Future,
    panic::resume_unwind,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use self::members::{Decision, Members};
use crate::task::{Task, TaskError};

/// Running tasks, of which the first error surfaces at once. See [the module](self).
///
/// Awaiting it gives the first error. By value, that also drops the collection, and so cancels the
/// other children before the caller goes on. By reference, the other children run on:
/// `(&mut collection).await`.
///
/// # Panics
/// Awaiting it panics with the panic of a child, if that came first, and if it is polled again
/// after it was ready. Dropping it panics if the destructor of a child does. The other children are
/// cancelled even then, and a second panic of theirs ends the program.
///
/// # Example
/// ```
/// use joint_flow::collection::Collection;
///
/// let all = joint_executor::spawn(async {
///     let all = Collection::<()>::until_empty();
///     for n in 0..10 {
///         let adder = all.adder();
///         all.add(async move {
///             if n % 2 == 0 {
///                 adder.add(async { Ok(()) });
///             }
///             Ok(())
///         });
///     }
///     all.await
/// });
/// assert_eq!(joint::block_on(all), Ok(()));
/// ```
#[must_use = "dropping a collection cancels its tasks"]
pub struct Collection<E> {
    adder: Adder<E>,
}

impl<E> Collection<E> {
    /// Creates a collection that is never ready with `Ok`, whatever becomes of its children.
    pub fn new() -> Self {
        Self::with(false)
    }

    /// Creates a collection that is ready with `Ok` when its last child has returned `Ok`. It is
    /// not ready before it has had a child.
    pub fn until_empty() -> Self {
        Self::with(true)
    }

    fn with(until_empty: bool) -> Self {
        Self {
            adder: Adder {
                members: Arc::new(Members::new(until_empty)),
            },
        }
    }

    /// Returns the number of children that have not ended, and of those that were cancelled.
    pub fn len(&self) -> usize {
        self.adder.members.len()
    }

    /// Returns whether there are no children.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns something that adds children from elsewhere, such as from a child.
    pub fn adder(&self) -> Adder<E> {
        self.adder.clone()
    }
}

impl<E: Send + 'static> Collection<E> {
    /// Starts a task on [`joint_executor::spawn`]'s executor, as a child.
    ///
    /// # Panics
    /// If the global executor is needed and cannot be started.
    #[track_caller]
    pub fn add<F>(&self, future: F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        self.adder.add(future);
    }
}

impl<E> Default for Collection<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> Future for Collection<E> {
    type Output = Result<(), E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.adder.members.poll(cx).map(|decision| match decision {
            Decision::Emptied => Ok(()),
            Decision::Failed(error) => Err(error),
            Decision::Panicked(payload) => resume_unwind(payload),
        })
    }
}

impl<E> Drop for Collection<E> {
    fn drop(&mut self) {
        self.adder.members.close();
    }
}

debug!(<E> Collection<E>, |all| len: all.len(), ..);

/// Adds children to a [`Collection`], from anywhere, also from a child. It keeps no child running.
pub struct Adder<E> {
    members: Arc<Members<E>>,
}

impl<E> Adder<E> {
    /// Returns whether the collection has been dropped. If so, nothing is added any more.
    pub fn is_closed(&self) -> bool {
        self.members.is_closed()
    }
}

impl<E: Send + 'static> Adder<E> {
    /// Starts a task on [`joint_executor::spawn`]'s executor, as a child. If the collection has
    /// been dropped, the future is dropped at once instead.
    ///
    /// # Panics
    /// If the global executor is needed and cannot be started.
    #[track_caller]
    pub fn add<F>(&self, future: F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        if let Some(driver) = self.enter(future) {
            joint_executor::spawn_detached(driver);
        }
    }

    /// Starts a task that need not be `Send`, as a child, where [`joint_executor::spawn_local`]
    /// does. If the collection has been dropped, the future is dropped instead.
    ///
    /// Dropping the collection cancels it, but its future is dropped by its own thread, which the
    /// drop does not wait for.
    ///
    /// # Panics
    /// On a thread that is neither a worker nor runs a local executor.
    ///
    /// # Example
    /// ```
    /// use std::rc::Rc;
    /// use joint_flow::collection::Collection;
    ///
    /// let local = joint_executor::LocalExecutor::new();
    /// let result = local.block_on(async {
    ///     let limit = Rc::new(3);
    ///     let collection = Collection::new();
    ///     collection.adder().add_local(async move { Err(*limit) });
    ///     collection.await
    /// });
    /// assert_eq!(result, Err(3));
    /// ```
    #[track_caller]
    pub fn add_local<F>(&self, future: F)
    where
        F: Future<Output = Result<(), E>> + 'static,
    {
        if self.is_closed() {
            return;
        }
        let local = joint_executor::spawn_local(future);
        self.add(async move {
            match local.result().await {
                Ok(result) => result,
                Err(error) => match error.try_into_panic() {
                    Ok(payload) => resume_unwind(payload),
                    Err(_cancelled) => std::future::pending().await,
                },
            }
        });
    }

    /// Adds a task that was started before, as a child. If the task has other handles, the drop of
    /// the collection does not cancel it. If it is cancelled elsewhere, the collection keeps
    /// counting it, and says nothing.
    ///
    /// # Panics
    /// If the global executor is needed and cannot be started.
    ///
    /// # Example
    /// ```
    /// use joint_flow::{collection::Collection, spawn};
    ///
    /// let collection = Collection::new();
    /// collection.adder().add_task(spawn(async { Err("no") }));
    /// assert_eq!(joint::block_on(collection), Err("no"));
    /// ```
    #[track_caller]
    pub fn add_task(&self, task: Task<Result<(), E>>)
    where
        E: Clone + Sync,
    {
        self.add(async move {
            match task.await {
                Ok(result) => result,
                Err(TaskError::Cancelled) => std::future::pending().await,
                Err(TaskError::Panicked(payload)) => match Arc::try_unwrap(payload) {
                    Ok(payload) => payload.resume(),
                    Err(shared) => std::panic::panic_any(shared.to_string()),
                },
            }
        });
    }

    /// Makes a future a child, and returns what runs it, to be spawned on any executor. Returns
    /// `None` if the collection has been dropped. The future is then dropped.
    ///
    /// # Example
    /// ```
    /// use joint_flow::collection::Collection;
    ///
    /// let executor = joint_executor::Executor::builder().workers(1).build()?;
    /// let collection = Collection::<()>::until_empty();
    /// let driver = collection.adder().enter(async { Ok(()) });
    /// executor.spawn_detached(driver.expect("the collection is there"));
    /// assert_eq!(joint::block_on(collection), Ok(()));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn enter<F>(
        &self,
        future: F,
    ) -> Option<impl Future<Output = ()> + Send + 'static + use<F, E>>
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        Members::enter(&self.members, future)
    }
}

impl<E> Clone for Adder<E> {
    fn clone(&self) -> Self {
        Self {
            members: self.members.clone(),
        }
    }
}

debug!(<E> Adder<E>, |adder| is_closed: adder.is_closed(), ..);
