//! The state word of a task: four flags and two counters. It has 64 bits, or 32 where the machine
//! has no atomics of 64.
//!
//! | of 64 | of 32 | name | meaning |
//! |---|---|---|---|
//! | 0 | 0 | `HANDLE` | the [`JoinHandle`](super::JoinHandle) has not given the task up yet |
//! | 1 | 1 | `CANCELLED` | the next run drops the future instead of polling it |
//! | 2 | 2 | `FINISHED` | the future is gone, and the stage is empty for good: the last party frees |
//! | 3 | 3 | `PANICKED` | the task has ended with a panic, which the stage holds instead of an output |
//! | 4..31 | 4..17 | `REFS` | wakers alive; neither the runnable nor the handle counts |
//! | 32..63 | 18..31 | `WAKES` | wake-ups that no run has consumed yet |
//!
//! The word starts as `HANDLE + WAKE`, or as `WAKE` for a task that is spawned detached. **A
//! runnable exists, queued or running, exactly when `WAKES > 0` and the task has not ended.** The
//! thread that raises `WAKES` from 0 schedules. A run ends by subtracting the wake-ups that it saw.
//! If the task has woken itself in that poll, which writes nothing here (`polled.rs`), its run
//! subtracts one less, and so mostly nothing. A task that has ended keeps `WAKES > 0` forever, so
//! late wakers schedule nothing.
//!
//! # Reachable states
//! | state | `HANDLE` | `FINISHED` | `WAKES` | `REFS` | who can reach the task |
//! |---|---|---|---|---|---|
//! | queued or running | any | no | > 0 | any | the runner, the handle, wakers |
//! | idle | yes, or `REFS` > 0 | no | 0 | any | the handle, wakers |
//! | orphan | no | no | 0 | 0 | only the thread whose operation made it an orphan |
//! | ended | any | no | > 0 | any | the finisher (see below), wakers, a handle that detaches |
//! | finished | yes, or `REFS` > 0 | yes | > 0 | any | wakers, a handle that detaches |
//! | dead | no | yes | > 0 | 0 | only the thread whose operation got here, which frees |
//!
//! The join word tells an ended task from a queued or running one, not this word. `CANCELLED` is
//! always added together with a wake-up, so an idle task is never cancelled. `PANICKED` is added
//! after the last poll. `HANDLE` and `FINISHED` are set together only while a handle has already
//! detached on the join word but not here yet.
//!
//! # Transitions
//! | transition | before -> after | what to do |
//! |---|---|---|
//! | wake | `WAKES` 0 -> 1 | schedule |
//! | wake by value, drop waker | last of `REFS`, `FINISHED`, no `HANDLE` | free |
//! | drop waker | last of `REFS`, no `HANDLE`, not `FINISHED`, `WAKES` 0 | orphan: schedule it once more |
//! | run ends pending | `WAKES` n -> 0 | leave; without `HANDLE` and `REFS`: orphan |
//! | run ends pending | `WAKES` n + m -> m | reschedule; `CANCELLED`: drop the future, and end |
//! | run that has woken its task ends pending | `WAKES` n + m -> m + 1 | as above. Without a write if n is 1 |
//! | the runner finishes | no `HANDLE`, no `REFS` | free; else `FINISHED` is added |
//! | the handle finishes | no `REFS` | free; else `HANDLE` becomes `FINISHED` |
//! | handle dropped | `FINISHED`, no `REFS` | free |
//! | handle dropped, cancels | `WAKES` 0 -> 1 | schedule |
//! | handle dropped, detaches | no `REFS`, not `FINISHED`, `WAKES` 0 | orphan: schedule it once more |
//!
//! The word counts instead of toggling, because additions and subtractions are one instruction
//! each, while a `fetch_or` whose result is used is a loop on some machines. Any number of wake-ups
//! while a task runs costs one more run.
//!
//! # What orders the runs
//! Each run happens before the next one. After a run that has written to the word, the word makes
//! that edge: the end of the run releases, and the next run acquires. After a run that leaves the
//! word as it is, the queue makes it. Every queue does, because a runnable that is sent to another
//! thread must arrive whole. The thread that frees is ordered after the last run, and so after all.
//!
//! # Why a task is freed exactly once
//! Three parties hold a task: the handle (`HANDLE`), the wakers (`REFS`), and the *finisher*, which
//! is gone once `FINISHED` is set. The finisher is the runner or the handle, whichever has to see
//! that the stage is empty when the task has ended. The join word decides which: the handle, if the
//! runner's exchange came first; the runner, if the handle had detached there before, or had left
//! this word before the runner looked. So there is one finisher.
//!
//! Each party leaves by one read-modify-write of this word. These have one order, so exactly one of
//! them removes the last party, and the value that it returns shows that the others had left
//! before. Its thread frees the task. No party can come back afterwards, because only a run, the
//! handle or a waker can make a waker.
//!
//! If the finisher is the last party it need not write. It looks first, and frees if no other party
//! is left. The look cannot be too old: it comes after everything that the runs did, and from then
//! on a word without other parties stays so.
//!
//! The handle and all wakers can also leave a task that has not ended. If no runnable exists, it is
//! an *orphan*: nothing could ever run it again. Once more exactly one operation removes the last
//! of the handle, the wakers and the runnable, and its thread alone learns of it. At the end of a
//! run, that thread drops the future and frees. Otherwise it makes the task runnable once more, and
//! that run drops the future and is the finisher. `wake_by_value` and `cancel` make no orphans,
//! because they add a wake-up. [`abort`](State::abort) may come from a thread that is no party, so
//! it leaves an orphan alone.
//!
//! `docs/proof.md` in the repository says what of this is proven, for any number of wakers,
//! wake-ups and runs and for every order of their steps. A unit test holds each transition against
//! that.
//!
//! Rule 1: the thread that frees has made an Acquire on a value of this word to which every other
//! party has added by a Release.
//! Rule 2: after a transition that may let another thread free, nothing of the task is touched.

use core::fmt;

use self::word::{AtomicWord, REF_LIMIT, WAKE_LIMIT, WAKES_AT, Word};
use joint_switch::{fence, order};

#[cfg_attr(
    any(joint_narrow, not(target_has_atomic = "64")),
    path = "state/narrow.rs"
)]
mod word;

const HANDLE: Word = 1;
const CANCELLED: Word = 1 << 1;
const FINISHED: Word = 1 << 2;
const PANICKED: Word = 1 << 3;
const REF: Word = 1 << 4;
const WAKE: Word = 1 << WAKES_AT;
const REFS: Word = WAKE - REF;
/// The parties that hold a task besides its finisher.
const PARTIES: Word = HANDLE + REFS;

pub(super) struct State(AtomicWord);

/// One value of the word.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Snapshot(Word);

impl Snapshot {
    pub(super) fn has_handle(self) -> bool {
        self.0 & HANDLE != 0
    }

    pub(super) fn is_cancelled(self) -> bool {
        self.0 & CANCELLED != 0
    }

    pub(super) fn is_finished(self) -> bool {
        self.0 & FINISHED != 0
    }

    pub(super) fn is_panicked(self) -> bool {
        self.0 & PANICKED != 0
    }

    pub(super) fn refs(self) -> Word {
        (self.0 & REFS) / REF
    }

    pub(super) fn wakes(self) -> Word {
        self.0 / WAKE
    }

    /// Returns the value that the end of a run goes by. A task that has woken itself while it ran
    /// keeps one wake-up, so its run consumes one less.
    #[inline]
    pub(super) fn less(self, wakes_itself: bool) -> Self {
        Self(self.0 - Word::from(wakes_itself) * WAKE)
    }

    /// Returns whether there is no handle and no waker, so that only a runner can reach the task.
    fn is_unreachable(self) -> bool {
        self.0 & PARTIES == 0
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("handle", &self.has_handle())
            .field("cancelled", &self.is_cancelled())
            .field("finished", &self.is_finished())
            .field("panicked", &self.is_panicked())
            .field("refs", &self.refs())
            .field("wakes", &self.wakes())
            .finish()
    }
}

/// What a transition leaves to do.
#[must_use]
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    Nothing,
    /// The task needs a run.
    Schedule,
    /// The task is idle, and has no waker and no handle. It belongs to the caller alone, and the
    /// future still exists.
    Orphan,
    /// The task has ended, and the caller was the last that held it.
    Free,
}

/// The finisher of a task (see the header).
#[derive(Clone, Copy)]
pub(super) enum Finisher {
    Runner,
    Handle,
}

/// The action after a pending run.
#[must_use]
#[derive(Debug, PartialEq)]
pub(super) enum OnIdle {
    Leave,
    Reschedule,
    /// The task was cancelled meanwhile. The runner still has the runnable, looks again, as a new
    /// run would, and drops the future.
    Cancel,
    /// The task belongs to the caller alone, and the future still exists.
    Orphan,
}

impl State {
    pub(super) fn new(has_handle: bool) -> Self {
        Self(AtomicWord::new(WAKE + HANDLE * Word::from(has_handle)))
    }

    /// Called once the word is where it stays.
    #[inline(always)]
    pub(super) fn place(&self) {
        joint_switch::placed(&self.0);
    }

    /// Counts one more waker.
    #[inline]
    pub(super) fn add_waker(&self) {
        // ORDERING: clone. Relaxed: the new waker reaches another thread by a happens-before edge
        // of its own, as with any counted pointer.
        let before = self.0.fetch_add(REF, order!(clone: Relaxed));
        if before & REFS >= joint_switch::ref_limit(REF_LIMIT) * REF {
            too_many_wakers();
        }
        self.check_wakes(Snapshot(before));
    }

    /// Wakes by a waker or handle that is kept.
    #[inline]
    pub(super) fn wake(&self) -> Next {
        // ORDERING: wake. Release, with `run` (Acquire): everything before the wake-up is visible
        // to the run that it causes.
        let before = Snapshot(self.0.fetch_add(WAKE, order!(wake: Release)));
        self.check_wakes(before);
        match before.wakes() {
            0 => Next::Schedule,
            _ => Next::Nothing,
        }
    }

    /// Wakes, and gives the waker up.
    #[inline]
    pub(super) fn wake_by_value(&self) -> Next {
        // ORDERING: wake_by_value. Release, as for `wake`, and for rule 1.
        let before = Snapshot(self.0.fetch_add(WAKE - REF, order!(wake_by_value: Release)));
        // A wake-up beyond the limit cannot be taken back here, because the task may be freed by
        // now. `add_waker` took one back for this waker.
        woken_and_left_by(REF, before)
    }

    /// Gives a waker up.
    #[inline]
    pub(super) fn drop_waker(&self) -> Next {
        // ORDERING: drop. Release: rule 1.
        let before = self.0.fetch_sub(REF, order!(drop: Release));
        left_by(REF, Snapshot(before))
    }

    /// Makes an orphan runnable for one last run, with one waker if `with_waker`. The caller must
    /// schedule it.
    pub(super) fn revive_orphan(&self, with_waker: bool) {
        let word = CANCELLED + WAKE + if with_waker { REF } else { 0 };
        // ORDERING: revive. Relaxed: no other thread can reach the task, and the queue publishes it
        // to the runner.
        self.0.store(word, order!(revive: Relaxed));
    }

    /// Returns the value that a run starts from.
    #[inline]
    pub(super) fn load(&self) -> Snapshot {
        // ORDERING: run. Acquire: the previous run's writes to the future are visible (`idle`,
        // Release, unless the queue makes that edge), and so is everything before the wake-ups that
        // this run consumes (`wake`, Release).
        Snapshot(self.0.load(order!(run: Acquire)))
    }

    /// Ends a pending run, and consumes the wake-ups of `seen`. These are the ones that it started
    /// from, [`less`](Snapshot::less) one if the task has woken itself.
    #[inline]
    pub(super) fn idle(&self, seen: Snapshot) -> OnIdle {
        let consumed = seen.wakes();
        if consumed == 0 {
            // This run still has the runnable, and the queue orders it before the next run. That
            // run sees the wake-ups that this look misses, or leaves them.
            return match self.snapshot().is_cancelled() {
                true => OnIdle::Cancel,
                false => OnIdle::Reschedule,
            };
        }
        if consumed >= wake_limit() / 2 {
            return self.consume_part();
        }
        // ORDERING: idle. Release, with `run` (Acquire) of the next run, through the wake-up that
        // causes it; and rule 1.
        let before = Snapshot(self.0.fetch_sub(consumed * WAKE, order!(idle: Release)));
        if before.is_cancelled() {
            return OnIdle::Cancel;
        }
        if before.wakes() != consumed {
            return OnIdle::Reschedule;
        }
        if before.is_unreachable() {
            // ORDERING: idle_orphan. Acquire: rule 1.
            fence(order!(idle_orphan: Acquire));
            return OnIdle::Orphan;
        }
        OnIdle::Leave
    }

    /// Consumes only some of the wake-ups if there are very many, because wakers that find too many
    /// take theirs back.
    #[cold]
    fn consume_part(&self) -> OnIdle {
        // ORDERING: consume_part. Relaxed: queueing the next runnable orders this run before the
        // next one, and a read-modify-write continues the release sequences of the wake-ups.
        self.0
            .fetch_sub(wake_limit() / 4 * WAKE, order!(consume_part: Relaxed));
        OnIdle::Reschedule
    }

    /// Records that the runner has put a panic into the stage, and is about to complete.
    #[cold]
    pub(super) fn set_panicked(&self) {
        // ORDERING: panicked. Relaxed: the join word publishes it together with the stage.
        self.0.fetch_add(PANICKED, order!(panicked: Relaxed));
    }

    /// Gives up the finisher.
    #[inline]
    pub(super) fn finish(&self, finisher: Finisher) -> Next {
        let own = match finisher {
            Finisher::Runner => 0,
            Finisher::Handle => HANDLE,
        };
        let is_last = |word: Word| word & PARTIES == own;
        // ORDERING: finish_look. Acquire: rule 1.
        if is_last(self.0.load(order!(finish_look: Acquire))) {
            return Next::Free;
        }
        // ORDERING: finish. Release: rule 1.
        if !is_last(self.0.fetch_add(FINISHED - own, order!(finish: Release))) {
            return Next::Nothing;
        }
        // ORDERING: finish_free. Acquire: rule 1.
        fence(order!(finish_free: Acquire));
        Next::Free
    }

    /// Gives up the handle without cancelling the task.
    pub(super) fn detach(&self) -> Next {
        // ORDERING: detach. Release: rule 1.
        let before = self.0.fetch_sub(HANDLE, order!(detach: Release));
        left_by(HANDLE, Snapshot(before))
    }

    /// Gives up the handle, and cancels the task.
    pub(super) fn cancel(&self) -> Next {
        match self.request_cancel(HANDLE) {
            None => self.detach(),
            Some(before) => woken_and_left_by(HANDLE, before),
        }
    }

    /// Cancels the task. The caller keeps what keeps the task alive, which is a handle, a waker, or
    /// a future that has not been dropped. Any number of threads may call it at once.
    ///
    /// It leaves an orphan alone, because the thread that made it one is about to schedule it, by a
    /// plain store.
    pub(super) fn abort(&self) -> Next {
        match self.request_cancel(0) {
            Some(before) if before.wakes() == 0 => Next::Schedule,
            _ => Next::Nothing,
        }
    }

    /// Adds the cancellation and its wake-up, and takes `own` away. Returns the value before, or
    /// `None`, and changes nothing, if the task is cancelled already or is an orphan.
    fn request_cancel(&self, own: Word) -> Option<Snapshot> {
        // This cannot be an addition, because another thread may cancel too, and adding the flag
        // twice would set a different flag.
        // ORDERING: cancel, cancel_again. Release: as for `wake`, and rule 1. On failure no other
        // memory is read because of the value.
        let (done, again) = (order!(cancel: Release), order!(cancel_again: Relaxed));
        let before = self.0.fetch_update(done, again, |word| {
            let seen = Snapshot(word);
            let is_orphan = seen.is_unreachable() && seen.wakes() == 0;
            (!seen.is_cancelled() && !is_orphan).then(|| word + CANCELLED + WAKE - own)
        });
        before.ok().map(Snapshot)
    }

    /// Takes one wake-up back if the counter is at its limit. It is the one just added, or the one
    /// that a new waker may add by value. The rest of the range is room for wake-ups by value of
    /// wakers that are older, and for those of other threads that are about to get here.
    #[inline]
    fn check_wakes(&self, before: Snapshot) {
        if before.wakes() >= wake_limit() {
            self.take_wake_back();
        }
    }

    #[cold]
    fn take_wake_back(&self) {
        // ORDERING: wake_back, wake_back_again. Relaxed: it continues the release sequence of the
        // wake-up.
        let (done, again) = (order!(wake_back: Relaxed), order!(wake_back_again: Relaxed));
        // If it fails, others have taken theirs back.
        let _ = self.0.fetch_update(done, again, |word| {
            (Snapshot(word).wakes() >= wake_limit()).then(|| word - WAKE)
        });
    }

    /// Returns the current value, which shows nothing of what other threads have done before it.
    #[inline]
    pub(super) fn snapshot(&self) -> Snapshot {
        // ORDERING: snapshot. Relaxed: no other memory is read because of it, unless the caller
        // has learned of that memory by other means.
        Snapshot(self.0.load(order!(snapshot: Relaxed)))
    }
}

retires!(State: 0);

/// Returns what is left to do for the handle or the waker that has left. Until then it was one of
/// the parties before.
#[inline]
fn left_by(own: Word, before: Snapshot) -> Next {
    let next = if before.0 & PARTIES != own {
        return Next::Nothing;
    } else if before.is_finished() {
        Next::Free
    } else if before.wakes() == 0 {
        Next::Orphan
    } else {
        return Next::Nothing;
    };
    // ORDERING: left_alone. Acquire: rule 1, also for an orphan, because another thread's run was
    // the last to touch its future.
    fence(order!(left_alone: Acquire));
    next
}

/// As `left_by`, for one that has left with a wake-up.
#[inline]
fn woken_and_left_by(own: Word, before: Snapshot) -> Next {
    match before.wakes() {
        0 => Next::Schedule,
        _ => left_by(own, before),
    }
}

/// Returns the limit of wake-ups, which a model can lower.
fn wake_limit() -> Word {
    joint_switch::wake_limit(WAKE_LIMIT)
}

#[cold]
fn too_many_wakers() -> ! {
    // A panic that is caught would let the counter overflow.
    super::unwind::abort!(
        "a task has more wakers than can be counted. Either clones of its waker are kept or leaked \
         (in a list of waiters that only grows, or by `mem::forget`), or it waits for that many \
         things at once and has to be divided into several tasks"
    )
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
