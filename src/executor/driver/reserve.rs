//! [`Reserve`]: the worker that looks, for as long as the driver is in use, whether somebody still keeps it.
//!
//! A keeper that rises and goes to run a task leaves the driver to itself, and that task may block.
//! To wake another worker each time costs more than most of what it is woken for. So one that rests
//! beside the keeper, on its thread, is the reserve: it looks each [`INTERVAL`], and takes the
//! driver over when nobody is asleep there. When nobody has risen there for that long, it goes
//! **off duty**, and sleeps without limit. Who leaves the driver, or adds the earliest deadline,
//! with no reserve on duty, wakes a worker that rests; there is one again when that one, or who
//! left, rests once more.
//!
//! Going off duty and leaving the driver are a race of two words:
//!
//! | the reserve | the keeper |
//! |---|---|
//! | R1 go off duty | K1 write down that it is awake |
//! | R2 fence | K2 fence: `found`'s |
//! | R3 look whether the keeper is asleep: no: take the driver over | K3 look for a reserve: none: wake one |

use core::time::Duration;

use super::keeper::{Driver, Outside};
use crate::sync::{AtomicUsize, fence, order, thread};

/// For how long the driver is left to itself at most, while a worker has nothing to do.
const INTERVAL: Duration = Duration::from_millis(5);

pub(super) struct Reserves {
    /// 1 while there is one.
    on_duty: AtomicUsize,
}

impl Reserves {
    pub(super) fn new() -> Self {
        Self {
            on_duty: AtomicUsize::new(0),
        }
    }

    pub(super) fn is_on_duty(&self) -> bool {
        // ORDERING: reserve_look. Relaxed: K3, ordered by the fence before it, or a hint.
        self.on_duty.load(order!(reserve_look: Relaxed)) != 0
    }

    fn enter(&self) -> bool {
        // ORDERING: on_duty. Relaxed: a claim, which publishes nothing.
        self.on_duty.swap(1, order!(on_duty: Relaxed)) == 0
    }

    fn go(&self) {
        // ORDERING: off_duty. Relaxed: R1, ordered by the fence after it.
        self.on_duty.store(0, order!(off_duty: Relaxed));
    }
}

/// On duty until it is dropped, or has gone off duty.
pub(crate) struct Reserve<'a, R: Outside> {
    driver: &'a Driver<R>,
    is_on_duty: bool,
    /// How often the keeper had risen at the last look.
    rises: usize,
}

impl<R: Outside> Driver<R> {
    /// Makes the calling worker, which rests on its thread, the reserve, if there is any use for
    /// one and nobody else is.
    pub(crate) fn reserve(&self) -> Option<Reserve<'_, R>> {
        let is_new = self.is_used() && self.reserves.enter();
        is_new.then(|| Reserve {
            driver: self,
            is_on_duty: true,
            rises: self.rises(),
        })
    }
}

impl<R: Outside> Reserve<'_, R> {
    /// Rests once. True: nobody keeps the driver.
    pub(crate) fn lie(&mut self, limit: Option<Duration>) -> bool {
        match limit {
            Some(limit) => thread::park_timeout(limit),
            None if self.is_on_duty => {
                thread::park_timeout(INTERVAL);
                return self.look();
            }
            None => thread::park(),
        }
        false
    }

    fn look(&mut self) -> bool {
        let before = core::mem::replace(&mut self.rises, self.driver.rises());
        if before == self.rises && self.driver.is_kept() {
            self.is_on_duty = false;
            self.driver.reserves.go();
            // ORDERING: reserve_fence. SeqCst: R2.
            fence(order!(reserve_fence: SeqCst));
        }
        !self.driver.is_kept()
    }
}

impl<R: Outside> Drop for Reserve<'_, R> {
    fn drop(&mut self) {
        if self.is_on_duty {
            self.driver.reserves.go();
        }
    }
}
