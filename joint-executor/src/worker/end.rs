//! How an executor ends, as far as no single worker does it: `closing.rs` has the rest.

use alloc::{borrow::ToOwned, vec::Vec};

use super::{
    closing::discard_own,
    current::stranger,
    dispose::dispose,
    shared::{FAMILY, Shared},
    state::Running,
};
use crate::{gate, registry::Registry};
use joint::waker;
use joint_switch::thread;

impl Shared {
    /// Tells the workers to shut down.
    pub(crate) fn close(&self) {
        if !self.is_closed() {
            self.gate.close();
            self.wake_all();
        }
    }

    /// Records that a worker's last poll is over. A worker that waits for the others inside its
    /// last poll counts as arrived too.
    pub(crate) fn arrive(&self, worker: usize) {
        if self.gate.arrive(worker) {
            self.wake_all();
        }
    }

    fn wake_all(&self) {
        for waker in self.sleep.wake_all() {
            stranger(|| waker.wake());
        }
    }

    /// Leaves as a worker, after dropping what only it can drop. The last worker drops everything
    /// that is left.
    pub(super) fn leave(&self, worker: &Running<'_>) {
        discard_own(worker);
        if !self.gate.leave() {
            return;
        }
        // Each task that waits was cancelled by the worker that entered it, or by the first one.
        worker.discard_queued();
        self.dispose_injected();
        Registry::hold(worker.shared());
        self.gate.terminate();
        self.dispose_injected();
        // The executor's tasks first: a stranger's waker may wait for anything.
        let (own, strangers) = { self.driver.close().into_iter() }
            .partition::<Vec<_>, _>(|waker| waker::is_of(waker, &FAMILY));
        worker.wake_strangers(own.into_iter().chain(strangers));
        worker.discard_queued();
    }

    /// Has a thread dispose of what was pushed too late, because the caller of a wake-up may hold
    /// any lock. This one does it if there can be none: the system refuses it, or the executor's
    /// host stands in for all threads.
    #[cold]
    pub(super) fn dispose_late(&self) {
        let start = || {
            let shared = self.this.upgrade().expect("the caller has a count");
            let thread = thread::Builder::new().name("joint-late".to_owned());
            !self.threads().has_host && thread.spawn(move || shared.dispose_injected()).is_ok()
        };
        gate::dispose_elsewhere(
            || self.has_none_injected(),
            start,
            || self.dispose_injected(),
        );
    }

    /// Drops the runnables in the injectors and inboxes, and with them the futures.
    pub(super) fn dispose_injected(&self) {
        let next = || (0..self.workers()).find_map(|worker| self.next_injected_for(worker));
        let dispose_one = || next().map(|one| dispose(self, one)).is_some();
        gate::dispose(dispose_one, || self.has_none_injected());
    }
}
