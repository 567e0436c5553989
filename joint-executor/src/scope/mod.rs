//! Scopes: tasks that borrow. [`scope`] blocks a thread, and its tasks borrow from that thread's
//! frames. [`async_scope`] is for use inside a task, and its children borrow from what the scope
//! owns.
//!
//! # Why there are two
//! What a child borrows must stay until the child's future is gone. A thread can promise that by
//! not returning from a call: that is [`scope`] (`blocking.rs`). A future cannot, because its owner
//! may leak it half way, and then the frame that awaited it goes on while the children run. It can
//! only lend what it holds in shared ownership: [`async_scope`] (`owned.rs`) takes the environment
//! by value, and each child holds a share of it, which is leaked with the scope.
//!
//! # Why it is sound
//! A child's future and its output have any lifetime `'scope`, but
//! [`Executor::spawn`](super::Executor::spawn) requires `'static`. `erase` hides one behind the
//! other. That is right if every value of `'scope` is gone before what it borrows is gone:
//!
//! 1. *Values of `'scope` are in three places*: the child's `Body`, which holds the future and
//!    then, on its stack, the output; the oneshot of its result, whose ends are in the body and in
//!    the handle; and the handle, a `ScopedHandle<'scope, _>`.
//! 2. *No value of `'scope` is outside the scope.* `'scope` is chosen here and is arbitrary to the
//!    caller's closure, and the scope's type is invariant in it. The lifetime therefore cannot
//!    cover what the closure itself owns, and cannot be stretched or shortened. Nor can the
//!    closure's result, its environment, or anything that existed before, hold a value of `'scope`.
//!    A handle is held by the closure or by a child, or it is leaked, and then its contents are
//!    never used again.
//! 3. *A task's join says that its future is gone.* That is the task's promise, for an output, a
//!    panic and a cancellation alike. The output of an erased task is `()`, so nothing of `'scope`
//!    is left in a task that was joined.
//! 4. *The blocking scope* returns after it has joined every child. All children are in the set,
//!    whatever becomes of their handles, and a panic between a child's start and its join aborts
//!    the program ([`Lent`]). `'scope` is a borrow of a variable of that very call.
//! 5. *The asynchronous scope* waits as well, but nothing relies on it. By fact 2, and because only
//!    what is `'static` is known to outlive `'scope`, a borrow for `'scope` can only be a borrow of
//!    the shared environment. Each child holds a share of it in `Kept`, which is dropped after the
//!    body. The closure's future is a part of the scope's future, which drops its own share after
//!    it.
//!
//! A child that is leaked by its executor is never joined. A blocking scope then waits forever,
//! which is sound.
//!
//! # Locks
//! No user code runs under the lock of `children`. A child is therefore started before it is put
//! into the set, and it may run, and start others, before that. The end of the scope misses none:
//! the thread that starts a child is in the scope's closure, which is over before the scope waits,
//! or in another child. Up that line, the first child that has not ended is in the set, or its own
//! starter would not have ended. So once the set is seen empty, nobody starts a child.

use alloc::{boxed::Box, sync::Arc, vec::Vec};
use core::{
    future::{Future, poll_fn},
    mem,
    panic::{AssertUnwindSafe, Location},
    pin::Pin,
    task::{Context, Poll, ready},
};
use std::{
    panic::{catch_unwind, resume_unwind},
    thread,
};

use super::{
    arrivals::Arrivals,
    fork_join::job::Lent,
    guard::{Quiet, drop_quietly, guarded, lock},
    join_set::JoinSet,
};
use joint::{
    oneshot,
    task::{CancelledTask, JoinError, JoinHandle, PanicPayload},
    waker::Registration,
};
use joint_switch::Mutex;
use slab::Slab;

mod blocking;
mod handle;
mod owned;

pub use self::{
    blocking::{Scope, scope},
    handle::ScopedHandle,
    owned::{AsyncScope, async_scope},
};

struct Inner {
    children: Mutex<Children>,
    /// The list of ended children, for waiting without the lock.
    ready: Arc<Arrivals>,
    failed: Mutex<Failed>,
}

#[derive(Default)]
struct Failed {
    /// Those that a handle may still take, each with its number. Handles have the keys, so that a
    /// failure whose handle is leaked is found at the end.
    held: Slab<(u64, Quiet<JoinError>)>,
    count: u64,
    /// The first panic that no handle has taken.
    panic: Quiet<PanicPayload>,
    /// Whether one was cancelled, and no handle has taken that.
    is_cancelled: bool,
}

struct Held(usize);

struct Children {
    /// `None` once it was taken. Then those that were being started meanwhile are put into a new
    /// one.
    set: Option<JoinSet<()>>,
    /// Whether no child may be started any more.
    is_closed: bool,
}

impl Inner {
    #[inline]
    fn new() -> Self {
        let set = JoinSet::new();
        Self {
            ready: set.ready().clone(),
            children: Mutex::new(Children {
                set: Some(set),
                is_closed: false,
            }),
            failed: Mutex::new(Failed::default()),
        }
    }

    /// Starts a child by `start`, which spawns its task.
    ///
    /// # Safety
    /// `'scope` does not end before the task that is started has been joined; or `keep` keeps
    /// everything that is borrowed for `'scope` alive while `keep` itself exists. See the header.
    #[track_caller]
    unsafe fn spawn<'scope, F, K>(
        &'scope self,
        start: impl FnOnce(Kept<K>) -> JoinHandle<()>,
        future: F,
        keep: K,
    ) -> ScopedHandle<'scope, F::Output>
    where
        F: Future<Output: Send + 'scope> + Send + 'scope,
        K: Send + Unpin + 'static,
    {
        let (sender, mut receiver) = oneshot::channel();
        let spawned = Location::caller();
        let body = Box::pin(Body {
            future: Some(future),
            sender: Some(sender),
            inner: self,
            spawned,
        });
        let handle = |receiver| ScopedHandle {
            receiver,
            inner: self,
            spawned,
        };
        let task = Kept {
            // SAFETY: the caller promises it, and the body is dropped before `keep`.
            body: unsafe { erase(body) },
            _keep: keep,
        };
        let mut children = lock(&self.children);
        let is_closed = children.is_closed;
        // Take two for each one that is added, so that ended children do not pile up.
        let set = children.set.as_mut().filter(|_| !is_closed);
        let ended = set.map(|set| [set.try_join_next(), set.try_join_next()]);
        drop(children);
        let Some(ended) = ended else {
            drop(task);
            return handle(receiver);
        };
        for end in ended.into_iter().flatten() {
            self.note_task(end);
        }
        // Once the result is there, the child's future is gone.
        let lent = Lent(|| receiver.is_finished());
        let start = AssertUnwindSafe(|| self.insert(start(task)));
        if let Err(payload) = catch_unwind(start) {
            drop(lent);
            // The spawn itself has panicked, so this is no cancellation that the scope reports.
            if let Ok(Err(held)) = receiver.try_recv() {
                drop_quietly(self.take(held));
            }
            resume_unwind(payload);
        }
        lent.returned();
        handle(receiver)
    }

    /// Puts a child that has been started into the set. In a closed scope the child is cancelled.
    #[inline]
    fn insert(&self, child: JoinHandle<()>) {
        let mut children = lock(&self.children);
        if children.is_closed {
            drop(children);
            child.abort();
            children = lock(&self.children);
        }
        let set = children.set.get_or_insert_with(JoinSet::new);
        let waiter = set.insert_quietly(child);
        drop(children);
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    /// Stops the scope from starting children, and returns those that it has.
    fn close(&self) -> Option<JoinSet<()>> {
        let mut children = lock(&self.children);
        children.is_closed = true;
        children.set.take()
    }

    async fn cancel(&self) {
        // Again for those that were put into a new set meanwhile.
        while let Some(mut children) = self.close() {
            children.abort_all();
            while let Some(end) = children.join_next().await {
                self.note_task(end);
            }
        }
    }

    /// Waits for all children, which may start others meanwhile. Only one caller at a time may
    /// wait.
    async fn join(&self) {
        let mut last = Registration::new();
        poll_fn(|cx| self.poll_join(cx, &mut last)).await;
    }

    #[inline]
    fn poll_join(&self, cx: &mut Context<'_>, last: &mut Registration) -> Poll<()> {
        loop {
            let mut children = lock(&self.children);
            let Some(set) = &mut children.set else {
                return Poll::Ready(());
            };
            let (end, is_empty) = (set.try_join_next(), set.is_empty());
            drop(children);
            match end {
                Some(end) => self.note_task(end),
                // A child that could start another one would be in the set.
                None if is_empty => return Poll::Ready(()),
                None => ready!(self.ready.poll(cx.waker(), last)),
            }
        }
    }

    /// Records the end of a child's task, which is a panic if the drop of its future panicked. The
    /// child itself reports a cancellation.
    fn note_task(&self, end: Result<(), JoinError>) {
        if let Err(error @ JoinError::Panicked(_)) = end {
            self.note(error);
        }
    }

    /// Drops a result that no handle has taken. It is up to chance whether the handle or the child
    /// does so, and either may be unwinding.
    fn drop_result<T>(&self, result: Result<T, Held>, spawned: &'static Location<'static>) {
        let dropped = result.map(|output| catch_unwind(AssertUnwindSafe(|| drop(output))));
        match dropped {
            Ok(Ok(())) => {}
            Ok(Err(payload)) => {
                self.note(JoinError::Panicked(PanicPayload::new(payload, spawned)));
            }
            Err(held) => self.note(self.take(held)),
        }
    }

    #[inline]
    fn hold(&self, error: JoinError) -> Held {
        let mut failed = lock(&self.failed);
        failed.count += 1;
        let number = failed.count;
        Held(failed.held.insert((number, Quiet(Some(error)))))
    }

    #[inline]
    fn take(&self, held: Held) -> JoinError {
        let (_, mut taken) = lock(&self.failed).held.remove(held.0);
        taken.0.take().expect("a key is used once")
    }

    /// Records a failure that no handle has taken, and keeps the first panic.
    #[inline]
    fn note(&self, error: JoinError) {
        let mut failed = lock(&self.failed);
        let later = match error {
            JoinError::Panicked(payload) if failed.panic.0.is_some() => Some(payload),
            JoinError::Panicked(payload) => failed.panic.0.replace(payload),
            JoinError::Cancelled(_) => {
                failed.is_cancelled = true;
                None
            }
        };
        drop(failed);
        drop_quietly(later);
    }

    /// Waits for all children, and first cancels them if the scope's closure has panicked.
    async fn end(&self, has_panicked: bool) {
        match has_panicked {
            true => self.cancel().await,
            false => self.join().await,
        }
    }

    /// Returns the closure's output, or resumes its panic or else the first one that no handle has
    /// taken. Panics if a child was cancelled. No handle is left but those that were leaked.
    fn resume<R>(&self, outcome: thread::Result<R>) -> R {
        let output = outcome.unwrap_or_else(|payload| resume_unwind(payload));
        self.raise();
        output
    }

    /// Panics as [`resume`](Inner::resume) does if a child failed. Does not depend on the type of
    /// the output, so it is compiled once in a crate that opens scopes.
    #[inline]
    fn raise(&self) {
        let leaked = mem::take(&mut lock(&self.failed).held).into_iter();
        let mut leaked = Vec::from_iter(leaked.map(|(_, held)| held));
        leaked.sort_unstable_by_key(|(number, _)| *number);
        for (_, mut held) in leaked {
            held.0.take().into_iter().for_each(|error| self.note(error));
        }
        let mut failed = mem::take(&mut *lock(&self.failed));
        if let Some(payload) = failed.panic.0.take() {
            payload.resume();
        }
        assert!(
            !failed.is_cancelled,
            "a task of the scope was cancelled, because its executor was shut down before the task \
             had ended; keep the executor running until the scope has returned, or await \
             `ScopedHandle::result` to get this as a value"
        );
    }
}

/// A child: its future, and the sender of its output.
struct Body<'scope, F: Future> {
    future: Option<F>,
    sender: Option<oneshot::Sender<Result<F::Output, Held>>>,
    inner: &'scope Inner,
    spawned: &'static Location<'static>,
}

impl<F: Future> Future for Body<'_, F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: `future` is pinned with `self` and is not moved out. No other field is ever
        // pinned.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let mut future = unsafe { Pin::new_unchecked(&mut this.future) };
        let result = match catch_unwind(AssertUnwindSafe(|| poll_or_drop(future.as_mut(), cx))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(payload) => Err(JoinError::Panicked(PanicPayload::new(
                payload,
                this.spawned,
            ))),
        };
        // If this drop panics, the task has panicked, and the scope learns of it.
        future.set(None);
        this.send(result);
        Poll::Ready(())
    }
}

impl<F: Future> Body<'_, F> {
    /// Hands the result to the handle, or what is left of it to the scope.
    fn send(&mut self, result: Result<F::Output, JoinError>) {
        if let Some(sender) = self.sender.take() {
            let result = result.map_err(|error| self.inner.hold(error));
            if let Err(returned) = sender.send(result) {
                self.inner.drop_result(returned.into_inner(), self.spawned);
            }
        }
    }
}

impl<F: Future> Drop for Body<'_, F> {
    /// A child that is dropped before its end was cancelled.
    fn drop(&mut self) {
        // SAFETY: the future was pinned with `self`, and is not moved out.
        unsafe { Pin::new_unchecked(&mut self.future) }.set(None);
        self.send(Err(JoinError::Cancelled(CancelledTask::new(self.spawned))));
    }
}

/// Polls a future that is present. A panic drops the future while unwinding, as it drops a local
/// variable, and as a task drops its future.
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
    let running = running.expect("a task is not polled after its end");
    let poll = running.poll(cx);
    mem::forget(panics);
    poll
}

/// A child as the executor holds it, together with what must outlive it.
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
/// The returned future is gone before `'scope` ends, or before anything that is borrowed for
/// `'scope` is gone.
unsafe fn erase<'scope>(body: Pin<Box<dyn Future<Output = ()> + Send + 'scope>>) -> Erased {
    // SAFETY: the types differ in the lifetime alone, for which the caller answers.
    unsafe { mem::transmute(body) }
}
