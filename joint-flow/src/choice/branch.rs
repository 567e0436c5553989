//! The branches of a choice: a list of types, each of which holds the branches before it.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;

/// A list of branches, whose handlers give an `R`.
pub trait Branches<R> {
    /// Polls the branches in order, up to the first that is ready. That one has won: it keeps its
    /// output, and its future is dropped.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()>;

    /// Drops all that the branches hold that have not won, from the first to the last.
    fn drop_losers(self: Pin<&mut Self>);

    /// Runs the handler of the branch that has won, if there is one.
    fn finish(self: Pin<&mut Self>) -> Option<R>;
}

/// The empty list.
#[derive(Debug)]
pub struct NoBranch;

impl<R> Branches<R> for NoBranch {
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    fn drop_losers(self: Pin<&mut Self>) {}

    fn finish(self: Pin<&mut Self>) -> Option<R> {
        None
    }
}

pin_project! {
    /// A branch, behind those `before` it. The fields are dropped in the order of the branches.
    pub struct Branch<B, M, F, T, H> {
        #[pin]
        before: B,
        #[pin]
        state: State<M, F, T>,
        handler: Option<H>,
    }
}

pin_project! {
    #[project = StateProjected]
    #[project_replace = StateTaken]
    enum State<M, F, T> {
        /// The future is not made yet.
        Lazy { make: M },
        Running { #[pin] future: F },
        Won { output: T },
        /// Lost, finished, or being made.
        Gone,
    }
}

impl<B, M, F, T, H> Branch<B, M, F, T, H> {
    pub(super) fn new(before: B, make: M, handler: H) -> Self {
        Self {
            before,
            state: State::Lazy { make },
            handler: Some(handler),
        }
    }
}

impl<B, M, F, H, R> Branches<R> for Branch<B, M, F, F::Output, H>
where
    B: Branches<R>,
    M: FnOnce() -> F,
    F: Future,
    H: FnOnce(F::Output) -> R,
{
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        if this.before.poll(cx).is_ready() {
            return Poll::Ready(());
        }
        if let State::Lazy { .. } = *this.state {
            if let StateTaken::Lazy { make } = this.state.as_mut().project_replace(State::Gone) {
                this.state.set(State::Running { future: make() });
            }
        }
        let StateProjected::Running { future } = this.state.as_mut().project() else {
            panic!("a choice was polled again after it was ready; do not poll it after that");
        };
        let output = ready!(future.poll(cx));
        this.state.set(State::Won { output });
        Poll::Ready(())
    }

    fn drop_losers(self: Pin<&mut Self>) {
        let mut this = self.project();
        this.before.drop_losers();
        if !matches!(*this.state, State::Won { .. }) {
            this.state.set(State::Gone);
            *this.handler = None;
        }
    }

    fn finish(self: Pin<&mut Self>) -> Option<R> {
        let this = self.project();
        match this.state.project_replace(State::Gone) {
            StateTaken::Won { output } => this.handler.take().map(|handler| handler(output)),
            _ => this.before.finish(),
        }
    }
}

debug!(<B, M, F, T, H> Branch<B, M, F, T, H>);
