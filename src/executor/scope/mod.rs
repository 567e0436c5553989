//! Scopes: tasks that borrow. [`scope`] blocks a thread for tasks that borrow from its frame; [`async_scope`] is for use inside a
//! task, and its children borrow from what the scope owns.
//!
//! # Why two
//! A child runs on another thread while the one who spawned it does something else. What it borrows must stay until the child's
//! future is gone. A thread can promise that by not returning from a call: [`scope`] (`blocking.rs`). A future cannot. Whoever has
//! it may leak it half way, and then the frame that it was awaited in goes on, or goes, while the children run. Dropping it may not
//! block until they have ended, and nothing obliges anyone to drop it. So no asynchronous scope can lend what the enclosing frame
//! has to tasks that run in parallel. What it can lend is what it owns in shared ownership: [`async_scope`] (`owned.rs`) takes the
//! environment by value, and each child holds a share of it. Leaked, the scope leaks its share, and the environment stays.
//!
//! # Why it is sound
//! A child's future and its output are of any lifetime `'scope`, and [`Executor::spawn`](super::Executor::spawn) wants `'static`.
//! `erase` hides the one in the other. It is right when all that is of `'scope` is gone before what is borrowed for it goes:
//!
//! 1. *What is of `'scope`* is in three places. The child's `Body`, which holds the future and then, on its stack, the output. The
//!    oneshot of its result, the ends of which are in the body and in the handle. The handle, a `ScopedHandle<'scope, _>`.
//! 2. *Nothing of `'scope` is outside of the scope.* `'scope` is chosen here and any to the caller's closure, and the scope's type
//!    is invariant in it. So it cannot name what is the closure's own, nor be made to live longer or shorter; and the closure's
//!    result, its environment and all that was there before cannot hold what is of `'scope`. A handle is held by the closure or by
//!    a child, or it is leaked: then what it holds is never used again.
//! 3. *A task's join says that its future is gone*: that is the task's promise, for an output, a panic and a cancellation alike.
//!    The output of an erased task is `()`, so nothing of `'scope` is left in a task that was joined.
//! 4. *The blocking scope* returns after it has joined every child: all are in the set, whatever becomes of their handles, and what
//!    panics between a child's start and its join ends the program. `'scope` is a borrow of what stands in that very call.
//! 5. *The asynchronous scope* waits as well, but nothing relies on it. By 2, and since there is nothing that is known to outlive
//!    `'scope` but what is `'static`, `'scope` borrows come from the shared environment alone. Each child holds a share in `Kept`, which
//!    is dropped after the body. The closure's future is a part of the scope's, which drops its share after it.
//!
//! A child that is leaked by its executor is never joined: a blocking scope would wait for ever, and that is sound.
//!
//! # Locks
//! `children` is locked while a child is started and put into the set, so that the end of the scope misses none. No user code runs
//! meanwhile: not the child's, which is queued; no waker is woken or dropped under it.

use alloc::{boxed::Box, sync::Arc};
use core::{
    future::{Future, poll_fn},
    mem,
    panic::{AssertUnwindSafe, Location},
    pin::Pin,
    task::{Context, Poll},
};
use std::{panic::catch_unwind, sync::PoisonError};

use super::{
    Executor,
    guard::guarded,
    join_set::{JoinSet, Ready},
};
use crate::{
    oneshot,
    sync::{Mutex, MutexGuard},
    task::{JoinError, PanicPayload},
    waker::WakerWords,
};

mod blocking;
mod handle;
mod owned;

pub use self::{
    blocking::{Scope, scope},
    handle::{ScopedHandle, ScopedResult},
    owned::{AsyncScope, async_scope},
};

/// What is known of a scope's children.
struct Inner {
    /// `None` once nothing may be started any more.
    children: Mutex<Option<JoinSet<()>>>,
    /// That of the set, to be waited for without the lock.
    ready: Arc<Ready>,
    /// The first panic that no handle has taken.
    panic: Mutex<Option<PanicPayload>>,
}

/// Where children are started.
enum Place<'a> {
    On(&'a Executor),
    Here,
}

impl Inner {
    fn new() -> Self {
        let set = JoinSet::new();
        Self {
            ready: set.ready().clone(),
            children: Mutex::new(Some(set)),
            panic: Mutex::new(None),
        }
    }

    /// # Safety
    /// `'scope` does not end before the task that is started is joined, or `keep` has all that is borrowed for `'scope` stay as long as
    /// it is there: see the header.
    #[track_caller]
    unsafe fn spawn<'scope, F, K>(
        &'scope self,
        place: Place<'_>,
        future: F,
        keep: K,
    ) -> ScopedHandle<'scope, F::Output>
    where
        F: Future + Send + 'scope,
        F::Output: Send + 'scope,
        K: Send + Unpin + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let handle = ScopedHandle::new(receiver, self);
        let body = Box::pin(Body {
            future: Some(future),
            sender: Some(sender),
            inner: self,
            spawned: Location::caller(),
        });
        let task = Kept {
            // SAFETY: passed on from the caller; the body is dropped before `keep` is.
            body: unsafe { erase(body) },
            _keep: keep,
        };
        let mut children = lock(&self.children);
        let Some(set) = &mut *children else {
            drop(children);
            drop(task);
            return handle;
        };
        // Two for one, so that those that have ended do not pile up.
        let ended = [set.try_join_next(), set.try_join_next()];
        // From its start on, a child that borrows from a frame must not be lost: it may be running already.
        let guard = matches!(place, Place::On(_)).then(|| AbortOnUnwind);
        let waiter = set.insert_quietly(match place {
            Place::On(executor) => executor.spawn(task),
            Place::Here => super::spawn(task),
        });
        mem::forget(guard);
        drop(children);
        if let Some(waiter) = waiter {
            waiter.wake();
        }
        ended.into_iter().flatten().for_each(|end| self.note(end));
        handle
    }

    /// Starts nothing any more, and gives the children away.
    fn close(&self) -> Option<JoinSet<()>> {
        lock(&self.children).take()
    }

    /// Cancels all children, and waits for them.
    async fn cancel(&self) {
        let Some(mut children) = self.close() else {
            return;
        };
        children.abort_all();
        while let Some(end) = children.join_next().await {
            self.note(end);
        }
    }

    /// Waits for all children, who may start others meanwhile. To be called by one at a time.
    async fn join(&self) {
        let mut last = WakerWords::NONE;
        poll_fn(|cx| self.poll_join(cx, &mut last)).await;
    }

    fn poll_join(&self, cx: &mut Context<'_>, last: &mut WakerWords) -> Poll<()> {
        loop {
            let mut children = lock(&self.children);
            let Some(set) = &mut *children else {
                return Poll::Ready(());
            };
            let (end, is_empty) = (set.try_join_next(), set.is_empty());
            drop(children);
            match end {
                Some(end) => self.note(end),
                // Whoever could start another would be in the set.
                None if is_empty => return Poll::Ready(()),
                None if self.ready.register(cx.waker(), last) => return Poll::Pending,
                None => {}
            }
        }
    }

    /// A child has ended: with a panic, if the drop of its future had one.
    fn note(&self, end: Result<(), JoinError>) {
        if let Err(JoinError::Panicked(payload)) = end {
            self.report(payload);
        }
    }

    /// Keeps the first panic that nobody has taken.
    fn report(&self, payload: PanicPayload) {
        let mut first = lock(&self.panic);
        let later = match &*first {
            None => first.replace(payload),
            Some(_) => Some(payload),
        };
        drop(first);
        drop(later);
    }

    /// Goes on with the first panic that nobody has taken.
    fn resume(&self) {
        let first = lock(&self.panic).take();
        if let Some(payload) = first {
            payload.resume();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A child: its future, and whom to tell of the output.
struct Body<'scope, F: Future> {
    future: Option<F>,
    sender: Option<oneshot::Sender<Result<F::Output, JoinError>>>,
    inner: &'scope Inner,
    spawned: &'static Location<'static>,
}

impl<F: Future> Future for Body<'_, F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: `future` is pinned with `self` and is not moved out; nothing else of it is ever pinned.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let mut future = unsafe { Pin::new_unchecked(&mut this.future) };
        if future.is_none() {
            return Poll::Ready(());
        }
        let result = match catch_unwind(AssertUnwindSafe(|| poll_or_drop(future.as_mut(), cx))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(payload) => Err(JoinError::Panicked(PanicPayload::caught(
                payload,
                this.spawned,
            ))),
        };
        // If it panics, the task has panicked, and the scope learns of it.
        future.set(None);
        if let Some(sender) = this.sender.take() {
            if let Err(returned) = sender.send(result) {
                this.inner.note(returned.into_inner().map(drop));
            }
        }
        Poll::Ready(())
    }
}

/// Polls a future that is there. A panic drops it while unwinding, as it does a local variable, and
/// as a task does with its future.
fn poll_or_drop<F: Future>(
    mut future: Pin<&mut Option<F>>,
    cx: &mut Context<'_>,
) -> Poll<F::Output> {
    struct DropOnUnwind<'a, F>(Pin<&'a mut Option<F>>);
    impl<F> Drop for DropOnUnwind<'_, F> {
        fn drop(&mut self) {
            // A second panic must not meet the first.
            guarded(|| self.0.set(None));
        }
    }
    let mut panics = DropOnUnwind(future.as_mut());
    let running = panics.0.as_mut().as_pin_mut();
    let poll = running.map_or(Poll::Pending, |running| running.poll(cx));
    mem::forget(panics);
    poll
}

/// A child as the executor has it, with what must outlive it.
struct Kept<K> {
    body: Erased,
    // Dropped after the body, which may borrow from it.
    _keep: K,
}

type Erased = Pin<Box<dyn Future<Output = ()> + Send>>;

impl<K: Unpin> Future for Kept<K> {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.body.as_mut().poll(cx)
    }
}

/// # Safety
/// What comes back is gone before `'scope` ends, or before what is borrowed for it goes.
unsafe fn erase<'scope>(body: Pin<Box<dyn Future<Output = ()> + Send + 'scope>>) -> Erased {
    // SAFETY: the types differ in the lifetime alone, which the caller answers for.
    unsafe { mem::transmute(body) }
}

/// Turns a panic that passes it into the end of the program: a panic while panicking is not caught.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        panic!("a scope cannot leave its children behind");
    }
}
