//! Tasks that are always due have their turns equally often, wherever they were queued: each worker
//! has its share of them. Miri has one worker.
#![cfg(not(miri))]

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::prelude::*;

/// How long a poll takes.
const POLL: Duration = Duration::from_micros(500);
const TASKS: usize = 32;
/// The number of turns of some task after which all are compared.
const TURNS: u64 = 64;
/// They are compared up to this many times, until they have had their turns equally often.
const ROUNDS: usize = 8;

struct Turns {
    /// The turns of each task in this round.
    counts: [AtomicU64; TASKS],
    is_told: AtomicBool,
    is_over: AtomicBool,
    /// The turns of the tasks beside those that are counted.
    others: AtomicU64,
    /// Told once in a round.
    told: mpsc::Sender<()>,
}

/// A task that is always due, and one of those that are counted or beside them.
async fn task(turns: Arc<Turns>, counted: Option<usize>) {
    while !turns.is_over.load(SeqCst) {
        turns.others.fetch_add(u64::from(counted.is_none()), SeqCst);
        if let Some(count) = counted.map(|i| &turns.counts[i]) {
            let new = count.fetch_add(1, SeqCst) + 1;
            if new >= TURNS && !turns.is_told.swap(true, SeqCst) {
                turns.told.send(()).expect("the test waits");
            }
        }
        thread::park_timeout(POLL);
        yield_now().await;
    }
}

fn tasks(turns: &Arc<Turns>) -> impl Iterator<Item = impl Future<Output = ()> + Send + use<>> {
    let turns = turns.clone();
    (0..TASKS).map(move |i| task(turns.clone(), Some(i)))
}

/// Asserts that the tasks that `queue` queues have equal turns, on threads and on hosted workers.
fn assert_fair(queue: impl Fn(&Executor, &Arc<Turns>)) {
    for (workers, is_hosted) in [(2, false), (4, false), (8, false), (4, true)] {
        let builder = Executor::builder().workers(workers);
        let (executor, hosted) = match is_hosted {
            true => builder.build_hosted().expect("they need nothing"),
            false => (builder.build().expect("threads can be started"), vec![]),
        };
        let drive = |worker: joint_executor::hosted::HostedWorker| {
            let mut worker = worker.bind();
            loop {
                match worker.step(16, Waker::noop()) {
                    Step::Ready => {}
                    Step::Ended => break,
                    Step::Idle | Step::Until(_) => worker.wait(Some(POLL)),
                }
            }
        };
        let threads: Vec<_> = hosted
            .into_iter()
            .map(|worker| thread::spawn(move || drive(worker)))
            .collect();
        let (told, rounds) = mpsc::channel();
        let turns = Arc::new(Turns {
            counts: Default::default(),
            is_told: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            others: AtomicU64::new(0),
            told,
        });
        queue(&executor, &turns);
        let round = |_: &usize| {
            rounds.recv().expect("it is kept");
            let mut all = turns.counts.each_ref().map(|count| count.swap(0, SeqCst));
            all.sort_unstable();
            println!("{workers} workers, {is_hosted}: {all:?}");
            turns.is_told.store(false, SeqCst);
            2 * all[0] >= all[TASKS - 1]
        };
        let fair = (0..ROUNDS).find(round);
        turns.is_over.store(true, SeqCst);
        drop(executor);
        threads
            .into_iter()
            .for_each(|thread| thread.join().expect("no panics"));
        assert!(fair.is_some(), "{workers} workers, hosted: {is_hosted}");
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
        assert_fair(way);
    }
}

#[test]
fn tasks_queued_while_workers_are_blocked_have_equal_turns() {
    assert_fair(|executor, turns| {
        let all = Arc::new(Barrier::new(executor.workers()));
        let release = Arc::new(Barrier::new(executor.workers()));
        for _ in 1..executor.workers() {
            let [all, release] = [&all, &release].map(Arc::clone);
            executor.spawn_detached(async move {
                all.wait();
                release.wait();
            });
        }
        all.wait();
        tasks(turns).for_each(|task| executor.spawn_detached(task));
        wait_until(|| turns.counts.iter().all(|count| count.load(SeqCst) > 0));
        release.wait();
    });
}

#[test]
fn tasks_beside_pinned_ones_have_equal_turns() {
    assert_fair(|executor, turns| {
        for worker in 0..executor.workers() {
            let pinned = executor.task().on_worker(worker);
            pinned.spawn_detached(task(turns.clone(), None));
        }
        // None of the workers sleeps.
        wait_until(|| turns.others.load(SeqCst) > 4 * executor.workers() as u64);
        tasks(turns).for_each(|task| executor.spawn_detached(task));
    });
}
