//! Tasks: a task is a future on the heap, or in memory of your own. Its executor decides where and
//! when it runs, and it can be joined through a handle.
//!
//! This layer is for authors of executors. [`spawn`] takes a future and a schedule function. It
//! returns the [`Runnable`], to be queued and run, and the [`JoinHandle`], by which the output is
//! awaited. The task knows no executor. Each time that it is woken while idle, it calls the
//! schedule function with its next runnable.
//!
//! # Promises
//! * A task takes one allocation (a large one [two or three](#memory)). A runnable is one word, a
//!   handle three.
//! * No operation waits for another thread. Each is a bounded number of atomic instructions,
//!   apart from the allocator and the user code that it calls. There are four exceptions, which
//!   are lock-free only: [`JoinHandle::abort`], [`Runnable::raw_abort`], dropping the
//!   [`JoinHandle`] of a task that has not ended, and waking a task that has billions of
//!   unconsumed wake-ups (thousands [where a task has fewer wakers](#limits)).
//! * Spawn, run, join and drop take one atomic read-modify-write in total, or four if another
//!   task awaited the handle before the end.
//! * The future and the output are each dropped exactly once (but see [`spawn_local`]). The
//!   future is dropped on the thread that runs or drops the runnable, before the join sees the end
//!   of the task.
//! * An idle task without a handle or a waker is scheduled once more, so that its executor drops
//!   it. If the end of a run leaves the task so, that run drops it.
//! * Waking a task while it runs, however often, runs it once more.
//! * A task that wakes itself takes no atomic operation but one load (see below).
//!
//! # A task that wakes itself
//! To run again, a future can wake its own task during a poll and return `Pending`, as a yield
//! and a [refused operation][budget] do. The executor then gets the same runnable back, and
//! [`Waker::wake_by_ref`](core::task::Waker::wake_by_ref) and the end of the run take no atomic
//! read-modify-write. If the task was also woken from elsewhere since its last run, the end of the
//! run takes one. This needs the feature `std`, for a thread-local. Without it, and for a
//! wake-up by another thread, or by code of a task that is polled inside of this poll, the wake-up
//! takes one, and the end of the run another.
//!
//! # Memory
//! A task's allocation is freed with the last of its handle, its runnable, its wakers and abort
//! handles, which may be long after its end: whatever it has waited for may keep its waker. A
//! future of more than 16 KiB therefore has an allocation of its own, which is freed as soon as the
//! future has been dropped. So has an output of more than 16 KiB, which is freed when the output is
//! taken or dropped. A task in a [`TaskPool`] keeps everything in its slot.
//!
//! # An executor in thirty lines
//! It needs a queue, a loop that runs the queued tasks, and a way to sleep. A task knows only the
//! schedule function.
//!
//! ```
//! use joint::task::{self, JoinHandle, Runnable};
//! use std::collections::VecDeque;
//! use std::sync::{Arc, Condvar, Mutex};
//!
//! #[derive(Default)]
//! struct Queue {
//!     // `None` once the executor has gone: a runnable that is dropped cancels its task.
//!     runnables: Mutex<Option<VecDeque<Runnable>>>,
//!     pushed: Condvar,
//! }
//!
//! impl Queue {
//!     fn push(&self, runnable: Runnable) {
//!         if let Some(queue) = &mut *self.runnables.lock().unwrap() {
//!             queue.push_back(runnable);
//!             self.pushed.notify_one();
//!         }
//!     }
//!
//!     fn work(&self) {
//!         loop {
//!             let mut runnables = self.runnables.lock().unwrap();
//!             let runnable = loop {
//!                 let Some(queue) = &mut *runnables else { return };
//!                 match queue.pop_front() {
//!                     Some(runnable) => break runnable,
//!                     None => runnables = self.pushed.wait(runnables).unwrap(),
//!                 }
//!             };
//!             drop(runnables);
//!             runnable.run();
//!         }
//!     }
//! }
//!
//! #[track_caller]
//! fn spawn<T: Send + 'static>(
//!     queue: &Arc<Queue>,
//!     future: impl Future<Output = T> + Send + 'static,
//! ) -> JoinHandle<T> {
//!     let push = { let queue = queue.clone(); move |runnable| queue.push(runnable) };
//!     let (runnable, handle) = task::spawn(future, push);
//!     runnable.schedule();
//!     handle
//! }
//!
//! let runnables = Mutex::new(Some(VecDeque::new()));
//! let queue = Arc::new(Queue { runnables, ..Queue::default() });
//! let start = |queue: Arc<Queue>| std::thread::spawn(move || queue.work());
//! let workers = [queue.clone(), queue.clone()].map(start);
//! let first = spawn(&queue, async { 40 });
//! let second = spawn(&queue, async { first.await + 2 });
//! assert_eq!(joint::block_on(second), 42);
//!
//! // What is left is dropped outside of the lock: a future's drop may wake another task.
//! let left = queue.runnables.lock().unwrap().take();
//! drop(left);
//! queue.pushed.notify_all();
//! workers.map(|worker| worker.join().unwrap());
//! ```
//!
//! With `#[track_caller]` on a `spawn` of your own, and on each function between it and this
//! module's, errors, `Debug` and hooks say where the user has called it. The attribute does not
//! reach through a closure. There, take [`Location::caller`](core::panic::Location::caller) before,
//! and hand it on by [`Builder::spawned_at`].
//!
//! # An executor that can be shut down
//! The executor above loses sight of a task that waits: only its wakers and its handle refer to it.
//! If it is never woken, it is never dropped, and a task that awaits it waits forever. To cancel
//! such tasks at its end the executor keeps their addresses. [`Schedule`] has two more functions
//! for that: `pending` is called when a task begins to wait, and `ended` when its future has been
//! dropped. [`Runnable::raw_abort`] turns the address of a waiting task into its runnable.
//!
//! This executor also queues a task that yields without calling the schedule function
//! ([`Runnable::poll`]), gives each poll a [budget], and hides its metadata from its users
//! ([`JoinHandle::without_metadata`]). The package `joint-executor` is built by these means, and
//! uses no others.
//!
//! Its drop waits for its threads, so it must not be dropped inside one of its own tasks.
//!
//! ```
//! use joint::JoinError;
//! use joint::task::{
//!     Builder, EndedTask, JoinHandle, PendingTask, Polled, Schedule, ScheduleInfo, TaskEnd,
//! };
//! use joint::waker::budget;
//! use std::collections::{HashSet, VecDeque};
//! use std::ptr::NonNull;
//! use std::sync::{Arc, Condvar, Mutex};
//! use std::thread;
//!
//! type Runnable = joint::task::Runnable<Owner>;
//!
//! /// The metadata of each task: the executor that it belongs to.
//! struct Owner(Arc<Shared>);
//!
//! struct Shared {
//!     /// `None` once the executor is closed.
//!     queue: Mutex<Option<VecDeque<Runnable>>>,
//!     pushed: Condvar,
//!     waiting: Mutex<HashSet<Address>>,
//! }
//!
//! /// The address of a task that has waited. It owns nothing.
//! #[derive(PartialEq, Eq, Hash)]
//! struct Address(NonNull<()>);
//!
//! // SAFETY: it is followed only under the lock that keeps its task alive.
//! unsafe impl Send for Address {}
//!
//! #[derive(Clone, Copy)]
//! struct Push;
//!
//! impl Schedule<Owner> for Push {
//!     fn schedule(&self, runnable: Runnable, _: ScheduleInfo) {
//!         let shared = runnable.metadata().0.clone();
//!         shared.push(runnable);
//!     }
//!
//!     fn pending(&self, task: &PendingTask<'_, Owner>) {
//!         let waiting = &task.metadata().0.waiting;
//!         waiting.lock().unwrap().insert(Address(task.as_ptr()));
//!     }
//!
//!     fn ended(&self, task: &EndedTask<'_, Owner>, _: TaskEnd) {
//!         let waiting = &task.metadata().0.waiting;
//!         waiting.lock().unwrap().remove(&Address(task.as_ptr()));
//!     }
//! }
//!
//! impl Shared {
//!     fn push(&self, runnable: Runnable) {
//!         if let Some(queue) = &mut *self.queue.lock().unwrap() {
//!             queue.push_back(runnable);
//!             self.pushed.notify_one();
//!         }
//!         // If the executor is closed, the runnable is dropped here, which cancels the task.
//!     }
//!
//!     fn next(&self) -> Option<Runnable> {
//!         let mut queue = self.queue.lock().unwrap();
//!         loop {
//!             match queue.as_mut()?.pop_front() {
//!                 Some(runnable) => return Some(runnable),
//!                 None => queue = self.pushed.wait(queue).unwrap(),
//!             }
//!         }
//!     }
//!
//!     fn work(&self) {
//!         while let Some(runnable) = self.next() {
//!             budget::refill();
//!             match runnable.poll() {
//!                 Polled::Pending | Polled::Ended(None) => {}
//!                 Polled::Woken(runnable) => self.push(runnable),
//!                 Polled::Ended(Some(waiter)) => waiter.wake(),
//!             }
//!         }
//!     }
//! }
//!
//! struct Executor {
//!     shared: Arc<Shared>,
//!     workers: Vec<thread::JoinHandle<()>>,
//! }
//!
//! impl Executor {
//!     fn new(workers: usize) -> Self {
//!         let shared = Arc::new(Shared {
//!             queue: Mutex::new(Some(VecDeque::new())),
//!             pushed: Condvar::new(),
//!             waiting: Mutex::new(HashSet::new()),
//!         });
//!         let start = |_| {
//!             let shared = shared.clone();
//!             thread::spawn(move || shared.work())
//!         };
//!         let workers = (0..workers).map(start).collect();
//!         Self { shared, workers }
//!     }
//!
//!     #[track_caller]
//!     fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
//!     where
//!         F: Future + Send + 'static,
//!         F::Output: Send + 'static,
//!     {
//!         let builder = Builder::new().metadata(Owner(self.shared.clone()));
//!         let (runnable, handle) = builder.spawn(|_| future, Push);
//!         self.shared.push(runnable);
//!         handle.without_metadata()
//!     }
//! }
//!
//! impl Drop for Executor {
//!     fn drop(&mut self) {
//!         // 1. No task is queued any more.
//!         let queued = self.shared.queue.lock().unwrap().take();
//!         drop(queued);
//!         // 2. No task is polled any more, so none begins to wait.
//!         self.shared.pushed.notify_all();
//!         self.workers.drain(..).for_each(|worker| worker.join().unwrap());
//!         // 3. No task waits any more. A task that another thread has just woken yields no
//!         // runnable here: that thread finds the executor closed, and cancels the task.
//!         let waiting = self.shared.waiting.lock().unwrap();
//!         // SAFETY: the task has called `pending`, and cannot return from `ended` while the lock
//!         // is held.
//!         let abort = |task: &Address| unsafe { Runnable::raw_abort(task.0) };
//!         let aborted: Vec<Runnable> = waiting.iter().filter_map(abort).collect();
//!         // Dropped without the lock, which `ended` takes.
//!         drop(waiting);
//!         drop(aborted);
//!     }
//! }
//!
//! let executor = Executor::new(2);
//! let sum = executor.spawn(async { 40 });
//! let sum = executor.spawn(async { sum.await + 2 });
//! assert_eq!(joint::block_on(sum), 42);
//! let waiting = executor.spawn(std::future::pending::<()>());
//! drop(executor);
//! assert!(matches!(joint::block_on(waiting.result()), Err(JoinError::Cancelled)));
//! ```
//!
//! # Timers and priorities
//! This executor has a queue for each of two priorities, and timers, which its workers serve. Which
//! queue a task goes to is part of its metadata. Tasks of high priority run first, but not always,
//! because the others would starve while there are enough of them.
//!
//! A worker that has nothing to run waits for a change of the state or for the earliest timer. Both
//! mistakes that are likely here lose a wake-up. A timer may become the earliest while a worker
//! waits for a later one, or for none, so arming it is a change of which a worker must be told. And
//! a timer that is armed after the executor has closed is served by nobody, so a future that finds
//! the executor closed wakes its task at once. The push that follows refuses the task, and cancels
//! it.
//!
//! A task that waits for anything but a timer is cancelled at the end as in the executor above.
//!
//! ```
//! use joint::task::{Builder, JoinHandle, Schedule, ScheduleInfo};
//! use std::collections::{BTreeMap, VecDeque};
//! use std::mem;
//! use std::pin::Pin;
//! use std::sync::{Arc, Condvar, Mutex, MutexGuard};
//! use std::task::{Context, Poll, Waker};
//! use std::thread;
//! use std::time::{Duration, Instant};
//!
//! type Runnable = joint::task::Runnable<Owner>;
//!
//! /// The metadata of each task: its priority, 0 being the higher one, and its executor.
//! struct Owner(usize, Arc<Shared>);
//!
//! #[derive(Default)]
//! struct Shared {
//!     state: Mutex<State>,
//!     changed: Condvar,
//! }
//!
//! #[derive(Default)]
//! struct State {
//!     is_closed: bool,
//!     queues: [VecDeque<Runnable>; 2],
//!     /// The number of tasks of high priority that were taken in a row.
//!     urgent: usize,
//!     timers: BTreeMap<(Instant, usize), Waker>,
//!     /// The number of timers that were made.
//!     made: usize,
//! }
//!
//! impl State {
//!     /// Takes a task: one of high priority, but at most 8 of them in a row.
//!     fn take(&mut self) -> Option<Runnable> {
//!         let [high, normal] = &mut self.queues;
//!         let next = match self.urgent {
//!             0..8 => high.pop_front(),
//!             _ => None,
//!         };
//!         self.urgent = next.as_ref().map_or(0, |_| self.urgent + 1);
//!         next.or_else(|| normal.pop_front()).or_else(|| high.pop_front())
//!     }
//!
//!     fn take_due(&mut self) -> Vec<Waker> {
//!         let later = self.timers.split_off(&(Instant::now(), 0));
//!         mem::replace(&mut self.timers, later).into_values().collect()
//!     }
//! }
//!
//! #[derive(Clone, Copy)]
//! struct Push;
//!
//! impl Schedule<Owner> for Push {
//!     fn schedule(&self, runnable: Runnable, _: ScheduleInfo) {
//!         let shared = runnable.metadata().1.clone();
//!         shared.push(runnable);
//!     }
//! }
//!
//! impl Shared {
//!     fn push(&self, runnable: Runnable) {
//!         let mut state = self.state.lock().unwrap();
//!         if !state.is_closed {
//!             state.queues[runnable.metadata().0].push_back(runnable);
//!             self.changed.notify_one();
//!         } else {
//!             // Without the lock: a future's drop may wake another task.
//!             drop(state);
//!             drop(runnable);
//!         }
//!     }
//!
//!     fn work(&self) {
//!         let mut state = self.state.lock().unwrap();
//!         while !state.is_closed {
//!             let due = state.take_due();
//!             if !due.is_empty() {
//!                 drop(state);
//!                 due.into_iter().for_each(Waker::wake);
//!                 state = self.state.lock().unwrap();
//!             } else if let Some(runnable) = state.take() {
//!                 drop(state);
//!                 runnable.run();
//!                 state = self.state.lock().unwrap();
//!             } else {
//!                 state = self.wait(state);
//!             }
//!         }
//!     }
//!
//!     /// Waits for a change, or until the earliest timer is due.
//!     fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
//!         match state.timers.first_key_value() {
//!             None => self.changed.wait(state).unwrap(),
//!             Some((&(deadline, _), _)) => {
//!                 let left = deadline.saturating_duration_since(Instant::now());
//!                 self.changed.wait_timeout(state, left).unwrap().0
//!             }
//!         }
//!     }
//!
//!     fn close(&self) {
//!         let mut state = self.state.lock().unwrap();
//!         state.is_closed = true;
//!         let left = mem::take(&mut state.queues);
//!         let timers = mem::take(&mut state.timers);
//!         self.changed.notify_all();
//!         drop(state);
//!         drop(left);
//!         // Each wake-up finds the executor closed, and cancels its task.
//!         timers.into_values().for_each(Waker::wake);
//!     }
//! }
//!
//! struct Sleep {
//!     shared: Arc<Shared>,
//!     key: (Instant, usize),
//! }
//!
//! impl Sleep {
//!     fn new(shared: &Arc<Shared>, time: Duration) -> Self {
//!         let mut state = shared.state.lock().unwrap();
//!         state.made += 1;
//!         let key = (Instant::now() + time, state.made);
//!         let shared = shared.clone();
//!         Self { shared, key }
//!     }
//! }
//!
//! impl Future for Sleep {
//!     type Output = ();
//!
//!     fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
//!         let waker = cx.waker().clone();
//!         let mut state = self.shared.state.lock().unwrap();
//!         if Instant::now() >= self.key.0 {
//!             return Poll::Ready(());
//!         }
//!         if state.is_closed {
//!             drop(state);
//!             waker.wake();
//!             return Poll::Pending;
//!         }
//!         let before = state.timers.insert(self.key, waker);
//!         // A worker may wait for a later timer, or for none.
//!         self.shared.changed.notify_one();
//!         drop(state);
//!         drop(before);
//!         Poll::Pending
//!     }
//! }
//!
//! impl Drop for Sleep {
//!     fn drop(&mut self) {
//!         let waker = self.shared.state.lock().unwrap().timers.remove(&self.key);
//!         // Without the lock: the drop of a task's last waker may schedule the task.
//!         drop(waker);
//!     }
//! }
//!
//! #[track_caller]
//! fn spawn<F>(shared: &Arc<Shared>, priority: usize, future: F) -> JoinHandle<F::Output>
//! where
//!     F: Future<Output: Send + 'static> + Send + 'static,
//! {
//!     let builder = Builder::new().metadata(Owner(priority, shared.clone()));
//!     let (runnable, handle) = builder.spawn(|_| future, Push);
//!     shared.push(runnable);
//!     handle.without_metadata()
//! }
//!
//! let shared = Arc::new(Shared::default());
//! let workers = [(); 2].map(|()| {
//!     let shared = shared.clone();
//!     thread::spawn(move || shared.work())
//! });
//! let sleep = Sleep::new(&shared, Duration::from_millis(1));
//! let urgent = spawn(&shared, 0, async { sleep.await; 42 });
//! assert_eq!(joint::block_on(urgent), 42);
//! let asleep = spawn(&shared, 1, Sleep::new(&shared, Duration::from_secs(3600)));
//! shared.close();
//! workers.map(|worker| worker.join().unwrap());
//! assert!(joint::block_on(asleep.result()).unwrap_err().is_cancelled());
//! ```
//!
//! # Without an allocator
//! A [`TaskPool`] is memory for tasks, usually a `static`. It needs neither the feature `std` nor
//! `alloc`. Everything else is as for tasks on the heap. This executor for a microcontroller keeps
//! its queue in the tasks themselves, by their [`Link`]:
//!
//! ```
//! use joint::task::{Full, Runnable, TaskPool};
//! use std::ptr::{self, NonNull};
//! use std::sync::atomic::{AtomicPtr, Ordering::{Acquire, Relaxed, Release}};
//!
//! /// The tasks that are due, the newest first.
//! static DUE: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
//! /// Room for 4 tasks of up to 256 bytes each.
//! static TASKS: TaskPool<256, 4> = TaskPool::new();
//!
//! /// Called by wakers, and so also in interrupts.
//! fn schedule(runnable: Runnable) {
//!     let raw = runnable.into_raw();
//!     let mut top = DUE.load(Relaxed);
//!     loop {
//!         // SAFETY: it is not in the queue yet.
//!         unsafe { Runnable::<()>::raw_link(raw) }.set(top, Relaxed);
//!         match DUE.compare_exchange(top, raw.as_ptr(), Release, Relaxed) {
//!             Ok(_) => return,
//!             Err(now) => top = now,
//!         }
//!     }
//! }
//!
//! /// Runs the tasks that are due, and returns whether there were any.
//! fn run() -> bool {
//!     let mut next = NonNull::new(DUE.swap(ptr::null_mut(), Acquire));
//!     let any = next.is_some();
//!     while let Some(raw) = next {
//!         // SAFETY: `schedule` put it into the queue, from which only this takes it.
//!         let runnable: Runnable = unsafe { Runnable::from_raw(raw) };
//!         next = NonNull::new(runnable.link().get(Relaxed));
//!         runnable.run();
//!     }
//!     any
//! }
//!
//! fn spawn<F>(future: F) -> Result<(), Full<F>>
//! where
//!     F: Future<Output: Send> + Send + 'static,
//! {
//!     TASKS.spawn_detached(future, schedule).map(Runnable::schedule)
//! }
//!
//! async fn blink(times: u32) {
//!     println!("blinks {times} times");
//! }
//!
//! spawn(blink(3)).unwrap();
//! spawn(blink(5)).unwrap();
//! while run() {} // then `wfi`, and again
//! ```
//! `tools/compat/thumbv7em` in the repository has it with timers, for a Cortex-M4.
//!
//! # In models
//! With loom's mutex and threads, these executors and their tasks can be model-checked
//! ([how](crate#in-your-own-models)). The folder `loom-tests/tests/guide` in the repository
//! contains the three for threads, their models, and mistakes that the models catch. Lesson 9 in
//! `verify/course/lessons` shows how to read what loom reports about a lost wake-up.
//!
//! # Panics and re-entrance
//! All user code that a task calls may panic, and may use the task:
//!
//! | source of the panic | outcome |
//! |---|---|
//! | polling the future | it becomes the result of the task, or passes through [`Runnable::run`], depending on [`Builder::propagate_panic`]. The future is dropped while the panic unwinds, so its destructor sees `std::thread::panicking()`, and a lock in it is poisoned |
//! | dropping the future | it becomes the result of the task, unless the poll has panicked before |
//! | dropping the output | it is caught if the handle, or the run of a task without a handle, drops the output. Code that has awaited the output owns it, and its panic |
//! | the schedule function | it passes through the wake-up, `schedule`, `run` or cancellation that called the function. The function's runnable is dropped, which cancels the task |
//! | [`Schedule::pending`], [`Schedule::ended`], a function of `set_on_panic` | it ends the program, because the task could be neither woken nor joined after it |
//! | cloning the waker of the waiter | it passes through the poll of the handle, and nothing has changed |
//! | waking that waker | it passes through the run or the drop of the runnable. The task has ended |
//! | dropping that waker | it passes through the poll that replaces the waker, or the drop of the handle. Everything else is done by then |
//! | dropping the metadata, the schedule function or a value that is [attached](Runnable::attach) | it passes through the drop of the last reference. The memory is freed |
//! | dropping a value because of another panic | it ends the program |
//!
//! A future may drop or await its own handle, may wake itself while it is polled or dropped, and
//! may outlive the executor that ran it. The schedule function may drop the handle or waker whose
//! use has called it. `pending` and `ended` may wake, abort and detach the task, drop its handle
//! and its last waker, and run other tasks.
//!
//! # References to a task
//! Each of these refers to a task, and can be the last that does. Its drop then drops the metadata,
//! the schedule function and the name, on its own thread:
//! * the [`Runnable`], also in a [`Polled`] or as an [address](Runnable::into_raw);
//! * the [`JoinHandle`], also as a [`Fallible`] or [`JoinResult`];
//! * each [`AbortHandle`], which calls the schedule function too;
//! * each [`Waker`](core::task::Waker) of the task, which calls it too, and each
//!   [`ThinWaker`](crate::waker::ThinWaker).
//!
//! Abort handles and wakers may be sent to any thread, and safe code makes them: an abort handle
//! from the handle, wakers in each poll. A [`PendingTask`], [`EndedTask`] or [`TaskView`] borrows
//! the task, and is no reference to it.
//!
//! # Limits
//! A task has at most 2^27 wakers at a time (134,217,728), including clones, or 2^13 (8,192) where
//! the machine has no atomics of 64 bits. One more ends the program with a message, because wakers
//! are counted in a word, and an overflow would free a task that is still in use. The number of
//! wake-ups has no limit. All wake-ups between two runs together cause one run.
//!
//! A task is built from small parts, each with its own proof: the state word in `state.rs`, the
//! allocation and the rules of access in `cell.rs`, and the join word in
//! [`completion`](crate::completion).
//!
#![cfg_attr(feature = "std", doc = "[budget]: crate::waker::budget")]
#![cfg_attr(not(feature = "std"), doc = "[budget]: crate#features")]
#![cfg_attr(not(feature = "std"), doc = "[`spawn_local`]: crate#features")]

mod abort;
mod apart;
mod builder;
mod cell;
#[cfg(feature = "std")]
mod current;
mod error;
mod handle;
mod header;
#[cfg(feature = "alloc")]
mod id;
mod join;
mod link;
#[cfg(feature = "std")]
mod local;
mod name;
#[cfg(not(feature = "alloc"))]
mod no_alloc;
#[cfg(not(feature = "std"))]
mod no_std;
#[cfg(feature = "std")]
mod on_panic;
#[cfg(feature = "alloc")]
mod payload;
#[cfg(feature = "std")]
mod polled;
mod runnable;
mod schedule;
#[cfg(feature = "alloc")]
mod spawn;
mod state;
mod storage;
mod unwind;
mod view;

// What has another body without a feature.
#[cfg(not(feature = "alloc"))]
use self::no_alloc::{Origin, Payload, message_of};
#[cfg(all(feature = "alloc", not(feature = "std")))]
use self::no_std::on_panic;
#[cfg(not(feature = "std"))]
use self::no_std::polled;
#[cfg(feature = "alloc")]
use self::{
    id::Origin,
    payload::{Payload, message_of},
};

#[cfg(not(feature = "alloc"))]
pub use self::no_alloc::PanicPayload;
pub use self::{
    abort::AbortHandle,
    builder::Builder,
    error::JoinError,
    handle::JoinHandle,
    join::{Fallible, JoinResult},
    link::Link,
    runnable::{Polled, Runnable},
    schedule::{Copied, Schedule, ScheduleInfo, WithInfo},
    storage::{FreeSlot, Full, TaskPool, TaskStorage},
    view::{EndedTask, PendingTask, TaskEnd, TaskView},
};
#[cfg(feature = "std")]
pub use self::{
    current::{id, set_panic_hook, try_id, with_current, without_current},
    on_panic::{OnPanic, set_on_panic},
    spawn::spawn_local,
};
#[cfg(feature = "alloc")]
pub use self::{
    id::Id,
    payload::PanicPayload,
    spawn::{spawn, spawn_detached, spawn_unchecked},
};
