//! The states of a worker, as values: to have one proves the state.
//!
//! | value | the worker | it may call the code of a stranger |
//! |---|---|---|
//! | [`Running`] | runs tasks, or whatever else takes time | yes |
//! | [`Searching`] | has nothing to run, and looks for work: it is a lookout (`sleep.rs`) | no |
//! | none: [`Idle::park`](super::idle::Idle) has it | is parked, on its thread or in the driver | no |
//!
//! A stranger's code is a waker, a hook, a schedule function, a closure, and the drop of any of
//! them. It may take any time, and may wait for whatever is due on this worker. So everything that
//! calls it is a function of [`Running`], or is given one, which a searcher does not have: others
//! would rely on it as a lookout meanwhile. What is given a [`Core`] calls none, and leads to no
//! [`Running`].
//!
//! Outside of polls there is one gate for it, [`Running::stranger`].

use alloc::{string::String, sync::Arc};
use core::{
    cell::{Cell, RefCell},
    ops::Deref,
    task::Waker,
};

use super::{
    lent::Lent,
    queues::{After, Queues},
    shared::{Runnable, Shared},
};
use crate::{
    deques::MOST_QUEUED,
    guard::{Once, guarded},
    hooks::WorkerHook,
    metrics::Counters,
    registry::Lane,
    sleep::{Need, Woke},
};

/// What a worker needs in order to run tasks, and to be reached by code that runs there.
pub(crate) struct Core {
    pub(super) queues: Queues,
    pub(super) spawns: Cell<Spawns>,
    /// Whether there is something to do for each poll, such as a hook.
    pub(super) watches_polls: bool,
    /// The same for each wake-up.
    pub(super) watches_wakes: bool,
    /// The name of the task that is running, which may be gone after its run.
    pub(super) name: RefCell<String>,
    /// Whether its last poll is over, and in the closed executor no other follows.
    pub(super) has_arrived: Cell<bool>,
    pub(crate) lent: Lent,
}

/// What a spawn on a worker does besides the push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spawns {
    /// Nothing.
    Plain,
    /// Whatever [`Shared::watches_tasks`] stands for.
    Watched,
    /// It drops the future at once: the worker has dropped one in the closed executor, and no new
    /// one will be polled.
    Disposed,
}

impl Core {
    pub(super) fn new(queues: Queues) -> Self {
        let shared = &queues.shared;
        Self {
            spawns: Cell::new(match shared.watches_tasks {
                true => Spawns::Watched,
                false => Spawns::Plain,
            }),
            watches_polls: shared.hooks.watch_polls(),
            watches_wakes: shared.hooks.on_wake.is_some(),
            name: RefCell::default(),
            has_arrived: Cell::new(false),
            lent: Lent::new(shared),
            queues,
        }
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.queues.shared
    }

    #[inline]
    pub(crate) fn index(&self) -> usize {
        self.queues.index
    }

    #[inline]
    pub(super) fn counters(&self) -> &Counters {
        self.queues.counters()
    }

    /// Returns whether another worker has nothing to do.
    pub(crate) fn is_anybody_idle(&self) -> bool {
        self.shared().sleep.is_anybody_idle()
    }

    /// Returns whether a search must end although it has found nothing.
    pub(super) fn is_over(&self) -> bool {
        let gate = &self.shared().gate;
        match self.has_arrived.get() {
            false => gate.is_closed(),
            true => gate.is_quiet(),
        }
    }

    /// The last check before this worker parks. Active workers check the injector by themselves.
    pub(super) fn is_urgent(&self) -> bool {
        let shared = &**self.shared();
        let injected = || shared.has_injected() && shared.sleep.is_quiet();
        self.queues.has_pinned() || self.is_over() || injected()
    }
}

/// A worker that runs.
pub(crate) struct Running<'w>(&'w Core);

/// A worker that searches.
pub(super) struct Searching<'w>(&'w Core);

impl Deref for Running<'_> {
    type Target = Core;

    #[inline(always)]
    fn deref(&self) -> &Core {
        self.0
    }
}

impl Deref for Searching<'_> {
    type Target = Core;

    fn deref(&self) -> &Core {
        self.0
    }
}

impl<'w> Running<'w> {
    /// A worker that has begun, or whose poll this is: only a worker that runs polls. Called where
    /// a thread becomes a worker and where a poll asks which worker it is on (`current.rs`,
    /// `stepped.rs`), and nowhere else.
    #[inline(always)]
    pub(super) fn of(core: &'w Core) -> Self {
        Self(core)
    }

    /// Begins to search.
    pub(super) fn search(self) -> Searching<'w> {
        self.shared().sleep.search();
        Searching(self.0)
    }

    /// Calls the code of a stranger, and catches its panic. What is due on this worker is announced
    /// before, and nothing that the code wakes goes to the LIFO slot.
    #[inline]
    pub(super) fn stranger(&self, f: impl FnOnce()) {
        self.stranger_by(&mut Some(f));
    }

    pub(super) fn stranger_by(&self, f: &mut dyn Once) {
        self.show_slot();
        if self.queues.take_yield() || self.queues.has_one() {
            self.notify();
        }
        self.queues.before(After::Anything, || guarded(|| f.call()));
    }

    /// Wakes a stranger, if there is one.
    pub(super) fn wake_stranger(&self, waker: Option<Waker>) {
        if let Some(waker) = waker {
            self.stranger(|| waker.wake());
        }
    }

    /// Calls a hook of this worker. Without the hook, the one task that runs next stays
    /// unannounced.
    pub(super) fn hook(&self, hook: &Option<WorkerHook>) {
        if let Some(hook) = hook {
            self.stranger(|| hook(self.index()));
        }
    }

    /// Announces what was queued after the last take because it has yielded, unless it is alone and
    /// runs next. Called before anything that may come between it and the next take.
    pub(super) fn announce_yield(&self) {
        if self.queues.take_yield() && !self.queues.has_one() {
            self.notify();
        }
    }

    /// Announces what has been pushed.
    #[inline]
    pub(super) fn notify(&self) {
        self.notify_unless(|| false);
    }

    #[inline]
    fn notify_unless(&self, runs_next: impl FnOnce() -> bool) {
        let woke = (self.shared().sleep).notify_unless(self.shared().need(), runs_next);
        if !matches!(woke, Woke::Nobody) {
            self.woke(woke);
        }
    }

    /// Announces the first fork that other workers can take. Wakes a worker if all others sleep.
    #[inline]
    pub(crate) fn tell_of_fork(&self) {
        let woke = self.shared().sleep.notify(Need::Lookout);
        if !matches!(woke, Woke::Nobody) {
            self.shared().forks[self.index()].ask();
            self.woke(woke);
        }
    }

    /// Counts a worker that was woken, and wakes it if its thread is away.
    #[cold]
    pub(super) fn woke(&self, woke: Woke) {
        self.counters().wakes.increment();
        self.wake_stranger(woke.away());
    }

    /// Queues a runnable that this worker may run.
    #[inline]
    pub(super) fn push(&self, runnable: Runnable, lane: Lane) {
        match lane {
            Lane::Normal => self.push_normal(runnable),
            Lane::High => self.push_high(runnable),
            Lane::Pinned(_) => self.queues.push_pinned(runnable),
        }
    }

    /// Queues a new runnable of the normal lane, which runs before those that were queued earlier.
    #[inline]
    pub(super) fn push_spawned(&self, runnable: Runnable) {
        let pushed = self.queues.deques.push_spawned(runnable);
        pushed.unwrap_or_else(|runnable| self.overflow(runnable));
        self.notify();
    }

    #[inline(always)]
    fn push_behind(&self, runnable: Runnable) {
        let pushed = self.queues.deques.push_woken(runnable, MOST_QUEUED);
        pushed.unwrap_or_else(|runnable| self.overflow(runnable));
    }

    #[inline]
    pub(super) fn push_normal(&self, runnable: Runnable) {
        if let Some(queued) = self.queues.fill_slot(runnable) {
            self.push_behind(queued);
            self.notify_unless(|| self.runs_it_next());
        }
    }

    /// Queues a runnable for which this worker's own queue has no room.
    #[cold]
    fn overflow(&self, runnable: Runnable) {
        self.shared().injector.push(runnable);
        if let Some(hook) = &self.shared().hooks.on_push {
            self.notify();
            self.stranger(hook);
        }
    }

    #[cold]
    fn push_high(&self, runnable: Runnable) {
        self.queues.deques.push_high(runnable);
        self.notify();
    }

    /// Whether the task that has just been pushed is the next one that this worker runs, and no
    /// other worker has to keep the driver meanwhile.
    #[cold]
    fn runs_it_next(&self) -> bool {
        let queues = &self.queues;
        queues.after() == After::Queue && queues.has_one() && !self.shared().leaves_driver()
    }

    /// Queues a runnable that was woken during its own run. One of the normal lane is announced
    /// after the next take ([`Queues::next`]), and a pinned one when its turn comes.
    #[inline]
    pub(super) fn requeue(&self, runnable: Runnable) {
        if !runnable.metadata().is_normal() {
            let lane = runnable.metadata().lane();
            return self.push(runnable, lane);
        }
        self.queues.before_yield();
        self.push_behind(runnable);
    }

    /// Moves the task in the LIFO slot to where other workers find it.
    pub(super) fn show_slot(&self) {
        if let Some(runnable) = self.queues.take_slot() {
            self.queues
                .before(After::Anything, || self.push_normal(runnable));
        }
    }
}

impl<'w> Searching<'w> {
    /// A worker that has come back from its sleep.
    pub(super) fn back(core: &'w Core) -> Self {
        Self(core)
    }

    /// The worker, for longer than the search.
    pub(super) fn core(&self) -> &'w Core {
        self.0
    }

    /// Ends the search. Wakes another worker if this one was the last lookout and there is more to
    /// do. Also returns the waker to call if the chosen worker is hosted and its thread is away.
    pub(super) fn stop(self) -> (Running<'w>, Option<Waker>) {
        let shared = self.0.shared();
        let look = || shared.last_look(|all| all.has_work()) || shared.leaves_driver();
        // The short look sees what this worker has left in the injector.
        let has_work = || shared.has_injected() || look();
        let woke = shared.sleep.found(shared.need(), has_work);
        (Running(self.0), woke.away())
    }
}
