//! [`quorum`]: the first n successes.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;

use crate::{
    group::{
        Children, Kept, TryList,
        list::{Boxed, Stages},
    },
    quorum::count::{Count, Decision},
};

mod any;
mod count;
mod losers;

pub use any::{Any, any};
pub use losers::{KeepLosers, Losers};

/// Waits until `n` futures have succeeded, and drops the others.
///
/// Takes an array or a `Vec` of futures that return `Result`s.
///
/// * It returns `Ok` at the `n`th success. The values are in the order of the futures, with `None`
///   for a future that has not succeeded. Exactly `n` of them are `Some`.
/// * It returns `Err` as soon as `n` successes have become impossible. The errors are in the order
///   of the futures, with `None` for a future that has not failed. A [`strict`](Quorum::strict)
///   quorum fails with the first error instead.
/// * If `n` is 0, it is ready at once. If `n` is more than the number of futures, it fails at once,
///   without an error. In both cases no future is polled.
/// * The other futures are dropped before it returns, from the first to the last.
///   [`keep_losers`](Quorum::keep_losers) returns them instead.
/// * If several futures have ended when they are polled, they count from left to right.
/// * If it is dropped, its futures are dropped, from the first to the last, and so are the outputs
///   of those that have ended. If a future panics, the panic goes through, and the others are
///   dropped with it.
///
/// # Panics
/// If it is polled again after it was ready, or after a future panicked.
///
/// # Cost
/// As for [`all`](crate::all()).
///
/// # Example
/// ```
/// use joint_flow::quorum;
/// use std::future::{pending, ready};
///
/// # joint::block_on(async {
/// let replicas = [ready(Ok(7)), ready(Err("lost")), ready(Ok(7))];
/// assert_eq!(quorum(2, replicas).await, Ok([Some(7), None, Some(7)]));
///
/// let replicas = [ready(Err("full")), ready(Err("lost")), ready(Ok(7))];
/// assert_eq!(quorum(2, replicas).await, Err([Some("full"), Some("lost"), None]));
/// # });
/// ```
pub fn quorum<L: TryList>(n: usize, futures: L) -> Quorum<Kept<L>> {
    Quorum {
        count: Count::new(n, futures.into_children()),
    }
}

pin_project! {
    /// The future of [`quorum`], of what it [keeps](Kept).
    #[must_use = "futures do nothing unless polled"]
    pub struct Quorum<C> {
        #[pin]
        count: Count<C>,
    }
}

impl<C, T, E> Quorum<C>
where
    C: Stages<Output = Result<T, E>>,
{
    /// Fails with the first error, even if `n` futures may still succeed. It is the leftmost error
    /// if several futures have failed when they are polled. An error before this call counts too.
    ///
    /// # Panics
    /// If `n` is more than the number of futures, because there would be no error to fail with.
    ///
    /// # Example
    /// ```
    /// use joint_flow::quorum;
    /// use std::future::ready;
    ///
    /// # joint::block_on(async {
    /// let replicas = [ready(Ok(7)), ready(Err("lost")), ready(Ok(7))];
    /// assert_eq!(quorum(2, replicas).strict().await, Err("lost"));
    /// # });
    /// ```
    pub fn strict(mut self) -> Strict<C> {
        self.count.tolerate_none();
        Strict { count: self.count }
    }

    /// Returns the futures that have not ended, together with the result.
    ///
    /// # Cost
    /// The futures of an array are moved into an allocation, so that they can be handed on.
    ///
    /// # Example
    /// ```
    /// use joint::oneshot;
    /// use joint_flow::quorum;
    ///
    /// # joint::block_on(async {
    /// let (first, one) = oneshot::channel();
    /// let (second, other) = oneshot::channel();
    /// first.send("first").unwrap();
    /// let (result, losers) = quorum(1, [one, other]).keep_losers().await;
    /// assert_eq!(result, Ok(vec![Some("first"), None]));
    ///
    /// second.send("second").unwrap();
    /// assert_eq!(losers.await, [(1, Ok("second"))]);
    /// # });
    /// ```
    pub fn keep_losers(self) -> KeepLosers<Boxed<C::Future, C::Output>> {
        KeepLosers {
            count: Some(self.count.into_boxed()),
        }
    }
}

impl<C, T, E> Future for Quorum<C>
where
    C: Stages<Output = Result<T, E>>,
{
    type Output = Result<C::Of<Option<T>>, C::Of<Option<E>>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut count = self.project().count;
        let result = match ready!(count.as_mut().poll(cx)) {
            Decision::Reached(_) => Ok(count.as_mut().successes()),
            Decision::Missed(_) => Err(count.as_mut().failures()),
        };
        count.children().drop_all();
        Poll::Ready(result)
    }
}

pin_project! {
    /// The future of [`Quorum::strict`].
    #[must_use = "futures do nothing unless polled"]
    pub struct Strict<C> {
        #[pin]
        count: Count<C>,
    }
}

impl<C, T, E> Future for Strict<C>
where
    C: Stages<Output = Result<T, E>>,
{
    type Output = Result<C::Of<Option<T>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut count = self.project().count;
        let result = match ready!(count.as_mut().poll(cx)) {
            Decision::Reached(_) => Ok(count.as_mut().successes()),
            Decision::Missed(child) => {
                let child = child.expect("`strict` has checked that a success is possible");
                let error = count.as_mut().children().stage(child).error();
                Err(error.expect("this child has failed"))
            }
        };
        count.children().drop_all();
        Poll::Ready(result)
    }
}

debug!(<C> Quorum<C>);
debug!(<C> Strict<C>);
