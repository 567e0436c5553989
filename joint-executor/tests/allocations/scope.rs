//! The heap memory of a set and of a scope for each task.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::common::executor;
use crate::counting::{BYTES, COUNT, alone};
use joint::{JoinHandle, block_on, task};
use joint_executor::JoinSet;

const TASKS: usize = 1_000;
/// The room for the handles, and the blocks of the queue, whose number grows more slowly.
const GROWTH: usize = 60;

#[track_caller]
fn assert_for_each(blocks: usize, f: impl FnOnce()) {
    let before = COUNT.get().allocated;
    f();
    let taken = COUNT.get().allocated - before;
    let expected = TASKS * blocks;
    assert!(
        (expected..expected + GROWTH).contains(&taken),
        "{taken} blocks for {TASKS} tasks"
    );
}

#[test]
fn a_set_takes_one_block_for_each_task() {
    let _alone = alone();
    let (runnables, handles): (Vec<_>, Vec<JoinHandle<usize>>) = (0..TASKS)
        .map(|i| task::spawn(async move { i }, |_| {}))
        .unzip();
    let mut set = JoinSet::new();
    assert_for_each(1, || set.extend(handles));
    for runnable in runnables {
        runnable.run();
    }
    assert_for_each(0, || while set.try_join_next().is_some() {});
}

/// The task, the future, the result, and what the set takes.
#[test]
fn a_scope_takes_four_blocks_for_each_task() {
    let _alone = alone();
    let executor = executor(1);
    let sum = AtomicUsize::new(0);
    let add = |i| {
        let sum = &sum;
        async move { sum.fetch_add(i, Relaxed) }
    };
    executor.scope(|s| {
        assert_for_each(4, || {
            for i in 0..TASKS {
                s.spawn(add(i));
            }
        });
    });
    assert_eq!(sum.load(Relaxed), TASKS * (TASKS - 1) / 2);
}

/// A scope that runs for a long time keeps nothing of tasks that have ended.
#[test]
fn a_scope_lets_go_of_what_has_ended() {
    let _alone = alone();
    let executor = executor(1);
    let bytes = || BYTES.load(Relaxed);
    executor.scope(|s| {
        let before = bytes();
        for _ in 0..TASKS {
            block_on(s.spawn(async {}));
        }
        let kept = bytes() - before;
        assert!(kept < 16 * TASKS as isize, "{kept} bytes are kept");
    });
}
