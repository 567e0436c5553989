//! The counts of an executor. Whenever it is quiet,
//! `spawned == finished + cancelled + panicked + live`, no matter how its tasks ended and on which
//! thread.

use joint_executor::{Metrics, TaskEnd};

use crate::prelude::*;

#[track_caller]
fn assert_counts(metrics: &Metrics, finished: u64, cancelled: u64, panicked: u64, live: u64) {
    let counts = (metrics.finished, metrics.cancelled, metrics.panicked);
    assert_eq!(counts, (finished, cancelled, panicked));
    assert_eq!(metrics.live(), live);
    assert_eq!(metrics.spawned, finished + cancelled + panicked + live);
}

#[test]
fn metrics_count_queued_and_pinned_tasks() {
    let executor = executor(1);
    let busy = executor.spawn(async {
        for _ in 0..3 {
            spawn(async {}).detach();
        }
        let high = TaskBuilder::new().priority(Priority::High);
        high.spawn(async {}).detach();
        for _ in 0..5 {
            spawn_local(async {}).detach();
        }
        let metrics = Handle::current().metrics();
        (
            metrics.workers[0].queued,
            metrics.workers[0].pinned,
            metrics.live(),
        )
    });
    assert_eq!(block_on(busy), (4, 5, 10));
    wait_until(|| executor.metrics().live() == 0);
    let metrics = executor.metrics();
    assert_eq!(
        (metrics.workers[0].queued, metrics.workers[0].pinned),
        (0, 0)
    );
}

/// An executor in whose threads the last counts can be looked at: its tasks' ends, by kind.
fn counted() -> (Executor, Arc<[AtomicUsize; 3]>) {
    let ends = Arc::new([(); 3].map(|()| AtomicUsize::new(0)));
    let counts = ends.clone();
    let on_end = move |_: &TaskInfo<'_>, how| {
        let count = match how {
            TaskEnd::Finished => 0,
            TaskEnd::Cancelled => 1,
            TaskEnd::Panicked => 2,
        };
        counts[count].fetch_add(1, Relaxed);
    };
    (built(2, |builder| builder.on_end(on_end)), ends)
}

#[test]
fn tasks_cancelled_by_the_end_are_counted_once() {
    for _ in 0..100 {
        let (executor, ends) = counted();
        for i in 0..60 {
            let high = executor.task().priority(Priority::High);
            match i % 4 {
                0 => executor.spawn(pending::<()>()).detach(),
                1 => executor.spawn_on(i / 4 % 2, pending::<()>()).detach(),
                2 => high.spawn_detached(pending::<()>()),
                _ => executor.spawn(hold(Panics)).detach(),
            }
        }
        drop(executor);
        let ends = [0, 1, 2].map(|i| ends[i].load(Relaxed));
        assert_eq!(ends, [0, 45, 15]);
    }
}

/// A thread, and a worker of another executor, wake the tasks.
#[test]
fn counts_of_an_executor_agree_with_its_hooks() {
    let (executor, ends) = counted();
    let wakers = Arc::<Mutex<Vec<Waker>>>::default();
    let other = self::executor(1);
    for i in 0..200 {
        let wakers = wakers.clone();
        let mut polls = 0;
        let task = executor.spawn(poll_fn(move |cx| {
            polls += 1;
            wakers.lock().unwrap().push(cx.waker().clone());
            match polls {
                3 if i % 3 == 0 => panic!("no"),
                3 => Poll::Ready(()),
                _ => Poll::Pending,
            }
        }));
        if i % 5 == 0 {
            drop(task)
        } else {
            task.detach()
        }
    }
    // A task is counted before its hook is called.
    let ended = || ends.iter().map(|ends| ends.load(Relaxed)).sum::<usize>();
    // Woken by a thread and by a worker of another executor.
    while ended() < 200 || executor.metrics().live() > 0 {
        let some = std::mem::take(&mut *wakers.lock().unwrap());
        let (mine, others): (Vec<_>, Vec<_>) =
            some.into_iter().enumerate().partition(|(i, _)| i % 2 == 0);
        let woken =
            other.spawn(async move { others.into_iter().for_each(|(_, waker)| waker.wake()) });
        mine.into_iter().for_each(|(_, waker)| waker.wake());
        block_on(woken);
    }
    let metrics = executor.metrics();
    let ends = [0, 1, 2].map(|i| ends[i].load(Relaxed) as u64);
    assert_counts(&metrics, ends[0], ends[1], ends[2], 0);
    assert_eq!(metrics.spawned, 200);
    assert_counts(&other.metrics(), other.metrics().finished, 0, 0, 0);
}
