//! How a worker attends to the driver: it fires the timers that are due, and wakes those whose
//! descriptors are ready.
//!
//! Who rests as the driver's keeper does so when it rises. A worker with nothing to run looks there
//! before it looks anywhere else. A busy one looks in its turn: at the deadlines each time, its own
//! and those of one other worker; at the descriptors, for which the system has to be asked, not
//! before [`LOOK_INTERVAL`] has passed since it last did. A worker whose poll blocks its thread in
//! a wait of this crate attends too (`blocked.rs`).

use alloc::{sync::Arc, vec::Vec};
use core::{
    cell::{Cell, RefCell},
    task::Waker,
};

use super::{Local, visits::Visits};
use crate::executor::{
    driver::{Keeper, clock, timers::Timers},
    guard::wake_all,
};

/// How many batches of timers are fired before what they have woken is run: it is still in the
/// cache then.
const BATCHES: usize = 2;

/// In nanoseconds.
const LOOK_INTERVAL: u64 = 20_000;

/// What a worker remembers of it.
#[derive(Default)]
pub(super) struct Attendant {
    next_look: Cell<u64>,
    pub(super) visits: Visits,
    /// Whose deadlines come next.
    next_timers: Cell<usize>,
    /// Empty; kept for its memory.
    woken: RefCell<Vec<Waker>>,
}

impl Local {
    /// With nothing to run: attends to the driver. True: tasks have been woken here.
    pub(super) fn attend(&self) -> bool {
        let driver = &self.shared().driver;
        if !driver.is_used() {
            return false;
        }
        let keeper = self.look_at_sources();
        let now = clock::now();
        self.visit(now);
        self.wake_ready(keeper, driver.all_timers(), now)
    }

    /// In its turn.
    pub(super) fn attend_in_turn(&self) {
        if self.shared().driver.is_used() {
            self.attend_used();
        }
    }

    #[cold]
    fn attend_used(&self) {
        let driver = &self.shared().driver;
        let now = clock::now();
        self.visit(now);
        let mut keeper = None;
        if now >= self.attendant.next_look.get() {
            self.attendant.next_look.set(now + LOOK_INTERVAL);
            keeper = self.look_at_sources();
        }
        let other = self.attendant.next_timers.get();
        let all = driver.all_timers();
        self.attendant.next_timers.set((other + 1) % all.len());
        self.wake_ready(keeper, [&all[self.index()], &all[other]], now);
    }

    /// Asks the system which descriptors are ready, if there are any and no other worker is there
    /// to be told.
    fn look_at_sources(&self) -> Option<Keeper<'_>> {
        let driver = &self.shared().driver;
        let mut keeper = driver.has_sources().then(|| driver.keep())??;
        keeper.look();
        Some(keeper)
    }

    /// As the keeper that has risen.
    pub(super) fn attend_as(&self, keeper: Keeper<'_>) {
        let driver = &self.shared().driver;
        let now = clock::now();
        self.leave_driver(now);
        self.wake_ready(Some(keeper), driver.all_timers(), now);
    }

    /// Wakes those for whom the keeper has found something, and those whose deadline is not after
    /// `now`. True: there were any.
    fn wake_ready<'a>(
        &self,
        keeper: Option<Keeper<'_>>,
        timers: impl IntoIterator<Item = &'a Arc<Timers>>,
        now: u64,
    ) -> bool {
        // Taken out: a waker's code could come back here.
        let mut woken = self.attendant.woken.take();
        if let Some(keeper) = keeper {
            keeper.leave(&mut woken);
        }
        let mut any = !woken.is_empty();
        wake_all(woken.drain(..));
        for timers in timers {
            for _ in 0..BATCHES {
                let is_more_due = timers.fire(now, &mut woken);
                any |= !woken.is_empty();
                wake_all(woken.drain(..));
                if !is_more_due {
                    break;
                }
            }
        }
        self.attendant.woken.replace(woken);
        any
    }

    /// Active, or becoming so: whether another worker should keep the driver instead.
    pub(super) fn leaves_driver(&self) -> bool {
        let (shared, driver) = (self.shared(), &self.shared().driver);
        driver.is_used() && (shared.keeps_the_driver_waiting() || driver.has_no_reserve())
    }
}

#[cfg(test)]
mod tests;
