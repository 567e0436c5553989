//! The guarantees of the schedulers.

use joint::oneshot;

use crate::prelude::*;

/// Tasks that wait for another task by yielding. That one is polled once.
async fn spinners(spinners: u32) {
    let (sender, ended) = oneshot::channel::<()>();
    let sender = Arc::new(sender);
    let is_set = Arc::new(AtomicBool::new(false));
    for _ in 0..spinners {
        let (sender, is_set) = (sender.clone(), is_set.clone());
        spawn_detached(async move {
            while !is_set.load(Relaxed) {
                yield_now().await;
            }
            drop(sender);
        });
    }
    spawn_detached(async move {
        is_set.store(true, Relaxed);
        drop(sender);
    });
    assert!(ended.await.is_err());
}

/// The tasks, with the main future, and the polls of [`unlikely`].
const TASKS: u64 = 3;

/// A bug of depth 2: all steps of one task come between two steps of the other. The chance of a
/// random scheduler is about one in 2^40.
async fn unlikely() -> bool {
    let phase = Arc::new(AtomicU32::new(0));
    let is_hit = Arc::new(AtomicBool::new(false));
    let (one, hit) = (phase.clone(), is_hit.clone());
    let splits = spawn(async move {
        for _ in 0..10 {
            yield_now().await;
        }
        one.store(1, Relaxed);
        yield_now().await;
        hit.store(one.load(Relaxed) == 41, Relaxed);
        one.store(0, Relaxed);
    });
    let counts = spawn(async move {
        for _ in 0..40 {
            // It counts only while the other one is between its two steps.
            if phase.load(Relaxed) > 0 {
                phase.fetch_add(1, Relaxed);
            }
            yield_now().await;
        }
    });
    splits.await;
    counts.await;
    is_hit.load(Relaxed)
}

/// A bug of depth 3: two tasks take turns, in one order, with two steps each.
async fn deep() -> bool {
    let word = Arc::new(AtomicU32::new(0));
    let moves = |from: u32, to: u32, before: u32| {
        let word = word.clone();
        async move {
            for _ in 0..before {
                yield_now().await;
            }
            let _ = word.compare_exchange(from, to, Relaxed, Relaxed);
        }
    };
    let (first, third) = (moves(0, 1, 4), moves(2, 3, 4));
    let one = spawn(async move {
        first.await;
        third.await;
    });
    let (second, fourth) = (moves(1, 2, 4), moves(3, 4, 4));
    let other = spawn(async move {
        second.await;
        fourth.await;
    });
    one.await;
    other.await;
    word.load(Relaxed) == 4
}

/// Counts the runs that hit a bug, and returns the number of polls of the longest.
fn hits<F: Future<Output = bool>>(
    scheduler: Scheduler,
    expected: u64,
    runs: u64,
    program: impl Fn() -> F,
) -> (u64, u64) {
    let (mut hits, mut polls) = (0, 0);
    for seed in 0..runs {
        let settings = Builder::new(seed).scheduler(scheduler.clone());
        let outcome = settings.expected_steps(expected).run(program()).unwrap();
        hits += u64::from(outcome.output);
        polls = polls.max(outcome.steps);
    }
    (hits, polls)
}

#[test]
fn pct_finds_a_bug_as_often_as_it_guarantees() {
    // Depth 2, also if more steps are expected than the program takes.
    let (_, k) = hits(Scheduler::RoundRobin, 0, 1, unlikely);
    let runs = 500;
    for expected in [k, 4 * k] {
        let (found, polls) = hits(Scheduler::Pct { depth: 2 }, expected, runs, unlikely);
        assert!(polls <= k, "{polls} of {k}");
        assert!(
            found >= runs / (TASKS * expected),
            "{found} with k {expected}"
        );
    }
    assert_eq!(hits(Scheduler::Random, k, runs, unlikely).0, 0);
    // A smaller depth has no change point to split the steps with.
    assert_eq!(hits(Scheduler::Pct { depth: 1 }, k, runs, unlikely).0, 0);

    // Depth 3, and a larger depth finds it too.
    let (_, k) = hits(Scheduler::RoundRobin, 0, 1, deep);
    for depth in [3, 4] {
        let (found, _) = hits(Scheduler::Pct { depth }, k, runs, deep);
        let power = k.pow(depth - 1);
        assert!(found > runs / (TASKS * power), "{found} with k {k}");
    }
}

/// A bug of depth 2 after a task has waited for another one by yielding.
async fn unlikely_after_a_wait() -> bool {
    spinners(1).await;
    unlikely().await
}

#[test]
fn pct_finds_a_bug_after_a_wait_that_yields() {
    // A wait must not use up all steps among which the change points are.
    let scheduler = Scheduler::Pct { depth: 2 };
    let (_, k) = hits(scheduler.clone(), 1_000, 50, unlikely_after_a_wait);
    assert!(k < 200, "{k}");
    // The tasks are those of both parts.
    let (tasks, runs) = (TASKS + 2, 1_000);
    let (found, _) = hits(scheduler, k, runs, unlikely_after_a_wait);
    assert!(found > runs / (tasks * k), "{found} with k {k}");
}

#[test]
fn pct_runs_the_task_of_the_highest_priority_until_it_waits() {
    // With depth 1 there is no preemption: each task runs to its end.
    for seed in 0..50 {
        let order = Builder::new(seed)
            .scheduler(Scheduler::Pct { depth: 1 })
            .run(async {
                let (sender, receiver) = std::sync::mpsc::channel();
                let tasks: Vec<_> = (0..4)
                    .map(|task| {
                        let sender = sender.clone();
                        spawn(async move {
                            for _ in 0..3 {
                                sender.send(task).unwrap();
                                yield_now().await;
                            }
                        })
                    })
                    .collect();
                join(tasks).await;
                receiver.try_iter().collect::<Vec<_>>()
            });
        let order = order.unwrap().output;
        for thirds in order.chunks(3) {
            assert!(thirds.iter().all(|task| *task == thirds[0]), "{order:?}");
        }
    }
}
