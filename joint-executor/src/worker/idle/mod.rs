//! From "queue empty" to "parked", and back.
//!
//! 1. A worker whose queues are empty attends to the *driver* (`attend.rs`): it wakes what is due.
//! 2. It *searches* (`state.rs`): the injector, its inbox, and then the queues and forks of the
//!    other workers, from which it *steals* (`steal.rs`).
//! 3. If it finds something, it *runs* again. If it was the last to search and there is more, it
//!    *notifies* another worker (`sleep.rs`).
//! 4. Otherwise it *parks*: in the driver, if no other worker is there, or else on its thread.
//!    `manner.rs` says when it *sleeps* and when it *watches* the others. A watcher parks for
//!    [`STUCK`] at first, or if tasks are queued for [`SOON`], and then each time for twice that,
//!    up to [`LONGEST_WATCH`]. If tasks are queued behind a poll that seems to be long, it begins
//!    anew.
//! 5. A push, a timer, a descriptor or the *shutdown* *unparks* it. It continues at 2. If something
//!    is due in the driver in which it was parked, it runs, and wakes that.

use core::{
    cell::Cell,
    ops::ControlFlow::{self, Break, Continue},
    task::Waker,
    time::Duration,
};
use std::time::Instant;

mod manner;
mod share;
mod steal;

pub(super) use self::steal::Found;
use self::{
    manner::{Left, Manner, Others, Sight},
    steal::{Lookout, View, tell_of_theft},
};
use super::{
    attend::{Attendant, is_visited_beside},
    help::{Helper, spin_after},
    queues::After,
    state::{Core, Running, Searching},
};
use crate::{
    fork_join::job::{Taken, Wait},
    policy::{LONGEST_WATCH, LOOKS, MANY, SOON, STUCK, TURN, WORTH_A_STEAL},
    sleep::{Parked, Parking, park_thread},
};
use joint::completion::Ended;
use joint_switch::now;

/// What a worker knows of the others, to find work at them.
pub(super) struct Idle {
    pub(super) lookout: Lookout,
    pub(super) helper: Helper,
    /// How often in a row there was work that this worker could not take.
    vain: Cell<u32>,
    /// Whether its last search found something before it looked at the others, so that the last
    /// look at them may be old.
    has_skipped: Cell<bool>,
}

/// What a worker has seen that has looked a few times, and found nothing.
#[derive(Clone, Copy, Default)]
struct Round {
    /// Whether another worker makes progress.
    makes_progress: bool,
    /// Whether a worker with queued tasks seems to be in a long poll.
    is_slow: bool,
}

impl Idle {
    pub(super) fn new(index: usize, workers: usize) -> Self {
        Self {
            lookout: Lookout::new(index, workers),
            helper: Helper::new(workers),
            vain: Cell::new(0),
            has_skipped: Cell::new(false),
        }
    }

    /// Looks for work elsewhere, parks while there is none, and runs what it finds.
    #[inline(never)]
    pub(super) fn look_out<'w>(&self, worker: Running<'w>, attendant: &Attendant) -> Running<'w> {
        // The tasks that were woken may all run elsewhere.
        if attendant.attend(&worker, After::Queue) && worker.queues.has_own() {
            return worker;
        }
        let mut watch = SOON;
        let mut searching = self.search(worker);
        loop {
            let seen = match self.look_round(&searching) {
                Ok(found) => return self.take_up(searching, found),
                Err(seen) => seen,
            };
            if searching.is_over() {
                return self.stop(searching);
            }
            searching = match self.park_once(searching, attendant, seen, &mut watch) {
                Continue(searching) => searching,
                Break(running) => return running,
            };
        }
    }

    /// Begins to search.
    pub(super) fn search<'w>(&self, worker: Running<'w>) -> Searching<'w> {
        self.lookout.judge_own_polls(&worker);
        worker.search()
    }

    /// Ends the search, with nothing in hand.
    pub(super) fn stop<'w>(&self, searching: Searching<'w>) -> Running<'w> {
        let (running, away) = self.stop_first(searching);
        running.wake_stranger(away);
        running
    }

    /// Ends the search. Also returns the waker to call if a hosted worker whose thread is away was
    /// chosen to be woken.
    fn stop_first<'w>(&self, searching: Searching<'w>) -> (Running<'w>, Option<Waker>) {
        let (running, away) = searching.stop();
        running.queues.look_within(TURN.into());
        self.lookout.begin(running.queues.runs());
        (running, away)
    }

    /// Runs, or drops, what a search has found.
    pub(super) fn take_up<'w>(&self, searching: Searching<'w>, found: Found) -> Running<'w> {
        let (running, away) = self.stop_first(searching);
        self.vain.set(0);
        let has_hook = || running.shared().hooks.on_steal.is_some();
        match found {
            Found::Task(runnable, steal) if away.is_some() || steal.is_some() && has_hook() => {
                // Others may wait for it while a stranger's code runs here.
                running.queues.give_back(runnable);
                running.wake_stranger(away);
                if let Some(steal) = &steal {
                    tell_of_theft(&running, steal);
                }
            }
            Found::Task(runnable, _) => running.run_or_discard(runnable),
            Found::Fork(taken) if away.is_some() => {
                // It goes back to its owner.
                drop(taken);
                running.wake_stranger(away);
            }
            Found::Fork(taken) => taken.run(),
            Found::Stranger(waker) => {
                running.wake_stranger(away);
                running.wake_stranger(Some(waker));
            }
        }
        running
    }

    /// Looks a few times for something to steal. If there is nothing, returns what it has seen.
    #[inline(never)]
    fn look_round(&self, worker: &Core) -> Result<Found, Round> {
        let mut round = Round::default();
        for look in 0..LOOKS {
            // First, because a processor that has just woken up has neither the clock nor the
            // others' counts in its cache.
            if let Some(found) = at_hand(worker) {
                self.has_skipped.set(self.has_skipped.get() || look == 0);
                return Ok(found);
            }
            // A worker that is parked has nothing to steal.
            if !worker.shared().sleep.is_quiet() {
                let view = self.lookout.view(worker, now());
                round.makes_progress |= view.makes_progress && !self.has_skipped.replace(false);
                round.is_slow = view.is_slow;
                if let Some(found) = self.look_at_others(worker, &view) {
                    return Ok(found);
                }
            }
            spin_after(look);
        }
        Err(round)
    }

    fn look_at_others(&self, worker: &Core, view: &View) -> Option<Found> {
        let (shared, queues) = (&**worker.shared(), &worker.queues);
        let injected = || view.all_stuck.then(|| queues.take_injected(TURN))?;
        let injected = injected().map(|task| Found::Task(task, None));
        let stolen = || (shared.has_work()).then(|| self.lookout.steal_patiently(queues, view))?;
        let fork = || self.take_fork(worker, view.now).map(Found::Fork);
        injected.or_else(stolen).or_else(fork)
    }

    /// Takes what there is to run, regardless of the other workers' progress. For a worker whose
    /// thread goes away if it finds nothing, and then watches nobody.
    #[inline]
    pub(super) fn find_eagerly(&self, worker: &Core) -> Option<Found> {
        let queues = &worker.queues;
        let own = queues.next_queued().or_else(|| queues.take_injected(TURN));
        let task = own.map(|own| Found::Task(own, None));
        let task = task.or_else(|| self.lookout.steal(queues, |_| MANY));
        task.or_else(|| self.take_fork(worker, now()).map(Found::Fork))
    }

    /// Takes a fork of another worker, if there is one that is worth it.
    pub(super) fn take_fork(&self, worker: &Core, now: Instant) -> Option<Taken> {
        for other in self.lookout.others() {
            if let Some(taken) = self.helper.take_fork(worker.shared(), other, now) {
                worker.counters().steals.increment();
                return Some(taken);
            }
        }
        None
    }

    /// Waits for a fork that another worker has taken, and takes other forks meanwhile, which `run`
    /// runs.
    pub(super) fn wait_helping(&self, worker: &Core, wait: Wait, run: impl Fn(Taken)) -> Ended {
        let help = |now| self.take_fork(worker, now).map(&run).is_some();
        self.helper.wait(wait, help)
    }

    /// Parks once: for the time of `watch` if the others should be watched, or else until woken.
    fn park_once<'w>(
        &self,
        searching: Searching<'w>,
        attendant: &Attendant,
        seen: Round,
        watch: &mut Duration,
    ) -> ControlFlow<Running<'w>, Searching<'w>> {
        let worker = searching.core();
        let (shared, driver) = (&**worker.shared(), &worker.shared().driver);
        let has_queued = shared.has_work();
        self.vain.set(match has_queued {
            true => self.vain.get().saturating_add(1),
            false => 0,
        });
        let sight = Sight {
            left: match has_queued {
                true if self.vain.get() > LOOKS => Left::InVain,
                true => Left::Work,
                false => Left::Nothing,
            },
            others: match shared.sleep.is_quiet() && !driver.is_used() {
                true => Others::Quiet,
                false if seen.makes_progress => Others::Progress,
                false => Others::Run,
            },
            is_only_lookout: shared.sleep.lookouts() == 1,
        };
        // A worker that visits the driver often serves it better than this one, which would have to
        // be woken there each time (`attend.rs`).
        let (last, is_kept) = (*watch, driver.is_kept());
        let ago = if is_kept { last / 2 } else { Duration::ZERO };
        let leaves = sight.is_only_lookout && is_visited_beside(shared, worker.index(), ago);
        let time = match has_queued {
            true if seen.is_slow && last > STUCK => SOON,
            // The visitor may be in a long poll, and the driver alone.
            false if !leaves || is_kept => last.max(STUCK),
            _ => last,
        };
        self.park(searching, attendant, !leaves, &mut |urgent, parking| {
            let misses = !leaves && !parking.in_driver && driver.is_used();
            let is_visited = || misses && !driver.is_kept();
            let manner = sight.manner(leaves || is_visited());
            // Whoever leaves the driver may leave it to this lookout.
            let most = match parking.in_driver || leaves || !driver.is_used() {
                true => LONGEST_WATCH,
                false => STUCK,
            };
            let time = time.min(most);
            let limit = (manner != Manner::Sleep).then_some(time);
            let urgent = || match manner {
                Manner::Sleep => urgent() || is_visited(),
                Manner::Watch => urgent(),
                Manner::StandBack => false,
            };
            let has_work = || shared.last_look(|all| all.has_work());
            let parked = (shared.sleep).park(worker.index(), limit, urgent, has_work, parking);
            if parked != Parked::NotAtAll {
                worker.counters().parks.increment();
            }
            *watch = match parked {
                Parked::AWhile => LONGEST_WATCH.min(2 * time),
                Parked::NotAtAll | Parked::Woken => SOON,
            };
        })
    }

    /// Parks in the driver, if the worker `keeps` it and no other does, or else on this thread. The
    /// hooks are called before and after, as a worker that runs. Returns the worker as one that
    /// runs if it may have something of its own to run.
    pub(super) fn park<'w>(
        &self,
        mut searching: Searching<'w>,
        attendant: &Attendant,
        keeps: bool,
        park: &mut dyn FnMut(&dyn Fn() -> bool, Parking<'_>),
    ) -> ControlFlow<Running<'w>, Searching<'w>> {
        let worker = searching.core();
        let (driver, hooks) = (&worker.shared().driver, &worker.shared().hooks);
        if hooks.on_park.is_some() {
            let running = self.stop(searching);
            running.hook(&hooks.on_park);
            if running.queues.has_own() {
                running.hook(&hooks.on_unpark);
                return Break(running);
            }
            searching = self.search(running);
        }
        let mut keeper = keeps.then(|| driver.keep()).flatten();
        let in_driver = keeper.is_some();
        let is_missed = keeps && !in_driver;
        let urgent = || worker.is_urgent() || is_missed && driver.is_vacant();
        let mut has_found = false;
        let mut park_here = |limit| {
            has_found = match &mut keeper {
                Some(keeper) => keeper.park(limit),
                None => park_thread(limit),
            };
            has_found
        };
        let parking = Parking {
            in_driver,
            park: &mut park_here,
        };
        park(&urgent, parking);
        // The others have queued tasks meanwhile, and may keep them.
        worker.queues.look_within(1);
        let woken = has_found.then(|| attendant.take_ready(keeper));
        if woken.is_none() && hooks.on_unpark.is_none() {
            return Continue(searching);
        }
        let (running, away) = self.stop_first(searching);
        if let Some(woken) = woken {
            attendant.attend_as_keeper(&running, woken);
        }
        running.wake_stranger(away);
        running.hook(&hooks.on_unpark);
        Break(running)
    }
}

/// Takes an injected task, unless these are left to others, or one of this worker's own, or else a
/// stranger that is due.
fn at_hand(worker: &Core) -> Option<Found> {
    let (shared, queues) = (&**worker.shared(), &worker.queues);
    let injected = match shared.poll_time() >= WORTH_A_STEAL {
        // The others would have to steal the rest.
        true => queues.take_injected(1),
        false if shared.sleep.is_quiet() => queues.take_injected(TURN),
        false => None,
    };
    let task = injected.or_else(|| queues.next_queued());
    let due = || shared.driver.due().pop().map(Found::Stranger);
    task.map(|task| Found::Task(task, None)).or_else(due)
}

#[cfg(test)]
mod tests;
