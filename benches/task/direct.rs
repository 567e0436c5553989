//! The two task crates without an executor: each row drives its tasks by hand.

use std::time::Duration;

use joint_benches::table::NamedRun;

/// Does one thing a number of times, and returns how long that took.
fn row(title: &'static str, times: u32, path: fn(u32) -> Duration) -> NamedRun {
    (title, u64::from(times), Box::new(move || path(times)))
}

/// Both crates offer the interface that the rows need, so the rows are written once.
macro_rules! peer {
    ($name:ident: $spawn:path, $runnable:ty, $spawn_detached:expr) => {
        pub(crate) mod $name {
            use std::{
                cell::{Cell, RefCell},
                collections::VecDeque,
                future::{pending, poll_fn},
                hint::black_box,
                pin::Pin,
                ptr::NonNull,
                task::{Context, Poll, Waker},
                time::{Duration, Instant},
            };

            use super::{super::STORM, NamedRun, row};
            use $spawn as spawn;

            thread_local! {
                static QUEUE: RefCell<VecDeque<$runnable>> = const { RefCell::new(VecDeque::new()) };
            }

            thread_local! {
                static PLACE: Cell<Option<NonNull<()>>> = const { Cell::new(None) };
            }

            /// For the rows with one task: a slot for its runnable, which costs next to nothing.
            fn place(runnable: $runnable) {
                PLACE.set(Some(runnable.into_raw()));
            }

            fn run_placed() {
                while let Some(raw) = PLACE.take() {
                    // SAFETY: `place` put it there, and it is taken out once.
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

            pub(crate) fn rows() -> [NamedRun; 7] {
                [
                    row("spawn, run, join, drop", 5_000, spawn_run_join),
                    row("the same, the waiter is a task", 5_000, waiting_task_first),
                    row("spawn detached, run", 5_000, spawn_detached),
                    row("yield", 10_000, yields),
                    row("wake and run", 10_000, wakes),
                    row("join a task that has ended", 5_000, join_ended),
                    row("cancel 1,000 idle tasks", STORM, cancel_storm),
                ]
            }

            fn spawn_run_join(times: u32) -> Duration {
                timed(|| {
                    for i in 0..times {
                        let (runnable, mut handle) = spawn(async move { black_box(i) }, push);
                        runnable.run();
                        assert!(poll(&mut handle).is_ready());
                    }
                })
            }

            /// The waiter is a task as well, and polls again and again.
            fn waiting_task_first(times: u32) -> Duration {
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

            fn spawn_detached(times: u32) -> Duration {
                timed(|| {
                    for i in 0..times {
                        let future = async move {
                            black_box(i);
                        };
                        let runnable: $runnable = $spawn_detached(future, push);
                        runnable.run();
                    }
                })
            }

            fn yields(times: u32) -> Duration {
                let future = async move {
                    for _ in 0..times {
                        joint_benches::runtime::Yield::default().await;
                    }
                };
                let (runnable, mut handle) = spawn(future, place);
                place(runnable);
                let taken = timed(run_placed);
                assert!(poll(&mut handle).is_ready());
                taken
            }

            /// A wake-up from outside, and the run that it causes.
            fn wakes(times: u32) -> Duration {
                thread_local! {
                    static WAKER: Cell<Option<Waker>> = const { Cell::new(None) };
                }
                let future = async {
                    poll_fn(|cx| {
                        WAKER.set(Some(cx.waker().clone()));
                        Poll::Ready(())
                    })
                    .await;
                    pending::<()>().await;
                };
                let (runnable, handle) = spawn(future, place);
                runnable.run();
                let waker = WAKER.take().expect("the task has run");
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
            fn join_ended(times: u32) -> Duration {
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

            /// Tasks that have run and now wait are cancelled by dropping their handles, and run
            /// once more to be dropped.
            fn cancel_storm(times: u32) -> Duration {
                let handles: Vec<_> = (0..times)
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
            }
        }
    };
}

peer!(joint_task: joint::task::spawn, joint::task::Runnable, joint::task::spawn_detached);
peer!(async_task_task: async_task::spawn, async_task::Runnable, |future, schedule| {
    let (runnable, task) = async_task::spawn(future, schedule);
    task.detach();
    runnable
});
