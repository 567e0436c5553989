//! [`Baton`]: how the world and the thread of a call take turns.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use joint::task::Runnable;
use joint_executor::hosted::{ExecutorId, HostedWorker, Shutdown};

/// The world's order to a thread.
pub(super) enum Order {
    Run(Runnable),
    /// Look again whether what you wait for is due.
    Resume,
    /// The result of the reported shutdown.
    ShutDown(Shutdown),
    /// The executor that was reported has been taken over.
    Started,
    /// End your waits: the run is over.
    End,
    /// Exit: there is no call.
    Exit,
}

/// Why a thread passes the baton back.
pub(super) enum Report {
    CallEnded,
    /// The call waits, at most until a time of the clock.
    Blocked(Option<u64>),
    /// A new executor has these workers, which the world's thread drives.
    Started(Vec<HostedWorker>),
    /// An executor is to be shut down. Only the world's thread may drop what is pinned there.
    ShutDown(ExecutorId),
    /// The thread never returns. It must not unwind, because it is unwinding already.
    Lost,
}

/// The baton between the world and one thread.
#[derive(Default)]
pub(super) struct Baton {
    passed: Mutex<Passed>,
    changed: Condvar,
}

/// The message that one side has passed, and the other has not taken yet.
#[derive(Default)]
struct Passed {
    order: Option<Order>,
    report: Option<Report>,
}

impl Baton {
    fn lock(&self) -> MutexGuard<'_, Passed> {
        self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn order(&self, order: Order) {
        self.lock().order = Some(order);
        self.changed.notify_one();
    }

    /// Waits until the thread reports, for so long at most.
    pub(super) fn wait_for_report(&self, limit: Duration) -> Option<Report> {
        let has_none = |passed: &mut Passed| passed.report.is_none();
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), limit, has_none);
        let (mut passed, _) = waited.unwrap_or_else(PoisonError::into_inner);
        passed.report.take()
    }

    pub(super) fn report(&self, report: Report) {
        self.lock().report = Some(report);
        self.changed.notify_one();
    }

    pub(super) fn wait_for_order(&self) -> Order {
        let has_none = |passed: &mut Passed| passed.order.is_none();
        let waited = self.changed.wait_while(self.lock(), has_none);
        let mut passed = waited.unwrap_or_else(PoisonError::into_inner);
        let order = passed.order.take();
        order.expect("it was waited for")
    }
}
