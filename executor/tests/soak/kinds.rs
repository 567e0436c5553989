//! The tasks of a soak: all kinds of them, each with a guard that counts its end.

use std::{
    future::{Future, pending, poll_fn},
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::Sender,
    },
    task::{Poll, Waker},
    time::{Duration, Instant},
};

use joint::{JoinError, JoinHandle, block_on, oneshot};
use joint_executor::{
    Executor, JoinSet, Priority, join, spawn, spawn_detached, spawn_local, yield_now,
};

#[cfg(feature = "io")]
use crate::{blocked, outside};

/// A step of Marsaglia's xorshift.
pub(crate) struct Choice(pub(crate) u64);

impl Choice {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

/// How many tasks were made, and how they ended for those who asked.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) made: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) asked: AtomicU64,
    pub(crate) output: AtomicU64,
    pub(crate) panicked: AtomicU64,
    pub(crate) cancelled: AtomicU64,
}

/// In every future: counts its drop, and holds the round open until then.
pub(crate) struct Guard {
    counts: Arc<Counts>,
    _open: Sender<()>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.counts.dropped.fetch_add(1, Relaxed);
    }
}

/// Data shared by the tasks and the threads of a round. The last one to let go of it drops the
/// executor: a thread, or a task.
pub(crate) struct Round {
    pub(crate) executor: Executor,
    pub(crate) counts: Arc<Counts>,
    pub(crate) open: Mutex<Sender<()>>,
    /// Handles that somebody is to do something with.
    pub(crate) handles: Mutex<Vec<JoinHandle<u64>>>,
    /// A thread that wakes what it is sent.
    pub(crate) wakes: Mutex<Sender<Waker>>,
    /// Whether all tasks end by themselves.
    pub(crate) is_quiet: bool,
}

pub(crate) fn fibonacci(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fibonacci(n - 1), || fibonacci(n - 2));
    a + b
}

pub(crate) fn spin(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

pub(crate) type Boxed = Pin<Box<dyn Future<Output = u64> + Send>>;

impl Round {
    pub(crate) fn guard(&self) -> Guard {
        self.counts.made.fetch_add(1, Relaxed);
        Guard {
            counts: self.counts.clone(),
            _open: self.open.lock().unwrap().clone(),
        }
    }

    /// Starts a task, `how`: as most are, or with high priority, or on a worker of its own.
    pub(crate) fn spawn(&self, how: usize, future: Boxed) -> JoinHandle<u64> {
        let guard = self.guard();
        let future = async move {
            let _guard = guard;
            future.await
        };
        match how % 4 {
            0 => self.executor.task().priority(Priority::High).spawn(future),
            1 => self
                .executor
                .spawn_on(how / 4 % self.executor.workers(), future),
            _ => self.executor.spawn(future),
        }
    }

    /// Small tasks, to be started inside of another.
    fn crumbs(&self, n: u64) -> Vec<impl Future<Output = u64> + Send + use<>> {
        let crumb = |n| {
            let guard = self.guard();
            async move {
                let _guard = guard;
                yield_now().await;
                n
            }
        };
        (0..n).map(crumb).collect()
    }

    fn count(&self, result: &Result<u64, JoinError>) {
        self.counts.asked.fetch_add(1, Relaxed);
        match result {
            Ok(_) => &self.counts.output,
            Err(JoinError::Panicked(_)) => &self.counts.panicked,
            Err(JoinError::Cancelled) => &self.counts.cancelled,
        }
        .fetch_add(1, Relaxed);
    }

    /// A task of some kind, which may have children.
    pub(crate) fn task(self: &Arc<Self>, choice: &mut Choice, depth: u32) -> Boxed {
        #[cfg(feature = "io")]
        {
            let kind = choice.below(4 * outside::KINDS);
            if kind < outside::KINDS {
                return self.waiting_task(kind, choice);
            }
            let kind = choice.below(12 * blocked::KINDS);
            if kind < blocked::KINDS {
                return self.blocked_task(kind, choice);
            }
        }
        let n = choice.below(20);
        match choice.below(if depth == 0 { 12 } else { 16 }) {
            0 => Box::pin(async move { n }),
            1 => Box::pin(async move {
                for _ in 0..n {
                    yield_now().await;
                }
                n
            }),
            2 => Box::pin(async move { panic!("a task that panics: {n}") }),
            3 if !self.is_quiet => Box::pin(pending()),
            3 => Box::pin(async move { fibonacci(n) }),
            4 => {
                let (sender, receiver) = oneshot::channel();
                let guard = self.guard();
                self.executor.spawn_detached(async move {
                    let _guard = guard;
                    yield_now().await;
                    // The one who waits may be gone.
                    let _ = sender.send(n);
                });
                Box::pin(async move { receiver.await.unwrap_or(0) })
            }
            5 => Box::pin(async move {
                spin(Duration::from_micros(10 * n));
                n
            }),
            6 => {
                let round = Arc::downgrade(self);
                Box::pin(async move {
                    // It keeps the executor for as long as it yields, and may be the one who drops
                    // it.
                    let Some(round) = round.upgrade() else {
                        return n;
                    };
                    yield_now().await;
                    let left = round.handles.lock().unwrap().pop();
                    drop(left);
                    n
                })
            }
            7 => Box::pin(async move { fibonacci(n / 2 + 6) }),
            8 => {
                // A long poll, behind which others find something to take over.
                let crumbs = self.crumbs(n);
                Box::pin(async move {
                    let handles: Vec<_> = crumbs.into_iter().map(spawn).collect();
                    spin(Duration::from_micros(20 * n));
                    let mut sum = 0;
                    for handle in handles {
                        sum += handle.result().await.unwrap_or(1);
                    }
                    sum
                })
            }
            9 => {
                let crumbs = self.crumbs(n);
                Box::pin(async move {
                    let mut set = JoinSet::new();
                    for crumb in crumbs {
                        set.spawn(crumb);
                    }
                    let mut sum = 0;
                    // The rest is cancelled.
                    for _ in 0..n / 2 {
                        sum += set.join_next().await.map_or(0, |n| n.unwrap_or(1));
                    }
                    sum
                })
            }
            10 => {
                let mut crumbs = self.crumbs(2).into_iter();
                Box::pin(async move {
                    let local = crumbs.next().map(spawn_local);
                    crumbs.for_each(|crumb| spawn_detached(async move { _ = crumb.await }));
                    match local {
                        Some(local) => local.result().await.unwrap_or(1),
                        None => n,
                    }
                })
            }
            11 => {
                let wakes = self.wakes.lock().unwrap().clone();
                let mut left = n;
                Box::pin(poll_fn(move |cx| {
                    if left == 0 {
                        return Poll::Ready(n);
                    }
                    left -= 1;
                    // That thread ends after the last task.
                    wakes.send(cx.waker().clone()).unwrap();
                    Poll::Pending
                }))
            }
            _ => {
                let children: Vec<_> = (0..choice.below(4))
                    .map(|_| (choice.below(64) as usize, self.task(choice, depth - 1)))
                    .collect();
                let round = Arc::downgrade(self);
                Box::pin(async move {
                    let mut sum = 0;
                    for (how, child) in children {
                        let Some(handle) = round.upgrade().map(|round| round.spawn(how, child))
                        else {
                            return sum;
                        };
                        let result = handle.result().await;
                        if let Some(round) = round.upgrade() {
                            round.count(&result);
                        }
                        sum += result.unwrap_or(1);
                    }
                    sum
                })
            }
        }
    }

    /// Tasks that borrow from this thread.
    pub(crate) fn borrow(&self, n: u64) {
        let done = AtomicU64::new(0);
        self.executor.scope(|scope| {
            for _ in 0..n {
                let guard = self.guard();
                let done = &done;
                // Without its handle it runs on.
                drop(scope.spawn(async move {
                    let _guard = guard;
                    yield_now().await;
                    done.fetch_add(1, Relaxed);
                }));
            }
        });
        assert_eq!(done.into_inner(), n);
    }

    /// Does something with a handle, its own or another's.
    pub(crate) fn dispose(self: &Arc<Self>, handle: JoinHandle<u64>, choice: &mut Choice) {
        match choice.below(6) {
            0 => handle.detach(),
            1 => drop(handle),
            2 => {
                handle.abort();
                handle.detach();
            }
            3 => {
                handle.abort();
                let result = block_on(handle.result());
                self.count(&result);
            }
            _ => self.handles.lock().unwrap().push(handle),
        }
    }
}
