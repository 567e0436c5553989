//! [`Thread`]: what a shutdown knows of a worker's thread.

use alloc::sync::Arc;
use std::{sync::OnceLock, time::Instant};

use joint::oneshot::{Receiver, RecvTimeoutError};
use joint_switch::thread::{JoinHandle, ThreadId};

/// A worker's thread.
pub(crate) struct Thread {
    /// `None` if the executor has not started it.
    pub(crate) handle: Option<JoinHandle<()>>,
    /// Set by the worker when it begins to run to its end.
    pub(crate) id: Arc<OnceLock<ThreadId>>,
    /// Closed when the worker has ended.
    pub(crate) ended: Receiver<()>,
}

impl Thread {
    /// Waits until the worker has ended. Returns false if it has not ended by the deadline.
    pub(crate) fn wait(mut self, deadline: Option<Instant>) -> bool {
        // The destructors of the worker's thread-locals may take any time, so a wait with a
        // deadline does not include them.
        if let Some(deadline) = deadline {
            let ended = self.ended.blocking_recv_deadline(deadline);
            return ended != Err(RecvTimeoutError::Timeout);
        }
        let _gone = self.ended.blocking_recv();
        if let Some(handle) = self.handle {
            let joined = handle.join();
            debug_assert!(joined.is_ok(), "a worker panicked");
        }
        true
    }
}
