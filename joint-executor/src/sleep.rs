//! How workers go to sleep without missing a wake-up, and how few of them are woken.
//!
//! A worker *runs* tasks, *searches*, or is *parked*. A parked worker *sleeps*, or it *watches*:
//! for a limited time, after which it searches again. One word counts the workers that search,
//! watch and sleep, and those that have been woken and are not up yet. A worker that searches or
//! watches, or is on its way up, is a **lookout**. While there is a lookout, a worker that pushes a
//! task need not wake anybody, and a task that is stuck behind a long poll is found by the lookout
//! within that time.
//!
//! Two designs were rejected: waking a worker for each push, because a wake-up costs more than most
//! tasks; and leaving a task to its pusher if the lookout that the push relied on finds something
//! else to do, because the task would then wait for that worker alone.
//!
//! # The handshake
//! A push and a worker that goes to sleep form a store-load race: each side writes one place and
//! then reads the other's. Acquire and release are not enough, so both sides have a fence.
//!
//! | push (`notify`) | sleep | end of a search (`found`) |
//! |---|---|---|
//! | P1 put the task into a queue | S1 leave the searchers, join the sleepers | F1 leave the searchers |
//! | P2 fence | S2 fence | F2 fence |
//! | P3 read the counts. If there is no lookout and a worker sleeps, wake one | S3 if this was the last lookout, look into every queue. If there is work, stay awake | F3 if this was the last lookout, look into every queue. If there is work, wake one |
//!
//! **No task is left in a queue while no running worker could run it and there is no lookout.**
//! Take a push and a worker that goes to sleep. The two fences are ordered. If S2 comes before P2,
//! then P3 sees S1 or a later change, so it either wakes a sleeper or sees a lookout. If P2 comes
//! before S2, then S3 sees P1, and the worker stays awake. That leaves the push that relied on a
//! lookout. Its P3 read the counts before that lookout left (S1 or F1 of the lookout). So P2 comes
//! before the lookout's S2 or F2, because otherwise P3 would have seen it leave. Hence the
//! lookout's S3 or F3 sees P1. A lookout that was not the last one leaves the look to the last one,
//! whose fence comes later still. A watcher that looks again is a lookout all the while.
//!
//! **A yield makes no fence.** A worker queues a task that has yielded, and takes its next task
//! right after that, by a read-modify-write of a ring (`ring.rs`). This take is P2, and P3 follows
//! it. After S2 or F2, and before it looks, the last lookout makes a read-modify-write of each ring
//! of the workers that are [awake](Sleep::awake), which changes nothing. If that comes first, the
//! take acquires it, and P3 sees S1 or F1. If the take comes first, the lookout acquires the take,
//! and S3 or F3 sees P1. If anything else comes between a yield and the take, the yield is
//! announced before that, with a fence.
//!
//! A worker that the lookout sees parked may be left out. If it runs after that, it has counted
//! itself as awake after S1 or F1, so its P3 sees those. If it had been up before, the lookout
//! would see it awake, because it wrote that before it left the searchers, which is a release, and
//! the lookout left later and acquires. If it has run and parks again, its queues are empty.
//!
//! **A batch** that a worker takes from another queue is for a moment where no look can see it. A
//! searcher leaves the searchers after it has put the batch into its own queue. Leaving is a
//! release, and the fence of any later leaver acquires it, so the last look sees what the others
//! took. A worker that is not a searcher announces the batch by a `notify` of its own.
//!
//! **A task spawned from another thread is not left to a lookout while no worker runs.** The
//! spawning thread has a full fence, and wakes a worker if it reads that none runs and none
//! searches. A worker that is about to park looks once more at the injector and at its inbox, after
//! a full fence of its own (`urgent`). This is the same race with the same two cases.
//!
//! **A push may be left unannounced** if the task is the only one that could be taken from its
//! worker, and the very next that the worker runs (`notify_unless`, and a task that yields alone).
//! Whatever that task does then, the next push is announced. A worker that puts another run before
//! it, or the code of a stranger, notifies for it first.
//!
//! # One word for each worker
//! A worker that parks writes into its word how it parks, and then counts itself. So whoever counts
//! it as parked finds its word: the last lookout acquires the counts of all that parked before it
//! left, and its fence passes their words on. (In the other order, a worker that is stopped between
//! the two is counted and cannot be woken. If it was not the last lookout, it does not look
//! either.) Whoever wants to wake it **claims** it, by an exchange of that word, unparks it, and
//! counts it as on its way up, in this order. The worker wakes up by an exchange too, and then
//! counts itself as a searcher. So one side alone learns that the worker was parked. A push that
//! finds all words awake, though the counts show a sleeper, need not wake anybody: that sleeper has
//! woken up, and is about to count itself.
//!
//! A thread that is stopped between its claim and the unpark hinders nobody: it has not counted the
//! worker yet, so others still see that a lookout is needed, and wake another worker or unpark that
//! one themselves. Those who need that very worker unpark it in any case. If the worker is up
//! before its waker has counted it, the count of those on their way up is less than 0 until then.
//! It lies above the others, so nothing is borrowed from them, and it is read as 0.
//!
//! A worker parks on its own thread, or in the [driver](super::driver), which has room for one: the
//! **keeper**. The keeper also wakes up by itself when there is something to do in the driver. The
//! other workers are woken before it. A worker whose owner drives it ([`hosted`](super::hosted))
//! may be *away*: it sleeps, and its thread does something else. It is woken after all others, by a
//! function instead of an unpark, which only its claimer calls. It wakes up when it is driven
//! again. As that may be never, it does not count as on its way up.

use super::fences::Fences;
use crate::{
    guard::lock,
    padded::{CachePadded, one_each},
};
use alloc::{boxed::Box, vec::Vec};
use core::{task::Waker, time::Duration};
use joint_switch::{
    AtomicU64, AtomicUsize, Mutex, OnceLock, fence, order, recheck,
    thread::{self, Thread},
};

mod counts;

use self::counts::{Counts, SEARCHING, SLEEPING, WAKING, WATCHING};
pub(crate) use self::counts::{MOST_WORKERS, Need};

/// The words of workers. The parked one with the highest word is woken first.
const AWAKE: usize = 0;
/// It is being woken.
const CLAIMED: usize = 1;
/// The keeper is being woken.
const CLAIMED_IN_DRIVER: usize = 2;
/// It sleeps, and its thread does something else.
const AWAY: usize = 3;
const WATCHES_IN_DRIVER: usize = 4;
const WATCHES: usize = 5;
const SLEEPS_IN_DRIVER: usize = 6;
const SLEEPS: usize = 7;

pub(crate) struct Sleep {
    /// `SEARCHING`, `WATCHING`, `SLEEPING` and `WAKING`, added up.
    counts: CachePadded<AtomicU64>,
    /// One for each worker, close together, because a waker looks at all.
    words: Vec<AtomicUsize>,
    reached: Vec<Reached>,
    /// Wakes the keeper, which is in the driver or about to enter it.
    ring: Box<dyn Fn() + Send + Sync>,
    fences: Fences,
}

struct Reached {
    /// Its thread, from [`begin`](Sleep::begin) on. Not under a lock, because a thread may be
    /// stopped while it unparks another.
    thread: OnceLock<Thread>,
    /// Its thread once its owner has moved it to another one.
    moved: OnceLock<Mutex<Thread>>,
    /// How it is woken while it is away. Its claimer takes it, or it itself when it comes back.
    away: Mutex<Option<Waker>>,
}

pub(crate) struct Parking<'a> {
    pub(crate) in_driver: bool,
    /// Parks once, for at most that time. It may return early for no reason. Returns whether the
    /// worker wakes up by itself, because there is something to do in the driver.
    pub(crate) park: &'a mut dyn FnMut(Option<Duration>) -> bool,
}

/// Parks this thread, as [`Parking`] says.
pub(crate) fn park_thread(limit: Option<Duration>) -> bool {
    limit.map_or_else(thread::park, thread::park_timeout);
    false
}

#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parked {
    /// It has not, because there was something to do.
    NotAtAll,
    /// Until another thread has claimed it.
    Woken,
    /// Until it has woken up by itself.
    AWhile,
}

#[must_use]
#[derive(Debug)]
pub(crate) enum Woke {
    Nobody,
    One,
    /// A worker whose thread is away. The caller wakes it by this, where it may call the code of a
    /// stranger.
    Away(Waker),
}

impl Woke {
    pub(crate) fn away(self) -> Option<Waker> {
        match self {
            Self::Away(waker) => Some(waker),
            Self::Nobody | Self::One => None,
        }
    }
}

impl Sleep {
    /// `ring` ends the keeper's wait in the driver: the current one, or else the next.
    pub(crate) fn new(
        workers: usize,
        fences: Fences,
        ring: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self {
            counts: CachePadded::new(AtomicU64::new(0)),
            words: one_each(workers, |_| AtomicUsize::new(AWAKE)),
            reached: one_each(workers, |_| Reached::new()),
            ring: Box::new(ring),
            fences,
        }
    }

    /// Registers the calling thread as that worker's. From here on
    /// [`unpark_all`](Sleep::unpark_all) reaches it, and the worker sees everything that happened
    /// before an earlier `unpark_all`.
    pub(crate) fn begin(&self, worker: usize) {
        self.reached[worker].begin();
        // ORDERING: begin_fence. SeqCst: with `rouse_fence`. Before the fences of whoever wakes
        // the worker, which find a thread that has moved.
        fence(order!(begin_fence: SeqCst));
    }

    /// Unparks the thread of every worker, including workers that are blocked in a poll, so that
    /// each looks again at what has changed.
    pub(crate) fn unpark_all(&self) {
        // ORDERING: rouse_fence. SeqCst: with `begin_fence`: this finds the thread, or the worker
        // sees what the caller has written.
        fence(order!(rouse_fence: SeqCst));
        self.reached.iter().for_each(Reached::unpark);
    }

    #[inline]
    fn counts(&self) -> Counts {
        // ORDERING: counts_look. Relaxed: ordered by the caller's fence, or by the take that stands
        // for it; or for a choice that may be wrong.
        Counts(self.counts.load(order!(counts_look: Relaxed)))
    }

    fn running(&self, counts: Counts) -> u64 {
        self.words.len() as u64 - counts.searching() - counts.watching() - counts.sleeping()
    }

    /// Called by a running worker after a push. Wakes a worker if there is no lookout, or if there
    /// is another need that is not met.
    #[inline]
    pub(crate) fn notify(&self, need: Need) -> Woke {
        self.notify_unless(need, || false)
    }

    /// Like [`notify`](Sleep::notify), but wakes nobody if `runs_next` returns true: the pushed
    /// task is the only one, and the caller runs it next. It is asked only if a worker would be
    /// woken.
    #[inline]
    pub(crate) fn notify_unless(&self, need: Need, runs_next: impl FnOnce() -> bool) -> Woke {
        // ORDERING: push_fence. SeqCst: P2 of the handshake, with `sleep_fence` and `found_fence`.
        self.fences.fence(order!(push_fence: SeqCst));
        self.notify_after_take(need, runs_next)
    }

    /// Like [`notify_unless`](Sleep::notify_unless), after a take that followed the push.
    /// `runs_next` then says that nothing is left in the queues.
    #[inline]
    pub(crate) fn notify_after_take(&self, need: Need, runs_next: impl FnOnce() -> bool) -> Woke {
        match self.counts().lack(need) && !runs_next() {
            true => self.wake_one(),
            false => Woke::Nobody,
        }
    }

    /// Called by any other thread after a push. Also wakes a worker if none runs.
    pub(crate) fn notify_from_outside(&self, need: Need) -> Woke {
        // ORDERING: outside_fence. SeqCst: P2 of the handshake, with `sleep_fence` and
        // `found_fence`.
        fence(order!(outside_fence: SeqCst));
        let counts = self.counts();
        let is_quiet = self.running(counts) == 0;
        match counts.lack(need) || is_quiet && counts.lack(Need::Hands) {
            true => self.wake_one(),
            false => Woke::Nobody,
        }
    }

    /// Returns the workers that are not parked, to the last look of a lookout.
    pub(crate) fn awake(&self) -> impl Iterator<Item = usize> {
        (0..self.words.len()).filter(|worker| self.word(*worker) == AWAKE)
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.running(self.counts()) == 0
    }

    pub(crate) fn lookouts(&self) -> u64 {
        self.counts().lookouts()
    }

    /// Returns whether some worker has nothing to run: a hint for code that can split its work.
    #[inline]
    pub(crate) fn is_anybody_idle(&self) -> bool {
        // A woken worker may have woken up before its waker counts it as waking.
        self.counts().0 % WAKING != 0
    }

    /// Records that a worker begins to search the other workers' queues.
    pub(crate) fn search(&self) {
        // ORDERING: search. Relaxed: a push that relies on this searcher relies on what the
        // searcher does when it leaves the lookouts.
        self.counts.fetch_add(SEARCHING, order!(search: Relaxed));
    }

    /// Records that a searching worker runs again. If it was the last lookout, or the last searcher
    /// although there is more work than for the active workers, and `has_work` sees something to
    /// do, wakes another worker.
    pub(crate) fn found(&self, need: Need, has_work: impl Fn() -> bool) -> Woke {
        // ORDERING: found. Release, with the fence of a worker that leaves the lookouts later. That
        // fence follows an operation on the same word, so it acquires (`found_fence`,
        // `sleep_fence`): the later worker's look sees what this searcher has put into its queue.
        let before = Counts(self.counts.fetch_sub(SEARCHING, order!(found: Release)));
        if !Counts(before.0 - SEARCHING).lack(need) {
            return Woke::Nobody;
        }
        // ORDERING: found_fence. SeqCst: F2 of the handshake, with `push_fence` and
        // `outside_fence`.
        fence(order!(found_fence: SeqCst));
        // RECHECK: found_again. F3: a push that relied on this lookout.
        match recheck!(found_again: has_work()) {
            true => self.wake_one(),
            false => Woke::Nobody,
        }
    }

    /// Parks a searching worker until it is woken or has something to do in the driver: with a
    /// limit as a watcher, for no longer than that, and without one as a sleeper. It returns as a
    /// searcher. It does not park if `urgent` returns true, nor does it sleep if it was the last
    /// lookout and `has_work` returns true.
    pub(crate) fn park(
        &self,
        worker: usize,
        limit: Option<Duration>,
        urgent: impl Fn() -> bool,
        has_work: impl Fn() -> bool,
        parking: Parking<'_>,
    ) -> Parked {
        let (count, word) = match (limit, parking.in_driver) {
            (None, false) => (SLEEPING, SLEEPS),
            (None, true) => (SLEEPING, SLEEPS_IN_DRIVER),
            (Some(_), false) => (WATCHING, WATCHES),
            (Some(_), true) => (WATCHING, WATCHES_IN_DRIVER),
        };
        let has_work = || limit.is_none() && has_work();
        let is_needed = self.begin_park(worker, word, count, urgent, has_work);
        // An exchange that changes nothing, so that it has its place in the order of the claims.
        // ORDERING: slept. Release, with `claim`: a claim that comes after a look that found none
        // sees the reactor in which this keeper parks. `risen` acquires.
        let is_claimed = || is_claimed(self.words[worker].fetch_add(0, order!(slept: Release)));
        while !is_needed && !is_claimed() {
            if (parking.park)(limit) || limit.is_some() {
                break;
            }
        }
        match self.end_park(worker, count, WAKING) {
            true => Parked::Woken,
            false if is_needed => Parked::NotAtAll,
            false => Parked::AWhile,
        }
    }

    /// As [`park`](Sleep::park), as a sleeper whose thread does something else until
    /// [`come_back`](Sleep::come_back).
    ///
    /// # Errors
    /// It does not park. The waker comes back, to be dropped by a running worker.
    pub(crate) fn go_away(
        &self,
        worker: usize,
        away: Waker,
        urgent: impl Fn() -> bool,
        has_work: impl Fn() -> bool,
    ) -> Result<(), Option<Waker>> {
        *lock(&self.reached[worker].away) = Some(away);
        match self.begin_park(worker, AWAY, SLEEPING, urgent, has_work) {
            true => Err(self.come_back(worker)),
            false => Ok(()),
        }
    }

    /// Makes a worker that was away a searcher. Returns its waker, if nobody has woken it, to be
    /// dropped by a running worker.
    pub(crate) fn come_back(&self, worker: usize) -> Option<Waker> {
        self.end_park(worker, SLEEPING, 0);
        lock(&self.reached[worker].away).take()
    }

    /// Unparks every worker thread. Returns the wakers of the hosted workers whose threads are
    /// away.
    #[must_use]
    pub(crate) fn wake_all(&self) -> Vec<Waker> {
        self.unpark_all();
        self.wake_parked()
    }

    #[must_use]
    pub(crate) fn wake_parked(&self) -> Vec<Waker> {
        // ORDERING: end_fence. SeqCst: orders what the caller has written before these looks, with
        // `sleep_fence`.
        fence(order!(end_fence: SeqCst));
        let all = 0..self.words.len();
        all.filter_map(|worker| self.wake(worker, |_| true).away())
            .collect()
    }

    /// Wakes one worker, if it is parked. Called after a push to that worker's inbox. If the worker
    /// is not parked, this costs a fence and a load of its word.
    pub(crate) fn wake_worker(&self, worker: usize) -> Woke {
        // ORDERING: worker_fence. SeqCst: orders the push before this look, with `sleep_fence`.
        fence(order!(worker_fence: SeqCst));
        self.wake(worker, |_| true)
    }

    pub(crate) fn wake_keeper(&self) {
        let mut all = 0..self.words.len();
        _ = all.find(|&worker| matches!(self.wake(worker, is_keepers), Woke::One));
    }

    /// Wakes one worker as a searcher. Sleepers are woken before watchers, which look by
    /// themselves, each kind's keeper after the others, and last a worker whose thread is away.
    #[cold]
    fn wake_one(&self) -> Woke {
        while let Some(best) = self.best() {
            match self.wake(best, |_| true) {
                Woke::Nobody => {}
                woke => return woke,
            }
        }
        for worker in 0..self.words.len() {
            _ = self.wake(worker, is_claimed);
        }
        Woke::Nobody
    }

    /// Returns the worker that is woken first, if one sleeps, watches or is away.
    fn best(&self) -> Option<usize> {
        let all = (0..self.words.len()).map(|worker| (self.word(worker), worker));
        all.max()
            .and_then(|(word, best)| (word >= AWAY).then_some(best))
    }

    fn word(&self, worker: usize) -> usize {
        // ORDERING: worker_look. Relaxed: ordered by the caller's fence.
        self.words[worker].load(order!(worker_look: Relaxed))
    }

    /// Wakes a worker, if it is parked and its word is like that. One that is claimed is unparked
    /// again, because the thread that has claimed it may be stopped.
    fn wake(&self, worker: usize, is_it: fn(usize) -> bool) -> Woke {
        let mut word = self.word(worker);
        loop {
            let claimed = match word {
                AWAKE => return Woke::Nobody,
                _ if !is_it(word) => return Woke::Nobody,
                AWAY => return self.wake_away(worker),
                CLAIMED | CLAIMED_IN_DRIVER => {
                    self.unpark(worker, word);
                    return Woke::Nobody;
                }
                WATCHES_IN_DRIVER | SLEEPS_IN_DRIVER => CLAIMED_IN_DRIVER,
                _ => CLAIMED,
            };
            // ORDERING: claim. Release, with `risen`: what the caller has written is visible to the
            // worker. Acquire, with an earlier `slept` of a keeper that parks again: the ring that
            // follows sees the reactor in which it parks.
            // ORDERING: claim_not. Relaxed: this looks again at the word that it has read.
            let (claim, not) = (order!(claim: AcqRel), order!(claim_not: Relaxed));
            match self.words[worker].compare_exchange(word, claimed, claim, not) {
                Ok(_) => break self.unpark(worker, claimed),
                Err(now) => word = now,
            }
        }
        // ORDERING: waking. Relaxed: the claim publishes what the woken worker must see.
        self.counts.fetch_add(WAKING, order!(waking: Relaxed));
        Woke::One
    }

    /// Wakes a worker whose word was [`AWAY`] a moment ago.
    fn wake_away(&self, worker: usize) -> Woke {
        // Locked, so that it is the waker of the sleep that is claimed.
        let mut away = lock(&self.reached[worker].away);
        // ORDERING: claim_away. Relaxed: the lock publishes the waker here, and in `come_back` what
        // the caller has written.
        // ORDERING: claim_away_not. Relaxed: another thread wakes it, or it has come back.
        let (claim, not) = (order!(claim_away: Relaxed), order!(claim_away_not: Relaxed));
        let claim = self.words[worker].compare_exchange(AWAY, CLAIMED, claim, not);
        let away = claim.ok().and_then(|_| away.take());
        away.map_or(Woke::Nobody, Woke::Away)
    }

    fn unpark(&self, worker: usize, claimed: usize) {
        self.reached[worker].unpark();
        if claimed == CLAIMED_IN_DRIVER {
            (self.ring)();
        }
    }

    /// S1 to S3: parks a searching worker, as far as others can see. Returns whether it must wake
    /// up again.
    fn begin_park(
        &self,
        worker: usize,
        word: usize,
        count: u64,
        urgent: impl Fn() -> bool,
        has_work: impl Fn() -> bool,
    ) -> bool {
        // ORDERING: parked. Relaxed: ordered by the exchange below and by the fence.
        self.words[worker].store(word, order!(parked: Relaxed));
        // ORDERING: sleep. AcqRel, with `found_fence`, which acquires, and from one of these to the
        // next: a worker that finds none running sees what this worker pushed while it ran, and the
        // last lookout sees the words of all that are parked.
        let before = (self.counts).fetch_add(count - SEARCHING, order!(sleep: AcqRel));
        // ORDERING: sleep_fence. SeqCst: S2 of the handshake, with `push_fence`, `outside_fence`,
        // `worker_fence` and `end_fence`.
        fence(order!(sleep_fence: SeqCst));
        let was_last = Counts(before).lookouts() == 1;
        // RECHECK: sleep_urgent. A push from another thread, or the end, that came before this
        // worker could be seen to be parked.
        // RECHECK: sleep_again. S3: a push that relied on this lookout, or saw it awake.
        recheck!(sleep_urgent: urgent()) || was_last && recheck!(sleep_again: has_work())
    }

    /// Makes a parked worker a searcher. `waking` is what its waker has counted, or will. Returns
    /// whether another thread has claimed it.
    fn end_park(&self, worker: usize, count: u64, waking: u64) -> bool {
        // ORDERING: risen. Acquire, with `claim`: what came before the wake-up is visible.
        let is_woken = is_claimed(self.words[worker].swap(AWAKE, order!(risen: Acquire)));
        let change = count - SEARCHING + if is_woken { waking } else { 0 };
        // ORDERING: rise. Relaxed: as for `search`.
        self.counts.fetch_sub(change, order!(rise: Relaxed));
        is_woken
    }
}

fn is_keepers(word: usize) -> bool {
    [CLAIMED_IN_DRIVER, WATCHES_IN_DRIVER, SLEEPS_IN_DRIVER].contains(&word)
}

fn is_claimed(word: usize) -> bool {
    word == CLAIMED || word == CLAIMED_IN_DRIVER
}

impl Reached {
    fn new() -> Self {
        Self {
            thread: OnceLock::new(),
            moved: OnceLock::new(),
            away: Mutex::default(),
        }
    }

    fn begin(&self) {
        let here = thread::current();
        match (self.thread.get(), self.moved.get()) {
            (None, _) => _ = self.thread.set(here),
            (Some(_), Some(moved)) => *lock(moved) = here,
            (Some(first), None) if first.id() == here.id() => {}
            (Some(_), None) => _ = self.moved.set(Mutex::new(here)),
        }
    }

    fn unpark(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
        if let Some(moved) = self.moved.get() {
            lock(moved).unpark();
        }
    }
}

#[cfg(test)]
mod tests;
