//! [`Operation`]: the future of one request to the kernel.

use core::{
    future::Future,
    mem,
    pin::Pin,
    ptr::NonNull,
    task::{Context, Poll, Waker},
};
use std::io;

use joint::budget::{self, Turn};

use crate::{
    block::{Answered, Data, Head, Waiting},
    turns::Keep,
};

/// The kernel as an operation sees it: the ring that it was started on. The models have a thread in
/// its place.
///
/// # Safety
/// A block that was started gets exactly one [`answer`](crate::block::answer).
pub(crate) unsafe trait Kernel: Sized + Send {
    /// What this thread can start operations with.
    type Own;
    type Entry;

    /// Returns the ring of this thread.
    fn own() -> io::Result<Self::Own>;

    /// Asks the kernel, and the answer may come before this returns. Or puts the request into a
    /// queue, and returns its turn, with which [`submit`](Kernel::submit) must be called soon.
    ///
    /// # Safety
    /// The entry is that of the block, which has not been started before.
    unsafe fn start(own: &Self::Own, head: NonNull<Head>, entry: Self::Entry) -> Option<usize>;

    /// Asks the kernel what was queued, up to this turn at least.
    fn submit(&self, turn: usize);

    /// Returns the ring as something that other threads can use.
    fn shared(own: Self::Own) -> Self;

    /// Asks the kernel to answer soon. The answer may have been given already.
    ///
    /// # Safety
    /// The block was started on this ring and submitted, and its waiter has not detached and has
    /// not been told of the answer. Until then no other operation has its address.
    unsafe fn cancel(&self, head: NonNull<Head>);
}

/// A future that asks the kernel at its first poll, or at its second one. Dropping it cancels the
/// request, and leaves what the kernel uses to the kernel.
pub(crate) struct Operation<D: Data, K: Kernel>(State<D, K>);

enum State<D, K> {
    New(D, Turn),
    /// With its turn, if the request is still to be submitted.
    Started(Waiting<D>, K, Option<usize>),
    /// Nobody has been told of the answer yet.
    Answered(Answered<D>),
    Ended,
}

/// Nothing in it is pinned: what has to stay in its place lies in the block.
impl<D: Data, K: Kernel> Unpin for Operation<D, K> {}

impl<D: Data, K: Kernel<Entry = D::Entry>> Operation<D, K> {
    pub(crate) fn new(data: D) -> Self {
        Self(State::New(data, Turn::new()))
    }

    fn start(&mut self, data: D, mut turn: Turn, cx: &mut Context<'_>) -> Poll<D::Output> {
        // Many operations are ready at once, and other tasks must have their turn.
        if turn.poll_proceed(cx).is_pending() {
            self.0 = State::New(data, turn);
            return Poll::Pending;
        }
        let own = match K::own() {
            Ok(own) => own,
            Err(error) => return Poll::Ready(data.output(Err(error))),
        };
        let (waiting, entry) = Waiting::new(data);
        // SAFETY: the entry is that of this block, which is new.
        let turn = unsafe { K::start(&own, waiting.head(), entry) };
        if turn.is_some() {
            cx.waker().wake_by_ref();
            self.0 = State::Started(waiting, K::shared(own), turn);
            return Poll::Pending;
        }
        self.wait(waiting, cx, || K::shared(own)).map(|answered| {
            (0..cost(answered.answer())).for_each(|_| budget::spend());
            answered.output()
        })
    }

    /// Moves the operation out.
    pub(crate) fn take(&mut self) -> Self {
        Self(mem::replace(&mut self.0, State::Ended))
    }

    fn wait(
        &mut self,
        mut waiting: Waiting<D>,
        cx: &mut Context<'_>,
        ring: impl FnOnce() -> K,
    ) -> Poll<Answered<D>> {
        // SAFETY: the block has been started. `Ready` is returned once, because the state is
        // `Ended` then.
        let poll = unsafe { waiting.poll(cx) };
        if poll.is_pending() {
            self.0 = State::Started(waiting, ring(), None);
        }
        poll
    }
}

impl<D: Data, K: Kernel<Entry = D::Entry>> Keep for Operation<D, K> {
    /// Keeps the operation for a later poll, without the waker of the last one. Returns false if
    /// it has not begun, or has ended.
    fn rest(&mut self) -> bool {
        match mem::replace(&mut self.0, State::Ended) {
            State::Started(waiting, ring, turn) => {
                if let Some(turn) = turn {
                    ring.submit(turn);
                }
                let mut nobody = Context::from_waker(Waker::noop());
                if let Poll::Ready(answered) = self.wait(waiting, &mut nobody, || ring) {
                    self.0 = State::Answered(answered);
                }
                true
            }
            other => {
                self.0 = other;
                matches!(self.0, State::Answered(_))
            }
        }
    }
}

/// Returns what an operation takes from the budget that the kernel has done at once, in this poll:
/// as much as 16 operations of a socket, and one more for each 4 KiB that it has copied.
fn cost(answer: i32) -> usize {
    const CALL: usize = 16;
    const BYTES: usize = 4_096;
    // All of the budget, or more.
    const MOST: usize = 128;
    MOST.min(CALL + usize::try_from(answer).unwrap_or(0) / BYTES)
}

impl<D: Data, K: Kernel<Entry = D::Entry>> Future for Operation<D, K> {
    type Output = D::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<D::Output> {
        let this = self.get_mut();
        match mem::replace(&mut this.0, State::Ended) {
            State::New(data, turn) => this.start(data, turn, cx),
            State::Started(waiting, ring, turn) => {
                if let Some(turn) = turn {
                    ring.submit(turn);
                }
                this.wait(waiting, cx, || ring).map(Answered::output)
            }
            State::Answered(answered) => Poll::Ready(answered.output()),
            State::Ended => panic!("an operation was polled after its end"),
        }
    }
}

impl<D: Data, K: Kernel> Drop for Operation<D, K> {
    fn drop(&mut self) {
        let answered = match mem::replace(&mut self.0, State::Ended) {
            State::Started(waiting, ring, turn) => {
                if let Some(turn) = turn {
                    ring.submit(turn);
                }
                // SAFETY: it was started on this ring, and the waiter leaves only below. It has not
                // been told of the answer, because the state would be another one.
                unsafe { ring.cancel(waiting.head()) };
                // SAFETY: as above.
                unsafe { waiting.leave() }
            }
            State::Answered(answered) => Some(answered),
            State::New(..) | State::Ended => None,
        };
        drop(answered.map(Answered::output));
    }
}
