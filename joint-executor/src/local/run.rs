//! [`Run`]: a local executor as a future, driven by whatever polls it.

use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use super::state::{Claim, LocalState};
use crate::policy::TURN;
use joint::{budget, waker::ThinWaker};

/// The future of [`LocalExecutor::run`](super::LocalExecutor::run). Not an async function, which
/// would have room for the main future twice.
pub(super) struct Run<'a, F> {
    state: &'a LocalState,
    /// Held from the first poll on.
    claim: Option<Claim<'a>>,
    future: F,
    /// The number of tasks that were due when the main future was last polled and have not run
    /// since.
    left: usize,
    /// The waker of the last sleep, for reuse.
    spare: Option<ThinWaker>,
}

impl<'a, F> Run<'a, F> {
    pub(super) fn new(state: &'a LocalState, future: F) -> Self {
        Self {
            state,
            claim: None,
            future,
            left: 0,
            spare: None,
        }
    }
}

impl<F: Future> Future for Run<'_, F> {
    type Output = F::Output;

    /// # Panics
    /// If the future's `poll` panics; or if the executor is already being driven elsewhere.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is pinned with `self` and is not moved out. No other field is ever
        // pinned.
        let this = unsafe { self.get_unchecked_mut() };
        let state = this.state;
        this.claim.get_or_insert_with(|| state.claim());
        state.drive(|| {
            if let Some(waker) = state.rise() {
                this.spare = Some(waker);
            }
            // A task that is woken during a round waits for the next round, so the main future gets
            // its turn after all tasks that were due.
            let is_turn = this.left == 0 || state.due() == 0;
            if is_turn {
                // SAFETY: as above.
                let future = unsafe { Pin::new_unchecked(&mut this.future) };
                budget::refill();
                if let Poll::Ready(output) = future.poll(cx) {
                    this.claim = None;
                    return Poll::Ready(output);
                }
                this.left = state.due();
            }
            this.left -= state.run_some(this.left.min(TURN as usize));
            // This poll may have been the main future's wake-up, so a poll that has skipped the
            // main future does not sleep.
            if is_turn && state.due() == 0 {
                let spare = this.spare.take();
                let known = spare.filter(|spare| spare.will_wake(cx.waker()));
                let waker = known.unwrap_or_else(|| ThinWaker::from(cx.waker()));
                match state.inbox.sleep(waker) {
                    Ok(()) => return Poll::Pending,
                    Err(waker) => this.spare = Some(waker),
                }
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
    }
}
