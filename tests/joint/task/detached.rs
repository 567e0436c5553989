//! Tasks that are spawned without a handle.

use std::{future::pending, panic::panic_any, task::Waker};

use joint::task;

use crate::support::{Count, Dropped, OnDrop, Queue, pending_once};

/// A future that never ends, and counts its drop.
fn guarded(dropped: &Count) -> impl Future<Output = ()> + Send + use<> {
    let guard = Dropped(dropped.clone());
    async move {
        let _guard = guard;
        pending().await
    }
}

#[test]
fn the_output_is_dropped_where_the_task_ends() {
    let queue = Queue::new();
    let dropped = Count::new();
    let output = Dropped(dropped.clone());
    let runnable = task::spawn_detached(async move { output }, queue.scheduler());
    assert_eq!(dropped.get(), 0);
    assert!(!runnable.run());
    assert_eq!((dropped.get(), queue.tasks()), (1, 0));
}

#[test]
fn a_detached_task_is_woken_and_ends_later() {
    let wakes: [fn(Waker); 2] = [Waker::wake, |waker| waker.wake_by_ref()];
    for wake in wakes {
        let queue = Queue::new();
        let dropped = Count::new();
        let output = Dropped(dropped.clone());
        let future = async move {
            pending_once().await;
            output
        };
        let runnable = task::spawn_detached(future, queue.scheduler());
        let waker = runnable.waker();
        assert!(!runnable.run());
        wake(waker);
        assert_eq!(queue.run(), 1);
        assert_eq!((dropped.get(), queue.tasks()), (1, 0));
    }
}

#[test]
fn a_waker_that_outlives_it_frees_it() {
    let queue = Queue::new();
    let runnable = task::spawn_detached(async {}, queue.scheduler());
    let waker = runnable.waker();
    runnable.run();
    assert_eq!(queue.tasks(), 1);
    waker.wake_by_ref();
    assert_eq!(queue.len(), 0);
    drop(waker);
    assert_eq!(queue.tasks(), 0);
}

#[test]
fn a_run_that_leaves_it_without_a_waker_drops_it() {
    let queue = Queue::new();
    let dropped = Count::new();
    let runnable = task::spawn_detached(guarded(&dropped), queue.scheduler());
    assert!(!runnable.run());
    assert_eq!((queue.len(), dropped.get(), queue.tasks()), (0, 1, 0));
}

#[test]
fn its_last_waker_schedules_the_orphan_once() {
    let queue = Queue::new();
    let dropped = Count::new();
    let runnable = task::spawn_detached(guarded(&dropped), queue.scheduler());
    let waker = runnable.waker();
    runnable.run();
    drop(waker);
    assert_eq!((queue.len(), dropped.get()), (1, 0));
    assert_eq!(queue.run(), 1);
    assert_eq!((dropped.get(), queue.tasks()), (1, 0));
}

#[test]
fn a_runnable_that_is_dropped_drops_it() {
    let queue = Queue::new();
    let dropped = Count::new();
    drop(task::spawn_detached(guarded(&dropped), queue.scheduler()));
    assert_eq!((dropped.get(), queue.tasks()), (1, 0));
}

#[test]
fn panics_of_a_detached_task_are_discarded() {
    let queue = Queue::new();
    let dropped = Count::new();
    let payload = Dropped(dropped.clone());
    let future = async move { panic_any(payload) };
    let runnable = task::spawn_detached::<_, _>(future, queue.scheduler());
    assert!(!runnable.run());
    let output = OnDrop(|| panic!("in the output's drop"));
    task::spawn_detached(async move { output }, queue.scheduler()).run();
    assert_eq!((dropped.get(), queue.tasks()), (1, 0));
}

#[test]
fn an_output_that_is_not_sent_stays_with_the_run() {
    let future = async { std::rc::Rc::new(7) };
    task::spawn_detached(future, |_| {}).run();
}
