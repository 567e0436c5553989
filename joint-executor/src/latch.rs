//! [`Latch`]: an event that comes once, for any number of waiters, as a shutdown has it. Each
//! waiter is the receiver of a oneshot, whose sender is dropped with the others when the event
//! comes.

use alloc::{sync::Arc, vec::Vec};
use core::convert::Infallible;

use super::guard::lock;
use joint::oneshot::{self, Receiver, Sender};
use joint_switch::Mutex;

/// The waiters, or `None` once the event has come.
type Waiters = Mutex<Option<Vec<Sender<Infallible>>>>;

pub(crate) struct Setter(Arc<Waiters>);

#[derive(Clone)]
pub(crate) struct Latch(Arc<Waiters>);

pub(crate) fn new() -> (Setter, Latch) {
    let waiters = Arc::new(Mutex::new(Some(Vec::new())));
    (Setter(waiters.clone()), Latch(waiters))
}

impl Latch {
    pub(crate) fn is_set(&self) -> bool {
        lock(&self.0).is_none()
    }

    /// Returns what ends, with an error, once the latch is set.
    pub(crate) fn wait(&self) -> Receiver<Infallible> {
        let (sender, receiver) = oneshot::channel();
        if let Some(waiters) = &mut *lock(&self.0) {
            waiters.retain(|waiter| !waiter.is_closed());
            waiters.push(sender);
        }
        receiver
    }
}

impl Drop for Setter {
    fn drop(&mut self) {
        let waiters = lock(&self.0).take();
        // The wakers are a stranger's code, so the lock is free again.
        drop(waiters);
    }
}
