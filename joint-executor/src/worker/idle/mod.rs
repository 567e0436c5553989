//! From "queue empty" to "parked", and back.
//!
//! 1. A worker whose queues are empty attends to the *driver* (`attend.rs`): it wakes what is due.
//! 2. It *searches* (`state.rs`): its inbox, the injector, and the queues and forks of the other
//!    workers, from which it *steals* (`steal.rs`).
//! 3. If it finds something, it *runs* again. If it was the last to search and there is more, it
//!    *notifies* another worker (`sleep.rs`).
//! 4. Otherwise it *parks*: in the driver, if no other worker is there, or else on its thread. One
//!    worker *watches* the others while they make progress: it parks for [`LONGEST_WATCH`], or if
//!    tasks are queued, first for [`FIRST_WATCH`], and then each time for twice that. A worker that
//!    finds another on a visit to the driver, and none asleep there, watches too.
//! 5. A push, a timer, a descriptor or the *shutdown* *unparks* it. It continues at 2. If something
//!    is due in the driver in which it was parked, it runs, and wakes that.

use core::{
    mem,
    ops::ControlFlow::{self, Break, Continue},
    time::Duration,
};

mod share;
pub(super) mod steal;

use self::steal::Found;
use super::{Running, Worker, queues::After, state::Searching};
use crate::{
    hooks::{Hooks, WorkerHook},
    policy::{FIRST_WATCH, LONGEST_WATCH, MOST_VAIN},
    sleep::{Parked, Parking, park_thread},
};

impl<'w> Running<'w> {
    /// Looks for work elsewhere, parks while there is none, and runs what it finds.
    pub(super) fn look_out(self) -> Self {
        // The tasks that were woken may all run elsewhere.
        if self.attend(After::Queue) && self.has_own() {
            return self;
        }
        let mut watch = FIRST_WATCH;
        let mut searching = self.search();
        loop {
            let makes_progress = match searching.look_round() {
                Ok(found) => return searching.take_up(found),
                Err(makes_progress) => makes_progress,
            };
            if searching.is_over() {
                return searching.stop();
            }
            searching = match searching.park_once(makes_progress, &mut watch) {
                Continue(searching) => searching,
                Break(running) => return running,
            };
        }
    }

    /// Calls one of the hooks for parking. Without the hook, the one task that runs next stays
    /// unannounced.
    fn hook(&self, hook: &Option<WorkerHook>) {
        if hook.is_some() {
            self.stranger(|| Hooks::worker(hook, self.index()));
        }
    }
}

impl<'w> Searching<'w> {
    /// Runs, or drops, what a search has found.
    pub(super) fn take_up(self, found: Found) -> Running<'w> {
        let (running, away) = self.stop_first();
        running.lookout.vain.set(0);
        let has_hook = running.shared().hooks.on_steal.is_some();
        match found {
            Found::Task(runnable, steal) if away.is_some() || steal.is_some() && has_hook => {
                // Others may wait for it while a stranger's code runs here.
                running.give_back(runnable);
                running.wake_strangers(away);
                steal.iter().for_each(|steal| running.tell_of_theft(steal));
            }
            Found::Task(runnable, _) => running.run_or_discard(runnable),
            Found::Fork(taken) if away.is_some() => {
                // It goes back to its owner.
                drop(taken);
                running.wake_strangers(away);
            }
            Found::Fork(taken) => taken.run(),
            Found::Stranger(waker) => running.wake_strangers(away.into_iter().chain([waker])),
        }
        running
    }

    /// Parks once: for the time of `watch` if the others should be watched, or else until woken.
    fn park_once(
        self,
        makes_progress: bool,
        watch: &mut Duration,
    ) -> ControlFlow<Running<'w>, Self> {
        let shared = &**self.worker().shared();
        let has_queued = shared.has_work();
        let last = mem::replace(watch, FIRST_WATCH);
        let vain = self.lookout.vain.get().saturating_add(1);
        let (limit, vain) = match has_queued {
            true => (last, vain),
            // It only stands by, for a poll that turns out to be long.
            false => (LONGEST_WATCH, 0),
        };
        self.lookout.vain.set(vain);
        let is_vain = vain > MOST_VAIN;
        let is_wanted = makes_progress || has_queued;
        let may_run = !shared.sleep.is_quiet() || shared.driver.is_used();
        let watches = may_run && is_wanted && shared.sleep.lookouts() == 1 || is_vain;
        // A worker that visits the driver often serves it better than this worker could, which
        // would have to be woken there (`attend.rs`).
        let keeps = !(watches && makes_progress && self.is_driver_visited());
        self.park(keeps, |worker, urgent, parking| {
            // A worker that only visits the driver wakes nobody when it leaves, and its next poll
            // may be long.
            let driver = &shared.driver;
            let misses = keeps && !parking.in_driver && driver.is_used();
            let is_visited = || misses && !driver.is_kept();
            let limit = (watches || is_visited()).then_some(limit);
            let urgent = || !is_vain && (urgent() || limit.is_none() && is_visited());
            let has_work = || shared.last_look(|all| all.has_work());
            let parked = (shared.sleep).park(worker.index(), limit, urgent, has_work, parking);
            if parked != Parked::NotAtAll {
                worker.counters().parks.increment();
            }
            if has_queued && parked == Parked::AWhile {
                *watch = LONGEST_WATCH.min(2 * last);
            }
        })
    }

    /// Parks in the driver, if the worker `keeps` it and no other does, or else on this thread. The
    /// hooks are called before and after, as a worker that runs. Returns the worker as one that
    /// runs if it may have something of its own to run.
    pub(super) fn park(
        mut self,
        keeps: bool,
        park: impl FnOnce(&Worker, &dyn Fn() -> bool, Parking<'_>),
    ) -> ControlFlow<Running<'w>, Self> {
        let shared = &**self.worker().shared();
        if shared.hooks.on_park.is_some() {
            let running = self.stop();
            running.hook(&shared.hooks.on_park);
            if running.has_own() {
                running.hook(&shared.hooks.on_unpark);
                return Break(running);
            }
            self = running.search();
        }
        let mut keeper = keeps.then(|| shared.driver.keep()).flatten();
        let in_driver = keeper.is_some();
        let is_missed = keeps && !in_driver;
        let urgent = || self.is_urgent() || is_missed && shared.driver.is_vacant();
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
        park(&self, &urgent, parking);
        // The others have queued tasks meanwhile, and may keep them.
        self.look_within(1);
        let woken = has_found.then(|| self.take_ready(keeper));
        if woken.is_none() && shared.hooks.on_unpark.is_none() {
            return Continue(self);
        }
        let (running, away) = self.stop_first();
        if let Some(woken) = woken {
            running.attend_as_keeper(woken);
        }
        running.wake_strangers(away);
        running.hook(&shared.hooks.on_unpark);
        Break(running)
    }
}

#[cfg(test)]
mod tests;
