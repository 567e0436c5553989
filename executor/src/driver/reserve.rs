//! [`Reserve`]: the worker that checks, while the driver is in use, whether some worker still keeps
//! it.
//!
//! A keeper that rises and leaves to run a task abandons the driver, and that task may block.
//! Waking another worker each time would cost more than most of the work that the wake-up is for.
//! Instead, one worker that rests on its own thread beside the keeper is the reserve. It checks
//! every [`RESERVE_INTERVAL`], and takes over the driver if no keeper is asleep there. If a keeper
//! is asleep and has not risen since the last check, the reserve goes **off duty**, and sleeps
//! without limit. If no reserve is on duty, a worker that leaves the driver, or that adds a new
//! earliest deadline, wakes a resting worker. There is a reserve again once the woken worker, or
//! the one that left, rests again.
//!
//! A reserve that goes off duty and a keeper that leaves the driver form a race of two words:
//!
//! | the reserve | the keeper |
//! |---|---|
//! | R1 go off duty | K1 write down that it is awake |
//! | R2 fence | K2 fence, that of `found` |
//! | R3 look whether a keeper is asleep. If not, take over the driver | K3 look for a reserve. If there is none, wake a worker |

use core::time::Duration;

use super::{keeper::Driver, reactor::EventSource};
use crate::{policy::RESERVE_INTERVAL, sleep::AfterPark};
use joint_switch::{AtomicUsize, fence, order, thread};

pub(super) struct Reserves {
    /// 1 while a reserve is on duty.
    on_duty: AtomicUsize,
}

impl Reserves {
    pub(super) fn new() -> Self {
        Self {
            on_duty: AtomicUsize::new(0),
        }
    }

    pub(super) fn is_on_duty(&self) -> bool {
        // ORDERING: reserve_look. Relaxed: this is K3, ordered by the fence before it, or else a
        // hint.
        self.on_duty.load(order!(reserve_look: Relaxed)) != 0
    }

    fn try_go_on_duty(&self) -> bool {
        // ORDERING: on_duty. Relaxed: a claim, which publishes nothing.
        self.on_duty.swap(1, order!(on_duty: Relaxed)) == 0
    }

    fn go_off_duty(&self) {
        // ORDERING: off_duty. Relaxed: this is R1, ordered by the fence after it.
        self.on_duty.store(0, order!(off_duty: Relaxed));
    }
}

/// The worker is on duty until this is dropped, or until it has gone off duty.
pub(crate) struct Reserve<'a, R: EventSource> {
    driver: &'a Driver<R>,
    is_on_duty: bool,
    /// The number of times that the keeper had risen at the last check.
    rises: usize,
}

impl<R: EventSource> Driver<R> {
    /// Makes the calling worker, which rests on its own thread, the reserve, if the driver is in
    /// use and there is no other reserve.
    pub(crate) fn reserve(&self) -> Option<Reserve<'_, R>> {
        let is_new = self.is_used() && self.reserves.try_go_on_duty();
        is_new.then(|| Reserve {
            driver: self,
            is_on_duty: true,
            rises: self.rises(),
        })
    }
}

impl<R: EventSource> Reserve<'_, R> {
    /// Rests once. The worker must rise if the driver has no sleeping keeper.
    pub(crate) fn park(&mut self, limit: Option<Duration>) -> AfterPark {
        // A reserve on duty looks at intervals, however long the limit is.
        match limit.filter(|&limit| limit < RESERVE_INTERVAL || !self.is_on_duty) {
            Some(limit) => thread::park_timeout(limit),
            None if self.is_on_duty => {
                thread::park_timeout(RESERVE_INTERVAL);
                return self.look();
            }
            None => thread::park(),
        }
        AfterPark::Wait
    }

    fn look(&mut self) -> AfterPark {
        let before = core::mem::replace(&mut self.rises, self.driver.rises());
        if before == self.rises && self.driver.is_kept() {
            self.is_on_duty = false;
            self.driver.reserves.go_off_duty();
            // ORDERING: reserve_fence. SeqCst: this is R2.
            fence(order!(reserve_fence: SeqCst));
        }
        match self.driver.is_kept() {
            true => AfterPark::Wait,
            false => AfterPark::Rise,
        }
    }
}

impl<R: EventSource> Drop for Reserve<'_, R> {
    fn drop(&mut self) {
        if self.is_on_duty {
            self.driver.reserves.go_off_duty();
        }
    }
}
