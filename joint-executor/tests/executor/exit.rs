//! `std::process::exit` in a task, which destroys the caller's thread-locals under the poll: the
//! program ends.
//!
//! A program of its own with one test, so that no other test's thread holds a lock of the process
//! at the fork.
#![cfg(unix)]

use std::process::exit;

use crate::child::in_child;
use crate::prelude::*;

thread_local! {
    static LOCAL: LocalExecutor = LocalExecutor::new();
    static EXECUTOR: Executor = executor(2);
    static WORKER: RefCell<Option<(Executor, BoundWorker)>> = const { RefCell::new(None) };
}

fn current_thread() -> (Executor, BoundWorker) {
    Executor::builder().build_current_thread().unwrap()
}

/// Calls a function in a child, with the local executor of its thread.
fn with_local<R>(f: impl FnOnce(&LocalExecutor) -> R) {
    in_child(|| _ = LOCAL.with(f));
}

fn with_executor<R>(f: impl FnOnce(&Executor) -> R) {
    in_child(|| _ = EXECUTOR.with(f));
}

#[test]
fn a_task_can_end_the_program() {
    crate::common::alone(|| {
        with_local(|local| {
            local.spawn_detached(pending::<()>());
            local.spawn_detached(async { exit(0) });
            local.block_on(pending::<()>())
        });
        with_local(|local| {
            local.spawn_detached(pending::<()>());
            local.block_on(async {
                yield_now().await;
                exit(0)
            })
        });
        with_local(|local| {
            local.spawn_detached(pending::<()>());
            local.spawn_detached(async { exit(0) });
            while local.try_tick() {}
        });
        // In a task that has run another one itself.
        with_local(|local| {
            local.spawn_detached(async {
                LOCAL.with(|local| local.spawn_detached(async {}));
                assert!(LOCAL.with(LocalExecutor::try_tick));
                exit(0)
            });
            local.try_tick()
        });
        // The caller's executor ends with the program, and its tasks with it.
        with_executor(|executor| {
            executor.spawn_detached(pending::<()>());
            block_on(async { exit(0) })
        });
        with_executor(|executor| {
            executor.spawn_detached(pending::<()>());
            block_on(executor.spawn(async { exit(0) }))
        });
        with_executor(|executor| {
            let task = executor.spawn(async {
                spawn(pending::<()>()).detach();
                spawn_local(async { exit(0) }).await
            });
            block_on(task)
        });
        with_executor(|executor| {
            executor.install(|| joint_executor::join(|| exit(0), || exit(0)).0)
        });
        // On a hosted worker in a thread-local.
        let ways: [fn(&mut BoundWorker); 4] = [
            |worker| _ = worker.step(10, Waker::noop()),
            |worker| worker.take_queued(|_| exit(0)),
            |worker| worker.block_on(async { spawn_local(async { exit(0) }).await }),
            |worker| worker.enter(|| exit(0)),
        ];
        for way in ways {
            in_child(|| {
                WORKER.with_borrow_mut(|worker| {
                    let (_, worker) = worker.insert(current_thread());
                    worker.enter(|| {
                        spawn_local(pending::<()>()).detach();
                        spawn_local(async { exit(0) }).detach();
                    });
                    way(worker);
                });
            });
        }
        // On its own executor in a worker's thread-local.
        in_child(|| {
            let executor = executor(1);
            block_on(executor.spawn(async {
                LOCAL.with(|local| {
                    local.spawn_detached(async { exit(0) });
                    local.block_on(pending::<()>())
                })
            }))
        });
    });
}
