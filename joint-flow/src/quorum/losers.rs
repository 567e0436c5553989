//! [`KeepLosers`]: a quorum that returns the futures that it did not need, and [`Losers`]: these.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use super::count::{Count, Decision};
use crate::{
    all::Outputs,
    group::list::{Boxed, Stages},
    woken::polled_after_the_end,
};

/// The future of [`Quorum::keep_losers`](super::Quorum::keep_losers).
#[must_use = "futures do nothing unless polled"]
pub struct KeepLosers<C> {
    /// `None` after the end.
    pub(super) count: Option<Count<C>>,
}

// The futures are pinned in an allocation of their own.
impl<C> Unpin for KeepLosers<C> {}

impl<F, T, E> Future for KeepLosers<Boxed<F, Result<T, E>>>
where
    F: Future<Output = Result<T, E>>,
{
    type Output = (
        Result<Vec<Option<T>>, Vec<Option<E>>>,
        Losers<Boxed<F, Result<T, E>>>,
    );

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(count) = &mut self.count else {
            polled_after_the_end();
        };
        let mut count = Pin::new(count);
        let result = match ready!(count.as_mut().poll(cx)) {
            Decision::Reached(_) => Ok(count.successes()),
            Decision::Missed(_) => Err(count.failures()),
        };
        let count = self.count.take().expect("it was polled just now");
        let children = count.into_children();
        let running = children.running();
        Poll::Ready((result, Losers(Outputs::of(children, running))))
    }
}

/// The futures that a quorum did not need, from
/// [`Quorum::keep_losers`](super::Quorum::keep_losers).
///
/// They make progress only while this is awaited. It waits for all of them, whether they succeed or
/// fail, and returns the index of each in the quorum together with its output, in order. If it is
/// dropped, they are dropped, from the first to the last.
#[must_use = "futures do nothing unless polled"]
pub struct Losers<C>(Outputs<C>);

impl<C> Losers<C> {
    /// Returns how many futures have not ended.
    pub fn len(&self) -> usize {
        self.0.left()
    }

    /// Returns whether all futures have ended.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<C> Unpin for Losers<C> {}

impl<F, T, E> Future for Losers<Boxed<F, Result<T, E>>>
where
    F: Future<Output = Result<T, E>>,
{
    type Output = Vec<(usize, Result<T, E>)>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut all = Pin::new(&mut self.0);
        ready!(all.as_mut().poll_all(cx));
        let outputs = all.children().map(|stage| stage.take());
        let indexed = outputs.into_iter().enumerate();
        Poll::Ready(
            indexed
                .filter_map(|(child, output)| Some((child, output?)))
                .collect(),
        )
    }
}

debug!(<C> KeepLosers<C>);
debug!(<C> Losers<C>, |it| len: it.len(), ..);
