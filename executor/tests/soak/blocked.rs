//! Tasks whose polls block their workers, and what becomes of executors meanwhile.
//!
//! Before the end a blocked poll waits only for what needs no free worker: for a time, for a
//! descriptor, for a thread, or until it gives up. What waits for the end alone is started when
//! nobody waits for the executor's tasks any more.

use std::{
    future::{Future, pending, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc,
    },
    task::{Poll, Wake, Waker},
    thread,
    time::Duration,
};

use futures_lite::{AsyncReadExt, AsyncWriteExt, FutureExt};
use joint::{block_on, oneshot};
use joint_executor::{Executor, LocalExecutor, spawn, spawn_local, time::sleep, yield_now};

use crate::{
    kinds::{Boxed, Choice, Guard, Round, fibonacci},
    outside::{ends, micros},
};

/// How many kinds there are here.
pub(crate) const KINDS: u64 = 9;

/// Sends when it is woken.
struct Send(mpsc::Sender<u64>);

impl Wake for Send {
    fn wake(self: Arc<Self>) {
        // The one who waits may have given up.
        let _ = self.0.send(1);
    }
}

/// Blocks for a moment when it is dropped.
struct Slow(Duration);

impl Drop for Slow {
    fn drop(&mut self) {
        block_on(sleep(self.0));
    }
}

/// A pipe that is written to by a local task and read by another, next to timers.
fn on_a_local_executor(n: u64, m: u64, guards: Vec<Guard>) -> u64 {
    let local = LocalExecutor::new();
    let mut guards = guards.into_iter();
    let mut guard = || guards.next();
    let (first, second, third) = (guard(), guard(), guard());
    let ticks = local.spawn(async move {
        let _guard = first;
        for _ in 0..n % 4 {
            sleep(micros(m)).await;
        }
        n
    });
    let never = local.spawn(async move {
        let _guard = second;
        let _slow = Slow(micros(n));
        pending::<u64>().await
    });
    let talk = local.spawn(async move {
        let _guard = third;
        let Ok((mut reader, mut writer)) = ends().await else {
            return n;
        };
        let sends = spawn_local(async move {
            sleep(micros(n)).await;
            writer.write_all(&[1; 64]).await
        });
        let mut buffer = [0; 64];
        reader.read_exact(&mut buffer).await.unwrap();
        sends.await.unwrap();
        u64::from(buffer[0])
    });
    match n % 3 {
        0 => local.block_on(ticks),
        1 => local.block_on(async move { talk.await + ticks.await }),
        _ => local.block_on(async move {
            let gives_up = async {
                sleep(micros(m)).await;
                0
            };
            never.or(gives_up).await
        }),
    }
}

/// An executor of its own, of all kinds of ends.
pub(crate) fn another(n: u64, m: u64, guards: Vec<Guard>) -> u64 {
    let workers = 1 + n as usize % 2;
    let mut builder = Executor::builder().workers(workers);
    if n % 4 == 0 {
        let fails = |_| panic!("a task that panics: a hook");
        builder = builder.on_thread_start(fails).on_thread_stop(fails);
        builder = builder.on_end(|_, _| panic!("a task that panics: the hook of an end"));
    }
    let executor = builder.build().unwrap();
    let mut handles = Vec::new();
    for (i, guard) in guards.into_iter().enumerate() {
        let task = async move {
            let _guard = guard;
            let _slow = Slow(micros(n));
            match i % 3 {
                0 => sleep(micros(m)).await,
                1 => block_on(sleep(micros(m))),
                _ => pending().await,
            }
        };
        handles.push(executor.spawn_on(i % workers, task));
    }
    let sum = executor.install(|| fibonacci(n % 12));
    match m % 5 {
        0 => drop(executor),
        1 => executor.shutdown_background(),
        2 => {
            // Who is late is late.
            let _ = executor.shutdown_timeout(micros(m));
        }
        3 => assert!(executor.shutdown_timeout(Duration::from_secs(3600)).is_ok()),
        _ => {
            // By its own task.
            let shared = Arc::new(executor);
            let own = shared.clone();
            shared.spawn_detached(async move {
                yield_now().await;
                drop(own);
            });
            drop(shared);
        }
    }
    drop(handles);
    sum
}

impl Round {
    fn guards(&self, n: u64) -> Vec<Guard> {
        (0..n).map(|_| self.guard()).collect()
    }

    /// A task whose poll blocks its worker for a moment, in some way.
    pub(crate) fn blocked_task(self: &Arc<Self>, kind: u64, choice: &mut Choice) -> Boxed {
        let (n, m) = (choice.below(20), choice.below(300));
        let blocks: Box<dyn FnOnce() -> u64 + std::marker::Send> = match kind {
            0 => Box::new(move || {
                block_on(sleep(micros(m)));
                n
            }),
            1 => {
                let wakes = self.wakes.lock().unwrap().clone();
                let mut left = n;
                Box::new(move || {
                    block_on(poll_fn(|cx| {
                        if left == 0 {
                            return Poll::Ready(n);
                        }
                        left -= 1;
                        // That thread ends after the last task.
                        wakes.send(cx.waker().clone()).unwrap();
                        Poll::Pending
                    }))
                })
            }
            2 => {
                let wakes = self.wakes.lock().unwrap().clone();
                Box::new(move || {
                    let (sender, receiver) = mpsc::channel();
                    wakes.send(Waker::from(Arc::new(Send(sender)))).unwrap();
                    receiver.recv().unwrap()
                })
            }
            3 => {
                let guard = self.guard();
                Box::new(move || {
                    let (sender, mut receiver) = oneshot::channel::<u64>();
                    // Dropped by the end, or else by its handle below.
                    let holds = spawn(async move {
                        let _guard = guard;
                        let _sender = sender;
                        pending::<()>().await;
                    });
                    let _none = receiver.blocking_recv_timeout(micros(m));
                    drop(holds);
                    n
                })
            }
            4 => Box::new(move || {
                let Ok((mut reader, mut writer)) = block_on(ends()) else {
                    return n;
                };
                let mut buffer = [0; 32];
                // It writes only once the other has come to wait.
                let writes = async {
                    sleep(micros(n)).await;
                    writer.write_all(&[1; 32]).await.unwrap();
                };
                let mut writes = pin!(writes);
                let mut reads = pin!(reader.read_exact(&mut buffer));
                block_on(poll_fn(|cx| {
                    let _ = reads.as_mut().poll(cx).map(|read| read.unwrap());
                    writes.as_mut().poll(cx)
                }));
                n
            }),
            5 => {
                let guards = self.guards(3);
                Box::new(move || on_a_local_executor(n, m, guards))
            }
            6 => {
                let slow = Slow(micros(m));
                return Box::pin(async move {
                    let _slow = slow;
                    yield_now().await;
                    n
                });
            }
            7 => {
                let guards = self.guards(n % 6);
                Box::new(move || another(n, m, guards))
            }
            _ => Box::new(move || {
                let nothing = || spawn(async {});
                let (left, right) =
                    joint_executor::join(|| block_on(sleep(micros(m))), || nothing().is_finished());
                let () = left;
                u64::from(right)
            }),
        };
        Box::pin(async move { blocks() })
    }

    /// The end, while polls wait for what only the end gives: to be called when nobody waits for
    /// tasks any more.
    pub(crate) fn end_while_blocked(mut shared: Arc<Self>, choice: &mut Choice) {
        // A task that has a share, and waits for its turn, would wait for a worker, and these for
        // the end.
        let this = loop {
            match Arc::try_unwrap(shared) {
                Ok(this) => break this,
                Err(again) => shared = again,
            }
            thread::yield_now();
        };
        let workers = this.executor.workers() as u64;
        // One is left that can drop what the others wait for, or that waits where it does so
        // itthis.
        let (blocked, elsewhere) = (choice.below(workers + 1), choice.below(workers));
        let is_closed = Arc::<AtomicBool>::default();
        let mut tasks = Vec::new();
        for i in 0..blocked.max(elsewhere) {
            let guards = (this.guard(), this.guard());
            let is_closed = is_closed.clone();
            let holds_first = choice.below(2) == 0;
            let how = choice.below(64) as usize;
            let blocks = async move {
                let (_guard, guard) = guards;
                let (sender, receiver) = oneshot::channel::<u64>();
                let (std_sender, std_receiver) = mpsc::channel::<u64>();
                let held = spawn(async move {
                    let _held = (guard, sender, std_sender);
                    pending::<()>().await;
                });
                if holds_first {
                    yield_now().await;
                }
                if i < elsewhere {
                    std_receiver.recv().unwrap_err();
                } else {
                    receiver.blocking_recv().unwrap_err();
                }
                assert!(is_closed.load(Relaxed), "dropped before the end");
                drop(held);
            };
            let task = match how % 3 {
                0 => this.executor.spawn_on(how % workers as usize, blocks),
                _ => this.executor.spawn(blocks),
            };
            tasks.push(task);
        }
        spin_a_moment(choice);
        is_closed.store(true, Relaxed);
        let way = choice.below(4);
        let executor = this.executor;
        match way {
            0 => executor.shutdown_background(),
            1 => {
                // Who is late is late.
                let _ = executor.shutdown_timeout(micros(choice.below(2000)));
            }
            2 => assert!(executor.shutdown_timeout(Duration::from_secs(3600)).is_ok()),
            _ => drop(executor),
        }
        drop(tasks);
    }
}

fn spin_a_moment(choice: &mut Choice) {
    crate::kinds::spin(micros(choice.below(200)));
}
