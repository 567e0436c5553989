//! Models of the registry of tasks (`executor/src/registry.rs`): which thread removes a task,
//! which one cancels it, and what keeps the registry's memory alive after the executor's shutdown.
#![cfg(joint_loom)]

use std::{
    future::pending,
    sync::atomic::Ordering::{Acquire, Relaxed, Release},
};

use joint::oneshot;
use joint_executor::model::{Registry, Task};
use joint_switch::model::sites_seen;
use loom_tests::lab::thread;
use loom_tests::{assert_killed, model, model_bounded};

/// A task that remains when its executor ends.
fn left(registry: &Registry) -> Task {
    let (task, handle) = registry.spawn(true, pending::<()>());
    handle.detach();
    task
}

/// Two threads each end a task that remained. The second one frees the registry.
fn two_that_are_left() {
    let registry = Registry::new(1);
    let is_there = registry.watch();
    let [one, other] = [(); 2].map(|()| left(&registry));
    registry.count_left();
    drop(registry);
    let other = thread::spawn(move || drop(other));
    drop(one);
    other.join().unwrap();
    assert!(!is_there());
}

#[test]
fn the_last_task_that_is_left_takes_the_registry_along() {
    model(two_that_are_left);
}

/// The last worker drops a future that spawns a task, while another thread ends a task.
fn one_more_is_left() {
    let registry = Registry::new(1);
    let is_there = registry.watch();
    let [one, other] = [(); 2].map(|()| left(&registry));
    registry.count_left();
    let other = thread::spawn(move || drop(other));
    // Spawned by the drop of `one`, which is removed after that.
    let new = left(&registry);
    drop(one);
    drop(registry);
    assert!(is_there(), "the registry is gone, although a task remains");
    drop(new);
    other.join().unwrap();
    assert!(!is_there());
}

#[test]
fn a_task_that_is_spawned_late_is_left_too() {
    model(one_more_is_left);
}

/// A worker runs a task to its end, while another thread cancels all waiting tasks, including this
/// one. Preemption bound 2.
fn cancelled_while_it_ends(high: bool) {
    model_bounded(2, move || {
        let registry = std::sync::Arc::new(Registry::new(1));
        let is_there = registry.watch();
        let (sender, receiver) = oneshot::channel();
        let (task, handle) = registry.spawn(high, async move { receiver.await.is_ok() });
        task.run(Some(0));
        let canceller = thread::spawn({
            let registry = registry.clone();
            move || {
                let cancelled = registry.cancel_all();
                let any = !cancelled.is_empty();
                drop(cancelled);
                any
            }
        });
        let is_sent = sender.send(()).is_ok();
        while let Some(task) = registry.woken() {
            task.run(Some(0));
        }
        let is_cancelled = canceller.join().unwrap();
        assert!(is_sent || is_cancelled, "no thread has ended the task");
        assert!(handle.is_finished());
        assert!(
            registry.cancel_all().is_empty(),
            "an ended task is still registered"
        );
        drop((handle, registry));
        assert!(!is_there());
    });
}

/// Preemption bound 2.
#[test]
fn a_walk_against_a_worker_that_ends_a_task() {
    cancelled_while_it_ends(false);
}

/// Preemption bound 2.
#[test]
fn a_walk_against_the_end_of_a_task_of_the_high_lane() {
    cancelled_while_it_ends(true);
}

/// Another thread removes a task, and the worker reuses the entry. Preemption bound 3.
#[test]
fn an_entry_that_another_thread_gives_back() {
    model_bounded(3, || {
        let registry = std::sync::Arc::new(Registry::new(1));
        let [one, other] = [(); 2].map(|()| {
            let (task, handle) = registry.spawn(false, pending::<()>());
            task.run(Some(0));
            handle
        });
        let thief = thread::spawn({
            let registry = registry.clone();
            drop(one);
            move || drop(registry.woken())
        });
        let (new, handle) = registry.spawn(false, pending::<()>());
        new.run(Some(0));
        thief.join().unwrap();
        drop((handle, other));
        while let Some(task) = registry.woken() {
            task.run(Some(0));
        }
        assert!(
            registry.cancel_all().is_empty(),
            "an ended task is still registered"
        );
    });
}

#[test]
fn removing_a_leftover_task_releases() {
    assert_killed("executor::registry::left", Acquire, || {
        model(two_that_are_left);
    });
}

#[test]
fn removing_a_leftover_task_acquires() {
    assert_killed("executor::registry::left", Release, || {
        model(two_that_are_left);
    });
}

#[test]
fn removing_a_leftover_task_is_acquire_release() {
    assert_killed("executor::registry::left", Relaxed, || {
        model(two_that_are_left);
    });
}

#[test]
fn no_site_is_left_out() {
    model(two_that_are_left);
    model(one_more_is_left);
    let seen = sites_seen();
    for site in ["left", "left_more", "left_again", "left_look"] {
        let site = format!("executor::registry::{site}");
        assert!(seen.iter().any(|(name, _)| *name == site), "{site}");
    }
}
