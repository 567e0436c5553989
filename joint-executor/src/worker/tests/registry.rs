//! The entries of a registry for tasks that wait.

use crate::{
    registry::Registry,
    room::ENTRIES,
    worker::harness::{self, *},
};

/// Runs the queued tasks, as the worker does.
fn run(worker: &Worker) {
    worker.as_current(|| {
        while let Some(runnable) = worker.take_next() {
            worker.running().run(runnable);
        }
    });
}

/// Tasks that wait.
fn waiting(worker: &Worker, lane: Lane, tasks: usize) -> Vec<JoinHandle<()>> {
    (0..tasks)
        .map(|_| harness::waiting(worker, lane).0)
        .collect()
}

/// Drops the cancelled tasks, as a thread that is not a worker does.
fn drop_elsewhere(worker: &Worker) {
    let mut cancelled = Vec::new();
    for injector in [&worker.shared().injector, &worker.shared().high_injector] {
        injector.take(usize::MAX, |runnable| cancelled.push(runnable));
    }
    drop(cancelled);
}

fn room(worker: &Worker, lane: Lane) -> (usize, usize) {
    worker.shared().registry.counts(0, lane)
}

#[test]
fn an_entry_that_is_free_again_is_used_again() {
    for lane in LANES {
        let [worker, _other] = two_workers();
        for _ in 0..3 {
            let handles = waiting(&worker, lane, ENTRIES);
            assert_eq!(room(&worker, lane), (1, ENTRIES));
            drop(handles);
            run(&worker);
            assert_eq!(room(&worker, lane), (1, 0));
        }
        let _one_more = waiting(&worker, lane, ENTRIES + 1);
        assert_eq!(room(&worker, lane), (2, ENTRIES + 1));
    }
}

#[test]
fn a_worker_has_pinned_tasks_while_some_wait() {
    let [worker, _other] = two_workers();
    let pinned = || [0, 1].map(|index| worker.shared().registry.pinned(index));
    assert_eq!(pinned(), [0, 0]);
    let handles = waiting(&worker, Lane::Pinned(0), 2);
    assert_eq!(pinned(), [2, 0]);
    drop(handles);
    run(&worker);
    assert_eq!(pinned(), [0, 0]);
}

#[test]
fn remaining_tasks_keep_the_registry_alive_until_the_last_ends() {
    let [worker, _other] = two_workers();
    let counts = || Arc::strong_count(worker.shared());
    let own = counts();
    Registry::hold(worker.shared());
    assert_eq!(counts(), own);

    let ended = waiting(&worker, Lane::Normal, 2);
    let handles: Vec<_> = LANES
        .into_iter()
        .zip([1, 2, 4])
        .flat_map(|(lane, tasks)| waiting(&worker, lane, tasks))
        .collect();
    drop(ended);
    drop_elsewhere(&worker);
    Registry::hold(worker.shared());
    assert_eq!(counts(), own + 7);
    for (handle, ended) in handles.into_iter().zip(1..) {
        drop(handle);
        run(&worker);
        assert_eq!(counts(), own + 7 - ended);
    }
}
