//! [`DriverHandle`]: how timers and descriptors reach the driver of the executor that this thread
//! is in.

use alloc::sync::Arc;
use core::ptr;

use super::{
    Executor,
    driver::{clock, timers::Timers},
    entered, hooks, who,
    worker::{Running, current, shared::Shared},
};
#[cfg(feature = "io")]
use super::{
    driver::{keeper::Obtained, reactor::Reactor},
    hosted,
};

/// The driver of one executor, for the calling thread.
pub(crate) struct DriverHandle<'a> {
    shared: &'a Shared,
    worker: Option<&'a Running<'a>>,
}

impl DriverHandle<'_> {
    /// Calls `f` with a driver, and with the timers that this thread must use. The driver is that
    /// of the executor whose worker this thread is, or that the thread is in, or else the global
    /// executor's. Code of an executor that has begun to shut down gets the driver of the global
    /// one, or of the thread's host.
    ///
    /// # Panics
    /// If the global executor is needed and cannot be started.
    pub(crate) fn with<R>(f: impl FnOnce(&DriverHandle<'_>, &Arc<Timers>) -> R) -> R {
        current::with_current(|worker| {
            if let Some(worker) = worker.filter(|worker| !worker.shared().is_closed()) {
                let shared = &**worker.shared();
                let timers = shared.driver.timers(worker.index());
                let worker = Some(worker);
                return f(&DriverHandle { shared, worker }, timers);
            }
            match entered::entered().is_some_and(|own| own.shared.is_closed()) {
                true => who::as_entered(ptr::null::<Executor>(), || Self::with_ambient(f)),
                false => Self::with_ambient(f),
            }
        })
    }

    #[cold]
    fn with_ambient<R>(f: impl FnOnce(&DriverHandle<'_>, &Arc<Timers>) -> R) -> R {
        let ambient = entered::ambient();
        let shared = &*ambient.shared;
        let timers = shared.driver.timers(shared.workers());
        let worker = None;
        f(&DriverHandle { shared, worker }, timers)
    }

    /// As [`Shared::hurry_driver`].
    pub(crate) fn hurry(&self, deadline: u64) {
        self.shared.hurry_driver(deadline, self.worker);
    }

    pub(crate) fn has(&self, timers: &Arc<Timers>) -> bool {
        let mut all = self.shared.driver.all_timers().iter();
        all.any(|own| Arc::ptr_eq(own, timers))
    }

    pub(crate) fn armed(&self, deadline: u64) {
        hooks::call(&self.shared.hooks.on_timer, |hook| {
            hook(clock::instant(deadline))
        });
    }

    /// Returns the reactor, which waits for the executor's descriptors. The first call creates it.
    ///
    /// # Errors
    /// The system's error if it cannot be created.
    #[cfg(feature = "io")]
    pub(crate) fn reactor(&self) -> std::io::Result<Arc<Reactor>> {
        if let Some(host) = hosted::host() {
            host.descriptor()?;
        }
        let (reactor, obtained) = self.shared.driver.reactor()?;
        if let Obtained::Made = obtained {
            self.hurry(0);
        }
        Ok(reactor.clone())
    }
}
