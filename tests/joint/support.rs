//! A queue to run tasks from, values that know whether they were dropped, and a waker that counts.

use std::collections::VecDeque;

use crate::prelude::*;

pub(crate) use crate::common::{
    OnDrop, Unwound, Wakes, each_row, ends_the_program, panicking, panics, poll_with, waker_that,
    yield_now,
};

/// The smallest executor: runnables wait here until the test runs them.
///
/// Its tasks hold a reference to it each, so that it tells how many of them have not been freed.
#[derive(Debug)]
pub(crate) struct Queue<M = ()>(Arc<Mutex<VecDeque<Runnable<M>>>>);

impl<M> Clone for Queue<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl Queue {
    pub(crate) fn spawn<F>(&self, future: F) -> (Runnable, JoinHandle<F::Output>)
    where
        F: Future<Output: Send> + Send + 'static,
    {
        task::spawn(future, self.scheduler())
    }

    pub(crate) fn start<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let (runnable, handle) = self.spawn(future);
        self.push(runnable);
        handle
    }
}

impl<M> Queue<M> {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    /// The schedule function of a task of this queue.
    pub(crate) fn scheduler(&self) -> impl Fn(Runnable<M>) + Send + Sync + use<M>
    where
        M: Send + Sync,
    {
        let queue = self.clone();
        move |runnable| queue.push(runnable)
    }

    pub(crate) fn push(&self, runnable: Runnable<M>) {
        self.0.lock().unwrap().push_back(runnable);
    }

    pub(crate) fn pop(&self) -> Option<Runnable<M>> {
        self.0.lock().unwrap().pop_front()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// Runs until the queue is empty, and says how many runs that took.
    pub(crate) fn run(&self) -> usize {
        let mut runs = 0;
        while let Some(runnable) = self.pop() {
            runnable.run();
            runs += 1;
        }
        runs
    }

    /// How many tasks still have memory.
    pub(crate) fn tasks(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}

/// A count that is shared with what is counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count(Arc<AtomicUsize>);

impl Count {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Relaxed)
    }
}

#[derive(Debug)]
pub(crate) struct Dropped(pub(crate) Count);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.add();
    }
}

/// Counts its drop, and then panics with a text.
#[derive(Debug)]
pub(crate) struct PanicsInDrop(pub(crate) Count, pub(crate) &'static str);

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        self.0.add();
        std::panic::panic_any(self.1);
    }
}

pub(crate) async fn keeping<T>(value: T) {
    let _value = value;
    pending().await
}

pub(crate) fn guarded(dropped: &Count) -> impl Future<Output = ()> + Send + use<> {
    keeping(Dropped(dropped.clone()))
}

pub(crate) fn is_cancelled<T: Send, M>(handle: JoinHandle<T, M>) -> bool {
    matches!(ready(handle.result()), Err(JoinError::Cancelled(_)))
}

pub(crate) fn is_panicked<T: Send, M>(handle: JoinHandle<T, M>) -> bool {
    matches!(ready(handle.result()), Err(JoinError::Panicked(_)))
}

/// A place for a task's handle, which the task itself can reach.
pub(crate) type Place<T = ()> = Arc<Mutex<Option<JoinHandle<T>>>>;

/// Starts a task that finds its own handle in a place.
pub(crate) fn with_its_handle<F>(
    queue: &Queue,
    future: impl FnOnce(Place<F::Output>) -> F,
) -> Place<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let place = Place::default();
    let handle = queue.start(future(place.clone()));
    *place.lock().unwrap() = Some(handle);
    place
}

/// A use of a task's first runnable and of its handle, which leaves neither.
type Uses<M> = fn(Runnable<M>, JoinHandle<(), M>);

/// Whatever frees a task as the last one that refers to it.
pub(crate) fn frees<M: Send + Sync>() -> [(&'static str, Uses<M>); 5] {
    [
        ("its handle", |runnable, handle| {
            drop(runnable);
            drop(handle);
        }),
        ("its run", |runnable, handle| {
            handle.detach();
            runnable.run();
        }),
        ("its runnable", |runnable, handle| {
            drop(handle);
            drop(runnable);
        }),
        ("its waker that is dropped", |runnable, handle| {
            let waker = runnable.waker();
            drop((runnable, handle));
            drop(waker);
        }),
        ("its waker that wakes", |runnable, handle| {
            let waker = runnable.waker();
            drop((runnable, handle));
            waker.wake();
        }),
    ]
}

/// Each way by which the schedule function of a task is called, whose future is pending at first.
/// Nothing holds the task afterwards, but a runnable that the function has passed on.
pub(crate) const CALLS: [(&str, Uses<()>); 8] = [
    ("scheduled by hand", |runnable, handle| {
        handle.detach();
        runnable.schedule();
    }),
    ("scheduled by hand after its handle", |runnable, handle| {
        drop(handle);
        runnable.schedule();
    }),
    ("woken by value", |runnable, handle| {
        let waker = runnable.waker();
        runnable.run();
        handle.detach();
        waker.wake();
    }),
    ("woken by reference", |runnable, handle| {
        let waker = runnable.waker();
        runnable.run();
        handle.detach();
        waker.wake_by_ref();
    }),
    ("orphaned by its last waker", |runnable, handle| {
        let waker = runnable.waker();
        runnable.run();
        handle.detach();
        drop(waker);
    }),
    ("orphaned by its handle", |runnable, handle| {
        runnable.run();
        handle.detach();
    }),
    ("cancelled by its handle", |runnable, handle| {
        runnable.run();
        drop(handle);
    }),
    ("aborted", |runnable, handle| {
        runnable.run();
        handle.abort();
    }),
];

pub(crate) fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    poll_with(future, Waker::noop())
}

#[track_caller]
pub(crate) fn ready<F: Future + Unpin>(mut future: F) -> F::Output {
    match poll(&mut future) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("not ready"),
    }
}

/// Pending once, without a wake-up; the test makes that.
pub(crate) async fn pending_once() {
    pending_once_with(drop).await;
}

/// Pending once, when its waker is given to a function.
pub(crate) async fn pending_once_with(give: impl Fn(Waker)) {
    let mut is_second = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut is_second, true) {
            return Poll::Ready(());
        }
        give(cx.waker().clone());
        Poll::Pending
    })
    .await;
}
