//! [`LocalState`]: everything that belongs to one local executor, and its loop.
//!
//! Only its own thread uses it, except for the inbox. Its tasks that wait know its address by their
//! entries in the register. It outlives every use of the address: a thread that schedules a task
//! has a task that is not finished, and the executor's end waits until all tasks are.
//!
//! Order of work: tasks run first in, first out. Once the main future is woken, it takes its turn
//! like a task that was queued behind all tasks that were due. Tasks that other threads have woken
//! are fetched every [`TURN`] runs, and when nothing else is due.

use core::{
    cell::Cell,
    future::Future,
    marker::PhantomData,
    mem,
    ops::Deref,
    panic::Location,
    pin::pin,
    ptr::{self, NonNull},
    task::{Context, Poll},
};

use std::collections::VecDeque;

use super::{
    inbox::Inbox,
    register::{Entry, Register, Runnable},
};
use crate::{
    guard::{guarded, with_value},
    padded::CachePadded,
    policy::{MOST_NESTED, TURN},
    who::{self, Starter},
};
use joint::{
    budget,
    park::{Parked, Parker, Turns, park_until},
    task::{Builder, EndedTask, JoinHandle, PendingTask, Polled, Schedule, ScheduleInfo, TaskEnd},
    waker::ThinWaker,
};
use joint_switch::{Retire, UnsafeCell, fence, heap, order, this_thread, thread::ThreadId};

pub(crate) struct LocalState {
    thread: ThreadId,
    queue: Queue,
    register: Register,
    parker: Parker,
    /// Whether a `block_on` or a `run` is under way.
    is_driven: Cell<bool>,
    /// Whether a push will be noticed without waking any thread.
    is_awake: Cell<bool>,
    /// Whether a `try_tick` or the start of a task is under way, which alone does not make this
    /// awake: a `run` may be asleep.
    is_ticking: Cell<bool>,
    /// Whether the executor is being dropped.
    is_closed: Cell<bool>,
    /// The number of tasks that have not ended.
    alive: Cell<usize>,
    /// The number of calls of `try_tick`.
    ticks: Cell<usize>,
    /// The tasks that other threads have pushed. Padded, because those threads write it.
    pub(super) inbox: CachePadded<Inbox<Entry>>,
}

/// The runnables that are due. It stays on its thread.
struct Queue(UnsafeCell<VecDeque<Runnable>>);

impl Queue {
    /// `f` must not call anything that leads back here.
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
}

/// Where a new task is polled for the first time.
#[derive(Clone, Copy)]
pub(crate) enum Begin {
    /// Where a queue brings it.
    Queued,
    /// On its spawner's stack.
    Now,
}

/// Calls `f` with the local executor that this thread is running.
#[inline]
pub(crate) fn with_current<R>(f: impl FnOnce(Option<&LocalState>) -> R) -> R {
    // SAFETY: set by `LocalState::enter` during a call on that value, and reset before the call
    // ends.
    f(unsafe { who::local::<LocalState>().as_ref() })
}

/// The tasks' schedule function. It finds the executor by the task's [`Entry`], and takes no
/// memory.
struct Scheduler;

impl Schedule<Entry> for Scheduler {
    #[inline]
    fn schedule(&self, runnable: Runnable, _: ScheduleInfo) {
        // ORDERING: woken. Acquire, with the state word's `idle` through the wake-up: the entry is
        // as the runner has written it.
        fence(order!(woken: Acquire));
        let home = runnable.metadata().home();
        // SAFETY: there is a runnable, so the task is not finished, and the state is alive. The
        // field is never written.
        let thread = unsafe { (*home).thread };
        if thread == this_thread() {
            // SAFETY: the state is alive as above, and this is its thread.
            return unsafe { &*home }.push(runnable);
        }
        // SAFETY: the state is alive as above, and nothing is read here.
        let inbox = unsafe { &raw const (*home).inbox };
        // SAFETY: the inbox is alive until the owner has the runnable. A `CachePadded` starts with
        // what it pads.
        unsafe { Inbox::push(inbox.cast(), runnable) };
    }

    #[inline]
    fn pending(&self, task: &PendingTask<'_, Entry>) {
        if !task.metadata().is_entered() && !task.is_woken() {
            // SAFETY: the runner has lent the task, and it is not in any register yet.
            unsafe { enter(task) };
        }
    }

    #[inline]
    fn ended(&self, task: &EndedTask<'_, Entry>, _: TaskEnd) {
        with_own(|state| {
            state.alive.set(state.alive.get() - 1);
            if task.metadata().is_entered() {
                // SAFETY: the runner calls this, and the task's future is gone.
                unsafe { state.register.strike_off(task.metadata()) };
            }
        });
    }
}

#[inline]
fn builder(spawned: &'static Location<'static>) -> Builder<Entry> {
    Builder::new().spawned_at(spawned).metadata(Entry::none())
}

/// Enters a task that waits for the first time.
///
/// # Safety
/// The caller is the task's runner, and the task is not in any register yet.
#[inline(never)]
unsafe fn enter(task: &PendingTask<'_, Entry>) {
    // SAFETY: by this function's contract.
    with_own(|state| unsafe { state.register.enter(task.as_ptr(), task.metadata(), state) });
}

/// Calls `f` with the executor of the task that this thread has just run or dropped.
#[inline]
fn with_own(f: impl FnOnce(&LocalState)) {
    with_current(|state| f(state.expect("only its own executor runs and drops a task")));
}

pub(super) struct Claim<'a>(&'a LocalState);

impl Drop for Claim<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.is_driven.set(false);
        // Of a `run` that is dropped, the waker may be in the inbox.
        drop(self.0.rise());
    }
}

/// A state at an address that its tasks know. It stays on its thread, and cancels its tasks when it
/// is dropped.
pub(super) struct Owned(NonNull<LocalState>, PhantomData<*mut ()>);

impl Owned {
    #[inline]
    pub(super) fn new() -> Self {
        let state = heap::allocate();
        // SAFETY: the block is fresh and ours.
        unsafe { state.write(LocalState::new()) };
        Self(state, PhantomData)
    }
}

impl Deref for Owned {
    type Target = LocalState;

    fn deref(&self) -> &LocalState {
        // SAFETY: alive until `self` is dropped.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Owned {
    #[inline]
    fn drop(&mut self) {
        if self.is_awake.get() || self.is_ticking.get() {
            // A poll below this frame has ended the process, which destroys the thread-local that
            // holds the executor. That poll's task never ends, so the drop does not wait for it,
            // and leaves all memory to the end of the process.
            return;
        }
        self.close();
        // SAFETY: all tasks have ended, so no other thread can reach it.
        unsafe { self.0.as_mut() }.inbox.retire();
        // SAFETY: the state is ours alone, initialised, and not used after this.
        unsafe { self.0.drop_in_place() };
        // SAFETY: allocated in `new` as a `LocalState`.
        unsafe { heap::release(self.0) };
    }
}

impl LocalState {
    #[inline]
    fn new() -> Self {
        Self {
            thread: this_thread(),
            queue: Queue(UnsafeCell::new(VecDeque::new())),
            register: Register::new(),
            parker: Parker::new(),
            is_driven: Cell::new(false),
            is_awake: Cell::new(false),
            is_ticking: Cell::new(false),
            is_closed: Cell::new(false),
            alive: Cell::new(0),
            ticks: Cell::new(0),
            inbox: CachePadded::new(Inbox::new()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.alive.get() == 0
    }

    #[inline]
    pub(crate) fn spawn<T: 'static>(
        &self,
        spawned: &'static Location<'static>,
        future: impl Future<Output = T> + 'static,
        begin: Begin,
    ) -> JoinHandle<T> {
        // SAFETY: the runnables are run and dropped on this thread alone: the schedule function
        // hands them to this state, which stays here, and which ends only when there can be no more
        // of them. An output that may not be sent is touched only by this thread's runs, and by a
        // handle that is not sent. Everything else may be sent and shared, and may live without
        // limit.
        let (runnable, handle) = unsafe { builder(spawned).spawn_unchecked(|_| future, Scheduler) };
        match begin {
            Begin::Queued => self.launch(runnable),
            Begin::Now => self.start(runnable),
        }
        handle.without_metadata()
    }

    pub(super) fn spawn_detached<F: Future + 'static>(
        &self,
        spawned: &'static Location<'static>,
        future: F,
    ) {
        // SAFETY: as for `spawn`, and there is no handle.
        self.launch(unsafe { builder(spawned).spawn_detached_unchecked(|_| future, Scheduler) });
    }

    #[inline]
    fn launch(&self, runnable: Runnable) {
        self.alive.set(self.alive.get() + 1);
        self.push(runnable);
    }

    /// Polls a new task on this stack, or queues it, if too many starts are nested. While the
    /// executor ends no poll begins, because it would find no task that begins to wait.
    #[inline]
    fn start(&self, runnable: Runnable) {
        self.alive.set(self.alive.get() + 1);
        let mut new = Some(runnable);
        let most = if self.is_closed.get() { 0 } else { MOST_NESTED };
        let polled = with_value(&self.is_ticking, true, || {
            who::as_started(most, Starter::Local(ptr::from_ref(self).cast()), || {
                new.take().map(Runnable::poll)
            })
        });
        match polled.flatten() {
            None | Some(Polled::Pending | Polled::Ended(None)) => {}
            Some(Polled::Woken(runnable)) => new = Some(runnable),
            Some(Polled::Ended(Some(waiter))) => guarded(|| waiter.wake()),
        }
        new.into_iter().for_each(|runnable| self.push(runnable));
    }

    /// Queues a runnable, on the home thread.
    #[inline]
    fn push(&self, runnable: Runnable) {
        self.queue.push(runnable);
        if !self.is_awake.get() {
            self.rouse();
        }
    }

    /// Wakes the task or thread that drives this executor, if it sleeps.
    #[cold]
    fn rouse(&self) {
        if let Some(waker) = self.rise() {
            waker.wake();
        }
    }

    /// Takes back the waker in the inbox, or else what was pushed.
    #[inline]
    pub(super) fn rise(&self) -> Option<ThinWaker> {
        self.inbox.rise(|runnable| self.queue.push(runnable))
    }

    #[inline]
    fn take_inbox(&self) {
        self.inbox.take(|runnable| self.queue.push(runnable));
    }

    fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        who::as_local(&raw const *self, f)
    }

    pub(super) fn drive<R>(&self, f: impl FnOnce() -> R) -> R {
        with_value(&self.is_awake, true, || self.enter(f))
    }

    #[inline]
    pub(super) fn claim(&self) -> Claim<'_> {
        assert!(
            !self.is_driven.replace(true),
            "only one `block_on` or `run` can drive a `LocalExecutor` at a time, and another has \
             not ended; inside of it, spawn and await tasks instead"
        );
        Claim(self)
    }

    #[inline]
    pub(super) fn due(&self) -> usize {
        self.queue.with(|queue| queue.len())
    }

    /// Runs the tasks that are due, up to `turns` and up to the next look at the inbox, and returns
    /// how many it has run.
    #[inline]
    pub(super) fn run_some(&self, turns: usize) -> usize {
        let turns = turns.min(TURN as usize);
        self.take_inbox();
        for ran in 0..turns {
            let Some(runnable) = self.queue.pop() else {
                return ran;
            };
            self.run(runnable);
        }
        turns
    }

    // Always: it has a second caller, and the compiler would not inline it into the loop of
    // `run_some`, which costs 20 instructions for each task.
    #[inline(always)]
    fn run(&self, runnable: Runnable) {
        budget::refill();
        match runnable.poll() {
            Polled::Pending | Polled::Ended(None) => {}
            Polled::Woken(runnable) => self.queue.push(runnable),
            Polled::Ended(Some(waiter)) => guarded(|| waiter.wake()),
        }
    }

    #[inline]
    pub(super) fn try_tick(&self) -> bool {
        let ticks = self.ticks.replace(self.ticks.get().wrapping_add(1));
        if self.due() == 0 || ticks % TURN as usize == 0 {
            self.take_inbox();
        }
        let Some(runnable) = self.queue.pop() else {
            return false;
        };
        with_value(&self.is_ticking, true, || self.enter(|| self.run(runnable)));
        true
    }

    pub(super) fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _claim = self.claim();
        self.drive(|| self.drive_main(future))
    }

    fn drive_main<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        let mut cx = Context::from_waker(self.parker.waker());
        let mut is_first = true;
        let mut turns = Turns::new();
        loop {
            if mem::take(&mut is_first) || self.parker.take_wake() {
                budget::refill();
                if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                    return output;
                }
            }
            // A task that is woken meanwhile waits for the next round, so the main future gets its
            // turn after all tasks that were due.
            self.take_inbox();
            let mut left = self.due();
            while left > 0 && self.due() > 0 {
                let ran = self.run_some(left);
                left -= ran;
                turns.count(ran);
            }
            turns.count(1);
            if self.due() == 0 {
                self.sleep();
            }
        }
    }

    /// Sleeps until the main future is woken or something was pushed: by another thread, or by this
    /// one, if it is a worker that attends to its driver meanwhile.
    #[inline]
    fn sleep(&self) {
        if self.parker.is_woken() || self.inbox.sleep(self.parker.waker().into()).is_err() {
            return;
        }
        self.park();
        // If only the main future was woken, the waker is still in the inbox.
        drop(self.rise());
    }

    /// Parks the thread until there is a wake-up, which is left to be taken, or until something was
    /// pushed by this thread itself, for which no thread unparks it.
    #[inline]
    fn park(&self) -> Parked {
        park_until(None, || self.parker.is_woken() || self.due() > 0)
    }

    /// Cancels all tasks, and waits for wake-ups of them that are under way on other threads.
    #[inline]
    fn close(&self) {
        self.is_closed.set(true);
        self.drive(|| {
            self.register
                .cancel_all(|runnable| self.queue.push(runnable));
            loop {
                drop(self.rise());
                while let Some(runnable) = self.queue.pop() {
                    guarded(|| drop(runnable));
                }
                if self.is_empty() {
                    return;
                }
                if self.inbox.sleep(self.parker.waker().into()).is_ok() {
                    self.park();
                    self.parker.take_wake();
                }
            }
        });
    }
}
