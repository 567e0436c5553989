//! The heap memory of a task: one small block, and one for a large future, or a large output, that
//! is freed when the task ends.

use std::{any::Any, hint::black_box};

use crate::prelude::*;

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

/// Demands that a task takes one block of so many bytes at most. Returns how many it takes.
#[track_caller]
fn takes<T>(most: isize, spawn: impl FnOnce() -> T) -> isize {
    let (task, taken) = taken(spawn);
    assert_eq!(taken.blocks, 1);
    assert!(taken.bytes <= most, "{taken:?}");
    drop(task);
    taken.bytes
}

#[test]
fn a_task_is_one_block_with_its_metadata_name_and_function() {
    let plain = takes(48, small);
    let detached = takes(48, || task::spawn_detached(async { 7u32 }, |_| {}));
    assert_eq!(detached, plain);
    takes(48, || task::spawn_now(async { 7u32 }, |_| {}));
    let metadata = || Builder::new().metadata([0u64; 4]);
    let tagged = || metadata().spawn(|_| async { 7u32 }, |_| {});
    let tagged = takes(plain + 32, tagged);
    let named = || metadata().name("static").spawn(|_| async { 7u32 }, |_| {});
    takes(tagged + 24, named);
    let word = 7usize;
    let schedule = move |runnable: Runnable| {
        assert_eq!(word, 7);
        drop(runnable);
    };
    takes(plain + 8, || task::spawn(async { 7u32 }, schedule));
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

const LARGE: usize = 20_000;

/// More than the allocator aligns by itself.
#[repr(align(4096))]
struct Aligned([u8; LARGE]);

#[derive(Clone, Copy, Debug)]
enum End {
    Returns,
    Panics,
    IsAborted,
    DropPanics,
}

/// A task whose future is large, and which ends in its second poll at the latest.
fn large_future(end: End) -> (Runnable, JoinHandle<u8>) {
    let (large, bomb) = (Aligned([7; LARGE]), Bomb(Box::new(8)));
    let future = async move {
        let bomb = Some(bomb).filter(|_| matches!(end, End::DropPanics));
        let mut is_second = false;
        poll_fn(|_| match (end, is_second) {
            (End::Returns | End::DropPanics, true) => Poll::Ready(()),
            (End::Panics, true) => resume_unwind(Box::new(())),
            _ => {
                is_second = true;
                assert_eq!((&raw const large).addr() % 4096, 0);
                Poll::Pending
            }
        })
        .await;
        drop(bomb);
        black_box(&large).0[0]
    };
    task::spawn(future, |runnable| {
        runnable.run();
    })
}

/// Whatever refers to an ended task keeps its small block, and nothing that was large in it.
#[test]
fn who_holds_an_ended_task_keeps_no_large_future_of_it() {
    type Hold = fn(&Runnable, JoinHandle<u8>) -> Box<dyn Any>;
    let holders: [(&str, Hold); 5] = [
        ("a waker", |runnable, handle| {
            handle.detach();
            Box::new(runnable.waker())
        }),
        ("an abort handle", |_, handle| {
            let abort = handle.abort_handle();
            handle.detach();
            Box::new(abort)
        }),
        ("the handle", |_, handle| Box::new(handle)),
        ("the handle's result", |_, handle| Box::new(handle.result())),
        ("a oneshot that it has waited for", |runnable, handle| {
            handle.detach();
            let (sender, mut receiver) = joint::oneshot::channel::<()>();
            let waker = runnable.waker();
            let poll = Pin::new(&mut receiver).poll(&mut Context::from_waker(&waker));
            assert!(poll.is_pending());
            Box::new((sender, receiver))
        }),
    ];
    for (holder, hold) in holders {
        for end in [End::Returns, End::Panics, End::IsAborted, End::DropPanics] {
            let (held, left) = taken(|| {
                let (runnable, handle) = large_future(end);
                let abort = handle.abort_handle();
                let waker = runnable.waker();
                let held = hold(&runnable, handle);
                runnable.run();
                if matches!(end, End::IsAborted) {
                    abort.abort();
                }
                waker.wake();
                held
            });
            assert!(left.bytes < 1_000, "{holder}, {end:?}: {left:?}");
            drop(held);
        }
    }
}

#[test]
fn who_holds_an_ended_task_keeps_no_large_output_of_it() {
    let mut cx = Context::from_waker(Waker::noop());
    for is_taken in [true, false] {
        let (waker, left) = taken(|| {
            let make = |_: &mut Context<'_>| Poll::Ready(Aligned([7; LARGE]));
            let (runnable, mut handle) = task::spawn(poll_fn(make), |_| {});
            let waker = runnable.waker();
            runnable.run();
            if is_taken {
                match Pin::new(&mut handle).poll(&mut cx) {
                    Poll::Ready(output) => assert_eq!(output.0[LARGE - 1], 7),
                    Poll::Pending => panic!("it has not ended"),
                }
            }
            waker
        });
        assert!(left.bytes < 1_000, "taken: {is_taken}: {left:?}");
        drop(waker);
    }
}

/// From which size on a part has a block of its own, and that nothing is left of it.
#[test]
fn a_part_of_16_kib_is_in_the_task_and_a_larger_one_is_not() {
    const KIB_16: usize = 16 * 1024;
    fn blocks<const SIZE: usize, const OUT: usize>() -> usize {
        let before = COUNT.get();
        let future = std::future::ready([7u8; SIZE]);
        let run = |bytes: [u8; SIZE]| [bytes[SIZE - 1]; OUT];
        let (runnable, handle) = task::spawn(async move { run(future.await) }, |_| {});
        runnable.run();
        assert_eq!(joint::block_on(handle), [7; OUT]);
        let after = COUNT.get();
        assert_eq!(after.live, before.live);
        after.allocated - before.allocated
    }
    joint::block_on(async {});
    assert_eq!(blocks::<1, KIB_16>(), 1);
    assert_eq!(blocks::<1, { KIB_16 + 1 }>(), 2);
    assert_eq!(blocks::<{ KIB_16 + 1 }, 1>(), 2);
    assert_eq!(blocks::<{ KIB_16 + 1 }, { KIB_16 + 1 }>(), 3);
}

#[test]
fn a_large_part_whose_drop_panics_is_freed() {
    struct LargeBomb(
        #[expect(dead_code, reason = "it is dropped")] Bomb,
        [u8; LARGE],
    );
    joint::block_on(async {});
    let ((), left) = taken(|| {
        let bomb = || LargeBomb(Bomb(Box::new(1)), [0; LARGE]);
        let (runnable, handle) = task::spawn(async move { bomb() }, |_| {});
        runnable.run();
        drop(handle);
        let bomb = bomb();
        let (runnable, handle) = task::spawn(async move { black_box(&bomb).1[0] }, |_| {});
        drop(runnable);
        assert!(catch_unwind(AssertUnwindSafe(|| joint::block_on(handle))).is_err());
        // Making the future panics once its block exists.
        let make = |_: &()| -> std::future::Ready<[u8; LARGE]> { resume_unwind(Box::new(())) };
        let spawn = || Builder::new().spawn(make, |_| {});
        assert!(catch_unwind(AssertUnwindSafe(spawn)).is_err());
        // A new parker instead of the one that the panic has dropped.
        joint::block_on(async {});
    });
    assert_eq!(left.bytes, 0);
}

#[test]
fn a_task_that_starts_now_takes_a_slot_instead() {
    static POOL: TaskPool<256, 1> = TaskPool::new();
    let builder = Builder::new().slot(POOL.reserve().unwrap());
    let (task, taken) = taken(|| builder.spawn_now(|()| async { 7u32 }, |_| {}));
    assert_eq!((task.is_finished(), taken.blocks), (true, 0));
}

#[test]
fn a_pool_keeps_even_large_parts_in_its_slots() {
    static POOL: TaskPool<50_000, 1> = TaskPool::new();
    let large = [7u8; LARGE];
    let (output, taken) = taken(|| {
        let (runnable, mut handle) = POOL.spawn(async move { large }, |_| {}).unwrap();
        runnable.run();
        Pin::new(&mut handle).poll(&mut Context::from_waker(Waker::noop()))
    });
    assert_eq!((output, taken.blocks), (Poll::Ready(large), 0));
}
