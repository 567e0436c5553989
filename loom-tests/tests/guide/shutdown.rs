//! The example `shutdown`, an executor that cancels the tasks that wait when it shuts down.

use std::future::pending;

use executor::Executor;
use joint::{JoinError, JoinHandle, block_on, oneshot};
use loom::{
    sync::{Arc, Condvar, Mutex},
    thread,
};
use loom_tests::{Drops, fails_with, model, model_bounded};

#[path = "../../../examples/shutdown/executor.rs"]
mod executor;

fn is_cancelled<T>(handle: JoinHandle<T>) -> bool {
    matches!(block_on(handle.result()), Err(JoinError::Cancelled(_)))
}

#[test]
fn a_task_that_waits_forever_is_cancelled_at_the_end() {
    model(|| {
        let drops = Drops::default();
        let executor = Executor::new(1);
        let value = drops.value();
        let handle = executor.spawn(async move {
            pending::<()>().await;
            drop(value);
        });
        drop(executor);
        assert!(is_cancelled(handle));
        drops.assert_all_of(1);
    });
}

#[test]
fn a_wake_up_against_the_end() {
    model_bounded(2, || {
        let drops = Drops::default();
        let executor = Executor::new(1);
        let (sender, receiver) = oneshot::channel();
        let value = drops.value();
        let handle = executor.spawn(async move {
            let received = receiver.await;
            value.look();
            received
        });
        let other = thread::spawn(move || {
            let _ = sender.send(42);
        });
        drop(executor);
        match block_on(handle.result()) {
            Ok(received) => assert_eq!(received, Ok(42)),
            Err(error) => assert!(error.is_cancelled()),
        }
        other.join().unwrap();
        drops.assert_all_of(1);
    });
}

/// The task waits before the executor ends, so that only the other thread and the end meet.
#[test]
fn a_wake_up_against_the_walk() {
    model(|| {
        let drops = Drops::default();
        let mut executor = Executor::new(1);
        let (sender, receiver) = oneshot::channel::<u32>();
        let value = drops.value();
        let handle = executor.spawn(async move {
            let _ = receiver.await;
            drop(value);
        });
        executor.shared.close();
        executor.join_workers();
        let other = thread::spawn(move || drop(sender));
        drop(executor);
        other.join().unwrap();
        assert!(is_cancelled(handle));
        drops.assert_all_of(1);
    });
}

// A mistake: the waiting tasks are cancelled while a worker still runs, so a task may begin to wait
// after that.

#[test]
fn the_model_catches_a_task_that_is_left_behind() {
    fails_with(
        "guide::shutdown::the_model_catches_a_task_that_is_left_behind",
        &["deadlock"],
        || {
            model(|| {
                let mut executor = Executor::new(1);
                let handle = executor.spawn(pending::<()>());
                executor.shared.close();
                executor.shared.cancel_waiting();
                executor.join_workers();
                assert!(is_cancelled(handle));
            });
        },
    );
}
