//! [`Handle`]: the driver, as timers and descriptors reach it.

use alloc::sync::Arc;
use std::io;

use super::{reactor::Reactor, timers::Timers};
use crate::executor::{current, entered, shared::Shared, worker::Local};

/// The driver of one executor, for the thread that calls.
pub(crate) struct Handle<'a> {
    shared: &'a Shared,
    local: Option<&'a Local>,
}

impl Handle<'_> {
    /// Calls `f` with the driver of the executor whose worker this thread is, or that it is in, or
    /// else of the global one, and with the timers that are this thread's to use. A worker whose
    /// executor has begun to go gets the global one's.
    ///
    /// # Panics
    /// When the global executor is needed and cannot be started.
    pub(crate) fn with<R>(f: impl FnOnce(&Handle<'_>, &Arc<Timers>) -> R) -> R {
        current::with_current(|local| {
            if let Some(local) = local.filter(|local| !local.shared().is_closed()) {
                let shared = &**local.shared();
                let timers = shared.driver.timers(local.index());
                let local = Some(local);
                return f(&Handle { shared, local }, timers);
            }
            let shared = &**entered::ambient().shared();
            let timers = shared.driver.timers(shared.workers());
            let local = None;
            f(&Handle { shared, local }, timers)
        })
    }

    /// To be called when `deadline` has become the earliest of the timers that this thread uses: sees to it that somebody wakes up in
    /// time.
    pub(crate) fn hurry(&self, deadline: u64) {
        let shared = self.shared;
        shared
            .driver
            .hurry(deadline, &shared.sleep, || match self.local {
                Some(local) if local.leaves_driver() => local.notify(),
                Some(_) => {}
                None => shared.sleep.notify_from_outside(false),
            });
    }

    /// What waits for the executor's descriptors. The first call makes it.
    ///
    /// # Errors
    /// What the system says when it gives no descriptor for it.
    pub(crate) fn reactor(&self) -> io::Result<Arc<Reactor>> {
        let (reactor, is_new) = self.shared.driver.reactor()?;
        if is_new {
            self.hurry(0);
        }
        Ok(reactor.clone())
    }
}
