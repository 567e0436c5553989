//! [`any`]: the first success.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;

use super::count::{Count, Decision};
use crate::group::{Children, Kept, TryList, list::Stages, stage::Stage};

/// Waits for the first future that succeeds, and drops the others.
///
/// Takes an array or a `Vec` of futures that return `Result`s. It returns the index and the value
/// of the first that succeeds, the leftmost one if several have when they are polled. If all fail,
/// it returns all errors, in the order of the futures. `any` of no futures fails at once.
///
/// The other futures, and the errors of those that have failed, are dropped before it returns, from
/// the first to the last. When it is dropped, and if a future panics, it does what
/// [`quorum`](crate::quorum()) does.
///
/// # Panics
/// If it is polled again after it was ready, or after a future panicked.
///
/// # Cost
/// As for [`all`](crate::all()).
///
/// # Example
/// ```
/// use joint_flow::any;
/// use std::future::ready;
///
/// # joint::block_on(async {
/// let mirrors = [ready(Err("down")), ready(Ok("page"))];
/// assert_eq!(any(mirrors).await, Ok((1, "page")));
///
/// let mirrors = [ready(Err::<(), _>("down")), ready(Err("gone"))];
/// assert_eq!(any(mirrors).await, Err(["down", "gone"]));
/// # });
/// ```
pub fn any<L: TryList>(futures: L) -> Any<Kept<L>> {
    Any {
        count: Count::new(1, futures.into_children()),
    }
}

pin_project! {
    /// The future of [`any`], of what it [keeps](Kept).
    #[must_use = "futures do nothing unless polled"]
    pub struct Any<C> {
        #[pin]
        count: Count<C>,
    }
}

impl<C, T, E> Future for Any<C>
where
    C: Stages<Output = Result<T, E>>,
{
    type Output = Result<(usize, T), C::Of<E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut count = self.project().count;
        let decision = ready!(count.as_mut().poll(cx));
        let mut children = count.children();
        Poll::Ready(match decision {
            Decision::Reached(child) => {
                let child = child.expect("one success is needed");
                let value = children.as_mut().stage(child).value();
                children.drop_all();
                Ok((child, value))
            }
            Decision::Missed(_) => Err(children.map(|stage| {
                let error = Stage::error(stage);
                error.expect("all children have failed")
            })),
        })
    }
}

debug!(<C> Any<C>);
