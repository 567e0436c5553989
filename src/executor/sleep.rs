//! How workers go to sleep without missing a wake-up, and how few of them are woken.
//!
//! One word counts the workers that search for work and those that sleep; a list under a mutex says which sleep.
//!
//! # The handshake
//!
//! A push and a worker that goes to sleep form a store-load race: each writes one place and then reads the other's. It is the
//! one place in the crate where acquire and release do not do, and both sides have a `SeqCst` fence.
//!
//! | push (`notify`) | sleep | end of a search (`found`) |
//! |---|---|---|
//! | P1 put the task into a queue | S1 leave the searchers, join the sleepers | F1 leave the searchers |
//! | P2 fence | S2 fence | F2 fence |
//! | P3 read the counts: nobody searches and somebody sleeps: wake one | S3 look into every queue: work: stay awake | F3 was the last: look into every queue: work: wake one |
//!
//! **No task is left in a queue while all other workers sleep.** Take a push and a worker that sleeps. The two fences are
//! ordered. If S2 comes before P2, then P3 sees S1 (or later): either it wakes a sleeper, or it sees a searcher. If P2 comes
//! before S2, then S3 sees P1, and the worker stays awake. Left is the push that relied on a searcher: P3 read the counts before
//! that searcher left them (its S1 or F1), so P2 comes before its S2 or F2, or else P3 had seen it leave; hence its S3 or F3
//! sees P1. A searcher that was not the last leaves this to the last, whose fence comes later still.
//!
//! A worker that takes a batch from another place has it in hand for a moment, where no look sees it. When it is a searcher, it
//! leaves the searchers after the batch is in its own queue, by a release that the fence of whoever leaves after it acquires:
//! so the last look of the last of them sees what the others took. When it is not, it says so by a `notify` of its own.
//!
//! To end, the mutex does: the flag is set before `wake_all` takes it, and a worker that is not on the list by then takes it
//! later, and sees the flag in S3.
//!
//! What was rejected: waking a worker for each push (a wake-up costs more than most tasks), and letting a push that relies on
//! a searcher be forgotten when that searcher finds something else (the task would wait for the pusher's own worker).

use crate::sync::{
    AtomicUsize, Mutex, MutexGuard, fence, order,
    thread::{self, Thread},
};
use alloc::vec::Vec;
use std::sync::PoisonError;

/// One searching worker, in the counts.
const SEARCHING: usize = 1;
/// One sleeping worker, in the counts: above all that can search.
const SLEEPING: usize = 1 << (usize::BITS / 2);

const ASLEEP: usize = 0;
const WOKEN: usize = 1;

pub(crate) struct Sleep {
    /// `SEARCHING` and `SLEEPING`, added up. Sleepers are counted under the mutex only.
    counts: AtomicUsize,
    sleepers: Mutex<Vec<Sleeper>>,
    /// One for each worker: what it sleeps on.
    signals: Vec<AtomicUsize>,
}

struct Sleeper {
    worker: usize,
    thread: Thread,
}

impl Sleep {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            counts: AtomicUsize::new(0),
            sleepers: Mutex::new(Vec::with_capacity(workers)),
            signals: (0..workers).map(|_| AtomicUsize::new(ASLEEP)).collect(),
        }
    }

    /// After a push: wakes a worker when somebody sleeps and nobody is searching already.
    #[inline]
    pub(crate) fn notify(&self) {
        // ORDERING: push_fence. SeqCst: P2 of the handshake, with `sleep_fence` and `found_fence`.
        fence(order!(push_fence: SeqCst));
        // ORDERING: push_look. Relaxed: ordered by the fence.
        let counts = self.counts.load(order!(push_look: Relaxed));
        if counts >= SLEEPING && counts % SLEEPING == 0 {
            self.wake_one();
        }
    }

    /// A worker begins to look for work in other places than its own.
    pub(crate) fn search(&self) {
        // ORDERING: search. Relaxed: a push that sees it relies on the fence at the end of this search.
        self.counts.fetch_add(SEARCHING, order!(search: Relaxed));
    }

    /// A searching worker has found work. When it was the last to search and `has_work` sees more, it wakes another.
    pub(crate) fn found(&self, has_work: impl Fn() -> bool) {
        // ORDERING: found. Release, with `found_fence` and `sleep_fence`, which follow an operation on the same word and so
        // acquire: what this searcher has put into its queue is seen by the looks of those who leave after it.
        let before = self.counts.fetch_sub(SEARCHING, order!(found: Release));
        if before % SLEEPING != SEARCHING || before < SLEEPING {
            return;
        }
        // ORDERING: found_fence. SeqCst: F2 of the handshake, with `push_fence`.
        fence(order!(found_fence: SeqCst));
        if has_work() {
            self.wake_one();
        }
    }

    /// A searching worker that has found nothing sleeps until it is woken, or does not when `has_work` sees something.
    /// It comes back as a searcher. True: it has slept.
    pub(crate) fn sleep(&self, worker: usize, has_work: impl Fn() -> bool) -> bool {
        let mut sleepers = self.lock();
        sleepers.push(Sleeper {
            worker,
            thread: thread::current(),
        });
        // ORDERING: sleep. Relaxed: ordered by the fence.
        self.counts
            .fetch_add(SLEEPING - SEARCHING, order!(sleep: Relaxed));
        drop(sleepers);
        // ORDERING: sleep_fence. SeqCst: S2 of the handshake, with `push_fence`.
        fence(order!(sleep_fence: SeqCst));
        if has_work() && self.rise(worker) {
            return false;
        }
        // ORDERING: slept. Acquire, with `signal`: what came before the wake-up is visible.
        while self.signals[worker].swap(ASLEEP, order!(slept: Acquire)) == ASLEEP {
            thread::park();
        }
        true
    }

    /// Wakes all that sleep.
    pub(crate) fn wake_all(&self) {
        let mut sleepers = self.lock();
        // First all signals, then all unparks: between an unpark and the end of the lock the model checker bears no atomics.
        for sleeper in &*sleepers {
            self.signal(sleeper);
        }
        for sleeper in sleepers.drain(..) {
            sleeper.thread.unpark();
        }
    }

    /// Wakes one worker, unless one has begun to search meanwhile. It comes back as a searcher.
    #[cold]
    fn wake_one(&self) {
        let mut sleepers = self.lock();
        // ORDERING: wake_look. Relaxed: whoever searches by now relies on the fence at its end.
        if self.counts.load(order!(wake_look: Relaxed)) % SLEEPING != 0 {
            return;
        }
        if let Some(sleeper) = sleepers.pop() {
            self.signal(&sleeper);
            sleeper.thread.unpark();
        }
    }

    /// Tells a worker that it is being taken off the list, which the caller has locked. To be unparked next.
    fn signal(&self, sleeper: &Sleeper) {
        // ORDERING: rouse. Relaxed: what the woken worker must see comes with the signal.
        self.counts
            .fetch_sub(SLEEPING - SEARCHING, order!(rouse: Relaxed));
        // ORDERING: signal. Release, with `slept`.
        self.signals[sleeper.worker].swap(WOKEN, order!(signal: Release));
    }

    /// Takes a worker off the list again. False: somebody has woken it already, and its signal is on the way.
    fn rise(&self, worker: usize) -> bool {
        let mut sleepers = self.lock();
        let Some(place) = sleepers.iter().position(|sleeper| sleeper.worker == worker) else {
            return false;
        };
        sleepers.swap_remove(place);
        // ORDERING: rise. Relaxed: as for `search`.
        self.counts
            .fetch_sub(SLEEPING - SEARCHING, order!(rise: Relaxed));
        true
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Sleeper>> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
