//! [`race`]: the output of the first future that is ready.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;

use crate::{
    group::{Children, Group, Kept},
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
/// As for [`all`](crate::all()). Each poll ends at the first future that is ready.
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
pub fn race<G: Group>(futures: G) -> Race<Kept<G>> {
    Race {
        children: futures.into_children(),
        woken: Woken::default(),
    }
}

pin_project! {
    /// The future of [`race`], of what it [keeps](Kept).
    #[must_use = "futures do nothing unless polled"]
    pub struct Race<C> {
        #[pin]
        children: C,
        woken: Woken,
    }
}

impl<C: Children> Future for Race<C> {
    type Output = C::First;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<C::First> {
        let mut this = self.project();
        let count = this.children.len();
        let first = ready!(this.woken.poll(cx, count, |child, cx| {
            match this.children.as_mut().poll_first(child, cx) {
                Poll::Ready(first) => Err(first),
                Poll::Pending => Ok(()),
            }
        }));
        this.children.drop_all();
        Poll::Ready(first)
    }
}

debug!(<C> Race<C>);
