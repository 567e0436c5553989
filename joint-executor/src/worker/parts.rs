//! A worker, put together from its parts.

use alloc::{sync::Arc, vec::Vec};
use core::{cell::Cell, ops::Deref};
use std::time::Instant;

use super::{
    attend::Attendant,
    closing::Closing,
    idle::Idle,
    queues::{Duties, Queues},
    shared::{Decides, Runnable, Shared},
    state::{Core, Running},
};
use crate::{deques::Deques, fences::Fences, hooks::Hooks, padded::one_each, sleep::Woke};

/// One worker. Only its own thread touches it.
// The core is first, so that the way from a thread to the worker that runs needs no addition.
#[repr(C)]
pub(crate) struct Worker {
    pub(super) core: Core,
    pub(super) idle: Idle,
    pub(super) attendant: Attendant,
    pub(super) closing: Closing,
    /// A run whose poll is blocked, and the time at which it looks again whether that is an error.
    pub(super) next_blocked_check: Cell<Option<(u64, Instant)>>,
    pub(crate) stepping: Stepping,
}

/// The state of a stepped worker between two calls.
#[derive(Default)]
pub(crate) struct Stepping {
    pub(super) is_away: Cell<bool>,
    pub(super) has_begun: Cell<bool>,
    pub(crate) has_ended: Cell<bool>,
}

impl Deref for Worker {
    type Target = Core;

    #[inline(always)]
    fn deref(&self) -> &Core {
        &self.core
    }
}

impl Shared {
    /// Makes what the workers of an executor share, and the workers. `fences` are those among the
    /// workers.
    #[inline(never)]
    pub(crate) fn with_workers(
        workers: usize,
        fences: Fences,
        hooks: &mut Hooks,
        decides: Decides,
    ) -> (Arc<Self>, Vec<Worker>) {
        let deques = one_each(workers, |_| Deques::new(fences));
        let shared = Self::new(&deques, fences, hooks, decides);
        let mut all = Vec::with_capacity(workers);
        for (index, deques) in deques.into_iter().enumerate() {
            all.push(Worker {
                core: Core::new(Queues::new(shared.clone(), index, deques)),
                idle: Idle::new(index, workers),
                attendant: Attendant::new(),
                closing: Closing::default(),
                next_blocked_check: Cell::new(None),
                stepping: Stepping::default(),
            });
        }
        (shared, all)
    }
}

impl Worker {
    /// Takes the next task of this worker, which is `running`, without searching the other workers'
    /// queues.
    #[inline(always)]
    pub(super) fn next(&self, running: &Running<'_>) -> Option<Runnable> {
        self.queues.next(Between {
            parts: self,
            running,
        })
    }
}

/// A worker between two runs.
#[derive(Clone, Copy)]
struct Between<'a> {
    parts: &'a Worker,
    running: &'a Running<'a>,
}

impl Duties for Between<'_> {
    fn notify(&self) {
        self.running.notify();
    }

    fn woke(&self, woke: Woke) {
        self.running.woke(woke);
    }

    fn announce_yield(&self) {
        self.running.announce_yield();
    }

    fn look_around(&self) -> u64 {
        self.parts.idle.lookout.look_around(self.running)
    }

    fn attend_in_turn(&self) -> Option<u64> {
        self.parts.attendant.attend_in_turn(self.running)
    }
}
