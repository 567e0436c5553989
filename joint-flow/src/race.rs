//! [`race`]: the output of the first future that is ready.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use crate::{
    group::{Children, Group},
    woken::Woken,
};

/// Waits for the first of several futures that is ready, and drops the others.
///
/// Takes a tuple of 2 to 8 futures, an array, or a `Vec` ([`Group`]). For a tuple, the output is a
/// variant that says which future won ([`OneOf2`](crate::OneOf2) to [`OneOf8`](crate::OneOf8)), and
/// otherwise a pair of the winner's index and its output.
///
/// * If several futures are ready when they are polled, the leftmost wins.
/// * A future that returns an error wins like any other.
/// * The losers are dropped before the race returns, from the first to the last.
/// * If the race is dropped, its futures are dropped, from the first to the last. A race of
///   references can be dropped and started again, and no output is lost. If a future panics, the
///   panic goes through, and the others are dropped with the race.
/// * A race of no futures is never ready.
///
/// # Panics
/// If it is polled again after it was ready, or after a future panicked.
///
/// # Cost
/// Up to 3 futures get the waker of the task, and each poll polls all of them, up to the first that
/// is ready. Of more futures, only those that were woken are polled. 4 to 8 futures in a tuple or
/// an array allocate nothing, except for the first time on each thread. The waker of another
/// crate's executor is then boxed each time that it is registered.
///
/// # Example
/// ```
/// use joint::oneshot;
/// use joint_flow::{OneOf2, race};
/// use std::future::{pending, ready};
///
/// # joint::block_on(async {
/// let (sender, receiver) = oneshot::channel::<u8>();
/// assert_eq!(race((receiver, ready("ready"))).await, OneOf2::B("ready"));
/// assert!(sender.is_closed(), "the loser was dropped");
///
/// assert_eq!(race([ready(1), ready(2)]).await, (0, 1));
/// # });
/// ```
pub fn race<G: Group>(futures: G) -> Race<G> {
    Race {
        children: futures.into_children(),
        woken: Woken::default(),
    }
}

/// The future of [`race`].
#[must_use = "futures do nothing unless polled"]
pub struct Race<G: Group> {
    children: G::Children,
    woken: Woken,
}

impl<G: Group> Future for Race<G> {
    type Output = G::First;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<G::First> {
        // SAFETY: the children are not moved: they stay pinned below.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: the race is pinned, and the children with it.
        let mut children = unsafe { Pin::new_unchecked(&mut this.children) };
        let count = children.len();
        let first = ready!(this.woken.poll(cx, count, |child, cx| {
            match children.as_mut().poll_first(child, cx) {
                Poll::Ready(first) => Err(first),
                Poll::Pending => Ok(()),
            }
        }));
        children.drop_all();
        Poll::Ready(first)
    }
}

impl<G: Group> fmt::Debug for Race<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Race").finish_non_exhaustive()
    }
}
