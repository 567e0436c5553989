//! [`Count`]: how many children have succeeded and failed, and when that decides the quorum.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;

use crate::{
    group::{
        Children,
        list::{Boxed, Stages},
    },
    woken::Woken,
};

pin_project! {
    /// A quorum of the children `S`.
    #[derive(Debug)]
    pub(crate) struct Count<S> {
        #[pin]
        children: S,
        tally: Tally,
        woken: Woken,
    }
}

/// The counts that are left until the quorum is decided.
#[derive(Debug)]
struct Tally {
    /// How many more must succeed.
    needed: usize,
    /// How many more may fail. `None` if too many have failed, or if there are too few children.
    tolerated: Option<usize>,
    /// The first child that has failed.
    failed: Option<usize>,
}

impl Tally {
    /// Returns the decision, if no other child is needed for it.
    fn decided(&self) -> Option<Decision> {
        match self.tolerated {
            None => Some(Decision::Missed(self.failed)),
            Some(_) => (self.needed == 0).then_some(Decision::Reached(None)),
        }
    }

    /// Counts a child that has ended. Returns an error if that decides the quorum.
    fn count(&mut self, child: usize, succeeded: bool) -> Result<(), Decision> {
        if succeeded {
            self.needed -= 1;
        } else {
            self.failed.get_or_insert(child);
            self.tolerated = self.tolerated.and_then(|left| left.checked_sub(1));
        }
        match self.decided() {
            None => Ok(()),
            Some(Decision::Reached(_)) => Err(Decision::Reached(Some(child))),
            Some(missed) => Err(missed),
        }
    }
}

/// How a quorum ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Decision {
    /// With the child that was the last to succeed. `None` if it was decided from the beginning.
    Reached(Option<usize>),
    /// With the child that was the first to fail. `None` if it was decided from the beginning.
    Missed(Option<usize>),
}

impl<S, T, E> Count<S>
where
    S: Stages<Output = Result<T, E>>,
{
    pub(crate) fn new(needed: usize, children: S) -> Self {
        Self {
            tally: Tally {
                needed,
                tolerated: children.count().checked_sub(needed),
                failed: None,
            },
            children,
            woken: Woken::default(),
        }
    }

    /// Tolerates no failure, nor one that was tolerated before this call.
    ///
    /// # Panics
    /// If more must succeed than there are children.
    pub(crate) fn tolerate_none(&mut self) {
        let tally = &mut self.tally;
        assert!(
            tally.tolerated.is_some() || tally.failed.is_some(),
            "a strict quorum of more futures than there are would fail without an error"
        );
        tally.tolerated = match tally.failed {
            None => Some(0),
            Some(_) => None,
        };
    }

    pub(crate) fn into_boxed(self) -> Count<Boxed<S::Future, S::Output>> {
        Count {
            children: self.children.into_boxed(),
            tally: self.tally,
            woken: self.woken,
        }
    }

    pub(crate) fn into_children(self) -> S {
        self.children
    }

    pub(crate) fn children(self: Pin<&mut Self>) -> Pin<&mut S> {
        self.project().children
    }

    /// Polls the children that were woken until the quorum is decided.
    pub(crate) fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Decision> {
        let mut this = self.project();
        if let Some(decision) = this.tally.decided() {
            this.woken.end();
            return Poll::Ready(decision);
        }
        let count = this.children.len();
        this.woken.poll(cx, count, |child, cx| {
            if this.children.as_mut().poll(child, cx).is_pending() {
                return Ok(());
            }
            let stage = this.children.as_mut().stage(child);
            let succeeded = matches!(stage.done(), Some(Ok(_)));
            this.tally.count(child, succeeded)
        })
    }

    /// Takes the values of the children that have succeeded. Those that run go on.
    pub(crate) fn successes(self: Pin<&mut Self>) -> S::Of<Option<T>> {
        self.children().map(|stage| stage.take()?.ok())
    }

    /// Takes the errors of the children that have failed. Those that run go on.
    pub(crate) fn failures(self: Pin<&mut Self>) -> S::Of<Option<E>> {
        self.children().map(|stage| stage.take()?.err())
    }
}
