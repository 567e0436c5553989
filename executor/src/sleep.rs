//! How workers go to sleep without missing a wake-up, and how few of them are woken.
//!
//! A worker is *active* while it runs tasks. Otherwise it *searches*, *watches* or *sleeps*. One
//! word counts the workers in these three states, and a list under a mutex says which workers watch
//! and which sleep. A watcher sleeps too, but only for a limited time, and then looks again. A
//! worker that searches or watches is a **lookout**. While there is a lookout, an active worker
//! that pushes a task need not wake anybody, and a task that is stuck behind a long poll is found
//! by the lookout within that time.
//!
//! # The handshake
//! A push and a worker that goes to sleep form a store-load race: each side writes one place and
//! then reads the other's. Acquire and release are not
//! enough, so both sides have a fence. A worker pushes often, so its fence is [light] and the other
//! side's is heavy.
//!
//! | push (`notify`) | sleep | end of a search (`found`) |
//! |---|---|---|
//! | P1 put the task into a queue | S1 leave the searchers, join the sleepers | F1 leave the searchers |
//! | P2 fence | S2 fence | F2 fence |
//! | P3 read the counts. If there is no lookout and a worker sleeps, wake one | S3 if this was the last lookout, look into every queue. If there is work, stay awake | F3 if this was the last lookout, look into every queue. If there is work, wake one |
//!
//! **No task is left in a queue while no active worker could run it and there is no lookout.** Take
//! a push and a worker that goes to sleep. The two fences are ordered. If S2 comes before P2, then
//! P3 sees S1 or a later change, so it either wakes a sleeper or sees a lookout. If P2 comes before
//! S2, then S3 sees P1, and the worker stays awake. That leaves the push that relied on a lookout.
//! Its P3 read the counts before that lookout left (S1 or F1 of the lookout). So P2 comes before
//! the lookout's S2 or F2, because otherwise P3 would have seen it leave. Hence the lookout's S3 or
//! F3 sees P1. A lookout that was not the last one leaves the look to the last one, whose fence
//! comes later still. A watcher that looks again becomes a searcher, and is a lookout all the
//! while.
//!
//! The heavy fence is left out if no other worker is active at S1 or F1. Only active workers use
//! light fences. A worker that becomes active later changes the counts after S1 or F1, so its P3
//! sees S1 or F1. A worker that was active earlier is asleep by now, because there is no other
//! lookout. What it pushed came before its own S1, which is a release, and is under the mutex. The
//! fence after F1, or the mutex of S1, acquires that, so S3 or F3 sees its pushes.
//!
//! A worker that takes a batch from another queue holds the batch for a moment where no look can
//! see it. If it is a searcher, it leaves the searchers after it has put the batch into its own
//! queue. Leaving is a release, and the fence of any later leaver acquires it. So the last look of
//! the last searcher sees what the others took. If it is not a searcher, it announces the batch by
//! a `notify` of its own.
//!
//! **A task spawned from another thread is not left to a lookout while no worker is active.** The
//! spawning thread has a full fence, and wakes a worker if it reads that none is active and none
//! searches. A worker that is about to watch or sleep looks once more at the injector and at its
//! inbox, after a full fence of its own (`urgent`). This is the same race with the same two cases.
//!
//! A push may be left unannounced if the task is the only one that could be taken from its worker,
//! and the very next that the worker runs (`notify_unless`, and a task that yields alone). Whatever
//! that task does then, the next push is announced. A worker that puts another run before it, or
//! another waker, notifies for it first.
//!
//! A worker whose owner drives it ([`hosted`](super::hosted)) may be *away*: it is on the list, and
//! its thread does something else. It is woken by a function instead of an unpark, and takes itself
//! off the list when it is driven again. It has no time limit, so it is never a watcher.
//!
//! A worker rests on its own thread's parker, or in the [driver](super::driver), which has room for
//! one worker: the **keeper**. The keeper also rises by itself when there is something to do in the
//! driver. The other workers are woken before it.
//!
//! For the end, the mutex is enough. The flag is set before `wake_all` locks the list. A worker
//! that is not on the list by then locks it later, and sees the flag in its last look.
//!
//! Two designs were rejected: waking a worker for each push, because a wake-up costs more than most
//! tasks; and leaving a task to its pusher if the lookout that the push relied on finds something
//! else to do, because the task would then wait for that worker alone.
//!
//! [light]: super::fences

use super::fences::Fences;
use alloc::{boxed::Box, vec::Vec};
use core::{mem, time::Duration};
use crossbeam_utils::CachePadded;
use joint_switch::{
    AtomicU64, AtomicUsize, Mutex, MutexGuard, fence, order, recheck,
    thread::{self, Thread},
};
use std::sync::PoisonError;

mod counts;
mod place;

use self::counts::{Counts, SEARCHING, SLEEPING, WATCHING};
use self::place::Place;
pub(crate) use self::{
    counts::{MOST_WORKERS, Need},
    place::{AfterPark, Away, Parking},
};

/// The states of a worker's own word: `RESTING` exactly while the worker is on the list.
const AWAKE: usize = 0;
const RESTING: usize = 1;

pub(crate) struct Sleep {
    /// `SEARCHING`, `WATCHING` and `SLEEPING`, added up. The latter two are changed under the mutex
    /// only.
    counts: AtomicU64,
    resting: Mutex<Vec<Resting>>,
    /// The workers' threads, each from its [`begin`](Sleep::begin) on.
    threads: Mutex<Vec<Thread>>,
    /// One word for each worker. The worker sleeps on it, and a thread with something for this
    /// worker alone reads from it whether the worker rests. `RESTING` is set and cleared only under
    /// the mutex.
    signals: Vec<CachePadded<AtomicUsize>>,
    /// Wakes the keeper, which is in the driver or about to enter it.
    ring: Box<dyn Fn() + Send + Sync>,
    /// The fences between the workers.
    fences: Fences,
}

/// A worker that watches or sleeps.
struct Resting {
    worker: usize,
    place: Place,
    /// `WATCHING` or `SLEEPING`.
    how: u64,
    is_keeper: bool,
}

/// How a watch ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watched {
    Woken,
    /// The limit has passed.
    Over,
}

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slept {
    /// The worker did not sleep, because there was something to do.
    NotAtAll,
    AWhile,
}

/// How a worker has left the list of those that rest.
#[must_use]
#[derive(PartialEq, Eq)]
enum Risen {
    /// Another thread has taken it off the list, and is about to signal it.
    Woken,
    ByItself,
}

/// What a notification has woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woke {
    Nobody,
    One,
}

impl Sleep {
    /// `ring` ends the keeper's wait in the driver: the current one, or else the next.
    pub(crate) fn new(
        workers: usize,
        fences: Fences,
        ring: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self {
            counts: AtomicU64::new(0),
            resting: Mutex::new(Vec::with_capacity(workers)),
            threads: Mutex::new(Vec::with_capacity(workers)),
            signals: (0..workers)
                .map(|_| CachePadded::new(AtomicUsize::new(AWAKE)))
                .collect(),
            ring: Box::new(ring),
            fences,
        }
    }

    /// Registers the calling thread as a worker. From here on [`rouse`](Sleep::rouse) reaches it,
    /// and the worker sees everything that happened before an earlier `rouse`.
    pub(crate) fn begin(&self) {
        let thread = thread::current();
        let mut threads = lock(&self.threads);
        // One thread may drive several workers, or one worker again and again.
        if !threads.iter().any(|one| one.id() == thread.id()) {
            threads.push(thread);
        }
    }

    /// Unparks the thread of every worker, including workers that are blocked in a poll and on no
    /// list, so that each looks again at what has changed.
    pub(crate) fn rouse(&self) {
        // Cloned, because an unpark takes longer than a worker should wait to begin.
        let threads = lock(&self.threads).clone();
        threads.iter().for_each(Thread::unpark);
    }

    fn workers(&self) -> u64 {
        self.signals.len() as u64
    }

    /// Returns the number of workers that run tasks.
    fn active(&self, counts: Counts) -> u64 {
        self.workers() - counts.lookouts() - counts.sleeping()
    }

    /// Called by an active worker after a push. Wakes a worker if there is no lookout, or if there
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
        self.fences.light(order!(push_fence: SeqCst));
        // ORDERING: push_look. Relaxed: ordered by the fence.
        let counts = Counts(self.counts.load(order!(push_look: Relaxed)));
        let unmet = if counts.needs_lookout() {
            Need::Lookout
        } else if need == Need::Hands && counts.has_hands() {
            Need::Hands
        } else {
            return Woke::Nobody;
        };
        match runs_next() {
            true => Woke::Nobody,
            false => self.wake_one(unmet),
        }
    }

    /// Called by any other thread after a push. Also wakes a worker if none is active.
    pub(crate) fn notify_from_outside(&self, need: Need) {
        // ORDERING: outside_fence. SeqCst: P2 of the handshake, also with `rest_fence`.
        fence(order!(outside_fence: SeqCst));
        // ORDERING: outside_look. Relaxed: ordered by the fence.
        let counts = Counts(self.counts.load(order!(outside_look: Relaxed)));
        if counts.needs_lookout() {
            self.wake_one(Need::Lookout);
        } else if (need == Need::Hands || self.active(counts) == 0) && counts.has_hands() {
            self.wake_one(Need::Hands);
        }
    }

    /// Returns whether no worker is active.
    pub(crate) fn is_quiet(&self) -> bool {
        // ORDERING: quiet_look. Relaxed: for a choice that may be wrong.
        self.active(Counts(self.counts.load(order!(quiet_look: Relaxed)))) == 0
    }

    /// Whether a searcher that finds nothing should watch: other workers are active, and there is
    /// no other lookout.
    pub(crate) fn wants_watcher(&self) -> bool {
        // ORDERING: wanted_look. Relaxed: for a choice that may be wrong.
        let counts = Counts(self.counts.load(order!(wanted_look: Relaxed)));
        self.active(counts) > 0 && counts.lookouts() == 1
    }

    /// Returns whether some worker has nothing to run: a hint for code that can split its work.
    #[inline]
    pub(crate) fn is_anybody_idle(&self) -> bool {
        // ORDERING: idle_look. Relaxed: a hint.
        self.counts.load(order!(idle_look: Relaxed)) != 0
    }

    /// Records that a worker begins to search the other workers' queues.
    pub(crate) fn search(&self) {
        // ORDERING: search. Relaxed: a push that relies on this searcher relies on what the
        // searcher does when it leaves the lookouts.
        self.counts.fetch_add(SEARCHING, order!(search: Relaxed));
    }

    /// Records that a searching worker has found work. If it was the last lookout and `has_work`
    /// sees more, wakes another worker.
    pub(crate) fn found(&self, has_work: impl Fn() -> bool) {
        // ORDERING: found. Release, with the fence of a worker that leaves the lookouts later. That
        // fence follows an operation on the same word, so it acquires (`found_fence`,
        // `found_heavy_fence`, `sleep_heavy_fence`): the later worker's look sees what this
        // searcher has put into its queue.
        let before = Counts(self.counts.fetch_sub(SEARCHING, order!(found: Release)));
        if before.lookouts() != 1 || before.sleeping() == 0 {
            return;
        }
        if self.active(before) == 0 {
            // ORDERING: found_fence. SeqCst: F2 of the handshake, with `outside_fence`.
            fence(order!(found_fence: SeqCst));
        } else {
            // ORDERING: found_heavy_fence. SeqCst: F2 of the handshake, with `push_fence`.
            self.fences.heavy(order!(found_heavy_fence: SeqCst));
        }
        // RECHECK: found_again. F3: a push that relied on this lookout.
        if recheck!(found_again: has_work()) {
            self.wake_one(Need::Lookout);
        }
    }

    /// Lets a searching worker rest as a watcher for up to `limit`. It returns as a searcher. It
    /// does not rest if `urgent` returns true.
    pub(crate) fn watch(
        &self,
        worker: usize,
        limit: Duration,
        urgent: impl Fn() -> bool,
        mut parking: Parking<'_>,
    ) -> Watched {
        self.rest(worker, WATCHING, &parking);
        // ORDERING: rest_fence. SeqCst: with `outside_fence`.
        fence(order!(rest_fence: SeqCst));
        // RECHECK: watch_urgent. A push from another thread, or the end, that came before this
        // worker could be seen to watch.
        if !recheck!(watch_urgent: urgent()) {
            parking.park(Some(limit));
        }
        match self.rise(worker) {
            Risen::ByItself => Watched::Over,
            Risen::Woken => {
                self.wait_for_signal(worker, parking);
                Watched::Woken
            }
        }
    }

    /// Lets a searching worker sleep until it is woken or has something to do in the driver. It
    /// returns as a searcher. It does not sleep if `urgent` returns true, nor if it was the last
    /// lookout and `has_work` returns true.
    pub(crate) fn sleep(
        &self,
        worker: usize,
        urgent: impl Fn() -> bool,
        has_work: impl Fn() -> bool,
        parking: Parking<'_>,
    ) -> Slept {
        let rest = || self.rest(worker, SLEEPING, &parking);
        let slept = self.fall_asleep(worker, rest, urgent, has_work);
        if let Slept::AWhile = slept {
            self.wait_for_signal(worker, parking);
        }
        slept
    }

    /// Lets a searching worker sleep as [`sleep`](Sleep::sleep) does, while its thread does
    /// something else. Unless the answer is that it does not sleep at all, the worker's next call
    /// is [`come_back`](Sleep::come_back).
    pub(crate) fn go_away(
        &self,
        worker: usize,
        away: Away,
        urgent: impl Fn() -> bool,
        has_work: impl Fn() -> bool,
    ) -> Slept {
        let rest = || self.rest_at(worker, SLEEPING, Place::Away(away), false);
        self.fall_asleep(worker, rest, urgent, has_work)
    }

    /// Ends the sleep of a worker that was away. It is a searcher again.
    pub(crate) fn come_back(&self, worker: usize) {
        // If another thread has taken it off the list, the lock passes on what that thread did.
        let _how = self.rise(worker);
    }

    fn fall_asleep(
        &self,
        worker: usize,
        rest: impl FnOnce() -> Counts,
        urgent: impl Fn() -> bool,
        has_work: impl Fn() -> bool,
    ) -> Slept {
        let before = rest();
        let was_last = before.lookouts() == 1;
        if was_last && self.active(before) > 0 {
            // ORDERING: sleep_heavy_fence. SeqCst: S2 of the handshake, with `push_fence`; and as
            // `sleep_fence`.
            self.fences.heavy(order!(sleep_heavy_fence: SeqCst));
        } else {
            // ORDERING: sleep_fence. SeqCst: S2 of the handshake, with `outside_fence`.
            fence(order!(sleep_fence: SeqCst));
        }
        // RECHECK: sleep_urgent. As `watch_urgent`.
        // RECHECK: sleep_again. S3: a push that relied on this lookout, or saw it awake.
        let is_needed =
            recheck!(sleep_urgent: urgent()) || was_last && recheck!(sleep_again: has_work());
        if is_needed && self.rise(worker) == Risen::ByItself {
            return Slept::NotAtAll;
        }
        Slept::AWhile
    }

    /// Wakes all resting workers, and rouses the others.
    pub(crate) fn wake_all(&self) {
        let woken = {
            let mut resting = self.lock();
            for one in &*resting {
                self.signal(one);
            }
            mem::take(&mut *resting)
        };
        for one in woken {
            self.unpark(one);
        }
        self.rouse();
    }

    /// Wakes one worker, if it rests. Called after a push to that worker's inbox. If the worker
    /// does not rest, this costs a fence and a load of its word.
    pub(crate) fn wake_worker(&self, worker: usize) {
        // ORDERING: worker_fence. SeqCst: orders the push before this look, with `rest_fence`,
        // `sleep_fence` and `sleep_heavy_fence`.
        fence(order!(worker_fence: SeqCst));
        // ORDERING: worker_look. Relaxed: ordered by the fence.
        if self.signals[worker].load(order!(worker_look: Relaxed)) == RESTING {
            self.wake_first(|one| one.worker == worker);
        }
    }

    /// Wakes the keeper, if it rests.
    #[cfg(feature = "io")]
    pub(crate) fn wake_keeper(&self) {
        self.wake_first(|one| one.is_keeper);
    }

    fn wake_first(&self, which: impl Fn(&Resting) -> bool) {
        self.wake(|resting| resting.iter().position(which));
    }

    /// Wakes the resting worker that `choose` selects by its place.
    fn wake(&self, choose: impl FnOnce(&[Resting]) -> Option<usize>) -> Woke {
        let one = {
            let mut resting = self.lock();
            let Some(place) = choose(&resting) else {
                return Woke::Nobody;
            };
            let one = resting.remove(place);
            self.signal(&one);
            one
        };
        self.unpark(one);
        Woke::One
    }

    /// Wakes one worker as a searcher, if the need is still not met. Sleepers are woken before
    /// watchers, which look by themselves, and the keeper is woken last.
    #[cold]
    fn wake_one(&self, need: Need) -> Woke {
        let rank = |one: &Resting| (one.how == SLEEPING, !one.is_keeper);
        self.wake(|resting| {
            // ORDERING: wake_look. Relaxed: a worker that searches by now has a fence at the end of
            // its search.
            let counts = Counts(self.counts.load(order!(wake_look: Relaxed)));
            let ranked = (0..resting.len()).filter(|_| need.is_unmet(counts));
            ranked.max_by_key(|&i| rank(&resting[i]))
        })
    }

    /// Puts a searching worker on the list. Returns the counts before.
    fn rest(&self, worker: usize, how: u64, parking: &Parking<'_>) -> Counts {
        let place = Place::Thread(thread::current());
        self.rest_at(worker, how, place, parking.is_keepers())
    }

    fn rest_at(&self, worker: usize, how: u64, place: Place, is_keeper: bool) -> Counts {
        let mut resting = self.lock();
        resting.push(Resting {
            worker,
            place,
            how,
            is_keeper,
        });
        // ORDERING: resting. Relaxed: the caller's fence orders it against a push to this worker's
        // inbox.
        self.signals[worker].store(RESTING, order!(resting: Relaxed));
        // ORDERING: sleep. Release, with `found_fence`, which acquires: a worker that finds none
        // active sees what this worker pushed while it was active. A worker that rests after this
        // one sees it through the mutex.
        Counts(
            self.counts
                .fetch_add(how - SEARCHING, order!(sleep: Release)),
        )
    }

    /// Signals a worker that the caller is taking off the locked list, and unparks next.
    fn signal(&self, one: &Resting) {
        // ORDERING: rouse. Relaxed: the signal publishes what the woken worker must see.
        self.counts
            .fetch_sub(one.how - SEARCHING, order!(rouse: Relaxed));
        // ORDERING: signal. Release, with `slept`. Acquire, with an earlier `slept` of a keeper
        // that found no signal and rests again: the ring that follows sees the reactor in which the
        // keeper rests.
        self.signals[one.worker].swap(AWAKE, order!(signal: AcqRel));
    }

    /// Called after [`signal`](Sleep::signal), with the list unlocked, because the woken worker may
    /// need it.
    fn unpark(&self, one: Resting) {
        match one.place {
            Place::Thread(thread) => thread.unpark(),
            Place::Away(away) => away.wake(),
        }
        if one.is_keeper {
            (self.ring)();
        }
    }

    fn wait_for_signal(&self, worker: usize, mut parking: Parking<'_>) {
        // An exchange that changes nothing, so that it has its place in the order of the exchanges
        // of `signal`.
        // ORDERING: slept. Acquire, with `signal`: what came before the wake-up is visible.
        // Release, with a `signal` that comes after a look that found none.
        while self.signals[worker].fetch_add(0, order!(slept: AcqRel)) == RESTING {
            // A worker that is not on the list any more has its signal by now.
            if let AfterPark::Rise = parking.park(None) {
                if let Risen::ByItself = self.rise(worker) {
                    return;
                }
            }
        }
    }

    /// Takes a worker off the list, unless another thread has done so.
    fn rise(&self, worker: usize) -> Risen {
        let mut resting = self.lock();
        let Some(place) = resting.iter().position(|one| one.worker == worker) else {
            return Risen::Woken;
        };
        let one = resting.swap_remove(place);
        // ORDERING: risen. Relaxed: a thread that sees it late does not find this worker on the
        // list.
        self.signals[worker].store(AWAKE, order!(risen: Relaxed));
        // ORDERING: rise. Relaxed: as for `rouse`.
        self.counts
            .fetch_sub(one.how - SEARCHING, order!(rise: Relaxed));
        drop(resting);
        // Its waker may be a stranger's, and the drop of that one may wake a worker.
        drop(one);
        Risen::ByItself
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
