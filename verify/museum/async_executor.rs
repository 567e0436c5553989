//! async-executor 1.14.0, repaired in 1.14.1: smol-rs/async-executor#163. A task is woken while its
//! executor is dropped: the waker uses the executor's state after it was freed.

use std::{
    future::poll_fn,
    sync::{Arc, Mutex},
    task::{Poll, Waker},
    thread,
};

use async_executor::Executor;

#[test]
fn a_task_is_woken_while_its_executor_is_dropped() {
    let executor = Executor::new();
    let place = Arc::new(Mutex::new(None::<Waker>));
    let ours = place.clone();
    let wait = poll_fn(move |context| -> Poll<()> {
        *ours.lock().unwrap() = Some(context.waker().clone());
        Poll::Pending
    });
    executor.spawn(wait).detach();
    executor.try_tick();
    let waker = place.lock().unwrap().take().unwrap();
    let wakes = thread::spawn(move || waker.wake());
    drop(executor);
    wakes.join().unwrap();
}
