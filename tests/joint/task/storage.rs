//! Tasks in memory of the user's own.

use std::{alloc::Layout, future::ready as is_ready};

use joint::task::{FreeSlot, Full};

use crate::{prelude::*, support::panics};

#[test]
fn a_full_pool_gives_the_future_back() {
    static POOL: TaskPool<256, 2> = TaskPool::new();
    let queue = Queue::new();
    let (dropped, text) = (Count::new(), String::from("kept"));
    let future = |text: String| {
        let guard = Dropped(dropped.clone());
        async move {
            drop(guard);
            text
        }
    };
    let first = POOL.spawn(future(text.clone()), queue.scheduler()).unwrap();
    let second = POOL.spawn(future(text.clone()), queue.scheduler());
    let (runnable, handle) = second.unwrap();
    let Err(Full(future)) = POOL.spawn(future(text), queue.scheduler()) else {
        panic!("three tasks were in two slots");
    };
    assert_eq!(dropped.get(), 0);
    let error = POOL.spawn_detached(future, queue.scheduler()).unwrap_err();
    assert_eq!(error.to_string(), "no slot of the task pool is free");
    drop(first);
    let third = POOL.spawn(error.0, queue.scheduler()).unwrap();
    for (runnable, handle) in [(runnable, handle), third] {
        runnable.run();
        assert_eq!(ready(handle), "kept");
    }
    assert_eq!((dropped.get(), queue.tasks()), (3, 0));
}

#[test]
fn a_slot_is_free_once_all_that_refer_to_its_task_are_gone() {
    static STORAGE: TaskStorage<256> = TaskStorage::new();
    let is_free = || STORAGE.reserve().is_some();
    let (runnable, handle) = STORAGE.spawn(is_ready(1), drop).unwrap();
    let wakers = [runnable.waker(), runnable.waker()];
    assert!(!is_free());
    runnable.run();
    assert!(!is_free(), "the handle has the output");
    assert_eq!(ready(handle), 1);
    for waker in wakers {
        assert!(!is_free(), "a waker has the task");
        waker.wake();
    }
    assert!(is_free());

    let (runnable, handle) = STORAGE.spawn(pending::<()>(), drop).unwrap();
    drop(handle);
    assert!(!is_free(), "the runnable has the task");
    drop(runnable);
    assert!(is_free());
}

#[test]
fn tasks_of_different_types_share_a_slot_and_are_aligned() {
    static STORAGE: TaskStorage<512> = TaskStorage::new();
    let address = |runnable: &Runnable<u64>| runnable.as_ptr().addr().get();
    let builder = || Builder::new().slot(STORAGE.reserve().unwrap()).metadata(7);
    let small = builder().spawn_detached(|_| async {}, |_| {});
    let place = address(&small);
    small.run();
    #[repr(C)]
    #[cfg_attr(target_pointer_width = "64", repr(align(16)))]
    #[cfg_attr(target_pointer_width = "32", repr(align(8)))]
    #[derive(Clone, Copy)]
    struct Wide(u64);
    let large = [Wide(3); 8];
    let named = builder().name("large");
    let (runnable, handle) = named.spawn(|&seven| async move { large[seven as usize] }, |_| {});
    assert_eq!(
        (address(&runnable), runnable.name()),
        (place, Some("large"))
    );
    assert_eq!(place % (2 * size_of::<usize>()), 0);
    runnable.run();
    assert_eq!(ready(handle).0, 3);
}

#[test]
fn a_slot_is_given_back_if_the_future_is_not_made() {
    static STORAGE: TaskStorage<256> = TaskStorage::new();
    drop(STORAGE.reserve());
    let builder = Builder::new().slot(STORAGE.reserve().unwrap());
    let make = |_: &()| -> std::future::Ready<()> { panic!("it was not made") };
    panics(|| builder.spawn_detached(make, |_| {}));
    assert!(STORAGE.reserve().is_some());
}

#[test]
fn a_task_in_a_slot_takes_what_the_documentation_counts() {
    // A word of 64 bits between pointers of 32 has to be aligned.
    const IS_MIXED: bool = cfg!(all(
        target_pointer_width = "32",
        target_has_atomic = "64",
        not(joint_narrow)
    ));
    const HEADER: usize = if IS_MIXED { 32 } else { 5 * size_of::<usize>() };
    const SIZE: usize = Layout::new::<(u64, [u64; 8])>().size() + HEADER.next_multiple_of(8);
    static STORAGE: TaskStorage<SIZE> = TaskStorage::new();
    let builder = Builder::new()
        .slot(STORAGE.reserve().unwrap())
        .metadata(1_u64);
    let runnable = builder.spawn_detached(|_| is_ready(()), |_| {});
    let future = is_ready([2_u64; 7]);
    let of_future = size_of::<[u64; 7]>() + align_of::<u64>();
    assert_eq!(size_of_val(&future), of_future);
    runnable.run();
    let builder = Builder::new()
        .slot(STORAGE.reserve().unwrap())
        .metadata(1_u64);
    builder.spawn_detached(|_| future, |_| {}).run();
    assert!(size_of::<TaskPool<SIZE, 3>>() <= 3 * (SIZE + 2 * size_of::<usize>()));
}

#[test]
fn a_pinned_pool_is_dropped_after_its_tasks() {
    let dropped = Count::new();
    let value = Dropped(dropped.clone());
    let pool = pin!(TaskPool::<256, 2>::new());
    let slots: [FreeSlot<256>; 2] = [(); 2].map(|()| pool.as_ref().reserve_pinned().unwrap());
    assert!(pool.as_ref().reserve_pinned().is_none());
    let [slot, _] = slots;
    let future = async move { drop(value) };
    let (runnable, handle) = Builder::new().slot(slot).spawn(|()| future, |_| {});
    thread::spawn(|| runnable.run()).join().unwrap();
    ready(handle);
    assert_eq!(dropped.get(), 1);
}
