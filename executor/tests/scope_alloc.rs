//! What a set and a scope take of the heap for each task.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use joint::{JoinHandle, block_on, task};
use joint_executor::JoinSet;

/// Counts what its thread takes.
struct Counting;

thread_local! {
    static BLOCKS: Cell<usize> = const { Cell::new(0) };
}

/// Live blocks of the size of what tells a set of a task's end: the counts of an `Arc` and four
/// words.
static LIVE: AtomicUsize = AtomicUsize::new(0);
const WATCHED: usize = 6 * size_of::<usize>();

// SAFETY: passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BLOCKS.set(BLOCKS.get() + 1);
        if layout.size() == WATCHED {
            LIVE.fetch_add(1, Relaxed);
        }
        // SAFETY: passed on from the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.size() == WATCHED {
            LIVE.fetch_sub(1, Relaxed);
        }
        // SAFETY: passed on from the caller.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs one test at a time, because they count together.
fn alone(test: impl FnOnce()) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    test();
}

const TASKS: usize = 1_000;
/// What grows with the number of tasks, but not with each: the room for the handles, and the blocks
/// of the executor's queue.
const GROWTH: usize = 60;

#[track_caller]
fn assert_for_each(blocks: usize, f: impl FnOnce()) {
    let before = BLOCKS.get();
    f();
    let taken = BLOCKS.get() - before;
    let expected = TASKS * blocks;
    assert!(
        (expected..expected + GROWTH).contains(&taken),
        "{taken} blocks for {TASKS} tasks"
    );
}

#[test]
fn a_set_takes_one_block_for_each_task() {
    alone(|| {
        let (runnables, handles): (Vec<_>, Vec<JoinHandle<usize>>) = (0..TASKS)
            .map(|i| task::spawn(async move { i }, |_| {}))
            .unzip();
        let mut set = JoinSet::new();
        assert_for_each(1, || set.extend(handles));
        runnables.into_iter().for_each(|runnable| {
            runnable.run();
        });
        assert_for_each(0, || while set.try_join_next().is_some() {});
    });
}

/// The task, the future, the result, and what the set takes.
#[test]
fn a_scope_takes_four_blocks_for_each_task() {
    alone(|| {
        let executor = joint_executor::Executor::builder()
            .workers(1)
            .build()
            .unwrap();
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
    });
}

/// A scope that runs for long does not keep what has ended.
#[test]
fn a_scope_lets_go_of_what_has_ended() {
    alone(|| {
        let executor = joint_executor::Executor::builder()
            .workers(1)
            .build()
            .unwrap();
        let live = || LIVE.load(Relaxed);
        let before = live();
        executor.scope(|s| {
            for _ in 0..TASKS {
                block_on(s.spawn(async {}));
            }
            assert!(live() < before + TASKS / 2);
            let (senders, receivers): (Vec<_>, Vec<_>) =
                (0..TASKS).map(|_| joint::oneshot::channel::<()>()).unzip();
            for receiver in receivers {
                s.spawn(async { receiver.await.is_ok() });
            }
            // But for what the worker has given back since its start.
            assert!(
                live() > before + TASKS * 9 / 10,
                "not the blocks that are meant"
            );
            drop(senders);
        });
    });
}
