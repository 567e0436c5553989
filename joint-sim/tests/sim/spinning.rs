//! Programs that wait by yielding: what they wait for comes, however late it is.

use crate::prelude::*;

/// Waits by yielding.
async fn until(mut is_done: impl FnMut() -> bool) {
    while !is_done() {
        yield_now().await;
    }
}

/// Sets a flag in a task, after a time.
fn flag_after(time: Duration) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let own = flag.clone();
    spawn_detached(async move {
        sleep(time).await;
        own.store(true, Relaxed);
    });
    flag
}

async fn a_flag() {
    for time in [0, 1, 1_000] {
        let flag = flag_after(Duration::from_millis(time));
        until(|| flag.load(Relaxed)).await;
    }
}

/// All of them wait by yielding for the one that is before them.
async fn a_row() {
    let flags: Rc<Vec<_>> = Rc::new((0..4).map(|_| Cell::new(false)).collect());
    let spins = (0..4).map(|own| {
        let flags = flags.clone();
        spawn_local(async move {
            until(|| own == 0 || flags[own - 1].get()).await;
            sleep(Duration::from_millis(1)).await;
            flags[own].set(true);
        })
    });
    join(spins.collect::<Vec<_>>()).await;
}

async fn another_host() {
    let there = Rc::new(Cell::new(0));
    let own = there.clone();
    let host = Host::new("a");
    host.run(move || {
        let there = own.clone();
        async move {
            for n in 1..=5 {
                there.set(n);
                until(|| there.get() == 0).await;
            }
        }
    });
    for n in 1..=5 {
        until(|| there.get() == n).await;
        there.set(0);
    }
    let _end = host.ended().await;
}

async fn a_time() {
    for time in [Duration::from_micros(1), SECOND] {
        let start = now();
        until(|| now() - start >= time).await;
    }
}

async fn a_task() {
    let task = spawn(sleep(SECOND));
    until(|| task.is_finished()).await;
}

/// Two tasks ask each other, and none is woken by itself.
async fn an_answer() {
    let flag = flag_after(SECOND / 100);
    let (ask, asked) = async_channel::bounded::<()>(1);
    let (answer, answered) = async_channel::bounded(1);
    let server = spawn(async move {
        while asked.recv().await.is_ok() {
            let _ = answer.send(flag.load(Relaxed)).await;
        }
    });
    loop {
        ask.send(()).await.unwrap();
        if answered.recv().await.unwrap() {
            break;
        }
    }
    drop(ask);
    server.await;
}

/// A function and a poll that block wait by yielding.
async fn blocking() {
    for time in [0, 1, 100] {
        let flag = flag_after(Duration::from_millis(time));
        let spins = spawn_blocking(move || block_on(until(|| flag.load(Relaxed))));
        spins.await;
        let flag = flag_after(Duration::from_millis(time));
        spawn(async move {
            while !flag.load(Relaxed) {
                block_on(yield_now());
            }
        })
        .await;
    }
}

/// Each with the number of seeds.
const PROGRAMS: [(&str, (u64, Program)); 7] = [
    ("until a flag is set", (12, || Box::pin(a_flag()))),
    ("for one another", (24, || Box::pin(a_row()))),
    (
        "until another host has done something",
        (24, || Box::pin(another_host())),
    ),
    ("until it is time", (12, || Box::pin(a_time()))),
    ("until a task has ended", (12, || Box::pin(a_task()))),
    ("asks until it is time", (6, || Box::pin(an_answer()))),
    ("blocks", (6, || Box::pin(blocking()))),
];

#[test]
fn a_program_that_waits_by_yielding_is_right() {
    each_row(PROGRAMS, |(seeds, program)| {
        for scheduler in [Scheduler::Random, Scheduler::RoundRobin] {
            let run = Builder::new(1).scheduler(scheduler).max_steps(1_000_000);
            run.run(program()).unwrap();
        }
        // Runs with the longest delays are among them.
        Check::new().seeds(seeds).shrink_runs(0).run(program);
    });
}

#[test]
fn the_time_that_passes_while_a_task_yields_skips_nothing() {
    let run = Builder::new(1).run(async {
        let late = spawn(async {
            sleep(100 * SECOND).await;
            now()
        });
        let start = now();
        until(|| now() - start >= SECOND).await;
        let waited = now() - start;
        assert!(waited < 8 * SECOND, "{waited:?}");
        assert_eq!(late.await - start, 100 * SECOND);
    });
    run.unwrap();
}
