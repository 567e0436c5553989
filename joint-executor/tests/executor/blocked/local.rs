//! A `LocalExecutor` that is driven by `block_on` inside a poll of a worker. What its tasks wait
//! for is served by that worker's executor, and may be fired on the very thread that waits.

use super::{read, socket};
use crate::prelude::*;

/// Often enough for each of the workers to be the one that fires.
const TIMES: usize = 40;

/// Runs it in a task, with other workers that have nothing to do.
fn on_workers(test: fn()) {
    for workers in [1, 2, 4] {
        ends(move || {
            let executor = executor(workers);
            for _ in 0..TIMES {
                block_on(executor.spawn(async move { test() }));
            }
        });
    }
}

async fn datagram() {
    let (socket, sender) = socket();
    read(socket, sender).await;
}

#[test]
fn the_main_future_and_a_local_task_wait_for_a_timer() {
    on_workers(|| LocalExecutor::new().block_on(sleep(MILLI)));
    on_workers(|| {
        let local = LocalExecutor::new();
        local.block_on(local.spawn(sleep(MILLI)));
    });
}

#[test]
fn the_main_future_and_a_local_task_wait_for_a_descriptor() {
    on_workers(|| LocalExecutor::new().block_on(datagram()));
    on_workers(|| {
        let local = LocalExecutor::new();
        local.block_on(local.spawn(datagram()));
    });
}

/// Tasks that wait for a near timer, a far one and a descriptor are dropped with their executor,
/// while the first may be firing on another worker.
#[test]
fn the_executor_is_dropped_with_tasks_that_wait() {
    on_workers(|| {
        let held = Rc::new(());
        let local = LocalExecutor::new();
        for duration in [MILLI, HOUR] {
            let held = held.clone();
            let sleeps = async move {
                sleep(duration).await;
                hold(held).await;
            };
            local.spawn(sleeps).detach();
        }
        let reads = held.clone();
        let reads = async move {
            datagram().await;
            hold(reads).await;
        };
        local.spawn(reads).detach();
        local.block_on(sleep(MILLI));
        drop(local);
        assert_eq!(Rc::strong_count(&held), 1);
    });
}
