//! An executor that can be shut down: it cancels the tasks that still wait. It is in `executor.rs`.

use std::{
    future::pending,
    sync::{Arc, Condvar, Mutex},
    thread,
};

use executor::Executor;

mod executor;

pub(crate) fn main() {
    let executor = Executor::new(2);
    let sum = executor.spawn(async { 40 });
    let sum = executor.spawn(async { sum.await + 2 });
    assert_eq!(joint::block_on(sum), 42);
    let waiting = executor.spawn(pending::<()>());
    drop(executor);
    let error = joint::block_on(waiting.result()).unwrap_err();
    assert!(error.is_cancelled());
}
