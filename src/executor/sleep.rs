//! How workers go to sleep without missing a wake-up, and how few of them are woken.
//!
//! A worker is *active* (it runs tasks), or it *searches*, *watches* or *sleeps*. One word counts the three that are not active; a
//! list under a mutex says who watches and who sleeps. A watcher sleeps too, but for a while only, and then looks again: as long as
//! somebody watches or searches, a **lookout**, the workers that push need not wake anybody, and a task that is stuck behind a
//! long poll is found by the lookout within that while.
//!
//! # The handshake
//!
//! A push and a worker that goes to sleep form a store-load race: each writes one place and then reads the other's. It is the
//! one place in the crate where acquire and release do not do, and both sides have a fence. The push's is [light] when it is made by
//! a worker, which pushes often: the other side's is heavy then.
//!
//! | push (`notify`) | sleep | end of a search (`found`) |
//! |---|---|---|
//! | P1 put the task into a queue | S1 leave the searchers, join the sleepers | F1 leave the searchers |
//! | P2 fence | S2 fence | F2 fence |
//! | P3 read the counts: no lookout and somebody sleeps: wake one | S3 was the last lookout: look into every queue: work: stay awake | F3 was the last lookout: look into every queue: work: wake one |
//!
//! **No task is left in a queue while nobody is active who could run it and no lookout is left.** Take a push and a worker that
//! sleeps. The two fences are ordered. If S2 comes before P2, then P3 sees S1 (or later): either it wakes a sleeper, or it sees a
//! lookout. If P2 comes before S2, then S3 sees P1, and the worker stays awake. Left is the push that relied on a lookout: P3 read
//! the counts before that one left the lookouts (its S1 or F1), so P2 comes before its S2 or F2, or else P3 had seen it leave; hence its S3 or F3
//! sees P1. A lookout that was not the last leaves this to the last, whose fence comes later still. From watching a worker comes
//! back to searching, and stays a lookout all the while.
//!
//! The heavy fence is left out where no other worker is active by S1 or F1. Only active workers make light fences, and one that
//! becomes active later has changed the counts after S1 or F1, so that its P3 sees that. One that was active before sleeps by now, as
//! there is no other lookout: what it pushed came before its own S1, which releases, under the mutex too. The fence after F1, or
//! the mutex of S1, acquires that, so that S3 or F3 sees its pushes.
//!
//! A worker that takes a batch from another place has it in hand for a moment, where no look sees it. When it is a searcher, it
//! leaves the searchers after the batch is in its own queue, by a release that the fence of whoever leaves after it acquires:
//! so the last look of the last of them sees what the others took. When it is not, it says so by a `notify` of its own.
//!
//! **What comes from outside is not left to a lookout while no worker is active.** The outsider has a real fence, and wakes somebody
//! when it reads that none is active and none searches; who goes to watch or to sleep looks once more at what outsiders push to,
//! after a real fence of its own (`urgent`). It is the same race with the same two cases.
//!
//! A worker rests on its own thread's parker, or in the [driver](super::driver), which holds one of them at a time: the **keeper**.
//! That one rises by itself, too, when there is something to do in the driver. Others are woken before it is.
//!
//! To end, the mutex does: the flag is set before `wake_all` takes it, and a worker that is not on the list by then takes it
//! later, and sees the flag in its last look.
//!
//! What was rejected: waking a worker for each push (a wake-up costs more than most tasks), and letting a push that relies on
//! a lookout be forgotten when that lookout finds something else (the task would wait for the pusher's own worker).
//!
//! [light]: crate::sync::asymmetric

use crate::sync::{
    AtomicU64, AtomicUsize, Mutex, MutexGuard, asymmetric, fence, order, recheck,
    thread::{self, Thread},
};
use alloc::{boxed::Box, vec::Vec};
use core::{mem, time::Duration};
use crossbeam_utils::CachePadded;
use std::sync::PoisonError;

/// One searching worker, in the counts. The other two lie above all that can search.
const SEARCHING: u64 = 1;
const WATCHING: u64 = 1 << 20;
const SLEEPING: u64 = 1 << 40;
/// Each count has room for this many.
pub(crate) const MOST_WORKERS: usize = (WATCHING - 1) as usize;

/// What each worker's own word says: `RESTING` exactly while it is on the list.
const AWAKE: usize = 0;
const RESTING: usize = 1;

pub(crate) struct Sleep {
    /// `SEARCHING`, `WATCHING` and `SLEEPING`, added up. The latter two are changed under the mutex only.
    counts: AtomicU64,
    resting: Mutex<Vec<Resting>>,
    /// The workers' threads, each from its [`begin`](Sleep::begin) on.
    threads: Mutex<Vec<Thread>>,
    /// One for each worker: what it sleeps on, and what tells those who have something for it alone
    /// whether it does. `RESTING` is written and taken away under the mutex only.
    signals: Vec<CachePadded<AtomicUsize>>,
    /// Wakes whoever is in the driver, or is about to be.
    ring: Box<dyn Fn() + Send + Sync>,
}

/// A worker that watches or sleeps.
struct Resting {
    worker: usize,
    thread: Thread,
    /// `WATCHING` or `SLEEPING`.
    how: u64,
    /// Whether it is the keeper.
    keeps: bool,
}

/// Where a worker rests.
pub(crate) enum Bed<'a> {
    Thread,
    /// In the driver, by a function that comes back when it is rung for, after at most that time, or early for no reason. True:
    /// there is something to do.
    Driver(&'a mut dyn FnMut(Option<Duration>) -> bool),
    /// On its thread, by a function like that, as the driver's reserve.
    Reserve(&'a mut dyn FnMut(Option<Duration>) -> bool),
}

impl Bed<'_> {
    fn keeps(&self) -> bool {
        matches!(self, Self::Driver(_))
    }

    /// True: the worker has to rise by itself.
    fn lie(&mut self, limit: Option<Duration>) -> bool {
        match (self, limit) {
            (Self::Driver(lie) | Self::Reserve(lie), limit) => lie(limit),
            (Self::Thread, Some(limit)) => {
                thread::park_timeout(limit);
                false
            }
            (Self::Thread, None) => {
                thread::park();
                false
            }
        }
    }
}

/// How a time of watching ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watched {
    Woken,
    /// It is time to look again.
    Over,
}

#[derive(Clone, Copy)]
struct Counts(u64);

impl Counts {
    fn searching(self) -> u64 {
        self.0 % WATCHING
    }

    fn watching(self) -> u64 {
        self.0 % SLEEPING / WATCHING
    }

    fn sleeping(self) -> u64 {
        self.0 / SLEEPING
    }

    fn lookouts(self) -> u64 {
        self.searching() + self.watching()
    }

    fn needs_lookout(self) -> bool {
        self.0 >= SLEEPING && self.0 % SLEEPING == 0
    }

    /// Somebody could be woken, and nobody searches already.
    fn has_hands(self) -> bool {
        self.0 >= WATCHING && self.searching() == 0
    }
}

/// Why somebody is to be woken.
#[derive(Clone, Copy)]
enum Reason {
    /// There is no lookout.
    Lookout,
    /// There is more work than the active workers should do alone.
    Hands,
}

impl Reason {
    fn holds(self, counts: Counts) -> bool {
        match self {
            Self::Lookout => counts.needs_lookout(),
            Self::Hands => counts.has_hands(),
        }
    }
}

impl Sleep {
    /// `ring` makes the driver's function come back: the call that is under way, or else the next.
    pub(crate) fn new(workers: usize, ring: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            counts: AtomicU64::new(0),
            resting: Mutex::new(Vec::with_capacity(workers)),
            threads: Mutex::new(Vec::with_capacity(workers)),
            signals: (0..workers)
                .map(|_| CachePadded::new(AtomicUsize::new(AWAKE)))
                .collect(),
            ring: Box::new(ring),
        }
    }

    /// A worker begins, on this thread: from here on [`rouse`](Sleep::rouse) reaches it, and it
    /// sees what came before an earlier one.
    pub(crate) fn begin(&self) {
        lock(&self.threads).push(thread::current());
    }

    /// Unparks every worker's thread, wherever it is parked, so that it looks again at what has
    /// changed: also one that rests in no list, because a poll blocks it.
    pub(crate) fn rouse(&self) {
        // Cloned, because an unpark takes longer than a worker should wait to begin.
        let threads = lock(&self.threads).clone();
        threads.iter().for_each(Thread::unpark);
    }

    fn workers(&self) -> u64 {
        self.signals.len() as u64
    }

    /// How many workers run tasks.
    fn active(&self, counts: Counts) -> u64 {
        self.workers() - counts.lookouts() - counts.sleeping()
    }

    /// After a push by an active worker: wakes somebody when there is no lookout; or, when `share`, unless somebody searches. True:
    /// somebody was woken.
    #[inline]
    pub(crate) fn notify(&self, share: bool) -> bool {
        // ORDERING: push_fence. SeqCst: P2 of the handshake, with `sleep_fence` and `found_fence`.
        asymmetric::light(order!(push_fence: SeqCst));
        // ORDERING: push_look. Relaxed: ordered by the fence.
        let counts = Counts(self.counts.load(order!(push_look: Relaxed)));
        if counts.needs_lookout() {
            return self.wake_one(Reason::Lookout);
        }
        share && counts.has_hands() && self.wake_one(Reason::Hands)
    }

    /// After a push by anybody else: wakes somebody, also, when no worker is active.
    pub(crate) fn notify_from_outside(&self, share: bool) {
        // ORDERING: outside_fence. SeqCst: P2 of the handshake, also with `rest_fence`.
        fence(order!(outside_fence: SeqCst));
        // ORDERING: outside_look. Relaxed: ordered by the fence.
        let counts = Counts(self.counts.load(order!(outside_look: Relaxed)));
        if counts.needs_lookout() {
            self.wake_one(Reason::Lookout);
        } else if (share || self.active(counts) == 0) && counts.has_hands() {
            self.wake_one(Reason::Hands);
        }
    }

    /// Whether nobody but those who search runs anything.
    pub(crate) fn is_quiet(&self) -> bool {
        // ORDERING: quiet_look. Relaxed: for a choice that may be wrong.
        self.active(Counts(self.counts.load(order!(quiet_look: Relaxed)))) == 0
    }

    /// Whether a searcher that finds nothing should watch: others are active, and there is no other lookout.
    pub(crate) fn wants_watcher(&self) -> bool {
        // ORDERING: wanted_look. Relaxed: for a choice that may be wrong.
        let counts = Counts(self.counts.load(order!(wanted_look: Relaxed)));
        self.active(counts) > 0 && counts.lookouts() == 1
    }

    /// Whether a worker has nothing to run but might have: a hint for those who can split their work.
    #[inline]
    pub(crate) fn is_anybody_idle(&self) -> bool {
        // ORDERING: idle_look. Relaxed: a hint.
        self.counts.load(order!(idle_look: Relaxed)) != 0
    }

    /// A worker begins to look for work in other places than its own.
    pub(crate) fn search(&self) {
        // ORDERING: search. Relaxed: whoever counts on this one as a searcher counts on what it does when it leaves the lookouts.
        self.counts.fetch_add(SEARCHING, order!(search: Relaxed));
    }

    /// A searching worker has found work. When it was the last lookout and `has_work` sees more, it wakes another.
    pub(crate) fn found(&self, has_work: impl Fn() -> bool) {
        // ORDERING: found. Release, with the fence of whoever leaves the lookouts later, which follows an operation on the same word
        // and so acquires (`found_fence`, `found_heavy_fence`, `sleep_heavy_fence`): what this searcher has put into its queue is
        // seen by that one's look.
        let before = Counts(self.counts.fetch_sub(SEARCHING, order!(found: Release)));
        if before.lookouts() != 1 || before.sleeping() == 0 {
            return;
        }
        if self.active(before) == 0 {
            // ORDERING: found_fence. SeqCst: F2 of the handshake, with `outside_fence`.
            fence(order!(found_fence: SeqCst));
        } else {
            // ORDERING: found_heavy_fence. SeqCst: F2 of the handshake, with `push_fence`.
            asymmetric::heavy(order!(found_heavy_fence: SeqCst));
        }
        // RECHECK: found_again. F3: the push that relied on this lookout.
        if recheck!(found_again: has_work()) {
            self.wake_one(Reason::Lookout);
        }
    }

    /// A searching worker rests for a while as a watcher, and comes back as a searcher. It does not rest when `urgent` sees something.
    pub(crate) fn watch(
        &self,
        worker: usize,
        limit: Duration,
        urgent: impl Fn() -> bool,
        mut bed: Bed<'_>,
    ) -> Watched {
        self.rest(worker, WATCHING, &bed);
        // ORDERING: rest_fence. SeqCst: with `outside_fence`.
        fence(order!(rest_fence: SeqCst));
        // RECHECK: watch_urgent. The push from outside, or the end, that came before this worker could be seen to watch.
        if !recheck!(watch_urgent: urgent()) {
            bed.lie(Some(limit));
        }
        if self.rise(worker) {
            return Watched::Over;
        }
        // The signal was given before the list could be seen without this worker.
        self.wait_for_signal(worker, bed);
        Watched::Woken
    }

    /// A searching worker that has found nothing sleeps until it is woken, or has something to do in the driver, and comes back as a searcher. It does not sleep when
    /// `urgent` sees something, nor when it was the last lookout and `has_work` does. True: it has slept.
    pub(crate) fn sleep(
        &self,
        worker: usize,
        urgent: impl Fn() -> bool,
        has_work: impl Fn() -> bool,
        bed: Bed<'_>,
    ) -> bool {
        let before = self.rest(worker, SLEEPING, &bed);
        let was_last = before.lookouts() == 1;
        if was_last && self.active(before) > 0 {
            // ORDERING: sleep_heavy_fence. SeqCst: S2 of the handshake, with `push_fence`; and as `sleep_fence`.
            asymmetric::heavy(order!(sleep_heavy_fence: SeqCst));
        } else {
            // ORDERING: sleep_fence. SeqCst: S2 of the handshake, with `outside_fence`.
            fence(order!(sleep_fence: SeqCst));
        }
        // RECHECK: sleep_urgent. As `watch_urgent`.
        // RECHECK: sleep_again. S3: the push that relied on this lookout, or saw it awake.
        let is_needed =
            recheck!(sleep_urgent: urgent()) || was_last && recheck!(sleep_again: has_work());
        if is_needed && self.rise(worker) {
            return false;
        }
        self.wait_for_signal(worker, bed);
        true
    }

    /// Wakes all that rest, and rouses the others.
    pub(crate) fn wake_all(&self) {
        let woken = {
            let mut resting = self.lock();
            for one in &*resting {
                self.signal(one);
            }
            mem::take(&mut *resting)
        };
        for one in &woken {
            self.unpark(one);
        }
        self.rouse();
    }

    /// Wakes one worker, if it rests. To be called after a push to what that one alone takes from.
    /// One that does not rest costs a fence and a look at its own word.
    pub(crate) fn wake_worker(&self, worker: usize) {
        // ORDERING: worker_fence. SeqCst: the push against this look, with `rest_fence`, `sleep_fence` and `sleep_heavy_fence`.
        fence(order!(worker_fence: SeqCst));
        // ORDERING: worker_look. Relaxed: ordered by the fence.
        if self.signals[worker].load(order!(worker_look: Relaxed)) == RESTING {
            self.wake_first(|one| one.worker == worker);
        }
    }

    /// Wakes the keeper, if it rests.
    #[cfg(feature = "io")]
    pub(crate) fn wake_keeper(&self) {
        self.wake_first(|one| one.keeps);
    }

    fn wake_first(&self, which: impl Fn(&Resting) -> bool) {
        self.wake(|resting| resting.iter().position(which));
    }

    /// Wakes the one in the place that `choose` says. True: there is one.
    fn wake(&self, choose: impl FnOnce(&[Resting]) -> Option<usize>) -> bool {
        let one = {
            let mut resting = self.lock();
            let Some(place) = choose(&resting) else {
                return false;
            };
            let one = resting.remove(place);
            self.signal(&one);
            one
        };
        self.unpark(&one);
        true
    }

    /// Wakes one worker, if the reason still holds. It comes back as a searcher. Those that sleep come first: a watcher looks by itself;
    /// and of these the keeper last.
    #[cold]
    fn wake_one(&self, reason: Reason) -> bool {
        let rank = |one: &Resting| (one.how == SLEEPING, !one.keeps);
        self.wake(|resting| {
            // ORDERING: wake_look. Relaxed: whoever searches by now relies on the fence at its end.
            let counts = Counts(self.counts.load(order!(wake_look: Relaxed)));
            let ranked = (0..resting.len()).filter(|_| reason.holds(counts));
            ranked.max_by_key(|&i| rank(&resting[i]))
        })
    }

    /// A searching worker joins those that rest. Comes back with the counts before.
    fn rest(&self, worker: usize, how: u64, bed: &Bed<'_>) -> Counts {
        let mut resting = self.lock();
        resting.push(Resting {
            worker,
            thread: thread::current(),
            how,
            keeps: bed.keeps(),
        });
        // ORDERING: resting. Relaxed: against those who push for this worker alone the caller's
        // fence orders it.
        self.signals[worker].store(RESTING, order!(resting: Relaxed));
        // ORDERING: sleep. Release, with `found_fence`, which acquires: what this worker pushed when it was active is seen by the
        // look of one who finds nobody active. To those who rest after it, the mutex shows it.
        Counts(
            self.counts
                .fetch_add(how - SEARCHING, order!(sleep: Release)),
        )
    }

    /// Tells a worker that it is being taken off the list, which the caller has locked. To be unparked next.
    fn signal(&self, one: &Resting) {
        // ORDERING: rouse. Relaxed: what the woken worker must see comes with the signal.
        self.counts
            .fetch_sub(one.how - SEARCHING, order!(rouse: Relaxed));
        // ORDERING: signal. Release, with `slept`. Acquire, with an earlier `slept` of a keeper
        // that found no signal and rests again: the reactor in which it does so is seen by the ring
        // that follows.
        self.signals[one.worker].swap(AWAKE, order!(signal: AcqRel));
    }

    /// After [`signal`](Sleep::signal), with the list unlocked: it would hold up who rises.
    fn unpark(&self, one: &Resting) {
        one.thread.unpark();
        if one.keeps {
            (self.ring)();
        }
    }

    fn wait_for_signal(&self, worker: usize, mut bed: Bed<'_>) {
        // An exchange that changes nothing: it has its place in the order of those of `signal`.
        // ORDERING: slept. Acquire, with `signal`: what came before the wake-up is visible.
        // Release, with a `signal` that comes after a look that found none.
        while self.signals[worker].fetch_add(0, order!(slept: AcqRel)) == RESTING {
            // Not on the list any more, it has its signal by now.
            if bed.lie(None) && self.rise(worker) {
                return;
            }
        }
    }

    /// Takes a worker off the list again. False: somebody has woken it already, and its signal is on the way.
    fn rise(&self, worker: usize) -> bool {
        let mut resting = self.lock();
        let Some(place) = resting.iter().position(|one| one.worker == worker) else {
            return false;
        };
        let one = resting.swap_remove(place);
        // ORDERING: risen. Relaxed: whoever sees it late finds this worker gone from the list.
        self.signals[worker].store(AWAKE, order!(risen: Relaxed));
        // ORDERING: rise. Relaxed: as for `rouse`.
        self.counts
            .fetch_sub(one.how - SEARCHING, order!(rise: Relaxed));
        true
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Resting>> {
        #[cfg(test)]
        tests::LOCKS.set(tests::LOCKS.get() + 1);
        lock(&self.resting)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
