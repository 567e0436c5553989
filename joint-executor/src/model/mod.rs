//! The parts of the crate, for models with worlds of their own. This exists under the
//! model-checking cfg alone, and promises nothing.
#![allow(
    clippy::new_without_default,
    missing_debug_implementations,
    missing_docs,
    reason = "only models use it"
)]

#[cfg(feature = "io")]
use crate::driver::reactor::readiness::ShortCount;
use crate::{
    driver::timers::{Earliest, Fired},
    fences::Fences,
    sleep::{Need, Parked, Parking, Woke, park_thread},
};
use alloc::vec::Vec;
use core::{
    task::{Context, Poll, Waker},
    time::Duration,
};
use joint::{task::Runnable, waker::ThinWaker};

/// Implements functions of a type here by those of the part of the crate that it holds.
macro_rules! passes_on {
    ($name:ident: $($(#[$docs:meta])* $function:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        impl $name {$(
            $(#[$docs])*
            pub fn $function(&self, $($argument: $type),*) $(-> $result)? {
                self.0.$function($($argument),*)
            }
        )*}
    };
}

/// The executor's queue for tasks from other threads.
pub struct Inbox(crate::inbox::Inbox<()>);

impl Inbox {
    pub fn new() -> Self {
        Self(crate::inbox::Inbox::new())
    }
}

passes_on! {
    Inbox:
    push(runnable: Runnable);
    is_empty() -> bool;
    is_drained() -> bool;
    take(most: usize, take: impl FnMut(Runnable));
}

/// One worker's forks, for models with workers of their own. A join waits for a thief without
/// helping.
pub struct Forks(crate::fork_join::forks::Forks);

impl Forks {
    pub fn new(capacity: usize) -> Self {
        let fences = Fences::among(2);
        Self(crate::fork_join::forks::Forks::new(capacity, fences))
    }

    /// # Safety
    /// Only one thread, the owner, calls this.
    pub unsafe fn join<RA, RB: Send>(
        &self,
        a: impl FnOnce() -> RA,
        b: impl FnOnce() -> RB + Send,
    ) -> (RA, RB) {
        // SAFETY: the caller promises it.
        unsafe { self.0.join(|| {}, crate::fork_join::job::Wait::block, a, b) }
    }

    pub fn has_jobs(&self) -> bool {
        self.0.oldest().is_some()
    }

    /// Takes the oldest job, and passes it to `run` as a function. If that function is not called,
    /// the job goes back to its owner.
    pub fn steal(&self, run: impl FnOnce(&mut dyn FnMut())) -> bool {
        let Some(taken) = self.0.steal() else {
            return false;
        };
        let mut taken = Some(taken);
        run(&mut || taken.take().expect("the task runs once").run());
        true
    }
}

/// The executor's end, for models with queues of their own.
pub struct Gate(crate::gate::Gate);

impl Gate {
    pub fn new(workers: usize) -> Self {
        Self(crate::gate::Gate::new(workers))
    }

    pub fn dispose_elsewhere(
        is_empty: impl FnOnce() -> bool,
        start: impl FnOnce() -> bool,
        here: impl FnOnce(),
    ) {
        crate::gate::dispose_elsewhere(is_empty, start, here);
    }

    pub fn dispose(dispose_one: impl Fn() -> bool, is_empty: impl Fn() -> bool) {
        crate::gate::dispose(dispose_one, is_empty);
    }
}

passes_on! {
    Gate:
    close();
    is_closed() -> bool;
    is_quiet() -> bool;
    /// Returns whether the caller is to cancel all.
    begin_to_cancel() -> bool;
    /// Returns whether it was the last one.
    arrive(worker: usize) -> bool;
    /// Returns whether it was the last one.
    leave() -> bool;
    is_too_late() -> bool;
    terminate();
}

/// The functions that the end of an executor waits for.
pub struct Calls(crate::calls::Calls);

impl Calls {
    pub fn new() -> Self {
        Self(crate::calls::Calls::new())
    }

    /// Counts a function until what is returned is dropped, which a model has to see: it does not
    /// see the count of an `Arc`. So a first caller has given up.
    pub fn begin(&self) -> impl Drop + use<> {
        let counted = self.0.begin();
        assert_eq!(self.0.wait(Some(joint::host::now())), 1);
        counted
    }

    pub fn wait(&self) -> usize {
        self.0.wait(None)
    }
}

mod deques;
pub use deques::{Deques, Stealer};

mod registry;
pub use registry::{Registry, Task};

mod driver;
pub use driver::Driven;

/// The executor's sleep protocol, for models with queues of their own.
pub struct Sleep(crate::sleep::Sleep);

impl Sleep {
    pub fn new(workers: usize) -> Self {
        let fences = Fences::among(workers);
        Self(crate::sleep::Sleep::new(workers, fences, || {}))
    }

    pub fn notify(&self) {
        wake_away(self.0.notify(Need::Lookout));
    }

    pub fn notify_for_hands(&self) {
        wake_away(self.0.notify(Need::Hands));
    }

    /// Unless `is_empty` returns true. Called after a take that followed the push.
    pub fn notify_after_take(&self, is_empty: impl FnOnce() -> bool) {
        wake_away(self.0.notify_after_take(Need::Lookout, is_empty));
    }

    pub fn notify_from_outside(&self) {
        wake_away(self.0.notify_from_outside(Need::Lookout));
    }

    pub fn found(&self, has_work: impl Fn() -> bool) {
        wake_away(self.0.found(Need::Lookout, has_work));
    }

    /// The time is over at once or, with the longest limit, never. Returns whether the worker was
    /// woken.
    pub fn watch(&self, worker: usize, limit: Duration, urgent: impl Fn() -> bool) -> bool {
        let parked = self.park(worker, Some(limit), urgent, || false);
        parked == Parked::Woken
    }

    /// Returns whether it has slept.
    pub fn sleep(
        &self,
        worker: usize,
        urgent: impl Fn() -> bool,
        has_work: impl Fn() -> bool,
    ) -> bool {
        let parked = self.park(worker, None, urgent, has_work);
        parked != Parked::NotAtAll
    }

    fn park(
        &self,
        worker: usize,
        limit: Option<Duration>,
        urgent: impl Fn() -> bool,
        has_work: impl Fn() -> bool,
    ) -> Parked {
        let parking = Parking {
            in_driver: false,
            park: &mut park_thread,
        };
        self.0.park(worker, limit, urgent, has_work, parking)
    }

    /// Returns whether the worker is away.
    pub fn go_away(
        &self,
        worker: usize,
        waker: Waker,
        urgent: impl Fn() -> bool,
        has_work: impl Fn() -> bool,
    ) -> bool {
        self.0.go_away(worker, waker, urgent, has_work).is_ok()
    }

    /// Returns whether the worker was woken.
    pub fn come_back(&self, worker: usize) -> bool {
        self.0.come_back(worker).is_none()
    }

    pub fn wake_worker(&self, worker: usize) {
        wake_away(self.0.wake_worker(worker));
    }

    /// Does not unpark the others, because loom's unpark passes on what came before it to a thread
    /// that does not park as well.
    pub fn wake_all(&self) {
        let away = self.0.wake_parked().into_iter();
        away.for_each(Waker::wake);
    }
}

passes_on! {
    Sleep:
    /// Registers this thread as the worker's.
    begin(worker: usize);
    unpark_all();
    awake() -> impl Iterator<Item = usize>;
    is_quiet() -> bool;
    search();
}

/// Wakes a worker that is away, as every caller must.
fn wake_away(woke: Woke) {
    woke.away().into_iter().for_each(Waker::wake);
}

/// One worker's queue of deadlines.
pub struct Timers(crate::driver::timers::Timers);

pub struct TimerKey(crate::driver::timers::Key);

impl Timers {
    pub fn new() -> Self {
        Self(crate::driver::timers::Timers::new())
    }

    /// Returns the key, and whether the earliest deadline is sooner now; `None` if closed.
    pub fn insert(&self, deadline: u64, waker: Waker) -> Option<(TimerKey, bool)> {
        let (key, earliest) = self.0.insert(deadline, waker).ok()?;
        Some((TimerKey(key), earliest == Earliest::Sooner))
    }

    /// Returns `None` if closed.
    pub fn poll(&self, key: &TimerKey, waker: &Waker) -> Option<Poll<()>> {
        self.0.poll(&key.0, waker).ok()
    }

    pub fn remove(&self, key: &TimerKey) -> Option<Waker> {
        self.0.remove(&key.0)
    }

    /// Fires all that are due.
    pub fn fire(&self, now: u64, woken: &mut Vec<Waker>) {
        while self.0.fire(now, woken) == Fired::OneBatch {}
    }
}

passes_on! {
    Timers:
    earliest() -> u64;
    close() -> Vec<Waker>;
}

/// The direction of a descriptor that is read, for models with events and descriptors of their own.
#[cfg(feature = "io")]
pub struct Source(crate::driver::reactor::Source);

#[cfg(feature = "io")]
impl Source {
    pub fn new() -> Self {
        Self(crate::driver::reactor::Source::new(
            ShortCount::Exhausted,
            crate::driver::reactor::Interest::ALL,
        ))
    }

    fn reads(&self) -> &crate::driver::reactor::direction::Direction {
        self.0.direction(crate::driver::reactor::Way::Read)
    }

    /// If `unsure`, a short count shows nothing from then on.
    pub fn event(&self, unsure: bool) -> Vec<Waker> {
        let short = match unsure {
            true => ShortCount::Unsure,
            false => ShortCount::Exhausted,
        };
        let mut woken = Vec::new();
        self.reads().event(short, &mut woken);
        woken
    }

    pub fn end(&self) -> Vec<Waker> {
        let mut woken = Vec::new();
        self.0.end(&mut woken);
        woken
    }

    /// A result of fewer bytes than `asked` is a short count.
    pub fn poll(
        &self,
        cx: &mut Context<'_>,
        asked: usize,
        operation: impl FnMut() -> std::io::Result<usize>,
    ) -> Poll<std::io::Result<usize>> {
        self.reads().poll(cx, operation, |&count| count < asked)
    }

    pub async fn done(
        &self,
        mut operation: impl FnMut() -> std::io::Result<usize>,
    ) -> std::io::Result<usize> {
        let mut waiter = self.reads().waiter();
        core::future::poll_fn(|cx| waiter.poll(cx, &mut operation, &|_| false)).await
    }
}

/// A local executor's inbox, for models that play the owner themselves.
pub struct LocalInbox(crate::local::inbox::Inbox<()>);

impl LocalInbox {
    pub fn new() -> Self {
        Self(crate::local::inbox::Inbox::new())
    }

    pub fn push(&self, runnable: Runnable) {
        // SAFETY: the caller has a reference, and models run runnables on any thread.
        unsafe { crate::local::inbox::Inbox::push(&raw const self.0, runnable) };
    }

    pub fn sleep(&self, waker: ThinWaker) -> bool {
        self.0.sleep(waker).is_ok()
    }
}

passes_on! {
    LocalInbox:
    take(each: impl FnMut(Runnable));
    rise(each: impl FnMut(Runnable)) -> Option<ThinWaker>;
}
