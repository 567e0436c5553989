//! [`Pool`]: threads for functions that block. They start when there is work for them, and exit
//! when there has been none for a while.
//!
//! Whenever the lock is free, each function in the queue has a thread of its own that will fetch it
//! (`queue.len() <= free`), with three exceptions: a thread is being started, which starts the next
//! one after it has arrived; the number of threads is at its limit; or the system has refused to
//! start a thread since the last push. In each of these cases some thread will check the queue
//! again. The only case without such a thread is a refusal that leaves no thread at all. The thread
//! that was refused finds this case, under the lock, and ends every task in the queue, whether its
//! own or another thread's.

use alloc::{borrow::ToOwned, boxed::Box, collections::VecDeque, string::String, sync::Arc};
use core::{cell::Cell, mem, time::Duration};
use std::{
    io,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use crate::{
    guard::guarded,
    policy::{KEPT_IDLE, MANY},
    process::Process,
    threads, who,
};
use joint::task::Runnable;
use joint_switch::thread;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The largest number of threads.
    pub(crate) most: usize,
    /// The time for which an idle thread waits for work.
    pub(crate) keep: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            most: MANY,
            keep: KEPT_IDLE,
        }
    }
}

pub(crate) struct Pool {
    /// The process that the threads are in.
    process: Process,
    limits: Limits,
    state: Mutex<State>,
    /// Signalled when a function is queued. Idle threads wait on it.
    pushed: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Runnable>,
    /// All threads, including one that is being started.
    threads: usize,
    /// The number of idle threads. Each one checks the queue before it waits.
    free: usize,
    /// Whether a thread is being started. Only one is started at a time, because if functions are
    /// short, the existing threads finish them before many more threads have arrived.
    starting: bool,
    /// Whether threads exit as soon as they are idle.
    is_closed: bool,
}

impl Pool {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            process: Process::current(),
            limits,
            state: Mutex::default(),
            pushed: Condvar::new(),
        })
    }

    /// Ends the idle threads, and from now on each thread that becomes idle. Functions that are
    /// queued, or pushed later, still run.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.pushed.notify_all();
    }

    /// Returns whether the threads are in this process, and not in a process from which it was
    /// forked.
    pub(crate) fn is_here(&self) -> bool {
        self.process.is_current()
    }

    /// Queues a runnable for a thread. If there is no thread and the system refuses to start one,
    /// the runnable is [refused](check).
    pub(crate) fn push(self: &Arc<Self>, runnable: Runnable) {
        let mut state = self.lock();
        state.queue.push_back(runnable);
        if state.queue.len() <= state.free {
            drop(state);
            self.pushed.notify_one();
        } else {
            self.grow(state);
        }
    }

    /// Starts a thread if the queue needs one.
    fn grow(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        if state.queue.len() <= state.free || state.starting || state.threads >= self.limits.most {
            return;
        }
        state.starting = true;
        state.threads += 1;
        state.free += 1;
        drop(state);
        let thread = thread::Builder::new().name("joint-blocking".to_owned());
        let own = self.clone();
        if let Err(error) = threads::start(thread, Box::new(|| own.work())) {
            self.do_without(&error);
        }
    }

    /// Undoes the start of a thread that the system has refused.
    #[cold]
    fn do_without(&self, error: &io::Error) {
        let mut state = self.lock();
        state.starting = false;
        state.threads -= 1;
        state.free -= 1;
        if state.threads != 0 {
            return;
        }
        let nobodys = mem::take(&mut state.queue);
        drop(state);
        for runnable in nobodys {
            REFUSED.set(Some(error.to_string()));
            // Not as code of whoever was refused.
            who::apart(|| run(runnable));
            // A function that was cancelled before is dropped without a call of `check`.
            REFUSED.take();
        }
    }

    fn work(self: Arc<Self>) {
        let mut state = self.lock();
        state.starting = false;
        let mut is_new = true;
        loop {
            if let Some(runnable) = state.queue.pop_front() {
                state.free -= 1;
                match mem::take(&mut is_new) {
                    true => self.grow(state),
                    false => drop(state),
                }
                run(runnable);
                state = self.lock();
                state.free += 1;
                continue;
            }
            let mut is_over = state.is_closed;
            if !is_over {
                let waited = self.pushed.wait_timeout(state, self.limits.keep);
                let (locked, result) = waited.unwrap_or_else(PoisonError::into_inner);
                state = locked;
                is_over = result.timed_out() && state.queue.is_empty();
            }
            if is_over {
                state.free -= 1;
                state.threads -= 1;
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a runnable. The function's own panic becomes the result of its task, so a panic that gets
/// out is that of the waiter's waker.
fn run(runnable: Runnable) {
    guarded(|| _ = runnable.run());
}

std::thread_local! {
    /// The reason why the function to be called next has no thread of its own.
    static REFUSED: Cell<Option<String>> = const { Cell::new(None) };
}

/// Checks that the function has a thread. The task must call this first.
///
/// # Panics
/// If there is no thread for the function, and a thread that must not block runs it.
pub(crate) fn check() {
    // A thread whose thread-locals are gone is not in the pool, and was not refused anything.
    if let Ok(Some(error)) = REFUSED.try_with(Cell::take) {
        panic!(
            "there is no thread for `spawn_blocking`, and the system refuses to start one: {error}"
        );
    }
}

// Miri asks that no thread is left at the end of the program.
#[cfg(all(test, not(miri)))]
mod tests {
    use alloc::sync::Arc;
    use core::{future::Future, pin::Pin, task::Context, time::Duration};
    use std::{sync::Barrier, thread};

    use super::{Limits, Pool, State};
    use crate::wakes::waker_that;
    use joint::{
        park::block_on,
        task::{self, JoinHandle},
    };

    const FOR_LONG: Duration = Duration::from_secs(3600);

    fn wait_until(pool: &Pool, is_so: impl Fn(&State) -> bool) {
        while !is_so(&pool.lock()) {
            thread::yield_now();
        }
    }

    fn pool(most: usize, keep: Duration) -> Arc<Pool> {
        Pool::new(Limits { most, keep })
    }

    fn push<F>(pool: &Arc<Pool>, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let (runnable, handle) = task::spawn(future, |_| unreachable!("the task never waits"));
        pool.push(runnable);
        handle
    }

    #[test]
    fn an_idle_thread_rechecks_the_queue_before_it_exits() {
        let pool = pool(1, Duration::from_millis(20));
        let (runnable, task) = task::spawn(async { 7 }, |_| unreachable!("the task never waits"));
        let mut runnable = Some(runnable);
        while runnable.is_some() {
            block_on(push(&pool, async {}));
            wait_until(&pool, |state| state.threads == 0 || state.free != 0);
            let mut state = pool.lock();
            // It waits, and no push wakes it: it finds the task when its time is over.
            if state.free == 1 {
                state.queue.extend(runnable.take());
            }
        }
        wait_until(&pool, |state| state.threads == 0 || task.is_finished());
        assert!(
            task.is_finished(),
            "the thread has ended without running the task"
        );
        assert_eq!(block_on(task), 7);
    }

    #[test]
    fn a_waker_that_panics_costs_no_thread() {
        let pool = pool(1, FOR_LONG);
        let registered = Arc::new(Barrier::new(2));
        let there = registered.clone();
        let mut task = push(&pool, async move { there.wait().is_leader() });
        let waker = waker_that(|| panic!("in the waker"));
        let mut cx = Context::from_waker(&waker);
        assert!(Pin::new(&mut task).poll(&mut cx).is_pending());
        registered.wait();
        assert_eq!(block_on(push(&pool, async { 5 })), 5);
        assert!(task.is_finished());
    }
}
