//! [`Queue`]: a pipe in memory, with one writer and one reader.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// How many packets it holds: as many as a pipe on Linux.
const CAPACITY: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct Queue(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    packets: VecDeque<&'static [u8]>,
    /// The waker of the writer, which waits for room, or of the reader, which waits for a packet.
    /// They never both wait.
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

    /// Tries once. If that changes something, wakes the other side, and otherwise waits.
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
