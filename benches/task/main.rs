//! The task beside async-task, on one thread.
//!
//! First a table: the two take turns round by round, so that each ratio compares what ran at the same time on the same machine.
//! Then the same rows under criterion, for figures with a history.
//!
//! `cargo bench --bench task`; with `-- --test` each row runs once.

use std::time::Duration;

use criterion::Criterion;

/// Does one thing so many times, and tells how long that took.
type Path = fn(u32) -> Duration;

/// How many tasks there are at once in the rows that make many.
const STORM: u32 = 1_000;
const BURST: u32 = 10_000;

struct Row {
    title: &'static str,
    joint: Path,
    async_task: Path,
    /// How many times a round does it.
    times: u32,
}

/// Both crates offer the same interface to what the rows need, and so are written once.
macro_rules! peer {
    ($name:ident: $spawn:path, $runnable:ty) => {
        mod $name {
            use std::{
                cell::{Cell, RefCell},
                collections::VecDeque,
                future::{Future, pending},
                hint::black_box,
                pin::{Pin, pin},
                ptr::NonNull,
                task::{Context, Poll, Waker},
                time::{Duration, Instant},
            };

            use $spawn as spawn;

            thread_local! {
                static QUEUE: RefCell<VecDeque<$runnable>> = const { RefCell::new(VecDeque::new()) };
            }

            thread_local! {
                static PLACE: Cell<Option<NonNull<()>>> = const { Cell::new(None) };
            }

            /// For the rows of one task: a place for its runnable, which costs next to nothing.
            fn place(runnable: $runnable) {
                PLACE.set(Some(runnable.into_raw()));
            }

            fn run_placed() {
                while let Some(raw) = PLACE.take() {
                    // SAFETY: put there by `place`, and taken out once.
                    let runnable = unsafe { <$runnable>::from_raw(raw) };
                    runnable.run();
                }
            }

            fn push(runnable: $runnable) {
                QUEUE.with_borrow_mut(|queue| queue.push_back(runnable));
            }

            fn run_all() {
                while let Some(runnable) = QUEUE.with_borrow_mut(VecDeque::pop_front) {
                    runnable.run();
                }
            }

            fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
                let mut cx = Context::from_waker(Waker::noop());
                Pin::new(future).poll(&mut cx)
            }

            fn timed(f: impl FnOnce()) -> Duration {
                let start = Instant::now();
                f();
                start.elapsed()
            }

            pub(crate) fn spawn_run_join(times: u32) -> Duration {
                timed(|| {
                    for i in 0..times {
                        let (runnable, mut handle) = spawn(async move { black_box(i) }, push);
                        runnable.run();
                        assert!(poll(&mut handle).is_ready());
                    }
                })
            }

            pub(crate) fn waiter_first(times: u32) -> Duration {
                timed(|| {
                    for i in 0..times {
                        let (runnable, mut handle) = spawn(async move { black_box(i) }, push);
                        assert!(poll(&mut handle).is_pending());
                        runnable.run();
                        assert!(poll(&mut handle).is_ready());
                    }
                })
            }

            /// The one who waits is a task as well, and asks again and again.
            pub(crate) fn waiting_task_first(times: u32) -> Duration {
                let parent = async move {
                    for i in 0..times {
                        let (runnable, handle) = spawn(async move { black_box(i) }, push);
                        push(runnable);
                        handle.await;
                    }
                };
                let (runnable, mut handle) = spawn(parent, push);
                push(runnable);
                let taken = timed(run_all);
                assert!(poll(&mut handle).is_ready());
                taken
            }

            pub(crate) fn detached(times: u32) -> Duration {
                timed(|| {
                    for i in 0..times {
                        let (runnable, handle) = spawn(async move { black_box(i) }, push);
                        handle.detach();
                        runnable.run();
                    }
                })
            }

            struct Yield(bool);

            impl Future for Yield {
                type Output = ();

                fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
                    if self.0 {
                        return Poll::Ready(());
                    }
                    self.0 = true;
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
            }

            pub(crate) fn yields(times: u32) -> Duration {
                let future = async move {
                    for _ in 0..times {
                        Yield(false).await;
                    }
                };
                let (runnable, mut handle) = spawn(future, place);
                place(runnable);
                let taken = timed(run_placed);
                assert!(poll(&mut handle).is_ready());
                taken
            }

            /// A wake-up from outside, and the run that it causes.
            pub(crate) fn wakes(times: u32) -> Duration {
                let (runnable, handle) = spawn(pending::<()>(), place);
                let waker = runnable.waker();
                runnable.run();
                let taken = timed(|| {
                    for _ in 0..times {
                        waker.wake_by_ref();
                        run_placed();
                    }
                });
                drop(handle);
                run_placed();
                taken
            }

            /// Only the joins are timed.
            pub(crate) fn join_ended(times: u32) -> Duration {
                let mut handles: Vec<_> = (0..times)
                    .map(|i| {
                        let (runnable, handle) = spawn(async move { black_box(i) }, push);
                        runnable.run();
                        handle
                    })
                    .collect();
                timed(|| {
                    for mut handle in handles.drain(..) {
                        assert!(poll(&mut handle).is_ready());
                    }
                })
            }

            /// Tasks that have run and wait are cancelled by dropping their handles, and run once more to be dropped.
            pub(crate) fn cancel_storm(times: u32) -> Duration {
                let rounds = times.div_ceil(super::STORM);
                (0..rounds)
                    .map(|_| {
                        let handles: Vec<_> = (0..super::STORM)
                            .map(|_| {
                                let (runnable, handle) = spawn(pending::<()>(), push);
                                runnable.run();
                                handle
                            })
                            .collect();
                        timed(|| {
                            drop(handles);
                            run_all();
                        })
                    })
                    .sum()
            }

            pub(crate) fn burst(times: u32) -> Duration {
                let mut handles = Vec::with_capacity(super::BURST as usize);
                let rounds = times.div_ceil(super::BURST);
                timed(|| {
                    for _ in 0..rounds {
                        for i in 0..super::BURST {
                            let (runnable, handle) = spawn(async move { black_box(i) }, push);
                            push(runnable);
                            handles.push(handle);
                        }
                        run_all();
                        for handle in handles.drain(..) {
                            let mut handle = pin!(handle);
                            assert!(poll(&mut handle).is_ready());
                        }
                    }
                })
            }
        }
    };
}

peer!(joint_task: joint::task::spawn, joint::task::Runnable);
peer!(async_task_task: async_task::spawn, async_task::Runnable);

macro_rules! rows {
    ($($title:literal: $path:ident * $times:expr;)*) => {
        [$(Row {
            title: $title,
            joint: joint_task::$path,
            async_task: async_task_task::$path,
            times: $times,
        }),*]
    };
}

fn rows() -> [Row; 9] {
    rows! {
        "spawn, run, join, drop": spawn_run_join * 5_000;
        "the same, the waiter came first": waiter_first * 5_000;
        "the same, the waiter is a task": waiting_task_first * 5_000;
        "spawn, detach, run": detached * 5_000;
        "yield": yields * 10_000;
        "wake and run": wakes * 10_000;
        "join a task that has ended": join_ended * 5_000;
        "cancel 1,000 idle tasks": cancel_storm * STORM;
        "spawn 10,000, run them, join them": burst * BURST;
    }
}

/// Nanoseconds each.
fn nanoseconds(path: Path, times: u32) -> f64 {
    path(times).as_secs_f64() * 1e9 / f64::from(times)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Medians over the rounds: of the times, and of each round's ratio.
fn paired(rounds: usize) {
    println!("| row | joint ns | async-task ns | ratio |");
    println!("|---|---|---|---|");
    for row in rows() {
        let turn = |_| {
            let joint = nanoseconds(row.joint, row.times);
            (joint, nanoseconds(row.async_task, row.times))
        };
        turn(0);
        let rounds: Vec<_> = (0..rounds).map(turn).collect();
        println!(
            "| {} | {:.1} | {:.1} | {:.2} |",
            row.title,
            median(rounds.iter().map(|round| round.0)),
            median(rounds.iter().map(|round| round.1)),
            median(rounds.iter().map(|round| round.1 / round.0)),
        );
    }
}

fn main() {
    let once = std::env::args().any(|argument| argument == "--test");
    paired(if once { 1 } else { 1001 });

    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    for row in rows() {
        let mut group = criterion.benchmark_group(format!("task: {}", row.title));
        for (name, path) in [("joint", row.joint), ("async-task", row.async_task)] {
            // Whole rounds: some rows make so many tasks at once, and no fewer.
            group.bench_function(name, |b| {
                b.iter_custom(|times| {
                    let rounds = times.min(u64::from(u32::MAX)) as u32;
                    let asked = rounds.max(row.times);
                    path(asked).mul_f64(times as f64 / f64::from(asked))
                });
            });
        }
        group.finish();
    }
    criterion.final_summary();
}
