//! From "queue empty" to "parked", and back.
//!
//! 1. A worker whose queues are empty, and which *runs* as yet, attends to the driver: it wakes
//!    what is due there.
//! 2. It *searches* (`state.rs`): it looks at its inbox, at the injector, and at the queues and
//!    forks of the others, from which it *steals* (`steal.rs`).
//! 3. If it has found something, it runs again. If it was the last to search and there is more, it
//!    *notifies* another worker (`sleep.rs`).
//! 4. If it has found nothing, it *parks*: in the *driver*, if no other worker is there, or else on
//!    its thread. If others make progress, it parks for a limited time, as their watcher: for
//!    [`LONGEST_WATCH`], or if tasks are queued, first for [`FIRST_WATCH`], and then each time for
//!    twice that.
//! 5. A push, a timer, a descriptor or the *shutdown* *unparks* it. It continues at 2. If it was in
//!    the driver and something is due there, it runs first, and wakes that.

use core::{mem, time::Duration};

pub(super) mod steal;

use self::steal::Found;
use super::{Running, Worker, queues::After, state::Searching};
use crate::{
    hooks::Hooks,
    policy::{FIRST_WATCH, LONGEST_WATCH, MOST_VAIN},
    sleep::{Parked, Parking},
};

/// Whether a worker that parks keeps the driver.
#[derive(Clone, Copy)]
pub(super) enum Keep {
    Never,
    /// It does, unless another worker keeps it.
    IfVacant,
}

/// The state of a worker after it was parked.
pub(super) enum Unparked<'w> {
    Searches(Searching<'w>),
    /// It has something of its own to run.
    Runs(Running<'w>),
}

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
                Unparked::Searches(searching) => searching,
                Unparked::Runs(running) => return running,
            };
        }
    }

    /// Calls one of the hooks for parking. Without the hook, the one task that runs next stays
    /// unannounced.
    fn hook(&self, which: impl Fn(&Hooks) -> &Option<crate::hooks::WorkerHook>) {
        let hook = which(&self.shared().hooks);
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
        if away.is_none() && !(has_hook && matches!(found, Found::Stolen(..))) {
            match found {
                Found::Task(runnable) | Found::Stolen(runnable, _) => running.take_up(runnable),
                Found::Fork(taken) => taken.run(),
                Found::Stranger(waker) => running.stranger(|| waker.wake()),
            }
            return running;
        }
        // Others may wait for it while a stranger's code runs here.
        let (mut stranger, mut stolen) = (None, None);
        match found {
            Found::Task(runnable) => running.give_back(runnable),
            Found::Stolen(runnable, steal) => {
                running.give_back(runnable);
                stolen = Some(steal);
            }
            // It goes back to its owner.
            Found::Fork(taken) => drop(taken),
            Found::Stranger(waker) => stranger = Some(waker),
        }
        for waker in away.into_iter().chain(stranger) {
            running.stranger(|| waker.wake());
        }
        if let Some(steal) = stolen {
            running.tell_of_theft(&steal);
        }
        running
    }

    /// Parks once: for the time of `watch` if the others should be watched, or else until woken.
    fn park_once(self, makes_progress: bool, watch: &mut Duration) -> Unparked<'w> {
        let shared = &**self.worker().shared();
        let has_queued = shared.has_work();
        let last = mem::replace(watch, FIRST_WATCH);
        // If nothing is queued, it only stands by, for a poll that turns out to be long.
        let limit = if has_queued { last } else { LONGEST_WATCH };
        let vain = self.lookout.vain.get() + 1;
        self.lookout
            .vain
            .set(if has_queued { vain.min(MOST_VAIN) } else { 0 });
        let is_vain = has_queued && vain > MOST_VAIN;
        let is_wanted = makes_progress || has_queued;
        let may_run = !shared.sleep.is_quiet() || shared.driver.is_used();
        let watches = may_run && is_wanted && shared.sleep.lookouts() == 1 || is_vain;
        // A worker that visits the driver often serves it better than this worker could, which
        // would have to be woken there (`visits.rs`).
        let keep = match watches && makes_progress && self.is_driver_visited() {
            true => Keep::Never,
            false => Keep::IfVacant,
        };
        self.park(keep, |worker, urgent, parking| {
            let limit = watches.then_some(limit);
            let urgent = || !is_vain && urgent();
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

    /// Parks in the driver, if the worker keeps it, or else on this thread. The hooks are called
    /// before and after, as a worker that runs.
    pub(super) fn park(
        mut self,
        keep: Keep,
        park: impl FnOnce(&Worker, &dyn Fn() -> bool, Parking<'_>),
    ) -> Unparked<'w> {
        let shared = &**self.worker().shared();
        if shared.hooks.on_park.is_some() {
            let running = self.stop();
            running.hook(|hooks| &hooks.on_park);
            if running.has_own() {
                running.hook(|hooks| &hooks.on_unpark);
                return Unparked::Runs(running);
            }
            self = running.search();
        }
        let keeper = match keep {
            Keep::Never => None,
            Keep::IfVacant => shared.driver.keep(),
        };
        let is_missed = matches!(keep, Keep::IfVacant) && keeper.is_none();
        let worker = &*self;
        let urgent = || worker.is_urgent() || is_missed && shared.driver.is_vacant();
        let mut woken = None;
        if let Some(mut keeper) = keeper {
            let mut in_driver = |limit| keeper.park(limit);
            park(worker, &urgent, Parking::Driver(&mut in_driver));
            if keeper.has_found() {
                let found = woken.insert(self.attendant.take_buffer());
                keeper.leave(found);
            }
        } else {
            park(worker, &urgent, Parking::Thread);
        }
        if woken.is_none() && shared.hooks.on_unpark.is_none() {
            return Unparked::Searches(self);
        }
        let (running, away) = self.stop_first();
        if let Some(woken) = woken {
            running.attend_as_keeper(woken);
        }
        if let Some(away) = away {
            running.stranger(|| away.wake());
        }
        running.hook(|hooks| &hooks.on_unpark);
        Unparked::Runs(running)
    }
}

#[cfg(test)]
mod tests;
