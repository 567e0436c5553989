//! [`Latch`]: an event that comes once, for any number of waiters, as a shutdown has it. Each
//! waiter is the receiver of a oneshot, whose sender is dropped with the others when the event
//! comes.

use alloc::{sync::Arc, vec::Vec};
use core::{
    convert::Infallible,
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll},
};
use std::time::Instant;

use super::guard::lock;
use joint::{
    block_on,
    oneshot::{self, Receiver, Sender},
    park::block_on_deadline,
};
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
    #[inline(never)]
    pub(crate) fn is_set(&self) -> bool {
        lock(&self.0).is_none()
    }

    /// Returns what ends, with an error, once the latch is set.
    #[inline(never)]
    pub(crate) fn wait(&self) -> Receiver<Infallible> {
        let (sender, receiver) = oneshot::channel();
        if let Some(waiters) = &mut *lock(&self.0) {
            waiters.retain(|waiter| !waiter.is_closed());
            waiters.push(sender);
        }
        receiver
    }

    /// Blocks the thread until the latch is set, or until the deadline.
    pub(crate) fn block(&self, deadline: Option<Instant>) {
        let mut set = self.wait();
        block_by(deadline, &mut |cx| Pin::new(&mut set).poll(cx).map(drop));
    }
}

/// Blocks the thread until `poll` is ready, or until the deadline. It is compiled once, and not for
/// each future.
#[cfg_attr(joint_loom, track_caller)]
pub(crate) fn block_by(
    deadline: Option<Instant>,
    poll: &mut dyn FnMut(&mut Context<'_>) -> Poll<()>,
) {
    match deadline {
        Some(deadline) => _ = block_on_deadline(poll_fn(poll), deadline),
        None => block_on(poll_fn(poll)),
    }
}

impl Drop for Setter {
    fn drop(&mut self) {
        let waiters = lock(&self.0).take();
        // The wakers are a stranger's code, so the lock is free again.
        drop(waiters);
    }
}
