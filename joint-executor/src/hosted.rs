//! Hosted workers: an executor without threads, whose workers its owner drives.
//!
//! [`Builder::build_hosted`] gives an executor and its workers as values. Tasks, timers,
//! descriptors and everything else work as in any executor; only the threads are yours. A game runs
//! tasks on its main thread between two frames, a web worker or a job server becomes a worker for
//! some time, and threads that exist already need not be started again. If you only want to start
//! the threads yourself, [`Builder::spawn_thread`] is simpler.
//!
//! | you want to | do |
//! |---|---|
//! | make a thread of yours a worker, until the executor ends | [`HostedWorker::run`] |
//! | run a worker now and then | [`HostedWorker::bind`], then [`BoundWorker::step`] |
//! | block the thread while the worker has nothing to do | [`BoundWorker::wait`] |
//! | run a future, with tasks, timers and descriptors, on this thread alone | [`Builder::build_current_thread`], then [`BoundWorker::block_on`] |
//! | move a worker to another thread between two steps | [`BoundWorker::unbind`] |
//! | choose which task runs next, and as which worker | [choose the tasks](#choosing-the-tasks) |
//! | stand in for the global executor, `spawn_blocking` and the network | [`Host`], [`enter`] |
//! | set what time it is, and how a thread waits | the thread's [`joint::host`] |
//! | set how long a turn is | [`budget::refill_to`] |
//!
//! # Steps
//! A step runs up to a number of tasks by the executor's own [policy](super#fairness), and
//! [says](Step) what the worker waits for. Once a step has returned
//! [`Step::Idle`], the executor treats the worker as asleep, so a thread that queues a task for it
//! wakes the waker of its last step.
//!
//! Between two steps a worker that is not idle is like one that is in a long poll. Other workers
//! take over its tasks, but not those that are [pinned](Executor::spawn_on) to it, and not its
//! local ones. A worker does not watch the others while nobody steps it, so a step steals at once
//! from any worker that has tasks queued.
//!
//! ```
//! use joint_executor::{Executor, hosted::Step};
//! use std::task::Waker;
//!
//! let (executor, workers) = Executor::builder().workers(1).build_hosted()?;
//! let mut worker = workers.into_iter().next().unwrap().bind();
//! let task = executor.spawn(async { 6 * 7 });
//! assert_eq!(worker.step(10, Waker::noop()), Step::Idle);
//! assert_eq!(joint_executor::block_on(task), 42);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Threads
//! A [`HostedWorker`] can be sent to any thread. Tasks of [`spawn_local`]
//! cannot. So a worker is first bound to the thread that steps it. A [`BoundWorker`] stays there,
//! until it is unbound, which is refused while it may have local tasks.
//!
//! One thread can have several workers, of one executor or of several, and step them in turn. A
//! task of one worker can step another one. The first worker's executor treats that as a blocking
//! call. A thread is a worker only during a step. Between two steps, use [`Executor::spawn`],
//! [`Executor::enter`] or [`BoundWorker::enter`] to reach the executor.
//!
//! # On the threads of a pool
//! A worker can be a work item of a thread pool that others own, such as that of Windows. The call
//! binds the worker, steps it with a waker that submits the item again, and unbinds it. Then it
//! submits the item at once ([`Step::Ready`]), by a timer of the pool ([`Step::Until`]), or not at
//! all ([`Step::Idle`]). So tasks that sleep occupy no thread, and the pool's own timers wake them.
//! The example `thread_pool` in the repository does that with `TrySubmitThreadpoolCallback` and
//! `SetThreadpoolTimer` of Windows, and with a thread for each call on other systems. Tasks of
//! [`spawn_local`] cannot be used there, because the next call may be on another thread.
//!
//! # The end
//! The drop of the [`Executor`] closes it, and does not wait for hosted workers, because the
//! calling thread may be the one that drives them. From then on a worker begins no poll, and
//! [`step`](BoundWorker::step) or [`run`](HostedWorker::run) drops what is left. The last worker to
//! end drops what nobody owns. [`Executor::shutdown_timeout`] does wait, for workers that run on
//! other threads.
//!
//! Dropping or [ending](BoundWorker::end) a worker early closes the executor, because otherwise the
//! tasks pinned to that worker would wait forever. The worker drops its own tasks at once, and does
//! not wait for the other workers. If the hook [`on_wake`] does it for a task
//! that is pinned to the worker, this task is dropped after the hook. A poll that is blocked on
//! another worker is resolved as the [drop of an executor](Executor#dropping) says.
//!
//! In the child of a `fork`, leave the workers alone: [forget](core::mem::forget) them.
//!
//! # Choosing the tasks
//! An owner that decides by itself what runs, such as a replay or a test, builds its executor
//! by [`Builder::build_scheduled`]. It then never steps a worker. Instead it takes all that is
//! queued, by [`take_queued`](BoundWorker::take_queued) and
//! [`take_injected`](BoundWorker::take_injected), in the order in which it was queued, and runs one
//! task after the other by [`run_task`](BoundWorker::run_task). It serves the timers too, by
//! [`next_deadline`](BoundWorker::next_deadline) and [`take_due`](BoundWorker::take_due). Such an
//! executor has no other source of order: with the same decisions, the same tasks run in the same
//! order, wherever their memory lies. That holds as long as all threads that use the executor take
//! turns.
//!
//! ```
//! use joint_executor::{Executor, hosted::ReadyTask};
//! use joint::budget;
//! use std::collections::VecDeque;
//!
//! let (executor, workers) = Executor::builder().workers(1).build_scheduled()?;
//! let worker = workers.into_iter().next().unwrap().bind();
//! let last = executor.spawn(async { 6 * 7 });
//! let other = executor.spawn(async {});
//!
//! let mut queue: VecDeque<ReadyTask> = VecDeque::new();
//! worker.take_injected(|task| queue.push_back(task));
//! // This owner runs the newest task first.
//! while let Some(task) = queue.pop_back() {
//!     budget::refill();
//!     queue.extend(worker.run_task(task));
//!     worker.take_queued(|task| queue.push_back(task));
//!     assert!(other.is_finished());
//! }
//! assert_eq!(joint_executor::block_on(last), 42);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! [`Builder::build_current_thread`]: super::Builder::build_current_thread
//! [`Builder::build_hosted`]: super::Builder::build_hosted
//! [`Builder::build_scheduled`]: super::Builder::build_scheduled
//! [`on_wake`]: super::Builder::on_wake
//! [`Builder::spawn_thread`]: super::Builder::spawn_thread
//!
//! # Cost
//! The functions that spawn, wake and run first look up the worker of the calling thread. Only if
//! there is none do they pay for this module: one more read of a thread-local where the global
//! executor would be used, where an executor is built or shut down, where a function is passed to
//! `spawn_blocking`, and where a thread that is not a worker uses an
//! executor.

use alloc::{boxed::Box, rc::Rc, sync::Arc, vec::Vec};
use core::{
    cell::Cell,
    fmt,
    future::{Future, poll_fn},
    marker::PhantomData,
    mem::{self, ManuallyDrop},
    num::NonZeroUsize,
    ops::Deref,
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};
use std::time::Instant;

use super::driver::{
    clock::{self, NEVER},
    timers::Fired,
};
use super::{
    Executor,
    guard::with_value,
    policy::TURN,
    spawn_local,
    threads::{OnThread, Thread},
    who,
    worker::{
        Worker,
        end::dispose,
        lent::{Kept, pinned_to},
        shared::{Runnable, Shared},
    },
};
use joint::{budget, task::Id};

mod host;
#[cfg(feature = "io")]
mod socket;

pub use self::host::{Entered, Host, NamedWait, Shutdown, Unwind, WaitChange, enter, may_unwind};
pub(super) use self::host::{check_place, host};
#[cfg(feature = "io")]
pub use self::socket::{Socket, SocketKind, StreamOptions};
#[cfg(feature = "dump")]
pub use super::dump::note_wait;
pub use super::worker::stepped::Step;

/// A worker of an executor whose owner drives it. See [hosted workers](self).
///
/// It belongs to no thread yet. [`run`](HostedWorker::run) it on one until the executor ends, or
/// [`bind`](HostedWorker::bind) it to one, to drive it step by step.
///
/// Dropping it [ends its executor](self#the-end).
#[must_use = "its executor ends if it is dropped"]
pub struct HostedWorker {
    /// Dropped by the drop, unless a call of it is on the stack.
    worker: ManuallyDrop<Box<Worker>>,
    /// The number of calls of this worker that are on the stack.
    depth: Cell<usize>,
    /// Dropped once the worker has ended.
    thread: Cell<Option<OnThread>>,
}

/// A [`HostedWorker`] that is bound to this thread. It is driven step by step, or runs the tasks
/// that its owner chooses.
///
/// Dropping it [ends its executor](self#the-end).
#[derive(Debug)]
#[must_use = "its executor ends if it is dropped"]
pub struct BoundWorker {
    own: HostedWorker,
    /// Its local tasks must stay on this thread, so it is not `Send`.
    thread: PhantomData<*mut ()>,
}

impl HostedWorker {
    pub(super) fn new(worker: Worker) -> (Self, Thread) {
        let (on_thread, thread) = Thread::new();
        let own = Self {
            worker: ManuallyDrop::new(Box::new(worker)),
            depth: Cell::new(0),
            thread: Cell::new(Some(on_thread)),
        };
        (own, thread)
    }

    /// Returns the index of the worker, from 0.
    pub fn index(&self) -> usize {
        self.worker.index()
    }

    /// Returns the id of its executor.
    pub fn executor(&self) -> ExecutorId {
        ExecutorId::of(self.shared())
    }

    pub(super) fn shared(&self) -> &Shared {
        self.worker.shared()
    }

    /// Does all that a worker's thread does: runs tasks and sleeps, until the executor has ended.
    ///
    /// # Example
    /// ```
    /// use std::thread;
    ///
    /// let (executor, workers) = joint_executor::Executor::builder().workers(2).build_hosted()?;
    /// let threads = workers.into_iter().map(|worker| thread::spawn(|| worker.run()));
    /// let threads: Vec<_> = threads.collect();
    /// assert_eq!(joint_executor::block_on(executor.spawn(async { 6 * 7 })), 42);
    /// drop(executor);
    /// threads.into_iter().for_each(|thread| thread.join().unwrap());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn run(self) {
        self.is_here(true);
        apart(|| self.worker.run_to_end());
    }

    /// Binds the worker to this thread.
    ///
    /// The first time this calls the hook
    /// [`on_thread_start`](super::Builder::on_thread_start).
    pub fn bind(self) -> BoundWorker {
        self.is_here(true);
        apart(|| self.worker.begin_here());
        BoundWorker {
            own: self,
            thread: PhantomData,
        }
    }
}

impl Deref for BoundWorker {
    type Target = HostedWorker;

    fn deref(&self) -> &HostedWorker {
        &self.own
    }
}

impl BoundWorker {
    /// Runs up to `most` tasks, and says what the worker waits for. A `most` of 0 counts as 1.
    ///
    /// If nothing is left to run, the worker goes to sleep. From then on until the next call for
    /// this worker, a thread that queues something for it wakes `waker`, in the middle of that
    /// push. The waker may do anything, but it should do little. Its panic is caught. An owner that
    /// steps the worker regularly anyway passes [`Waker::noop`].
    #[inline]
    pub fn step(&mut self, most: usize, waker: &Waker) -> Step {
        let step = (self.own).inside(|| apart(|| self.own.worker.step(most, waker)));
        if step == Step::Ended {
            self.own.thread.take();
        }
        step
    }

    /// Blocks this thread until the worker has something to do, or until `limit` has passed. It may
    /// return early for no reason. Call it after a step that was not [`Ready`](Step::Ready).
    ///
    /// If no other worker does, it waits for timers and descriptors meanwhile, and wakes their
    /// tasks.
    ///
    /// # Example
    /// ```
    /// use joint_executor::{Executor, hosted::Step};
    /// use std::{task::Waker, time::Duration};
    ///
    /// let (executor, workers) = Executor::builder().workers(1).build_hosted()?;
    /// let mut worker = workers.into_iter().next().unwrap().bind();
    /// let task = executor.spawn(joint_executor::time::sleep(Duration::from_millis(1)));
    /// while !task.is_finished() {
    ///     worker.step(16, Waker::noop());
    ///     if !task.is_finished() {
    ///         worker.wait(None);
    ///     }
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[inline]
    pub fn wait(&mut self, limit: Option<Duration>) {
        (self.own).inside(|| apart(|| self.own.worker.wait_here(limit)));
    }

    /// Runs a future to its end on this thread, and the executor's tasks meanwhile. While nothing
    /// is due, the thread waits for timers, descriptors and wake-ups. If it needs none of the first
    /// two, a [`LocalExecutor`](crate::LocalExecutor) costs a twentieth for each turn of the
    /// future.
    ///
    /// The future is not a task, and need be neither `Send` nor `'static`. Code of the future is
    /// code of this worker alone, as in [`enter`](Self::enter): [`spawn_local`] works, and timers
    /// and descriptors are served on this thread. It has its turn after at most 32 runs of tasks.
    /// The tasks that are left when it ends run on in the next step or call.
    ///
    /// # Panics
    /// If the future's poll panics. If the executor is shut down meanwhile.
    ///
    /// # Example
    /// ```
    /// use std::{rc::Rc, time::Duration};
    /// use joint_executor::{Executor, spawn_local, time};
    ///
    /// let (_executor, mut worker) = Executor::builder().build_current_thread()?;
    /// let answer = Rc::new(42);
    /// let sum = worker.block_on(async {
    ///     let answer = answer.clone();
    ///     let later = spawn_local(async move {
    ///         time::sleep(Duration::from_millis(1)).await;
    ///         *answer
    ///     });
    ///     later.await
    /// });
    /// assert_eq!(sum, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn block_on<F: Future>(&mut self, future: F) -> F::Output {
        // The future's waker is that of a task of this worker. To run that task is to give the
        // future its turn.
        let turn = Rc::new(Cell::new(None));
        let _turns = self.enter(|| {
            let turn = turn.clone();
            spawn_local(poll_fn(move |cx| {
                turn.set(Some(cx.waker().clone()));
                Poll::<()>::Pending
            }))
        });
        let mut future = pin!(future);
        loop {
            let step = self.step(TURN as usize, Waker::noop());
            match (step, turn.take()) {
                (Step::Ended, _) => panic!(
                    "the executor was shut down while its worker was in `block_on`; keep it alive \
                     as long as the future runs"
                ),
                (_, Some(waker)) => {
                    let poll = || {
                        budget::refill();
                        future.as_mut().poll(&mut Context::from_waker(&waker))
                    };
                    if let Poll::Ready(output) = self.enter(poll) {
                        return output;
                    }
                }
                (Step::Ready, None) => {}
                (Step::Idle | Step::Until(_), None) => self.wait(None),
            }
        }
    }

    /// Calls `f` as code of this worker alone: [`spawn`](crate::spawn) pushes to its queue,
    /// [`spawn_local`] works, and timers and descriptors are those of its executor. If this is
    /// called inside a task, `f` sees neither that task, nor its [`TaskLocal`](crate::TaskLocal)
    /// values, nor a [`LocalExecutor`](crate::LocalExecutor) that runs it. A panic of `f` passes
    /// through. If `f` blocks the thread in a wait of this crate, timers and descriptors are served
    /// meanwhile, as in a task.
    ///
    /// Step the worker afterwards, unless the last step has ended it. It then is as if it were in
    /// no executor.
    pub fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        match self.own.has_ended() {
            true => apart(f),
            false => self.own.inside(|| self.own.worker.enter(f)),
        }
    }

    /// Unbinds the worker from this thread.
    ///
    /// # Errors
    /// Returns the worker unchanged if it may have local tasks: if one was ever spawned on it, and
    /// tasks that are pinned to it have not ended. Step it until they have. Also if a [`ReadyTask`]
    /// is left that is pinned to it.
    pub fn unbind(self) -> Result<HostedWorker, Self> {
        let lent = &self.own.worker.lent;
        match lent.may_have_local(self.index()) || lent.count() > 0 {
            false => {
                self.own.is_here(false);
                Ok(self.own)
            }
            true => Err(self),
        }
    }

    /// Ends the executor for this worker, as its drop does. See [the end](self#the-end).
    ///
    /// # Panics
    /// If it is called inside a call of this worker.
    pub fn end(&self) {
        let is_inside = self.own.depth.get() > 0;
        assert!(!is_inside, "a worker cannot end inside its own poll");
        self.own.end_once();
    }
}

/// For owners that [choose the tasks](self#choosing-the-tasks).
impl BoundWorker {
    /// Takes all tasks that this worker has queued, in the order in which it has queued them, but
    /// for two kinds: those of [high priority](crate::Priority::High) come first, and those that
    /// are pinned to it last.
    #[inline]
    pub fn take_queued(&self, mut take: impl FnMut(ReadyTask)) {
        let take = |runnable| take(ReadyTask::new(runnable, &self.own.worker));
        self.own.worker.take_queued(take);
    }

    /// Takes all tasks that were queued from elsewhere, for any worker of the executor, and for
    /// this one. This includes those that `take` queues there.
    ///
    /// See [`Builder::on_push`](super::Builder::on_push) for when to call it.
    pub fn take_injected(&self, mut take: impl FnMut(ReadyTask)) {
        while let Some(runnable) = self.shared().next_injected_for(self.index()) {
            take(ReadyTask::new(runnable, &self.own.worker));
        }
    }

    /// Queues a task again that was taken. If the worker has ended, the task is cancelled instead.
    ///
    /// # Panics
    /// If the task belongs to another executor, or is pinned to another worker.
    #[inline]
    pub fn give_back(&self, mut task: ReadyTask) {
        self.with_task(&mut task, |worker, runnable| worker.give_back(runnable));
    }

    /// Runs a task once. Returns it if it was woken meanwhile: it is ready again, and not queued.
    ///
    /// The caller sets the poll's [budget] before. If the task may block its thread, call this
    /// inside [`enter`](Self::enter), or no timer and no descriptor is served meanwhile. If the
    /// executor is closed, the task is cancelled instead. This may be called inside a poll that
    /// waits, even inside one of the same worker.
    ///
    /// # Panics
    /// If the task belongs to another executor, or is pinned to another worker. A task that has
    /// never waited may run on any worker of any executor, and stays there.
    #[inline]
    pub fn run_task(&self, mut task: ReadyTask) -> Option<ReadyTask> {
        let woken = self.with_task(&mut task, Worker::run_chosen).flatten()?;
        task.keep(self.own.worker.lent.kept_with(&woken));
        task.runnable = Some(woken);
        Some(task)
    }

    /// Cancels a task, and drops its future.
    ///
    /// # Panics
    /// As [`run_task`](Self::run_task).
    #[inline]
    pub fn discard(&self, mut task: ReadyTask) {
        self.with_task(&mut task, Worker::discard_chosen);
    }

    /// Takes the runnable out, and calls `f` with it as code of this worker. If the worker has
    /// ended, leaves it where its drop cancels the task.
    #[inline]
    fn with_task<R>(
        &self,
        task: &mut ReadyTask,
        f: impl FnOnce(&Worker, Runnable) -> R,
    ) -> Option<R> {
        let worker = &**self.own.worker;
        assert!(
            worker.may_run(task.runnable(), &task.kept),
            "a task runs on a worker of its own executor, and a pinned task on its own"
        );
        if self.own.has_ended() {
            return None;
        }
        task.keep(worker.lent.kept());
        let runnable = task.runnable.take()?;
        Some(self.own.act(|worker| f(worker, runnable)))
    }

    /// Closes the executor, and drops all its tasks that are queued or wait, except for those that
    /// are pinned to another worker. Their handles report a cancellation. A poll that blocks may
    /// call this, if what it waits for can only end so.
    pub fn discard_all(&self) {
        if !self.own.has_ended() {
            self.own.act(Worker::discard_all);
        }
    }

    /// Closes the executor: no task begins another poll.
    pub fn close(&self) {
        self.shared().close();
    }

    /// Whether the executor is closed, so that no task begins another poll.
    pub fn is_closed(&self) -> bool {
        self.shared().is_closed()
    }

    /// Returns the earliest deadline of the executor's timers, without those that were given up.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        let next = self.shared().driver.next_deadline(NEVER);
        (next != NEVER).then(|| clock::instant(next))
    }

    /// Removes the executor's timers whose deadline is not after `now`, and appends their wakers.
    pub fn take_due(&self, now: Instant, wakers: &mut Vec<Waker>) {
        let now = clock::nanos(now);
        for timers in self.shared().driver.all_timers() {
            while timers.fire(now, wakers) == Fired::OneBatch {}
        }
    }

    /// Calls `f` with each task of the executor that has waited: its id, its address, which is the
    /// [data](Waker::data) of its wakers, and the address of the object that its end wakes, if it
    /// is awaited. For a report of who waits for whom.
    pub fn each_waiting(&self, mut f: impl FnMut(Id, NonZeroUsize, Option<usize>)) {
        let mut waiting = Vec::new();
        self.shared().registry.each_task(|task| {
            // SAFETY: the registry keeps the task's memory during this call.
            let view = unsafe { Runnable::raw_view(task) };
            waiting.push((view.id(), task.addr(), view.waiter()));
        });
        for (id, address, waiter) in waiting {
            f(id, address, waiter);
        }
    }
}

impl HostedWorker {
    /// Records whether the worker belongs to this thread.
    fn is_here(&self, is_here: bool) {
        let thread = self.thread.take();
        if let Some(thread) = &thread {
            thread.set(is_here);
        }
        self.thread.set(thread);
    }

    fn has_ended(&self) -> bool {
        self.worker.stepping.has_ended.get()
    }

    /// Calls `f`, while this worker cannot be ended.
    #[inline]
    fn inside<R>(&self, f: impl FnOnce() -> R) -> R {
        with_value(&self.depth, self.depth.get() + 1, f)
    }

    /// Calls `f` as code of this worker, which has not ended.
    #[inline]
    fn act<R>(&self, f: impl FnOnce(&Worker) -> R) -> R {
        self.inside(|| self.worker.act(f))
    }

    fn end_once(&self) {
        if !self.has_ended() {
            self.inside(|| apart(|| self.worker.end_here()));
            self.thread.take();
        }
    }
}

impl Drop for HostedWorker {
    fn drop(&mut self) {
        if self.depth.get() > 0 {
            // A poll below this frame has ended the process, which destroys the thread-local that
            // holds the worker. That poll never ends, so the drop does not wait for it, and leaves
            // the worker as it is to the end of the process.
            return mem::forget(self.thread.take());
        }
        self.end_once();
        // SAFETY: the worker is not used after this.
        unsafe { ManuallyDrop::drop(&mut self.worker) };
    }
}

impl fmt::Debug for HostedWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostedWorker")
            .field("index", &self.index())
            .field("has_ended", &self.has_ended())
            .finish_non_exhaustive()
    }
}

/// A task that is ready to run, as [taken](BoundWorker::take_queued) from a worker. It keeps the
/// memory of the worker's executor.
///
/// It may be a local task, so it is neither `Send` nor `Sync`. Run it,
/// [give](BoundWorker::give_back) it back, or [discard](BoundWorker::discard) it. The drop cancels
/// the task, and may come after the end of the worker and of the executor. If it is forgotten, the
/// task never ends.
#[must_use = "dropping it cancels the task"]
pub struct ReadyTask {
    /// `None` only while the task is given up.
    runnable: Option<Runnable>,
    /// Dropped after the runnable, whose drop may use the executor when the executor has ended.
    kept: Kept,
    /// A local task stays on its thread.
    thread: PhantomData<*mut ()>,
}

impl fmt::Debug for ReadyTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReadyTask").field(&self.runnable).finish()
    }
}

impl ReadyTask {
    #[inline]
    fn new(runnable: Runnable, worker: &Worker) -> Self {
        Self {
            kept: worker.lent.kept_with(&runnable).clone(),
            runnable: Some(runnable),
            thread: PhantomData,
        }
    }

    /// Keeps this from now on. It usually does already.
    #[inline]
    fn keep(&mut self, kept: &Kept) {
        if !Arc::ptr_eq(&self.kept, kept) {
            self.kept = kept.clone();
        }
    }

    #[inline]
    fn runnable(&self) -> &Runnable {
        self.runnable.as_ref().expect("not given up")
    }

    /// Returns the task's id.
    #[inline]
    pub fn id(&self) -> Id {
        self.runnable().id()
    }

    /// Returns the task's name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.runnable().name()
    }

    /// Returns a waker of the task.
    pub fn waker(&self) -> Waker {
        self.runnable().waker()
    }

    /// Returns the index of the worker that alone may run the task. `None` means that any worker of
    /// the executor may.
    #[inline]
    pub fn pinned_to(&self) -> Option<usize> {
        pinned_to(self.runnable())
    }
}

impl Drop for ReadyTask {
    #[inline]
    fn drop(&mut self) {
        if let Some(runnable) = self.runnable.take() {
            dispose(&self.kept, runnable);
        }
    }
}

/// Names one executor among those that are alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExecutorId(usize);

impl ExecutorId {
    fn of(shared: *const Shared) -> Self {
        Self(shared.addr())
    }
}

impl Executor {
    /// Returns the id of the executor, which its [workers](self) have too.
    pub fn id(&self) -> ExecutorId {
        ExecutorId::of(&raw const *self.shared)
    }
}

/// Returns the instant from which the timers of all executors count. Their deadlines are not told
/// apart if they are earlier, so an owner that sets the time sets none before this.
pub fn epoch() -> Instant {
    clock::base()
}

/// Calls `f` as if this thread were in no task, no executor and no worker. A [`Host`] that it has
/// entered stays.
///
/// A worker that is stepped does that by itself. It is for owners that run code of other tasks
/// inside a poll, such as one that waits there.
pub fn apart<R>(f: impl FnOnce() -> R) -> R {
    who::apart(f)
}
