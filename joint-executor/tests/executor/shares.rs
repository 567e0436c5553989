//! Tasks that are always due have their turns equally often, wherever they were queued: each worker
//! has its share of them. Miri has one worker.
#![cfg(not(miri))]

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::prelude::*;

/// As long as a busy worker waits between two looks at the others.
const BETWEEN_LOOKS: Duration = MILLI;
const TASKS: usize = 32;
/// The number of steps of each worker after which the turns of the tasks are compared.
const STEPS: usize = 4 * TASKS;
/// They are compared up to this many times, until the tasks have had their turns equally often.
const ROUNDS: usize = 16;

#[derive(Default)]
struct Turns {
    /// The turns of each task in this round.
    counts: [AtomicU64; TASKS],
    /// The turns of the tasks beside those that are counted.
    others: AtomicU64,
}

/// A task that is always due, and one of those that are counted or beside them.
async fn task(turns: Arc<Turns>, counted: Option<usize>) {
    loop {
        let count = counted.map_or(&turns.others, |i| &turns.counts[i]);
        count.fetch_add(1, SeqCst);
        yield_now().await;
    }
}

fn tasks(turns: &Arc<Turns>) -> impl Iterator<Item = impl Future<Output = ()> + Send + use<>> {
    let turns = turns.clone();
    (0..TASKS).map(move |i| task(turns.clone(), Some(i)))
}

/// Lets each of the workers run a task, in turn.
fn step(workers: &mut [BoundWorker]) {
    for worker in workers {
        worker.step(1, Waker::noop());
    }
}

/// Asserts that the tasks that `queue` queues have equal turns. This thread steps the workers in
/// turn, so that the system cannot run one of them more often than another. In a round each looks
/// at the others after each of its runs, once it has looked at the clock again.
fn assert_fair(queue: impl Fn(&Executor, &Arc<Turns>, &mut [BoundWorker])) {
    for count in [2, 4, 8] {
        let (executor, mut workers) = all_bound(count);
        let turns = Arc::<Turns>::default();
        queue(&executor, &turns, &mut workers);
        while turns.counts.iter().any(|count| count.load(SeqCst) == 0) {
            step(&mut workers);
        }
        let round = |_: &usize| {
            turns.counts.iter().for_each(|count| count.store(0, SeqCst));
            for _ in 0..STEPS {
                thread::sleep(BETWEEN_LOOKS);
                step(&mut workers);
            }
            let mut all = turns.counts.each_ref().map(|count| count.load(SeqCst));
            all.sort_unstable();
            println!("{count} workers: {all:?}");
            2 * all[0] >= all[TASKS - 1]
        };
        let fair = (0..ROUNDS).find(round);
        assert!(fair.is_some(), "{count} workers");
    }
}

#[test]
fn tasks_that_were_queued_in_any_way_have_equal_turns() {
    type Way = (&'static str, fn(&Executor, &Arc<Turns>));
    let ways: [Way; 5] = [
        ("from outside", |executor, turns| {
            tasks(turns).for_each(|task| executor.spawn_detached(task));
        }),
        ("by a task", |executor, turns| {
            let turns = turns.clone();
            executor.spawn_detached(async move {
                tasks(&turns).for_each(joint_executor::spawn_detached);
            });
        }),
        ("with a high priority", |executor, turns| {
            let high = || executor.task().priority(Priority::High);
            tasks(turns).for_each(|task| high().spawn_detached(task));
        }),
        ("after many short ones", |executor, turns| {
            (0..20_000).for_each(|_| executor.spawn_detached(async {}));
            tasks(turns).for_each(|task| executor.spawn_detached(task));
        }),
        ("beside one of high priority", |executor, turns| {
            let high = executor.task().priority(Priority::High);
            high.spawn_detached(task(turns.clone(), None));
            tasks(turns).for_each(|task| executor.spawn_detached(task));
        }),
    ];
    for (name, way) in ways {
        println!("{name}:");
        assert_fair(|executor, turns, _| way(executor, turns));
    }
}
