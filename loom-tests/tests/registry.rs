//! Models of the registry of tasks (`joint-executor/src/registry.rs`,
//! `joint-executor/src/room.rs`): which thread removes a task, which one cancels it, and what keeps
//! the registry's memory alive after the executor's shutdown. A chunk has room for two tasks.

use joint::JoinHandle;
use joint_executor::model::{Gate, Task};
use loom_tests::{join_all, lab::thread};

use crate::prelude::*;

fn waiting(registry: &Registry, worker: usize) -> JoinHandle<()> {
    let (task, handle) = registry.spawn(false, pending::<()>());
    task.run(Some(worker));
    handle
}

/// A task that has waited, has been cancelled, and was taken by a thread.
fn taken(registry: &Registry) -> Task {
    drop(waiting(registry, 0));
    registry.woken().expect("the drop of its handle cancels it")
}

/// A task that a thread outside spawns, and drops because the executor has terminated.
fn spawn_late(registry: &Registry) {
    let (task, handle) = registry.spawn(true, pending::<()>());
    handle.detach();
    drop(task);
}

#[test]
fn the_last_task_that_is_left_takes_the_registry_along() {
    model(|| {
        let registry = Registry::new(1);
        let is_there = registry.watch();
        let [one, other] = [(); 2].map(|()| taken(&registry));
        registry.hold();
        drop(registry);
        let other = thread::spawn(move || drop(other));
        drop(one);
        other.join().unwrap();
        assert!(!is_there());
    });
}

/// A dump looks at tasks while another thread ends one of them. It finishes what that thread
/// leaves.
#[test]
fn a_dump_against_the_end_of_a_task() {
    model(|| {
        let registry = Registry::new(1);
        let waiting = waiting(&registry, 0);
        let ended = taken(&registry);
        let other = start(&registry, move |registry| {
            drop(ended);
            drop(registry);
        });
        let seen = registry.view_all();
        assert!((1..=2).contains(&seen));
        other.join().unwrap();
        assert_eq!(registry.view_all(), 1);
        assert_eq!(registry.chunks(), 1);
        drop(waiting);
        drop(registry.woken());
    });
}

/// The last worker ends, while another thread ends a task, or spawns one that is too late.
fn the_last_worker_ends(late: bool) {
    let registry = Registry::new(1);
    let is_there = registry.watch();
    let kept = taken(&registry);
    let ended = (!late).then(|| taken(&registry));
    let other = start(&registry, move |registry| match ended {
        Some(ended) => drop(ended),
        None => spawn_late(&registry),
    });
    registry.hold();
    drop(registry);
    other.join().unwrap();
    assert!(is_there(), "the registry is gone, although a task remains");
    drop(kept);
    assert!(
        !is_there(),
        "the registry is kept, although no task remains"
    );
}

/// One worker walks while the other one enters a task, into its first chunk or an older one. What
/// the walk misses, the other worker cancels, because it sees that the executor is closed before it
/// begins another poll.
fn a_walk_against_an_entry(has_chunk: bool) {
    let (registry, gate) = (Registry::new(2), Arc::new(Gate::new(2)));
    let before = has_chunk.then(|| waiting(&registry, 1));
    let other = thread::spawn({
        let (registry, gate) = (registry.clone(), gate.clone());
        move || {
            let handle = waiting(&registry, 1);
            (handle, gate.is_closed())
        }
    });
    gate.close();
    drop(registry.cancel_all());
    let (handle, sees_the_end) = other.join().unwrap();
    assert!(before.is_none_or(|handle| handle.is_finished()));
    assert!(sees_the_end || handle.is_finished(), "nobody cancels it");
    drop(registry.cancel_shard(1));
    assert!(handle.is_finished());
}

#[test]
fn a_task_entered_during_a_walk_is_cancelled_all_the_same() {
    model(|| a_walk_against_an_entry(false));
    model(|| a_walk_against_an_entry(true));
}

/// A task ends on a thread, while the last worker but one walks. `worker`: as its worker.
/// `cancelled`: it has been cancelled before, so the walk only looks at it. Nobody awaits it, so
/// that thread frees it.
fn a_walk_against_the_end(worker: Option<usize>, cancelled: bool) {
    let registry = Registry::new(1);
    let is_there = registry.watch();
    let (sender, receiver) = oneshot::channel::<()>();
    let (task, handle) = registry.spawn(false, async { _ = receiver.await });
    task.run(Some(0));
    sender.send(()).unwrap();
    let task = registry.woken().unwrap();
    if cancelled {
        handle.abort();
    }
    handle.detach();
    let other = thread::spawn(move || task.run(worker));
    assert!(registry.cancel_all().is_empty(), "another thread has it");
    other.join().unwrap();
    // Both entries of the chunk are free.
    let handles = [(); 2].map(|()| waiting(&registry, 0));
    assert_eq!(registry.chunks(), 1);
    assert_eq!(registry.cancel_all().len(), 2);
    drop((handles, registry));
    assert!(!is_there());
}

#[test]
fn a_waiting_task_is_ended_by_its_worker_or_by_a_walk() {
    model_bounded(2, || {
        let registry = Registry::new(1);
        let (sender, receiver) = oneshot::channel();
        let (task, handle) = registry.spawn(false, async move { receiver.await.is_ok() });
        task.run(Some(0));
        let canceller = start(&registry, move |registry| !registry.cancel_all().is_empty());
        let is_sent = sender.send(()).is_ok();
        while let Some(task) = registry.woken() {
            task.run(Some(0));
        }
        let is_cancelled = canceller.join().unwrap();
        assert!(is_sent || is_cancelled, "no thread has ended the task");
        assert!(handle.is_finished());
        assert!(registry.cancel_all().is_empty(), "an ended task is entered");
    });
}

#[test]
fn entries_that_two_threads_give_back_are_used_again() {
    model_bounded(3, || {
        let registry = Registry::new(1);
        let others = [(); 2].map(|()| taken(&registry));
        let others = others.map(|task| thread::spawn(move || drop(task)));
        let mut handles = vec![waiting(&registry, 0)];
        join_all(others);
        let chunks = registry.chunks();
        handles.extend((1..2 * chunks).map(|_| waiting(&registry, 0)));
        assert_eq!(registry.chunks(), chunks, "an entry is lost");
        handles.push(waiting(&registry, 0));
        assert_eq!(registry.chunks(), chunks + 1, "an entry is used twice");
        assert_eq!(registry.cancel_all().len(), handles.len());
    });
}

/// Does what a worker does from the end of its last poll until it leaves (`worker/closing.rs`). The
/// last one to leave cancels nothing more.
fn close_down(registry: &Registry, gate: &Gate, worker: usize) {
    drop(match gate.begin_to_cancel() {
        true => registry.cancel_all(),
        false => registry.cancel_shard(worker),
    });
    _ = gate.arrive(worker);
    while !gate.is_quiet() {
        thread::yield_now();
    }
    if gate.leave() {
        while let Some(task) = registry.woken() {
            drop(task);
        }
        assert!(registry.cancel_all().is_empty(), "a task still waits");
    }
}

/// One worker closes down, while the other one runs a task, which waits. `entered_by`: the worker
/// that has entered the task in an earlier poll, if there was one.
fn two_leave_while_a_task_runs(entered_by: Option<usize>) {
    model_bounded(3, move || {
        let (registry, gate) = (Registry::new(2), Arc::new(Gate::new(2)));
        let (sender, receiver) = oneshot::channel::<()>();
        let waits = async {
            _ = receiver.await;
            pending::<()>().await;
        };
        let (mut task, handle) = registry.spawn(false, waits);
        if entered_by.is_some() {
            task.run(entered_by);
            sender.send(()).unwrap();
            task = registry.woken().unwrap();
        }
        let other = thread::spawn({
            let (registry, gate) = (registry.clone(), gate.clone());
            move || {
                task.run(Some(1));
                while !gate.is_closed() {
                    thread::yield_now();
                }
                close_down(&registry, &gate, 1);
            }
        });
        gate.close();
        close_down(&registry, &gate, 0);
        other.join().unwrap();
        assert!(handle.is_finished());
    });
}

#[test]
fn the_last_worker_to_leave_finds_no_task_that_waits() {
    two_leave_while_a_task_runs(None);
    two_leave_while_a_task_runs(Some(0));
    two_leave_while_a_task_runs(Some(1));
}

#[test]
fn a_task_is_entered_without_an_exchange_and_struck_off_by_one() {
    model(|| {
        let registry = Registry::new(2);
        let abort_and_run = |handle: JoinHandle<()>, task: Option<Task>| {
            handle.abort();
            let task = task.or_else(|| registry.woken()).unwrap();
            rmws_of(|| task.run(Some(0)))
        };
        let (task, handle) = registry.spawn(false, pending::<()>());
        let never_entered = abort_and_run(handle, Some(task));
        let (task, handle) = registry.spawn(false, pending::<()>());
        assert_eq!(
            rmws_of(|| task.run(Some(0))),
            2,
            "the list of returned entries, and the run"
        );
        assert_eq!(abort_and_run(handle, None), never_entered + 1);
        let (task, handle) = registry.spawn(false, pending::<()>());
        assert_eq!(rmws_of(|| task.run(Some(0))), 1, "the end of the run");
        assert_eq!(abort_and_run(handle, None), never_entered + 1);
    });
}

models! {
    the_last_worker_against_the_end_of_a_task: model(|| the_last_worker_ends(false));
    the_last_worker_against_a_late_spawn: model(|| the_last_worker_ends(true));
    a_walk_against_a_worker_that_ends_a_task: model(|| a_walk_against_the_end(Some(0), false));
    a_walk_against_a_worker_that_ends_a_cancelled_task: model(|| a_walk_against_the_end(Some(0), true));
    a_walk_against_another_thread_that_ends_a_task: model(|| a_walk_against_the_end(None, false));
    a_walk_against_another_thread_that_ends_a_cancelled_task: model(|| a_walk_against_the_end(None, true));
}
