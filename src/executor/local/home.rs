//! [`Home`]: what belongs to one local executor, and its loop.
//!
//! All of it is its thread's alone, but the inbox. Its address is in the schedule functions of its
//! tasks. It outlives their use: who calls one has a task that is not finished, and the executor's
//! end waits until all are.
//!
//! Order of work: tasks run first in, first out. The main future, once woken, takes its turn as a
//! task would that was put behind all that were due. What other threads have woken is looked at
//! every [`INBOX_INTERVAL`] runs, and when nothing else is due.

use core::{
    cell::Cell,
    future::Future,
    marker::PhantomData,
    ops::Deref,
    panic::Location,
    pin::pin,
    ptr::{self, NonNull},
    task::{Context, Poll},
};
use std::collections::VecDeque;

use crossbeam_utils::CachePadded;

use super::{
    LocalMetrics,
    driver::Driver,
    inbox::Inbox,
    register::{Register, Registered},
};
use crate::{
    executor::guard::guarded,
    sync::{Retire, UnsafeCell, heap, thread::ThreadId, thread_local},
    task::{Builder, Copied, JoinHandle, Runnable, Schedule, ScheduleInfo, this_thread},
    waker::{ThinWaker, budget, park::Busy},
};

/// How many tasks run between two looks at what other threads have woken. Prime, so that it falls
/// in step with no pattern of work.
pub(super) const INBOX_INTERVAL: usize = 61;

/// What belongs to one local executor.
pub(in crate::executor) struct Home {
    thread: ThreadId,
    queue: Queue,
    register: Register,
    driver: Driver,
    /// A `block_on` or a `run` is under way.
    is_driven: Cell<bool>,
    /// A push will be seen without waking anybody.
    is_awake: Cell<bool>,
    /// A task is being run.
    is_running: Cell<bool>,
    spawned: Cell<u64>,
    polls: Cell<u64>,
    parks: Cell<u64>,
    /// Apart, as other threads write it.
    inbox: CachePadded<Inbox>,
}

thread_local! {
    static CURRENT: Cell<*const Home> = const { Cell::new(ptr::null()) };
}

/// Calls `f` with the local executor that this thread is running.
#[inline]
pub(in crate::executor) fn with_current<R>(f: impl FnOnce(Option<&Home>) -> R) -> R {
    let current = CURRENT.with(Cell::get);
    // SAFETY: set by `Home::enter` for the time of a call on that value, and reset before it ends.
    f(unsafe { current.as_ref() })
}

/// Runs `f` as if this thread were running no local executor.
pub(in crate::executor) fn without_current<R>(f: impl FnOnce() -> R) -> R {
    CURRENT.with(|current| {
        let _outer = Restore::set(current, ptr::null());
        f()
    })
}

/// The runnables that are due, for one thread.
struct Queue(UnsafeCell<VecDeque<Runnable>>);

impl Queue {
    /// `f` calls nothing that leads back here.
    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut VecDeque<Runnable>) -> R) -> R {
        // SAFETY: the queue stays on its thread, and no two uses overlap.
        self.0.with_mut(|queue| f(unsafe { &mut *queue }))
    }

    #[inline]
    fn push(&self, runnable: Runnable) {
        self.with(|queue| queue.push_back(runnable));
    }

    #[inline]
    fn pop(&self) -> Option<Runnable> {
        self.with(VecDeque::pop_front)
    }

    #[inline]
    fn len(&self) -> usize {
        self.with(|queue| queue.len())
    }
}

/// A home's address in its tasks' schedule functions.
#[derive(Clone, Copy)]
struct Address(*const Home);

// SAFETY: `schedule` uses the parts that may be shared, and the others on their own thread alone.
unsafe impl Send for Address {}
// SAFETY: as for `Send`.
unsafe impl Sync for Address {}

impl Schedule for Address {
    #[inline]
    fn schedule(&self, runnable: Runnable, _: ScheduleInfo) {
        // SAFETY: there is a runnable, so the task is not finished, and the home is alive. The
        // field is never written.
        let thread = unsafe { (*self.0).thread };
        if thread == this_thread() {
            // SAFETY: alive as above, and this is its thread.
            return unsafe { &*self.0 }.push(runnable);
        }
        // SAFETY: alive as above; nothing is read.
        let inbox = unsafe { &raw const (*self.0).inbox };
        // SAFETY: alive until the owner has the runnable. A `CachePadded` starts with what it pads.
        unsafe { Inbox::push(inbox.cast(), runnable) };
    }
}

/// Puts a cell back to what it was, also on unwind.
struct Restore<'a, T: Copy>(&'a Cell<T>, T);

impl<'a, T: Copy> Restore<'a, T> {
    fn set(cell: &'a Cell<T>, to: T) -> Self {
        Self(cell, cell.replace(to))
    }
}

impl<T: Copy> Drop for Restore<'_, T> {
    fn drop(&mut self) {
        self.0.set(self.1);
    }
}

/// A home at an address that its tasks know. It stays on its thread, and ends its tasks when it is
/// dropped.
pub(super) struct Owned(NonNull<Home>, PhantomData<*mut ()>);

impl Owned {
    pub(super) fn new() -> Self {
        let home = heap::allocate();
        // SAFETY: the block is fresh and ours.
        unsafe { home.write(Home::new()) };
        Self(home, PhantomData)
    }
}

impl Deref for Owned {
    type Target = Home;

    fn deref(&self) -> &Home {
        // SAFETY: alive until `self` is dropped.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.close();
        // SAFETY: all tasks have ended, so that nobody else can reach it.
        let home = unsafe { self.0.as_mut() };
        home.inbox.retire();
        // SAFETY: ours alone, initialised, and not used after this.
        unsafe { self.0.drop_in_place() };
        // SAFETY: allocated in `new` as a `Home`.
        unsafe { heap::release(self.0) };
    }
}

impl Home {
    fn new() -> Self {
        Self {
            thread: this_thread(),
            queue: Queue(UnsafeCell::new(VecDeque::new())),
            register: Register::new(),
            driver: Driver::new(),
            is_driven: Cell::new(false),
            is_awake: Cell::new(false),
            is_running: Cell::new(false),
            spawned: Cell::new(0),
            polls: Cell::new(0),
            parks: Cell::new(0),
            inbox: CachePadded::new(Inbox::new()),
        }
    }

    pub(super) fn register(&self) -> &Register {
        &self.register
    }

    pub(super) fn metrics(&self) -> LocalMetrics {
        LocalMetrics {
            spawned: self.spawned.get(),
            polls: self.polls.get(),
            parks: self.parks.get(),
        }
    }

    /// Whether all tasks have ended.
    pub(super) fn is_empty(&self) -> bool {
        // A task whose first poll is under way is neither queued nor entered.
        self.due() == 0 && self.register.is_empty() && !self.is_running.get()
    }

    pub(in crate::executor) fn spawn<F>(
        &self,
        spawned: &'static Location<'static>,
        future: F,
    ) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let schedule = Copied(Address(self));
        let builder = Builder::spawned_at(spawned);
        // SAFETY: the runnables are run and dropped on this thread alone: the schedule function
        // hands them to this home, which stays here, and which ends only when there can be no more.
        // An output that may not be sent is in the hands of this thread's runs, and of a handle
        // that is not sent. All else may be sent and shared, and lives as long as it likes.
        let (runnable, handle) =
            unsafe { builder.spawn_unchecked(|()| Registered::new(future), schedule) };
        self.spawned.set(self.spawned.get() + 1);
        self.push(runnable);
        handle
    }

    /// Queues a runnable, on the home thread.
    #[inline]
    fn push(&self, runnable: Runnable) {
        self.queue.push(runnable);
        if !self.is_awake.get() {
            self.rouse();
        }
    }

    /// Wakes whoever drives this and sleeps.
    #[cold]
    fn rouse(&self) {
        if let Some(waker) = self.rise() {
            waker.wake();
        }
    }

    /// Takes back the waker that is in the inbox, or what was pushed.
    pub(super) fn rise(&self) -> Option<ThinWaker> {
        self.inbox.rise(|runnable| self.queue.push(runnable))
    }

    #[inline]
    fn take_inbox(&self) {
        self.inbox.take(|runnable| self.queue.push(runnable));
    }

    /// Leaves a waker for whoever pushes next; gives it back when somebody has.
    pub(super) fn sleep_as(&self, waker: ThinWaker) -> Result<(), ThinWaker> {
        self.inbox.sleep(waker)
    }

    /// Makes this the current executor of its thread.
    fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        CURRENT.with(|current| {
            let _outer = Restore::set(current, &raw const *self);
            let _budget = budget::Outer::keep();
            f()
        })
    }

    /// As the current executor, and awake.
    pub(super) fn drive<R>(&self, f: impl FnOnce() -> R) -> R {
        let _asleep = Restore::set(&self.is_awake, true);
        self.enter(f)
    }

    /// Claims the executor for one who drives it.
    pub(super) fn claim(&self) {
        assert!(
            !self.is_driven.replace(true),
            "a `LocalExecutor` is driven by one `block_on` or `run` at a time, and another has not ended: inside of it, spawn and \
             await tasks instead"
        );
    }

    pub(super) fn unclaim(&self) {
        self.is_driven.set(false);
    }

    /// How many tasks are due.
    #[inline]
    pub(super) fn due(&self) -> usize {
        self.queue.len()
    }

    /// Runs as many tasks as are due, up to `turns` and up to the next look at the inbox, and tells
    /// how many.
    pub(super) fn run_some(&self, turns: usize) -> usize {
        let turns = turns.min(INBOX_INTERVAL);
        self.take_inbox();
        for ran in 0..turns {
            let Some(runnable) = self.queue.pop() else {
                return ran;
            };
            self.run(runnable);
        }
        turns
    }

    #[inline]
    fn run(&self, runnable: Runnable) {
        self.polls.set(self.polls.get() + 1);
        let outer = Restore::set(&self.is_running, true);
        budget::begin();
        let (again, waiter) = runnable.run_in_executor();
        drop(outer);
        if let Some(runnable) = again {
            self.queue.push(runnable);
        }
        if let Some(waiter) = waiter {
            guarded(|| waiter.wake());
        }
    }

    pub(super) fn try_tick(&self) -> bool {
        if self.due() == 0 || self.polls.get() % INBOX_INTERVAL as u64 == 0 {
            self.take_inbox();
        }
        let Some(runnable) = self.queue.pop() else {
            return false;
        };
        self.enter(|| self.run(runnable));
        true
    }

    pub(super) fn block_on<F: Future>(&self, future: F) -> F::Output {
        struct Claimed<'a>(&'a Home);
        impl Drop for Claimed<'_> {
            fn drop(&mut self) {
                self.0.unclaim();
            }
        }
        self.claim();
        let _claimed = Claimed(self);
        self.drive(|| self.drive_main(future))
    }

    fn drive_main<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        let waker = self.driver.lent_waker();
        let mut cx = Context::from_waker(&waker);
        self.driver.wake();
        let mut busy = Busy::new();
        loop {
            if self.driver.take_wake() {
                budget::begin();
                if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                    return output;
                }
            }
            // What is woken meanwhile waits for the next round: so the main future has its turn
            // after all that was due.
            self.take_inbox();
            let mut left = self.due();
            while left > 0 && self.due() > 0 {
                let ran = self.run_some(left);
                left -= ran;
                busy.turns(ran);
            }
            busy.turns(1);
            if self.due() == 0 {
                self.sleep();
            }
        }
    }

    /// Sleeps until the main future is woken or something was pushed: by another thread, or, on a
    /// worker that attends to its driver meanwhile, by this one.
    fn sleep(&self) {
        if self.driver.is_woken() || self.sleep_as(self.driver.waker()).is_err() {
            return;
        }
        if self.driver.park(|| self.due() > 0) {
            self.parks.set(self.parks.get() + 1);
        }
        // The main future may have been woken alone, and then the waker is still there.
        drop(self.rise());
    }

    /// Cancels all tasks, and waits for those that other threads are waking.
    fn close(&self) {
        self.drive(|| {
            self.register.wake_all();
            loop {
                drop(self.rise());
                while let Some(runnable) = self.queue.pop() {
                    guarded(|| drop(runnable));
                }
                if self.register.is_empty() {
                    return;
                }
                if self.sleep_as(self.driver.waker()).is_ok() {
                    self.driver.park(|| self.due() > 0);
                    self.driver.take_wake();
                }
            }
        });
    }
}
