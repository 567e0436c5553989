//! Tests each transition from every value of the word that decides its outcome, including values
//! that only a race can cause.

use super::*;
use alloc::{vec, vec::Vec};

mod tables;

fn of(word: Word) -> State {
    State(AtomicWord::new(word))
}

fn word(state: &State) -> Word {
    state.snapshot().0
}

/// The word after a transition, and what must be done then.
fn after<R>(before: Word, transition: impl FnOnce(&State) -> R) -> (R, Word) {
    let state = of(before);
    let outcome = transition(&state);
    (outcome, word(&state))
}

#[test]
fn a_wake_up_too_many_is_taken_back() {
    let most = wake_limit() * WAKE;
    for (wakes, left) in [
        (most - WAKE, most),
        (most, most),
        (most + WAKE, most + WAKE),
    ] {
        let (outcome, word) = after(HANDLE + wakes, State::wake);
        assert_eq!((outcome, word), (Next::Nothing, HANDLE + left));
        let ((), word) = after(HANDLE + wakes, State::add_waker);
        let taken = if wakes < most { 0 } else { WAKE };
        assert_eq!(
            word,
            HANDLE + wakes + REF - taken,
            "the new waker adds one reference, and takes one wake-up if the counter is full"
        );
    }
    // Another thread has taken it back meanwhile.
    let ((), word) = after(most - WAKE, State::take_wake_back);
    assert_eq!(word, most - WAKE);
}

#[test]
fn a_run_consumes_only_some_of_very_many_wake_ups() {
    let many = wake_limit() / 2;
    for wakes in [many, many + 1, wake_limit()] {
        let before = HANDLE + wakes * WAKE;
        let (outcome, word) = after(before, |state| state.idle(state.load()));
        let part = wake_limit() / 4 * WAKE;
        assert_eq!((outcome, word), (OnIdle::Reschedule, before - part));
    }
    let before = HANDLE + (many - 1) * WAKE;
    let (outcome, word) = after(before, |state| state.idle(state.load()));
    assert_eq!((outcome, word), (OnIdle::Leave, HANDLE));
}

/// However often it does, the counter does not grow.
#[test]
fn a_run_of_a_task_that_wakes_itself_leaves_one_wake_up() {
    for wakes in [1, 2, 7] {
        let end = |state: &State| state.idle(state.load().less(true));
        let (outcome, word) = after(HANDLE + wakes * WAKE, end);
        assert_eq!((outcome, word), (OnIdle::Reschedule, HANDLE + WAKE));
        let cancelled = HANDLE + CANCELLED + wakes * WAKE;
        let (outcome, word) = after(cancelled, end);
        assert_eq!((outcome, word), (OnIdle::Cancel, HANDLE + CANCELLED + WAKE));
    }
}

#[test]
fn wakers_are_counted_up_to_the_limit() {
    let most = (ref_limit() - 1) * REF;
    let ((), word) = after(HANDLE + WAKE + most, State::add_waker);
    assert_eq!(word, HANDLE + WAKE + most + REF);
}

/// Each waker that was made below the limit may still wake by value, and threads that are about to
/// take theirs back have added one, too.
#[test]
fn the_counters_have_room_above_their_limits() {
    let threads = 4_000;
    let most = wake_limit() - 1 + ref_limit() + threads;
    assert!(most <= Snapshot(Word::MAX).wakes());
    assert!(ref_limit() + threads <= Snapshot(Word::MAX).refs());
}

/// A task as its holders see it: the word, and the facts that the word must agree with. Each step
/// is one operation of the real word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct World {
    word: Word,
    wakers: Word,
    handle: Handle,
    runner: Runner,
    join: Join,
    is_orphan: bool,
    is_freed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Handle {
    Held,
    /// It has detached on the join word, and is about to leave this word.
    Detaches,
    Cancels,
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Runner {
    None,
    Queued,
    /// The value of the word when the run began, less one wake-up if `true`: the task has woken
    /// itself.
    Polls(Word, bool),
    /// It still has the runnable, and cancels the task.
    Cancels,
    /// The future is gone, and the join word comes next.
    Ends(Word),
    /// The finisher.
    Finishes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Join {
    Pending,
    Detached,
    Done,
}

/// More wakers or wake-ups make no further states.
const MOST: Word = 2;

impl World {
    fn new(has_handle: bool) -> Self {
        Self {
            word: word(&State::new(has_handle)),
            wakers: 0,
            handle: if has_handle {
                Handle::Held
            } else {
                Handle::Gone
            },
            runner: Runner::Queued,
            join: Join::Pending,
            is_orphan: false,
            is_freed: false,
        }
    }

    fn make<R>(&mut self, transition: impl FnOnce(&State) -> R) -> R {
        assert!(!self.is_freed, "used after the free: {self:?}");
        let (outcome, after) = after(self.word, transition);
        self.word = after;
        outcome
    }

    fn free(&mut self) {
        assert!(!self.is_freed, "freed twice: {self:?}");
        assert!(self.wakers == 0 && self.handle == Handle::Gone, "{self:?}");
        assert_eq!(self.runner, Runner::None);
        self.is_freed = true;
    }

    fn schedule(&mut self) {
        assert_eq!(self.runner, Runner::None, "two runnables: {self:?}");
        self.runner = Runner::Queued;
    }

    fn release(&mut self, outcome: Next) {
        match outcome {
            Next::Nothing => {}
            Next::Schedule => self.schedule(),
            Next::Free => self.free(),
            Next::Orphan => {
                assert!(!self.is_orphan, "the orphan is found twice: {self:?}");
                self.is_orphan = true;
            }
        }
    }

    fn wake(&mut self, transition: impl FnOnce(&State) -> Next) {
        if self.make(transition) == Next::Schedule {
            self.schedule();
        }
    }

    /// All worlds that one step can lead to.
    fn next(self) -> Vec<Self> {
        let mut found = Vec::new();
        let mut step = |step: &dyn Fn(&mut Self)| {
            let mut next = self;
            step(&mut next);
            found.push(next);
        };
        if self.is_freed {
            return found;
        }
        if self.is_orphan {
            // Its executor may try to cancel it by address, and has to leave it alone.
            step(&|w| assert_eq!(w.make(State::abort), Next::Nothing));
            step(&|w| {
                w.make(|state| state.revive_orphan(false));
                w.is_orphan = false;
                w.schedule();
            });
        }
        let polls = matches!(self.runner, Runner::Polls(..));
        let may_wake = Snapshot(self.word).wakes() <= MOST;
        // A runner has a waker in its poll, and makes one before (`Runnable::waker`) and after it
        // (`EndedTask::waker`). A handle makes one too: as an abort handle, or to keep a stored
        // schedule function, also between the two words that it leaves.
        let makes = matches!(self.runner, Runner::Queued | Runner::Ends(_));
        let holds = self.handle != Handle::Gone;
        if (self.wakers > 0 || polls || makes || holds) && self.wakers < MOST {
            step(&|w| {
                w.make(State::add_waker);
                w.wakers += 1;
            });
        }
        if (self.wakers > 0 || polls) && may_wake {
            step(&|w| w.wake(State::wake));
        }
        if self.wakers > 0 {
            step(&|w| {
                w.wakers -= 1;
                let outcome = w.make(State::drop_waker);
                w.release(outcome);
            });
            if may_wake {
                step(&|w| {
                    w.wakers -= 1;
                    let outcome = w.make(State::wake_by_value);
                    w.release(outcome);
                });
            }
        }
        match self.handle {
            Handle::Held if self.join == Join::Done => step(&|w| {
                w.handle = Handle::Gone;
                if w.make(|state| state.finish(Finisher::Handle)) == Next::Free {
                    w.free();
                }
            }),
            Handle::Held => {
                step(&|w| w.wake(State::abort));
                for how in [Handle::Detaches, Handle::Cancels] {
                    step(&|w| (w.join, w.handle) = (Join::Detached, how));
                }
            }
            Handle::Detaches | Handle::Cancels => step(&|w| {
                let cancels = w.handle == Handle::Cancels;
                w.handle = Handle::Gone;
                let outcome = w.make(if cancels {
                    State::cancel
                } else {
                    State::detach
                });
                w.release(outcome);
            }),
            Handle::Gone => {}
        }
        match self.runner {
            Runner::None => {}
            Runner::Queued => step(&|w| {
                let seen = w.make(State::load);
                w.runner = match seen.is_cancelled() {
                    true => Runner::Ends(seen.0),
                    false => Runner::Polls(seen.0, false),
                };
            }),
            Runner::Polls(seen, wakes_itself) => {
                if !wakes_itself {
                    let less = Snapshot(seen).less(true);
                    step(&|w| w.runner = Runner::Polls(less.0, true));
                }
                step(&|w| w.runner = Runner::Ends(seen));
                step(&|w| {
                    w.runner = Runner::None;
                    match w.make(|state| state.idle(Snapshot(seen))) {
                        OnIdle::Leave => assert!(!wakes_itself, "a lost wake-up: {w:?}"),
                        OnIdle::Reschedule => w.schedule(),
                        OnIdle::Cancel => w.runner = Runner::Cancels,
                        OnIdle::Orphan => {
                            assert!(!wakes_itself, "a lost wake-up: {w:?}");
                            w.make(|state| state.revive_orphan(false));
                            w.runner = Runner::Cancels;
                        }
                    }
                });
            }
            Runner::Cancels => step(&|w| w.runner = Runner::Ends(w.make(State::load).0)),
            Runner::Ends(seen) => step(&|w| {
                let takes_over = Snapshot(seen).has_handle() && w.join == Join::Pending;
                w.runner = if takes_over {
                    w.join = Join::Done;
                    Runner::None
                } else {
                    Runner::Finishes
                };
            }),
            Runner::Finishes => step(&|w| {
                w.runner = Runner::None;
                if w.make(|state| state.finish(Finisher::Runner)) == Next::Free {
                    w.free();
                }
            }),
        }
        found
    }

    /// Checks what the header says about the states.
    fn agrees(&self) {
        let word = Snapshot(self.word);
        let (has_handle, finished) = (self.handle != Handle::Gone, word.is_finished());
        assert_eq!(word.refs(), self.wakers, "{self:?}");
        assert!(self.is_freed || word.has_handle() == has_handle, "{self:?}");
        let ended = self.join == Join::Done || self.runner == Runner::Finishes || finished;
        let runnable = self.runner != Runner::None && !ended;
        assert!(
            self.is_freed || runnable == (word.wakes() > 0 && !ended),
            "{self:?}"
        );
        assert!(word.wakes() > 0 || !word.is_cancelled() && !finished && !ended);
        let idle = word.wakes() == 0;
        let is_unreachable = word.is_unreachable();
        assert!(self.is_freed || self.is_orphan == (idle && is_unreachable));
        assert!(self.is_freed || !(finished && is_unreachable), "{self:?}");
        let leaves = matches!(self.handle, Handle::Detaches | Handle::Cancels);
        assert!(!(finished && word.has_handle()) || leaves, "{self:?}");
    }
}

/// Every order of steps that a runner, a handle and two wakers, whoever makes them, can take: the
/// states are those of the header's table, and a task is freed once, and always can be.
#[test]
fn the_reachable_states_are_those_of_the_table_and_one_step_frees() {
    use alloc::collections::{BTreeMap, BTreeSet};

    let mut before: BTreeMap<World, BTreeSet<World>> = BTreeMap::new();
    let mut left = vec![World::new(true), World::new(false)];
    while let Some(world) = left.pop() {
        world.agrees();
        for next in world.next() {
            if !before.contains_key(&next) {
                left.push(next);
            }
            before.entry(next).or_default().insert(world);
        }
    }
    // Back from the freed ones: nothing leaks for good.
    let mut freed: BTreeSet<World> = before.keys().filter(|w| w.is_freed).copied().collect();
    let mut left: Vec<_> = freed.iter().copied().collect();
    while let Some(world) = left.pop() {
        for before in before.get(&world).into_iter().flatten() {
            if freed.insert(*before) {
                left.push(*before);
            }
        }
    }
    assert!(before.keys().all(|world| freed.contains(world)));
    assert!(before.len() > 100, "{} states", before.len());
}
