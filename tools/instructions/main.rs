//! Does one thing a number of times, so that `cargo xtask instructions` can count its instructions.
//!
//! `joint-instructions` prints the names of the rows, and `joint-instructions ROW TIMES` does a row
//! that many times. valgrind counts two runs with different numbers, whose difference is free of
//! what the start and the end of the program take.

#[allow(unreachable_pub, reason = "shared with the library of the benches")]
#[path = "../../benches/src/yields.rs"]
mod yields_once;

#[path = "../../joint-executor/examples/options/mod.rs"]
mod options;

use std::{
    cell::Cell,
    future::{pending, poll_fn},
    hint::black_box,
    pin::{Pin, pin},
    process::ExitCode,
    rc::Rc,
    sync::{
        atomic::{AtomicU32, Ordering::Relaxed},
        mpsc,
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use joint::{
    Completion, JoinHandle, block_on, oneshot,
    task::{self, Runnable, TaskPool},
};
use joint_executor::{
    Executor, LocalExecutor, spawn, spawn_detached, spawn_local, spawn_now, time::sleep, yield_now,
};
use lexopt::{Arg::Value, ValueExt};
use yields_once::Yield;

const HELP: &str = "\
Does one thing a number of times, to be counted by `cargo xtask instructions`.

Usage: joint-instructions              print the names of the rows
       joint-instructions ROW TIMES    do a row so many times

  -h, --help     print this
  -V, --version  print the version
";

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A function that repeats one operation the given number of times.
type Row = fn(u32);

const ROWS: &[(&str, Row)] = &[
    ("completion: complete, poll", completed_first),
    ("completion: poll, complete, poll", polled_first),
    ("oneshot: send, receive", sent_first),
    ("oneshot: wait, send, receive", received_first),
    ("task: spawn detached, run", detached),
    ("task: spawn, run, await", |times| joined(times, on_heap)),
    ("task: spawn, wait, run, await", waited_for),
    ("task in a pool of 1: spawn, run, await", |times| {
        static POOL: TaskPool<128, 1> = TaskPool::new();
        joined(times, |i| in_pool(&POOL, i));
    }),
    ("each of 16 tasks: spawn, run, await", |times| {
        together(times, 16, on_heap);
    }),
    (
        "each of 16 tasks in a pool of 16: spawn, run, await",
        |times| {
            static POOL: TaskPool<128, 16> = TaskPool::new();
            together(times, 16, |i| in_pool(&POOL, i));
        },
    ),
    ("each of 1,000 tasks: spawn, run, await", |times| {
        together(times, 1_000, on_heap);
    }),
    (
        "each of 1,000 tasks in a pool of 1,000: spawn, run, await",
        |times| {
            static POOL: TaskPool<128, 1_000> = TaskPool::new();
            together(times, 1_000, |i| in_pool(&POOL, i));
        },
    ),
    ("task: yield", yields),
    ("task: wake and run", wakes),
    ("one worker: spawn detached, run", |times| {
        inside(1, all_detached(times));
    }),
    ("one worker: spawn and await", |times| {
        inside(1, all_awaited(times));
    }),
    ("one worker: spawn, run, await", |times| {
        inside(1, all_joined(times));
    }),
    ("one worker: start, await", |times| {
        inside(1, all_started(times));
    }),
    ("one worker: yield", |times| inside(1, all_yields(times))),
    ("one worker: wake and run", |times| {
        inside(1, all_wakes(times));
    }),
    ("one worker: spawn from outside", from_outside),
    ("one worker: arm and drop a timer", |times| {
        inside(1, all_armed(times));
    }),
    ("two workers: yield", |times| inside(2, all_yields(times))),
    ("block_on: a oneshot sent inside it", |times| {
        (0..times).for_each(|i| block_on(sent_inside(i)));
    }),
    ("local: block_on of a task", |times| {
        let executor = LocalExecutor::new();
        for i in 0..times {
            executor.block_on(executor.spawn(async move { black_box(i) }));
        }
    }),
    ("local: the main future awaits a task", |times| {
        let executor = LocalExecutor::new();
        executor.block_on(async {
            for i in 0..times {
                executor.spawn(async move { black_box(i) }).await;
            }
        });
    }),
    ("local: the main future yields", |times| {
        LocalExecutor::new().block_on(all_yields(times));
    }),
    ("local: a task awaits a task", |times| {
        let executor = Rc::new(LocalExecutor::new());
        let own = executor.clone();
        executor.block_on(executor.spawn(async move {
            for i in 0..times {
                own.spawn(async move { black_box(i) }).await;
            }
        }));
    }),
    ("current thread: the main future awaits a task", |times| {
        on_this_thread(all_awaited_here(times));
    }),
    ("current thread: the main future yields", |times| {
        on_this_thread(all_yields(times));
    }),
    ("current thread: a task awaits a task", |times| {
        on_this_thread(async move { spawn_local(all_awaited_here(times)).await });
    }),
];

fn main() -> ExitCode {
    options::run("joint-instructions", HELP, |mut options| {
        let mut words = Vec::new();
        while let Some(word) = options.next()? {
            match word {
                Value(word) if words.len() < 2 => words.push(word.string()?),
                word => return Err(word.unexpected().into()),
            }
        }
        match &words[..] {
            [row, times] => {
                let known = ROWS.iter().find(|(title, _)| title == row);
                let (_, run) = known.ok_or(format!("there is no row {row}"))?;
                run(times.parse()?);
            }
            [] => ROWS.iter().for_each(|(title, _)| println!("{title}")),
            _ => return Err("no TIMES (see --help)".into()),
        }
        Ok(())
    })
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn completed_first(times: u32) {
    for _ in 0..times {
        let mut completion = black_box(Completion::new());
        let (completer, mut waiter) = completion.split();
        completer.complete();
        assert!(poll(&mut waiter).is_ready());
    }
}

fn polled_first(times: u32) {
    for _ in 0..times {
        let mut completion = black_box(Completion::new());
        let (completer, mut waiter) = completion.split();
        assert!(poll(&mut waiter).is_pending());
        completer.complete();
        assert!(poll(&mut waiter).is_ready());
    }
}

fn sent_first(times: u32) {
    for i in 0..times {
        let (sender, mut receiver) = oneshot::channel();
        sender.send(black_box(i)).expect("the receiver is there");
        assert!(poll(&mut receiver).is_ready());
    }
}

fn received_first(times: u32) {
    for i in 0..times {
        let (sender, mut receiver) = oneshot::channel();
        assert!(poll(&mut receiver).is_pending());
        sender.send(black_box(i)).expect("the receiver is there");
        assert!(poll(&mut receiver).is_ready());
    }
}

/// Waits for a oneshot that it sends itself.
async fn sent_inside(value: u32) {
    let (sender, mut receiver) = oneshot::channel();
    let mut sender = Some(sender);
    let received = poll_fn(|cx| {
        let received = Pin::new(&mut receiver).poll(cx);
        if let Some(sender) = sender.take() {
            sender
                .send(black_box(value))
                .expect("the receiver is there");
        }
        received
    });
    black_box(received.await.expect("it was sent"));
}

thread_local! {
    /// The queue of the rows of tasks, which have one task at a time.
    static QUEUED: Cell<Option<Runnable>> = const { Cell::new(None) };
    static WAKER: Cell<Option<Waker>> = const { Cell::new(None) };
}

fn queue(runnable: Runnable) {
    QUEUED.set(Some(runnable));
}

fn run_queued() {
    while let Some(runnable) = QUEUED.take() {
        runnable.run();
    }
}

type Spawned = (Runnable, JoinHandle<u32>);

fn on_heap(i: u32) -> Spawned {
    task::spawn(async move { black_box(i) }, queue)
}

fn in_pool<const N: usize>(pool: &'static TaskPool<128, N>, i: u32) -> Spawned {
    let spawned = pool.spawn(async move { black_box(i) }, queue);
    spawned.unwrap_or_else(|_| unreachable!("a slot is free"))
}

/// Spawns a number of tasks, then runs them, then takes their outputs, until it has been `times`.
fn together(times: u32, count: u32, spawn: impl Fn(u32) -> Spawned) {
    let (mut runnables, mut handles) = (Vec::new(), Vec::new());
    for first in (0..times).step_by(count as usize) {
        for i in first..times.min(first + count) {
            let (runnable, handle) = spawn(i);
            runnables.push(runnable);
            handles.push(handle);
        }
        runnables.drain(..).for_each(|runnable| _ = runnable.run());
        for mut handle in handles.drain(..) {
            assert!(poll(&mut handle).is_ready());
        }
    }
}

fn detached(times: u32) {
    for i in 0..times {
        let future = async move {
            black_box(i);
        };
        task::spawn_detached(future, queue).run();
    }
}

fn joined(times: u32, spawn: impl Fn(u32) -> Spawned) {
    for i in 0..times {
        let (runnable, mut handle) = spawn(i);
        runnable.run();
        assert!(poll(&mut handle).is_ready());
    }
}

fn waited_for(times: u32) {
    for i in 0..times {
        let (runnable, mut handle) = task::spawn(async move { black_box(i) }, queue);
        assert!(poll(&mut handle).is_pending());
        runnable.run();
        assert!(poll(&mut handle).is_ready());
    }
}

fn yields(times: u32) {
    let future = async move {
        for _ in 0..times {
            Yield::default().await;
        }
    };
    let (runnable, mut handle) = task::spawn(future, queue);
    runnable.run();
    run_queued();
    assert!(poll(&mut handle).is_ready());
}

/// Puts its task's waker into the place for it, and then waits for good.
async fn waits() {
    poll_fn(|cx| {
        WAKER.set(Some(cx.waker().clone()));
        Poll::Ready(())
    })
    .await;
    pending().await
}

fn wakes(times: u32) {
    let (runnable, handle) = task::spawn(waits(), queue);
    runnable.run();
    let waker = WAKER.take().expect("the task has run");
    for _ in 0..times {
        waker.wake_by_ref();
        run_queued();
    }
    drop(handle);
    run_queued();
}

/// Runs a task of an executor.
fn inside<F: Future<Output: Send> + Send + 'static>(workers: usize, task: F) {
    let executor = Executor::builder().workers(workers).build();
    let executor = executor.expect("threads can be started");
    block_on(executor.spawn(task));
}

/// Runs a future on an executor of the current thread.
fn on_this_thread(future: impl Future) {
    let built = Executor::builder().build_current_thread();
    let (_executor, mut worker) = built.expect("it starts no thread");
    worker.block_on(future);
}

/// How many detached tasks have run.
static RUN: AtomicU32 = AtomicU32::new(0);

async fn counts() {
    RUN.store(RUN.load(Relaxed) + 1, Relaxed);
}

async fn all_detached(times: u32) {
    /// Yields until `count` tasks have run.
    async fn reaches(count: u32) {
        while RUN.load(Relaxed) < count {
            yield_now().await;
        }
    }
    for i in 1..=times {
        spawn_detached(counts());
        // So that the queue does not grow.
        if i % 100 == 0 {
            reaches(i).await;
        }
    }
    reaches(times).await;
}

async fn all_awaited(times: u32) {
    for i in 0..times {
        black_box(spawn(async move { black_box(i) }).await);
    }
}

/// As `all_awaited`, of which a second caller would change what the compiler inlines there.
async fn all_awaited_here(times: u32) {
    for i in 0..times {
        black_box(spawn_local(async move { black_box(i) }).await);
    }
}

async fn all_joined(times: u32) {
    for i in 0..times {
        let handle = spawn(async move { black_box(i) });
        yield_now().await;
        assert!(handle.is_finished());
        black_box(handle.await);
    }
}

async fn all_started(times: u32) {
    for i in 0..times {
        black_box(spawn_now(async move { black_box(i) }).await);
    }
}

async fn all_yields(times: u32) {
    for _ in 0..times {
        yield_now().await;
    }
}

async fn all_wakes(times: u32) {
    let handle = spawn(waits());
    yield_now().await;
    let waker = WAKER.take().expect("the task has run on this worker");
    for _ in 0..times {
        waker.wake_by_ref();
        yield_now().await;
    }
    drop(handle);
}

/// The worker is in a poll until all tasks have been spawned. Otherwise it would fall asleep a
/// number of times that differs from run to run.
fn from_outside(times: u32) {
    let executor = Executor::builder().workers(1).build();
    let executor = executor.expect("threads can be started");
    let (begin, begun) = mpsc::channel();
    let (end, ended) = mpsc::channel();
    let held = executor.spawn(async move {
        begin.send(()).expect("it waits");
        ended.recv().expect("it is sent");
    });
    begun.recv().expect("it begins");
    for _ in 0..times {
        executor.spawn_detached(counts());
    }
    end.send(()).expect("it waits");
    block_on(held);
    block_on(executor.spawn(async move {
        while RUN.load(Relaxed) < times {
            yield_now().await;
        }
    }));
}

async fn all_armed(times: u32) {
    const HOUR: Duration = Duration::from_secs(3600);
    let mut earlier = pin!(sleep(HOUR / 2));
    poll_fn(|cx| {
        assert!(earlier.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    for i in 0..times {
        poll_fn(|cx| {
            assert!(pin!(sleep(HOUR)).poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        // The worker looks at its driver as it does between the polls of a program.
        if i % 64 == 63 {
            yield_now().await;
        }
    }
}
