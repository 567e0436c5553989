//! Without the feature `alloc`: everything is in memory of the user's own.
#![cfg(not(feature = "alloc"))]

mod common;

use std::{
    sync::Mutex,
    task::{Poll, Waker},
};

use common::{counting, panic_text, poll_with as poll};
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
    assert!(matches!(result, Poll::Ready(Err(JoinError::Cancelled(_)))));
}

#[test]
fn a_waker_of_another_crate_needs_a_slot() {
    let (wakes, waker) = counting();
    let (runnable, mut handle) = POOL.spawn(async { 5 }, schedule).unwrap();
    let text = panic_text(|| poll(&mut handle, &waker));
    assert!(text.contains("feature `alloc`"), "{text}");
    runnable.run();
    assert_eq!(poll(&mut handle, &waker), Poll::Ready(5));

    let (mut completion, mut slot) = (Completion::new(), WakerSlot::new());
    let (completer, mut waiter) = completion.split_with(&mut slot);
    assert!(poll(&mut waiter, &waker).is_pending());
    completer.complete();
    assert_eq!(wakes.count(), 1);
    assert_eq!(poll(&mut waiter, &waker), Poll::Ready(Ok(())));
}
