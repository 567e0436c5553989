//! A `LocalExecutor` that is driven by `block_on` inside a poll of a worker. What its tasks wait
//! for is served by that worker's executor, and may be fired on the very thread that waits.

use std::{cell::Cell, future::Future, rc::Rc};

use joint::block_on;
use joint_executor::{LocalExecutor, time::sleep};

use super::{HOUR, MILLI, ends, executor, read, socket};

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

fn main_future<F: Future<Output = ()>>(future: F) {
    LocalExecutor::new().block_on(future);
}

fn local_task<F: Future<Output = ()> + 'static>(future: F) {
    let local = LocalExecutor::new();
    let task = local.spawn(future);
    local.block_on(task);
}

async fn datagram() {
    let (socket, sender) = socket();
    read(socket, sender).await;
}

#[test]
fn the_main_future_waits_for_a_timer() {
    on_workers(|| main_future(sleep(MILLI)));
}

#[test]
fn the_main_future_waits_for_a_descriptor() {
    on_workers(|| main_future(datagram()));
}

#[test]
fn a_local_task_waits_for_a_timer() {
    on_workers(|| local_task(sleep(MILLI)));
}

#[test]
fn a_local_task_waits_for_a_descriptor() {
    on_workers(|| local_task(datagram()));
}

/// Tasks that wait for a near timer, a far one and a descriptor are dropped with their executor,
/// while the first may be firing on another worker.
#[test]
fn the_executor_is_dropped_with_tasks_that_wait() {
    on_workers(|| {
        let dropped = Rc::new(Cell::new(0));
        let guard = || {
            let dropped = dropped.clone();
            Guard(dropped)
        };
        let local = LocalExecutor::new();
        for duration in [MILLI, HOUR] {
            let guard = guard();
            let sleeps = async move {
                sleep(duration).await;
                std::future::pending::<()>().await;
                drop(guard);
            };
            local.spawn(sleeps).detach();
        }
        let (socket, sender) = socket();
        let reads = guard();
        local
            .spawn(async move {
                read(socket, sender).await;
                std::future::pending::<()>().await;
                drop(reads);
            })
            .detach();
        local.block_on(sleep(MILLI));
        drop(local);
        assert_eq!(dropped.get(), 3);
    });
}

struct Guard(Rc<Cell<usize>>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}
