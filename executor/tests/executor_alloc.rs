//! The heap memory of the executor: nothing for a task beside its one block, and nothing that
//! stays.

#[path = "../../tests/common/counting.rs"]
mod counting;

use std::{
    future::pending, hint::black_box, sync::Barrier, sync::atomic::Ordering::Relaxed, thread,
};

use counting::{BYTES, COUNT, alone};
use joint::block_on;
use joint_executor::{Executor, spawn, yield_now};

/// Frees on another thread what this one has allocated: that must not count for the tasks.
fn free_elsewhere(taken: Vec<u8>) {
    let elsewhere = thread::spawn(move || drop(black_box(taken)));
    elsewhere.join().unwrap();
}

fn executor() -> Executor {
    Executor::builder().workers(1).build().unwrap()
}

const TASKS: usize = 100_000;
/// A task with a future and an output of a word or less.
const BLOCK: usize = 56 + SPAN;
/// The bytes that the feature `tracing` adds to each task.
const SPAN: usize = if cfg!(feature = "tracing") { 40 } else { 0 };

#[test]
fn a_task_that_is_queued_takes_its_block_and_nothing_else() {
    let _alone = alone();
    let executor = executor();
    let (begin, end) = (Barrier::new(2), Barrier::new(2));
    // The one worker is in a poll, so none of the tasks is run.
    let taken = thread::scope(|threads| {
        threads.spawn(|| {
            executor.scope(|scope| {
                scope.spawn(async {
                    begin.wait();
                    end.wait();
                });
            });
        });
        begin.wait();
        let before = COUNT.get().bytes;
        for _ in 0..TASKS {
            executor.spawn_detached(async { 7u32 });
        }
        let taken = COUNT.get().bytes - before;
        end.wait();
        taken
    });
    // Less than a byte more for each.
    assert!(
        taken < (TASKS * (BLOCK + 1)) as isize,
        "{taken} bytes for {TASKS} tasks"
    );
}

#[test]
fn a_task_that_waits_takes_its_block_and_one_word_more() {
    let _alone = alone();
    let executor = executor();
    let waiting = |tasks| {
        let elsewhere = vec![0; 1 << 20];
        block_on(executor.spawn(async move {
            // The one worker runs all of them.
            let before = COUNT.get().bytes;
            free_elsewhere(elsewhere);
            for _ in 0..tasks {
                // Not detached: no handle that would be kept, and nobody to wake it but the
                // executor's end.
                spawn(async {
                    pending::<()>().await;
                    7u32
                })
                .detach();
                yield_now().await;
            }
            COUNT.get().bytes - before
        }))
    };
    waiting(1);
    let bytes = waiting(TASKS);
    // The word is in chunks of a kibibyte, of which an array keeps the addresses.
    let most = TASKS * (BLOCK + 8) * 102 / 100;
    assert!(bytes <= most as isize, "{bytes} bytes for {TASKS} tasks");
}

#[test]
fn executors_in_a_loop_leave_no_memory_behind() {
    let _alone = alone();
    let live = |executors: usize| {
        for _ in 0..executors {
            let executor = Executor::builder().workers(2).build().unwrap();
            executor.spawn(pending::<()>()).detach();
            block_on(executor.spawn(async {
                let children: Vec<_> = (0..100).map(|_| spawn(yield_now())).collect();
                for child in children {
                    child.await;
                }
            }));
            drop(executor);
        }
        BYTES.load(Relaxed)
    };
    // What is made once stays: among it the garbage of the queues' library, which it collects in
    // its own time.
    let before = live(50);
    let after = live(200);
    assert!(
        after <= before + 16 * 1024,
        "{before} bytes became {after} in 200 executors"
    );
}
