//! The parts of the crate, for models with worlds of their own. This exists under the
//! model-checking cfg alone, and promises nothing.

#[cfg(feature = "io")]
use crate::driver::reactor::readiness::ShortCount;
use crate::fences::Fences;

/// The executor's queue for tasks from other threads.
#[allow(missing_debug_implementations, reason = "only models use it")]
pub struct Inbox(crate::inbox::Inbox<()>);

#[allow(missing_docs, reason = "only models use it")]
#[allow(clippy::new_without_default, reason = "only models use it")]
impl Inbox {
    pub fn new() -> Self {
        Self(crate::inbox::Inbox::new())
    }

    pub fn push(&self, runnable: joint::task::Runnable) {
        self.0.push(runnable);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn is_drained(&self) -> bool {
        self.0.is_drained()
    }

    pub fn take(&self, most: usize, take: impl FnMut(joint::task::Runnable)) {
        self.0.take(most, take);
    }
}

/// One worker's forks, for models with workers of their own. A join waits for a thief without
/// helping.
#[allow(missing_debug_implementations, reason = "only models use it")]
pub struct Forks(crate::fork_join::forks::Forks);

#[allow(missing_docs, reason = "only models use it")]
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
#[allow(missing_debug_implementations, reason = "only models use it")]
pub struct Gate(crate::gate::Gate);

#[allow(missing_docs, reason = "only models use it")]
#[allow(clippy::new_without_default, reason = "only models use it")]
impl Gate {
    pub fn new(workers: usize) -> Self {
        Self(crate::gate::Gate::new(workers))
    }

    pub fn close(&self) {
        self.0.close();
    }

    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    pub fn is_quiet(&self) -> bool {
        self.0.is_quiet()
    }

    /// Returns whether the caller is to cancel all.
    pub fn begin_to_cancel(&self) -> bool {
        self.0.begin_to_cancel()
    }

    /// Returns whether it was the last one.
    pub fn arrive(&self, worker: usize) -> bool {
        self.0.arrive(worker)
    }

    /// Returns whether it was the last one.
    pub fn leave(&self) -> bool {
        self.0.leave()
    }

    pub fn is_too_late(&self) -> bool {
        self.0.is_too_late()
    }

    pub fn terminate(&self) {
        self.0.terminate();
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

/// The functions that the end of an executor waits for.
#[allow(missing_debug_implementations, reason = "only models use it")]
pub struct Calls(crate::calls::Calls);

#[allow(missing_docs, reason = "only models use it")]
#[allow(clippy::new_without_default, reason = "only models use it")]
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

mod executor;
pub use executor::{End, OwnWorker, outside, without_threads};

mod blocked;
pub use blocked::attend_while_blocked;

mod registry;
pub use registry::{Registry, Task};

mod driver;
pub use driver::Driven;

/// The executor's sleep protocol, for models with queues of their own.
#[allow(missing_debug_implementations, reason = "only models use it")]
pub struct Sleep(crate::sleep::Sleep);

#[allow(missing_docs, reason = "only models use it")]
impl Sleep {
    pub fn new(workers: usize) -> Self {
        let fences = Fences::among(workers);
        Self(crate::sleep::Sleep::new(workers, fences, || {}))
    }

    /// Registers this thread as the worker's.
    pub fn begin(&self, worker: usize) {
        self.0.begin(worker);
    }

    pub fn rouse(&self) {
        self.0.rouse();
    }

    pub fn notify(&self) {
        wake_away(self.0.notify(crate::sleep::Need::Lookout));
    }

    pub fn notify_for_hands(&self) {
        wake_away(self.0.notify(crate::sleep::Need::Hands));
    }

    /// Unless `is_empty` returns true. Called after a take that followed the push.
    pub fn notify_after_take(&self, is_empty: impl FnOnce() -> bool) {
        let need = crate::sleep::Need::Lookout;
        wake_away(self.0.notify_after_take(need, is_empty));
    }

    pub fn awake(&self) -> impl Iterator<Item = usize> {
        self.0.awake()
    }

    pub fn notify_from_outside(&self) {
        wake_away(self.0.notify_from_outside(crate::sleep::Need::Lookout));
    }

    pub fn is_quiet(&self) -> bool {
        self.0.is_quiet()
    }

    pub fn search(&self) {
        self.0.search();
    }

    pub fn found(&self, has_work: impl Fn() -> bool) {
        wake_away(self.0.found(crate::sleep::Need::Lookout, has_work));
    }

    /// The time is over at once or, with the longest limit, never. Returns whether the worker was
    /// woken.
    pub fn watch(
        &self,
        worker: usize,
        limit: core::time::Duration,
        urgent: impl Fn() -> bool,
    ) -> bool {
        let parked = self.park(worker, Some(limit), urgent, || false);
        parked == crate::sleep::Parked::Woken
    }

    /// Returns whether it has slept.
    pub fn sleep(
        &self,
        worker: usize,
        urgent: impl Fn() -> bool,
        has_work: impl Fn() -> bool,
    ) -> bool {
        let parked = self.park(worker, None, urgent, has_work);
        parked != crate::sleep::Parked::NotAtAll
    }

    fn park(
        &self,
        worker: usize,
        limit: Option<core::time::Duration>,
        urgent: impl Fn() -> bool,
        has_work: impl Fn() -> bool,
    ) -> crate::sleep::Parked {
        let parking = crate::sleep::Parking {
            in_driver: false,
            park: &mut crate::sleep::park_thread,
        };
        self.0.park(worker, limit, urgent, has_work, parking)
    }

    /// Returns whether the worker is away.
    pub fn go_away(
        &self,
        worker: usize,
        waker: core::task::Waker,
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

    /// Does not rouse the others, because loom's unpark passes on what came before it to a thread
    /// that does not park as well.
    pub fn wake_all(&self) {
        let away = self.0.wake_parked().into_iter();
        away.for_each(core::task::Waker::wake);
    }
}

/// Wakes a worker that is away, as every caller must.
fn wake_away(woke: crate::sleep::Woke) {
    woke.away().into_iter().for_each(core::task::Waker::wake);
}

/// One worker's queue of deadlines.
#[allow(missing_debug_implementations, reason = "only models use it")]
pub struct Timers(crate::driver::timers::Timers);

/// A timer that has been armed.
#[derive(Debug)]
pub struct Inserted {
    /// Its key.
    pub key: TimerKey,
    /// Whether the earliest deadline is sooner now.
    pub is_sooner: bool,
}

/// The key of one timer.
#[derive(Debug)]
pub struct TimerKey(crate::driver::timers::Key);

#[allow(missing_docs, reason = "only models use it")]
#[allow(clippy::new_without_default, reason = "only models use it")]
impl Timers {
    pub fn new() -> Self {
        Self(crate::driver::timers::Timers::new())
    }

    pub fn earliest(&self) -> u64 {
        self.0.earliest()
    }

    /// Returns `None` if closed.
    pub fn insert(&self, deadline: u64, waker: core::task::Waker) -> Option<Inserted> {
        let (key, earliest) = self.0.insert(deadline, waker).ok()?;
        Some(Inserted {
            key: TimerKey(key),
            is_sooner: earliest == crate::driver::timers::Earliest::Sooner,
        })
    }

    /// Returns `None` if closed.
    pub fn poll(&self, key: &TimerKey, waker: &core::task::Waker) -> Option<core::task::Poll<()>> {
        self.0.poll(&key.0, waker).ok()
    }

    pub fn remove(&self, key: &TimerKey) -> Option<core::task::Waker> {
        self.0.remove(&key.0)
    }

    /// Fires all that are due.
    pub fn fire(&self, now: u64, woken: &mut alloc::vec::Vec<core::task::Waker>) {
        use crate::driver::timers::Fired;
        while self.0.fire(now, woken) == Fired::OneBatch {}
    }

    pub fn close(&self) -> alloc::vec::Vec<core::task::Waker> {
        self.0.close()
    }
}

/// Both directions of a descriptor, for models with events and descriptors of their own.
#[cfg(feature = "io")]
#[allow(missing_debug_implementations, reason = "only models use it")]
pub struct Source(crate::driver::reactor::Source);

#[cfg(feature = "io")]
#[allow(missing_docs, reason = "only models use it")]
#[allow(clippy::new_without_default, reason = "only models use it")]
impl Source {
    pub fn new() -> Self {
        Self(crate::driver::reactor::Source::new(ShortCount::Exhausted))
    }

    fn direction(&self, write: bool) -> &crate::driver::reactor::direction::Direction {
        use crate::driver::reactor::Way;
        let way = if write { Way::Write } else { Way::Read };
        match self.0.direction(way) {
            Some(direction) => direction,
            None => unreachable!("both directions are always there"),
        }
    }

    pub fn event(&self, write: bool) -> alloc::vec::Vec<core::task::Waker> {
        self.event_of(write, ShortCount::Exhausted)
    }

    /// Raises an event from which on a short count shows nothing.
    pub fn event_unsure(&self, write: bool) -> alloc::vec::Vec<core::task::Waker> {
        self.event_of(write, ShortCount::Unsure)
    }

    fn event_of(&self, write: bool, short: ShortCount) -> alloc::vec::Vec<core::task::Waker> {
        let mut woken = alloc::vec::Vec::new();
        self.direction(write).event(short, &mut woken);
        woken
    }

    pub fn end(&self) -> alloc::vec::Vec<core::task::Waker> {
        let mut woken = alloc::vec::Vec::new();
        self.0.end(&mut woken);
        woken
    }

    /// A result of fewer bytes than `asked` is a short count.
    pub fn poll(
        &self,
        write: bool,
        cx: &mut core::task::Context<'_>,
        asked: usize,
        operation: impl FnMut() -> std::io::Result<usize>,
    ) -> core::task::Poll<std::io::Result<usize>> {
        self.direction(write)
            .poll(cx, operation, |&count| count < asked)
    }

    pub async fn done(
        &self,
        write: bool,
        mut operation: impl FnMut() -> std::io::Result<usize>,
    ) -> std::io::Result<usize> {
        let mut waiter = self.direction(write).waiter();
        core::future::poll_fn(|cx| waiter.poll(cx, &mut operation)).await
    }
}

/// A local executor's inbox, for models that play the owner themselves.
#[allow(missing_debug_implementations, reason = "only models use it")]
pub struct LocalInbox(crate::local::inbox::Inbox<()>);

#[allow(missing_docs, reason = "only models use it")]
#[allow(clippy::new_without_default, reason = "only models use it")]
impl LocalInbox {
    pub fn new() -> Self {
        Self(crate::local::inbox::Inbox::new())
    }

    pub fn push(&self, runnable: joint::task::Runnable) {
        // SAFETY: the caller has a reference, and models run runnables on any thread.
        unsafe { crate::local::inbox::Inbox::push(&raw const self.0, runnable) };
    }

    pub fn take(&self, each: impl FnMut(joint::task::Runnable)) {
        self.0.take(each);
    }

    pub fn rise(&self, each: impl FnMut(joint::task::Runnable)) -> Option<joint::waker::ThinWaker> {
        self.0.rise(each)
    }

    pub fn sleep(&self, waker: joint::waker::ThinWaker) -> bool {
        self.0.sleep(waker).is_ok()
    }
}
