//! [`Baton`]: how the world and the thread of a call take turns.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use super::{World, system};
use joint::task::Runnable;

/// The world's order to a thread.
pub(super) enum Order {
    Run(Runnable),
    /// Go on. If you wait, look again whether what you wait for is due.
    Resume,
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
    /// Others may go on before the call does.
    Yields,
    /// The call asks the world's own thread to do this.
    Asks(Box<dyn FnOnce(&World) + Send>),
    /// The thread never returns. It must not unwind, because it is unwinding already.
    Lost,
}

#[derive(Default)]
pub(super) struct Baton {
    pub(super) orders: Mail<Order>,
    pub(super) reports: Mail<Report>,
}

/// Room for one message. A channel of std spins before it waits, which costs more here.
pub(super) struct Mail<T> {
    message: Mutex<Option<T>>,
    has_come: Condvar,
}

impl<T> Mail<T> {
    pub(super) fn put(&self, message: T) {
        let mut room = self.message.lock().unwrap_or_else(PoisonError::into_inner);
        *room = Some(message);
        self.has_come.notify_one();
    }

    /// Waits until there is a message, for so long at most.
    pub(super) fn wait(&self, limit: Duration) -> Option<T> {
        let room = self.message.lock().unwrap_or_else(PoisonError::into_inner);
        let has_come = &self.has_come;
        let wait = || has_come.wait_timeout_while(room, limit, |room| room.is_none());
        let waited = system::in_real_time(wait);
        let (mut room, _) = waited.unwrap_or_else(PoisonError::into_inner);
        room.take()
    }
}

impl<T> Default for Mail<T> {
    fn default() -> Self {
        Self {
            message: Mutex::new(None),
            has_come: Condvar::new(),
        }
    }
}
