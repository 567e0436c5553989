//! Without the feature `alloc`: everything is in memory of the user's own.
#![cfg(not(feature = "alloc"))]

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, Wake, Waker},
};

use joint::{
    Completion, JoinError,
    completion::WakerSlot,
    task::{Builder, Runnable, TaskPool},
};

static QUEUE: Mutex<Vec<Runnable>> = Mutex::new(Vec::new());
static POOL: TaskPool<256, 4> = TaskPool::new();

fn schedule(runnable: Runnable) {
    QUEUE.lock().unwrap().push(runnable);
}

fn run() {
    while let Some(runnable) = { QUEUE.lock().unwrap().pop() } {
        runnable.run();
    }
}

/// A waker of another crate.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(waker))
}

#[test]
fn tasks_await_tasks() {
    let (first, six) = POOL.spawn(async { 6 }, schedule).unwrap();
    let (second, mut product) = POOL.spawn(async { six.await * 7 }, schedule).unwrap();
    second.run();
    first.run();
    run();
    assert_eq!(poll(&mut product, Waker::noop()), Poll::Ready(42));

    let builder = Builder::new().slot(POOL.reserve().unwrap()).name("named");
    let (runnable, handle) = builder.spawn(|()| async {}, schedule);
    assert_eq!(runnable.name(), Some("named"));
    drop(runnable);
    let result = poll(&mut handle.result(), Waker::noop());
    assert!(matches!(result, Poll::Ready(Err(JoinError::Cancelled))));
}

#[test]
fn a_waker_of_another_crate_needs_a_slot() {
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(wakes.clone());

    let (runnable, mut handle) = POOL.spawn(async { 5 }, schedule).unwrap();
    let refused = catch_unwind(AssertUnwindSafe(|| poll(&mut handle, &waker)));
    let refused = refused.unwrap_err();
    let text = refused.downcast_ref::<&str>().copied().unwrap_or_default();
    assert!(text.contains("feature `alloc`"), "{text}");
    runnable.run();
    assert_eq!(poll(&mut handle, &waker), Poll::Ready(5));

    let (mut completion, mut slot) = (Completion::new(), WakerSlot::new());
    let (completer, mut waiter) = completion.split_with(&mut slot);
    assert!(poll(&mut waiter, &waker).is_pending());
    completer.complete();
    assert_eq!(wakes.0.load(Relaxed), 1);
    assert_eq!(poll(&mut waiter, &waker), Poll::Ready(Ok(())));
}
