//! [`Queue`]: a pipe in memory, of one writer and one reader.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// How many packets it holds: as many as a pipe of Linux.
const CAPACITY: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct Queue(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    packets: VecDeque<&'static [u8]>,
    /// Who waits: the writer for room, or the reader for a packet. Never both.
    waiter: Option<Waker>,
}

impl Queue {
    pub(crate) async fn put(&self, packet: &'static [u8]) {
        let put = |packets: &mut VecDeque<_>| {
            let room = packets.len() < CAPACITY;
            room.then(|| packets.push_back(packet))
        };
        poll_fn(|cx| self.poll(cx, put)).await;
    }

    pub(crate) async fn take(&self) -> &'static [u8] {
        poll_fn(|cx| self.poll(cx, VecDeque::pop_front)).await
    }

    /// Tries once, and wakes the other side if that has changed something, or waits.
    fn poll<T>(
        &self,
        cx: &Context<'_>,
        attempt: impl FnOnce(&mut VecDeque<&'static [u8]>) -> Option<T>,
    ) -> Poll<T> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(done) = attempt(&mut state.packets) else {
            state.waiter = Some(cx.waker().clone());
            return Poll::Pending;
        };
        let other = state.waiter.take();
        drop(state);
        if let Some(other) = other {
            other.wake();
        }
        Poll::Ready(done)
    }
}
