//! What a worker requeues, and what it counts, by counts of wake-ups and ends.

mod registry;

use core::{future::pending, panic::Location};

use super::*;
use super::{
    harness::{task, two_workers, two_workers_with, wakes_of},
    launch::{launch, new_detached, new_task},
    queues::MOST_QUEUED,
};
use crate::yield_now;
use joint::{oneshot, task::JoinHandle};

/// A task of a lane that has waited, and is ready to be run. It wakes itself in that run.
fn woken(worker: &Worker, lane: Lane) -> (Runnable, JoinHandle<()>) {
    let (sender, receiver) = oneshot::channel();
    let future = async move {
        let _sent = receiver.await;
        yield_now().await;
    };
    let (runnable, handle) = new_task(Location::caller(), future);
    launch(worker.shared(), Some(worker), runnable, lane);
    worker.as_current(|| {
        let runnable = worker.next_queued().expect("the task was launched");
        worker.run(runnable);
        sender.send(()).expect("the task waits");
    });
    (worker.next_queued().expect("the task was woken"), handle)
}

#[test]
fn a_task_that_yields_with_no_other_queued_wakes_no_worker() {
    for (lane, others, wakes) in [
        (Lane::Normal, &[][..], 0),
        (Lane::Normal, &[Lane::Normal], 1),
        (Lane::Normal, &[Lane::High], 1),
        (Lane::High, &[], 1),
        (Lane::Pinned(0), &[], 0),
    ] {
        let [worker, _other] = two_workers();
        let (runnable, _handle) = woken(&worker, lane);
        others.iter().for_each(|&lane| worker.push(task(), lane));
        let before = worker.queues.lengths();
        let run = || worker.as_current(|| worker.run(runnable));
        assert_eq!(wakes_of(&worker, run), wakes, "{lane:?} {others:?}");
        let after = worker.queues.lengths();
        let own = [Lane::Normal, Lane::High, Lane::Pinned(0)].map(|one| one == lane);
        assert_eq!([0, 1, 2].map(|i| after[i] - before[i] == 1), own);
        // Registered tasks are dropped before the executor.
        worker.discard_queued();
    }
}

#[test]
fn without_a_hook_no_task_is_watched() {
    let [worker, _other] = two_workers();
    assert!(!worker.watches_tasks && !worker.watches_polls && !worker.watches_wakes);
}

/// The hook could wait for what is in the slot, which no other worker can take.
#[test]
fn the_hook_for_a_wake_up_finds_the_slot_empty_and_closed() {
    let mut hooks = Hooks::default();
    hooks.on_wake = Some(Box::new(|_| {
        with_current(|worker| {
            let worker = worker.expect("this thread is the worker");
            assert_eq!(worker.queues.lengths(), [1, 0, 0], "it was in the slot");
            worker.push_normal(task());
            assert_eq!(worker.queues.lengths(), [2, 0, 0], "the slot is closed");
        });
    }));
    let [worker, _other] = two_workers_with(hooks);
    let (sender, receiver) = oneshot::channel::<()>();
    let (runnable, _handle) = new_task(Location::caller(), receiver);
    worker.as_current(|| {
        worker.run(runnable);
        worker.queues.with_slot(true, || {
            worker.push_normal(task());
            assert_eq!(worker.queues.lengths(), [0; 3]);
            let wakes = wakes_of(&worker, || sender.send(()).expect("the task waits"));
            assert_eq!(wakes, 1, "other workers may take what is displaced");
        });
    });
    assert_eq!(
        worker.queues.lengths(),
        [2, 0, 0],
        "the woken task is in the slot"
    );
    worker.discard_queued();
}

#[test]
fn tasks_beyond_the_queue_capacity_overflow_to_the_injector() {
    for push in [Worker::push_spawned, Worker::push_normal] {
        let [worker, _other] = two_workers();
        for _ in 0..MOST_QUEUED {
            push(&worker, task());
        }
        assert_eq!(worker.queues.lengths(), [MOST_QUEUED, 0, 0]);
        assert!(!worker.shared().has_injected());
        let more = [task(), task()];
        let ids = more.each_ref().map(|task| task.id());
        more.into_iter().for_each(|task| push(&worker, task));
        assert_eq!(worker.queues.lengths(), [MOST_QUEUED, 0, 0]);
        let mut taken = Vec::new();
        worker.shared().injector.take(3, |task| taken.push(task));
        assert!(taken.iter().map(|task| task.id()).eq(ids), "oldest first");
    }
}

/// Panics when it is dropped.
struct Panics;

impl Drop for Panics {
    fn drop(&mut self) {
        std::panic::resume_unwind(Box::new("on purpose"));
    }
}

/// How many tasks an executor counts as cancelled, and as panicked.
fn ends(worker: &Worker) -> (u64, u64) {
    let metrics = worker.shared().metrics();
    (metrics.cancelled, metrics.panicked)
}

#[test]
fn a_task_that_is_disposed_of_is_counted_by_its_own_executor_on_any_thread() {
    let runnables = || {
        let panics = Panics;
        let held = async move {
            let _held = panics;
            pending::<()>().await;
        };
        [task(), new_detached(Location::caller(), held)]
    };
    let [worker, _other] = two_workers();
    let [elsewhere, _another] = two_workers();
    let dispose_of_both = || {
        for runnable in runnables() {
            dispose(worker.shared(), runnable);
        }
    };
    dispose_of_both();
    assert_eq!(ends(&worker), (1, 1));
    assert_eq!(
        worker.counters().cancelled.get(),
        0,
        "no worker has cancelled a task"
    );
    elsewhere.as_current(dispose_of_both);
    assert_eq!((ends(&worker), ends(&elsewhere)), ((2, 2), (0, 0)));
    assert_eq!(
        worker.counters().cancelled.get(),
        0,
        "the tasks' own worker has cancelled none"
    );
    worker.as_current(dispose_of_both);
    assert_eq!(ends(&worker), (3, 3));
    assert_eq!(worker.counters().cancelled.get(), 1);

    // Everything after it is the worker's own again.
    elsewhere.as_current(|| {
        dispose_of_both();
        discard([task()]);
    });
    assert_eq!((ends(&worker), ends(&elsewhere)), ((4, 4), (1, 0)));
    assert_eq!(elsewhere.counters().cancelled.get(), 1);
}
