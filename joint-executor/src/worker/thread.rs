//! What the thread of a worker does, from the first task to the end.

use super::{
    blocked::attend_while_blocked, closing::arrive, current::with_current, parts::Worker,
    state::Running,
};
use crate::{guard::Once, who::ThisThread};
use joint::host::{self, Host};

/// Keeps this thread the worker, with all its duties, until this is dropped.
struct OnThread<'a> {
    before: Host,
    _this_thread: ThisThread<'a>,
}

impl Drop for OnThread<'_> {
    fn drop(&mut self) {
        host::update(|host| {
            host.attend = self.before.attend;
            host.on_refused = self.before.on_refused;
            host.on_wait = self.before.on_wait;
        });
    }
}

impl Worker {
    /// Calls `f` while this thread is the worker, with all its duties.
    pub(crate) fn on_thread<R>(&self, f: impl FnOnce() -> R) -> R {
        let _on_thread = self.begin_on_thread();
        self.as_current(f)
    }

    /// Does the same for functions that need not be fast. It is compiled once for all of them.
    pub(super) fn on_thread_by(&self, f: &mut dyn Once) {
        self.on_thread(|| f.call());
    }

    // Always: it returns much.
    #[inline(always)]
    fn begin_on_thread(&self) -> OnThread<'_> {
        let _this_thread = self.become_this_thread();
        let before = host::update(|host| {
            host.attend = Some(attend_while_blocked);
            host.on_refused = Some(|| {
                with_current(|worker| {
                    if let Some(worker) = worker {
                        worker.queues.hurry_turn();
                    }
                });
            });
            host.on_wait = self.shared().hooks.on_wait;
        });
        self.idle.helper.begin();
        OnThread {
            before,
            _this_thread,
        }
    }

    /// Runs tasks until the executor is closed, and then shuts down.
    #[inline(never)]
    pub(super) fn work(&self, mut running: Running<'_>) {
        loop {
            let next = self.next(&running);
            // After the take, so that no task runs which was spawned after the executor was closed.
            match (next, self.shared().is_closed()) {
                (Some(runnable), false) => running.run(runnable),
                (None, false) => running = self.idle.look_out(running, &self.attendant),
                (next, true) => {
                    if let Some(late) = next {
                        running.discard(late);
                    }
                    return self.close_down(running);
                }
            }
        }
    }

    /// Runs from the end of the last poll to the end of the worker.
    pub(super) fn close_down(&self, mut running: Running<'_>) {
        arrive(&running);
        while !self.shared().gate.is_quiet() {
            match self.next(&running) {
                Some(runnable) => running.run_or_discard(runnable),
                None => running = self.idle.look_out(running, &self.attendant),
            }
        }
        self.shared().leave(&running);
    }
}
