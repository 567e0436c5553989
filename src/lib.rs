//! The lock-free join between a task and whoever waits for it, the task that carries it, and a work-stealing executor built on
//! both.
//!
//! A task finishes on one thread while another starts to wait for it. [`Completion`] settles that race with one atomic word
//! that each side exchanges once: there is no lock, and no state in which one side waits for the other. Everything else stands
//! on it:
//!
//! | module | what it is for |
//! |---|---|
//! | [`completion`] | the word itself: two sides that borrow it, or raw operations for those who embed it |
//! | [`waker`] | [`ThinWaker`](waker::ThinWaker), a waker in one word |
//! | [`oneshot`] | one value from one thread to another, awaited, or waited for with or without a deadline |
//! | [`shared`] | one value for many waiters, which come and go at any time |
//! | [`task`] | [`Runnable`](task::Runnable) and [`JoinHandle`], for authors of executors |
//! | [`executor`] | [`Executor`], [`spawn`], [`TaskBuilder`], [`yield_now`]; [`JoinSet`], [`scope`], [`join()`]; [`LocalExecutor`]; [`TaskLocal`] (feature `std`) |
//! | [`time`] | [`sleep`](time::sleep()), [`Timer`](time::Timer), [`interval`](time::interval()), [`timeout`](time::timeout()) (feature `io`) |
//! | [`io`] | [`AsyncFd`](io::AsyncFd); TCP, UDP, Unix sockets and pipes (feature `io`) |
//!
//! [`block_on`] lets a thread wait for any future (feature `std`).
//!
//! # Example
//! ```
//! # #[cfg(feature = "std")] {
//! let (sender, receiver) = joint::oneshot::channel();
//! let doubled = joint::spawn(async move { receiver.await.map(|n: u32| 2 * n) });
//! sender.send(21).unwrap();
//! assert_eq!(joint::block_on(doubled), Ok(42));
//! # }
//! ```
//!
//! # Waiting
//! A call that blocks the thread says so in its name, and needs the feature `std`. All others are
//! awaited, or return at once.
//!
//! | | [`Waiter`] | [`oneshot::Receiver`] | [`shared::Shared`] |
//! |---|---|---|---|
//! | await | `waiter.await` | `receiver.await` | `shared.await` gives a clone, `wait().await` a reference |
//! | look | `is_finished` | `is_finished`, `try_recv` | `is_finished`, `get`, `try_get` |
//! | block | `blocking_wait` | `blocking_recv` | `blocking_wait` |
//! | block for a time | `blocking_wait_timeout` | `blocking_recv_timeout` | `blocking_wait_timeout` |
//! | block until a time | `blocking_wait_deadline` | `blocking_recv_deadline` | `blocking_wait_deadline` |
//!
//! # In your own models
//! Built with `RUSTFLAGS="--cfg joint_loom"`, the crate runs on [loom](https://docs.rs/loom): its atomics, cells, memory and parked
//! threads take part in `loom::model`, so that an executor of your own on [`task`], or a structure on [`Completion`], can be
//! model-checked as it is. Use them inside a model only, and loom's threads and locks beside them. A [`LocalExecutor`]
//! runs on a thread of the model; [`Executor`] has threads of the system, and is not for models.
//!
//! # Features
//! `std`, on by default: the executor, `block_on`, every blocking wait, and panics of tasks caught. Without it the crate needs
//! `alloc` alone. [`task`] and [`executor`] need atomics of 64 bits.
//!
//! `blocking`, on by default: `spawn_blocking`, on threads of its own.
//!
//! `io`, on by default: [`time`] and [`io`], on a driver of each executor's own.
//!
//! `tracing`: each of the executor's tasks has a span of the crate [tracing](https://docs.rs/tracing), of level debug and target
//! `joint::task`, with the fields `task.name`, `task.kind` (`normal`, `high`, `pinned` or `local`) and `task.spawned`. It is entered
//! whenever the future is polled or dropped, has no parent, and follows from the span that the task was spawned in.
//!
//! `trace`: `Builder::trace` makes an executor keep what its workers do; `Executor::trace` gives it back, to be looked at as it is
//! or in <https://ui.perfetto.dev>.
//!
//! # Systems
//! What a worker with nothing to do waits in, when there is a timer or a descriptor (feature `io`). As long as there are timers alone,
//! that is its own parked thread, with the earliest deadline as its limit; from the first descriptor on, the system's queue of events:
//!
//! | system | source of events | source of time | state |
//! |---|---|---|---|
//! | Linux | `epoll`, edge-triggered; an `eventfd` interrupts it | one `timerfd`, to the nanosecond | tested |
//! | Android | `epoll`, by polling | one `timerfd`, to the nanosecond, by polling | type-checked, where its target is installed |
//! | macOS | `kqueue`, by polling | the limit of `kevent`, to the nanosecond | type-checked |
//! | FreeBSD | `kqueue`, by polling | the limit of `kevent`, to the nanosecond | type-checked |
//! | Windows | I/O completion port, for sockets alone, by polling | the limit of the wait, up to the next millisecond | type-checked |
//!
//! Type-checked, by `cargo xtask portable`, means that nobody has run it there; what goes through the crate
//! [polling](https://docs.rs/polling) is tested on Linux too. Packet pipes, and timers that are descriptors (the example
//! `fizz_buzz`), are Linux's own.
//!
//! On Windows no thread starts or ends while the destructor of a thread-local runs ([why]). Such a
//! destructor hangs there if it drops an `Executor`, which waits for the end of its threads. It
//! also hangs if it waits for a thread that has not started yet: one of `spawn_blocking`, or a
//! worker of the global executor before that was first used.
//!
//! [why]: https://doc.rust-lang.org/std/thread/struct.LocalKey.html#platform-specific-behavior
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(
    not(target_has_atomic = "64"),
    allow(dead_code, reason = "what only `task` uses")
)]

extern crate alloc;

mod sync;

pub mod completion;
#[cfg(all(feature = "std", target_has_atomic = "64"))]
pub mod executor;
#[cfg(all(feature = "io", target_has_atomic = "64"))]
pub mod io;
pub mod oneshot;
pub mod shared;
#[cfg(target_has_atomic = "64")]
pub mod task;
#[cfg(all(feature = "io", target_has_atomic = "64"))]
pub mod time;
pub mod waker;

#[doc(inline)]
pub use crate::completion::{Abandoned, Completer, Completion, Waiter};
#[cfg(all(feature = "blocking", target_has_atomic = "64"))]
#[doc(inline)]
pub use crate::executor::spawn_blocking;
#[cfg(all(feature = "std", target_has_atomic = "64"))]
#[doc(inline)]
pub use crate::executor::{
    Executor, JoinSet, LocalExecutor, Priority, TaskBuilder, TaskLocal, async_scope, join,
    join_async, scope, spawn, spawn_detached, spawn_local, yield_now,
};
#[cfg(target_has_atomic = "64")]
#[doc(inline)]
pub use crate::task::{JoinError, JoinHandle};
#[cfg(feature = "std")]
#[doc(inline)]
pub use crate::waker::park::block_on;

/// What models of the crate need of it. It exists under the model-checking cfg alone, and promises nothing.
#[cfg(joint_loom)]
#[doc(hidden)]
pub mod model {
    pub use crate::sync::model::{
        FencesTakeTurns, Weakened,
        mutants::{Changed, places_seen},
        observe, rmw_count, set_ref_limit, set_wake_limit, sites_seen,
    };

    mod cache;
    pub use cache::Cache;

    /// The executor's queue for what comes from elsewhere.
    #[cfg(feature = "std")]
    #[allow(missing_debug_implementations, reason = "nothing to show")]
    pub struct Inbox(crate::executor::inbox::Inbox<()>);

    #[cfg(feature = "std")]
    #[allow(missing_docs, reason = "forwarded as it is")]
    #[allow(clippy::new_without_default, reason = "forwarded as it is")]
    impl Inbox {
        pub fn new() -> Self {
            Self(crate::executor::inbox::Inbox::new())
        }

        pub fn push(&self, runnable: crate::task::Runnable) {
            self.0.push(runnable);
        }

        pub fn is_empty(&self) -> bool {
            self.0.is_empty()
        }

        pub fn take(&self, most: usize, take: impl FnMut(crate::task::Runnable)) {
            self.0.take(most, take);
        }
    }

    /// One worker's forks, for models with workers of their own. A join waits for a thief without helping.
    #[cfg(feature = "std")]
    #[allow(missing_debug_implementations, reason = "nothing to show")]
    pub struct Forks(crate::executor::fork_join::forks::Forks);

    #[cfg(feature = "std")]
    struct Alone;

    #[cfg(feature = "std")]
    impl crate::executor::fork_join::forks::Surroundings for Alone {
        fn offered(&self) {}

        fn wait(&self, wait: crate::executor::fork_join::job::Wait) -> crate::completion::Ended {
            wait.block()
        }
    }

    #[cfg(feature = "std")]
    #[allow(missing_docs, reason = "forwarded as it is")]
    impl Forks {
        pub fn new(capacity: usize) -> Self {
            Self(crate::executor::fork_join::forks::Forks::new(capacity))
        }

        /// # Safety
        /// Called by one thread, the owner, alone.
        pub unsafe fn join<RA, RB: Send>(
            &self,
            a: impl FnOnce() -> RA,
            b: impl FnOnce() -> RB + Send,
        ) -> (RA, RB) {
            // SAFETY: passed on from the caller.
            unsafe { self.0.join(&Alone, a, b) }
        }

        pub fn has_jobs(&self) -> bool {
            self.0.oldest().is_some()
        }

        /// Marks the oldest, and says whether it was marked already.
        pub fn mark(&self) -> bool {
            self.0.oldest().is_some_and(|index| self.0.mark(index))
        }

        /// Takes the oldest, and hands it to `run` as a function. Whoever does not call that gives it back.
        pub fn steal(&self, run: impl FnOnce(&mut dyn FnMut())) -> bool {
            let Some(taken) = self.0.steal() else {
                return false;
            };
            let mut taken = Some(taken);
            run(&mut || taken.take().expect("run once").run());
            true
        }
    }

    /// Cancels a task by its address, as the executor's register does.
    ///
    /// # Safety
    /// As for the register: the future is not dropped during the call.
    #[cfg(feature = "std")]
    pub unsafe fn abort_raw(raw: core::ptr::NonNull<()>) -> Option<crate::task::Runnable> {
        // SAFETY: passed on from the caller.
        unsafe { crate::task::Runnable::abort_raw(raw) }
    }

    /// The executor's end, for models with queues of their own.
    #[cfg(feature = "std")]
    #[allow(missing_debug_implementations, reason = "nothing to show")]
    pub struct Gate(crate::executor::gate::Gate);

    #[cfg(feature = "std")]
    #[allow(missing_docs, reason = "forwarded as it is")]
    #[allow(clippy::new_without_default, reason = "forwarded as it is")]
    impl Gate {
        pub fn new() -> Self {
            Self(crate::executor::gate::Gate::new())
        }

        pub fn pushed(&self, discard: impl Fn(), is_empty: impl Fn() -> bool) {
            self.0.pushed(discard, is_empty);
        }

        pub fn terminate(&self, discard: impl Fn(), is_empty: impl Fn() -> bool) {
            self.0.terminate(discard, is_empty);
        }
    }

    /// A lock with an owner.
    #[cfg(feature = "std")]
    #[allow(missing_debug_implementations, reason = "nothing to show")]
    pub struct Biased<T>(crate::executor::biased::Biased<T>);

    #[cfg(feature = "std")]
    #[allow(missing_docs, reason = "forwarded as it is")]
    impl<T> Biased<T> {
        pub fn new(value: T) -> Self {
            Self(crate::executor::biased::Biased::new(value))
        }

        /// # Safety
        /// Called by one thread, the owner, alone, and not inside of itself.
        pub unsafe fn enter<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
            // SAFETY: passed on from the caller.
            unsafe { self.0.enter(f) }
        }

        pub fn with_lock<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
            self.0.with_lock(f)
        }
    }

    #[cfg(feature = "std")]
    mod blocked;
    #[cfg(feature = "std")]
    pub use blocked::attend_while_blocked;

    #[cfg(feature = "io")]
    mod driver;
    #[cfg(feature = "io")]
    pub use driver::Driven;

    /// The executor's sleep protocol, for models with queues of their own.
    #[cfg(feature = "std")]
    #[allow(missing_debug_implementations, reason = "nothing to show")]
    pub struct Sleep(crate::executor::sleep::Sleep);

    #[cfg(feature = "std")]
    #[allow(missing_docs, reason = "forwarded as it is")]
    impl Sleep {
        pub fn new(workers: usize) -> Self {
            Self(crate::executor::sleep::Sleep::new(workers, || {}))
        }

        pub fn notify(&self, share: bool) -> bool {
            self.0.notify(share)
        }

        pub fn notify_from_outside(&self, share: bool) {
            self.0.notify_from_outside(share);
        }

        pub fn is_quiet(&self) -> bool {
            self.0.is_quiet()
        }

        pub fn wants_watcher(&self) -> bool {
            self.0.wants_watcher()
        }

        pub fn search(&self) {
            self.0.search();
        }

        pub fn found(&self, has_work: impl Fn() -> bool) {
            self.0.found(has_work);
        }

        /// True: woken; false: it is time to look again, at once or, with the longest limit, never.
        pub fn watch(
            &self,
            worker: usize,
            limit: core::time::Duration,
            urgent: impl Fn() -> bool,
        ) -> bool {
            let watched = self
                .0
                .watch(worker, limit, urgent, crate::executor::sleep::Bed::Thread);
            watched == crate::executor::sleep::Watched::Woken
        }

        pub fn sleep(
            &self,
            worker: usize,
            urgent: impl Fn() -> bool,
            has_work: impl Fn() -> bool,
        ) -> bool {
            self.0.sleep(
                worker,
                urgent,
                has_work,
                crate::executor::sleep::Bed::Thread,
            )
        }

        pub fn wake_worker(&self, worker: usize) {
            self.0.wake_worker(worker);
        }

        pub fn wake_all(&self) {
            self.0.wake_all();
        }
    }

    /// One worker's queue of deadlines.
    #[cfg(feature = "io")]
    #[allow(missing_debug_implementations, reason = "nothing to show")]
    pub struct Timers(crate::executor::driver::timers::Timers);

    /// Which of the timers.
    #[cfg(feature = "io")]
    #[derive(Debug)]
    pub struct TimerKey(crate::executor::driver::timers::Key);

    #[cfg(feature = "io")]
    #[allow(missing_docs, reason = "forwarded as it is")]
    #[allow(clippy::new_without_default, reason = "as the other models' parts")]
    impl Timers {
        pub fn new() -> Self {
            Self(crate::executor::driver::timers::Timers::new())
        }

        pub fn earliest(&self) -> u64 {
            self.0.earliest()
        }

        /// None: closed. True: it is the earliest.
        pub fn insert(&self, deadline: u64, waker: core::task::Waker) -> Option<(TimerKey, bool)> {
            let (key, first) = self.0.insert(deadline, waker).ok()?;
            Some((TimerKey(key), first))
        }

        /// None: closed. True: fired, and the place is given back.
        pub fn poll(&self, key: &TimerKey, waker: &core::task::Waker) -> Option<bool> {
            self.0.poll(&key.0, waker).ok()
        }

        pub fn remove(&self, key: &TimerKey) -> Option<core::task::Waker> {
            self.0.remove(&key.0)
        }

        pub fn fire(&self, now: u64, woken: &mut alloc::vec::Vec<core::task::Waker>) -> bool {
            self.0.fire(now, woken)
        }

        pub fn close(&self) -> alloc::vec::Vec<core::task::Waker> {
            self.0.close()
        }
    }

    /// Both directions of a descriptor, for models with events and descriptors of their own.
    #[cfg(feature = "io")]
    #[allow(missing_debug_implementations, reason = "nothing to show")]
    pub struct Source(crate::executor::driver::reactor::Source);

    /// An operation that reads or writes up to so many bytes.
    #[cfg(feature = "io")]
    struct Try<F>(usize, F);

    #[cfg(feature = "io")]
    impl<F: FnMut() -> std::io::Result<usize>>
        crate::executor::driver::reactor::direction::Attempt<usize> for Try<F>
    {
        fn attempt(&mut self) -> std::io::Result<usize> {
            self.1()
        }

        fn fell_short(&self, result: &usize) -> bool {
            *result < self.0
        }

        fn arm(&self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[cfg(feature = "io")]
    #[allow(missing_docs, reason = "forwarded as it is")]
    #[allow(clippy::new_without_default, reason = "as the other models' parts")]
    impl Source {
        pub fn new() -> Self {
            Self(crate::executor::driver::reactor::Source::new(false))
        }

        fn direction(
            &self,
            write: bool,
        ) -> &crate::executor::driver::reactor::direction::Direction {
            use crate::executor::driver::reactor::Interest;
            let interest = if write {
                Interest::Write
            } else {
                Interest::Read
            };
            self.0.direction(interest)
        }

        pub fn event(&self, write: bool, unsure: bool) -> alloc::vec::Vec<core::task::Waker> {
            let mut woken = alloc::vec::Vec::new();
            self.direction(write).event(unsure, &mut woken);
            woken
        }

        pub fn end(&self) -> alloc::vec::Vec<core::task::Waker> {
            let mut woken = alloc::vec::Vec::new();
            self.0.end(&mut woken);
            woken
        }

        /// Fewer bytes than asked for are a short count.
        pub fn poll(
            &self,
            write: bool,
            cx: &mut core::task::Context<'_>,
            asked: usize,
            operation: impl FnMut() -> std::io::Result<usize>,
        ) -> core::task::Poll<std::io::Result<usize>> {
            self.direction(write).poll(cx, Try(asked, operation))
        }

        pub async fn done(
            &self,
            write: bool,
            operation: impl FnMut() -> std::io::Result<usize>,
        ) -> std::io::Result<usize> {
            self.direction(write).done(Try(0, operation)).await
        }
    }

    /// What wakes and parks a local executor's thread.
    #[cfg(feature = "std")]
    #[allow(missing_debug_implementations, reason = "nothing to show")]
    pub struct LocalDriver(crate::executor::local::driver::Driver);

    #[cfg(feature = "std")]
    #[allow(missing_docs, reason = "forwarded as it is")]
    #[allow(clippy::new_without_default, reason = "as the other models' parts")]
    impl LocalDriver {
        pub fn new() -> Self {
            Self(crate::executor::local::driver::Driver::new())
        }

        pub fn waker(&self) -> crate::waker::ThinWaker {
            self.0.waker()
        }

        pub fn take_wake(&self) -> bool {
            self.0.take_wake()
        }

        pub fn park(&self) {
            self.0.park(|| false);
        }
    }

    /// A local executor's inbox, for models that take the owner's part themselves.
    #[cfg(feature = "std")]
    #[allow(missing_debug_implementations, reason = "nothing to show")]
    pub struct LocalInbox(crate::executor::local::inbox::Inbox);

    #[cfg(feature = "std")]
    #[allow(missing_docs, reason = "forwarded as it is")]
    #[allow(clippy::new_without_default, reason = "as the other models' parts")]
    impl LocalInbox {
        pub fn new() -> Self {
            Self(crate::executor::local::inbox::Inbox::new())
        }

        pub fn push(&self, runnable: crate::task::Runnable) {
            // SAFETY: the caller has a reference, and models run runnables on any thread.
            unsafe { crate::executor::local::inbox::Inbox::push(&raw const self.0, runnable) };
        }

        pub fn take(&self, each: impl FnMut(crate::task::Runnable)) {
            self.0.take(each);
        }

        pub fn rise(
            &self,
            each: impl FnMut(crate::task::Runnable),
        ) -> Option<crate::waker::ThinWaker> {
            self.0.rise(each)
        }

        pub fn sleep(&self, waker: crate::waker::ThinWaker) -> bool {
            self.0.sleep(waker).is_ok()
        }
    }
}

/// The examples of the README and of the lessons.
#[cfg(all(doctest, feature = "std"))]
mod pages;
