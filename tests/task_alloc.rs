//! The heap memory of a task: one block, and a small one.

#[path = "common/counting.rs"]
mod counting;

use std::{
    future::pending,
    task::{Context, Poll, Waker},
};

use counting::COUNT;
use joint::{
    JoinHandle,
    task::{self, Runnable},
};

/// The blocks and bytes that a closure took.
#[derive(Debug)]
struct Taken {
    blocks: usize,
    bytes: isize,
}

fn taken<R>(f: impl FnOnce() -> R) -> (R, Taken) {
    let before = COUNT.get();
    let result = f();
    let after = COUNT.get();
    let taken = Taken {
        blocks: after.allocated - before.allocated,
        bytes: after.bytes - before.bytes,
    };
    (result, taken)
}

fn small() -> (Runnable, JoinHandle<u32>) {
    task::spawn(async { 7u32 }, |_| {})
}

#[test]
fn a_small_task_takes_one_block_of_at_most_48_bytes() {
    let (task, taken) = taken(small);
    assert_eq!(taken.blocks, 1);
    assert!(taken.bytes <= 48, "{taken:?}");
    drop(task);
}

#[test]
fn a_small_task_without_a_handle_takes_no_more() {
    let (task, taken) = taken(|| task::spawn_detached(async { 7u32 }, |_| {}));
    assert_eq!(taken.blocks, 1);
    assert!(taken.bytes <= 48, "{taken:?}");
    drop(task);
}

#[test]
fn metadata_and_a_name_take_their_own_room_in_the_same_block() {
    let plain = taken(small).1;
    let metadata = || task::Builder::new().metadata([0u64; 4]);
    let spawn = || metadata().spawn(|_| async { 7u32 }, |_| {});
    let (task, tagged) = taken(spawn);
    assert_eq!(tagged.blocks, 1);
    assert!(tagged.bytes <= plain.bytes + 32, "{tagged:?}");
    drop(task);
    let spawn = || metadata().name("static").spawn(|_| async { 7u32 }, |_| {});
    let (task, named) = taken(spawn);
    assert_eq!(named.blocks, 1);
    assert!(named.bytes <= tagged.bytes + 24, "{named:?}");
    drop(task);
}

#[test]
fn a_copied_schedule_function_takes_its_own_room_in_the_same_block() {
    let plain = taken(small).1;
    let word = 7usize;
    let schedule = task::Copied(move |runnable: Runnable| {
        assert_eq!(word, 7);
        drop(runnable);
    });
    let spawn = || task::Builder::new().spawn(|()| async { 7u32 }, schedule);
    let (task, taken) = taken(spawn);
    assert_eq!(taken.blocks, 1);
    assert!(taken.bytes <= plain.bytes + 8, "{taken:?}");
    drop(task);
}

#[test]
fn a_thousand_tasks_take_a_thousand_blocks() {
    let mut tasks = Vec::with_capacity(1_000);
    let ((), taken) = taken(|| tasks.extend((0..1_000).map(|_| small())));
    assert_eq!(taken.blocks, 1_000);
}

#[test]
fn run_wake_join_and_cancel_allocate_nothing() {
    let mut cx = Context::from_waker(Waker::noop());
    let (runnable, mut handle) = small();
    let ((), used) = taken(|| {
        let waker = runnable.waker();
        waker.wake_by_ref();
        runnable.run();
        waker.wake();
        let mut handle = std::pin::Pin::new(&mut handle);
        assert_eq!(handle.as_mut().poll(&mut cx), Poll::Ready(7));
    });
    assert_eq!(used.blocks, 0);

    let (runnable, handle) = task::spawn(pending::<()>(), |runnable| {
        runnable.run();
    });
    let ((), used) = taken(|| {
        runnable.run();
        handle.abort();
        drop(handle);
    });
    assert_eq!(used.blocks, 0);
}

#[test]
fn a_task_that_waits_for_a_task_registers_without_a_block() {
    let (child, handle) = small();
    let (parent, joined) = task::spawn(handle, |runnable| {
        runnable.run();
    });
    let ((), used) = taken(|| {
        parent.run();
        child.run();
    });
    assert_eq!(used.blocks, 0);
    assert!(joined.is_finished());
}
