//! The rows that every runtime can do, written once. Each module that says how to spawn has a copy.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    task::{Poll, Waker},
};

thread_local! {
    /// How many tasks have done what the row waits for.
    static COUNT: Cell<u32> = const { Cell::new(0) };
    /// The waiter, and the count at which it is woken.
    static WAITER: RefCell<Option<(u32, Waker)>> = const { RefCell::new(None) };
}

pub(crate) fn start_count() {
    COUNT.set(0);
}

/// Counts one task that has done it.
pub(crate) fn count() {
    COUNT.set(COUNT.get() + 1);
    let reached =
        WAITER.with_borrow_mut(|waiter| waiter.take_if(|(wanted, _)| *wanted == COUNT.get()));
    if let Some((_, waker)) = reached {
        waker.wake();
    }
}

/// Waits until `wanted` tasks have done it.
pub(crate) async fn counted(wanted: u32) {
    poll_fn(|cx| {
        if COUNT.get() == wanted {
            return Poll::Ready(());
        }
        WAITER.set(Some((wanted, cx.waker().clone())));
        Poll::Pending
    })
    .await;
}

macro_rules! rows {
    () => {
        pub(crate) mod rows {
            use std::{
                hint::black_box,
                time::{Duration, Instant},
            };

            use super::{block_on, join, spawn};

            /// How many tasks exist at once in most rows.
            const TASKS: u32 = super::super::super::STORM;

            pub(crate) fn spawn_join_many(times: u32) -> Duration {
                block_on(async move {
                    let mut handles = Vec::with_capacity(TASKS as usize);
                    let start = Instant::now();
                    for _ in 0..times / TASKS {
                        handles.extend((0..TASKS).map(|i| spawn(async move { black_box(i) })));
                        for handle in handles.drain(..) {
                            join(handle).await;
                        }
                    }
                    start.elapsed()
                })
            }

            /// 200 tasks that yield in turn.
            pub(crate) fn yields(times: u32) -> Duration {
                block_on(async move {
                    let each = times / 200;
                    let start = Instant::now();
                    let many = (0..200).map(|_| {
                        spawn(async move {
                            for _ in 0..each {
                                joint_benches::runtime::Yield::default().await;
                            }
                        })
                    });
                    for handle in many.collect::<Vec<_>>() {
                        join(handle).await;
                    }
                    start.elapsed()
                })
            }
        }
    };
}

macro_rules! rows_of_threads {
    () => {
        pub(crate) mod rows_of_threads {
            use std::{
                future::poll_fn,
                sync::{Arc, Mutex, mpsc},
                task::Poll,
                thread,
                time::{Duration, Instant},
            };

            use super::{
                super::super::rows::{count, counted, start_count},
                block_on, cancel, spawn,
            };

            const TASKS: u32 = super::super::super::STORM;

            /// Another thread wakes idle tasks, which run here, until all have run.
            ///
            /// This thread waits until all are woken. On one core the kernel would otherwise switch
            /// between the threads whenever this one has had less time, so the more often, the less
            /// a run costs: for 1,000 tasks, 12 times with joint and once with async-task.
            pub(crate) fn wake_from_elsewhere(times: u32) -> Duration {
                block_on(async move {
                    let wakers = Arc::new(Mutex::new(Vec::new()));
                    start_count();
                    let spawn_one = |_| {
                        let mut wakers = Some(wakers.clone());
                        spawn(poll_fn(move |cx| {
                            if let Some(wakers) = wakers.take() {
                                wakers.lock().expect("no panics").push(cx.waker().clone());
                            }
                            count();
                            Poll::<()>::Pending
                        }))
                    };
                    let handles: Vec<_> = (0..TASKS).map(spawn_one).collect();
                    counted(TASKS).await;
                    let wakers = std::mem::take(&mut *wakers.lock().expect("no panics"));
                    let (go, gone) = mpsc::channel();
                    let (done, woken) = mpsc::channel();
                    let waking = thread::spawn(move || {
                        for () in gone {
                            wakers.iter().for_each(std::task::Waker::wake_by_ref);
                            done.send(()).expect("the other thread listens");
                        }
                    });
                    let start = Instant::now();
                    for _ in 0..times / TASKS {
                        start_count();
                        go.send(()).expect("the other thread listens");
                        woken.recv().expect("the other thread wakes them all");
                        counted(TASKS).await;
                    }
                    let taken = start.elapsed();
                    drop(go);
                    waking.join().expect("no panics");
                    handles.into_iter().for_each(cancel);
                    taken
                })
            }
        }
    };
}
