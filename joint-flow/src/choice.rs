//! The ordered choice: [`choose`] and [`try_choose`] wait for the first of several branches, and
//! make each branch only if no earlier one is ready.
//!
//! | | when a branch wins |
//! |---|---|
//! | [`choose`] | its handler gets the output of its future, and gives that of the choice |
//! | [`try_choose`] | the same for a success; an error is that of the choice, and no handler runs |
//!
//! # What holds
//! * The branches are tried in the order in which they are written, at each poll. If several are
//!   ready, the first one wins.
//! * At the first poll, the closure of a branch is called when its turn comes. If an earlier branch
//!   is ready, it is never called.
//! * The winner's future and everything of the other branches, closures and handlers included, is
//!   dropped before the winner's handler runs, from the first branch to the last.
//! * A handler that fails or panics fails the choice.
//! * A choice without branches is never ready.
//!
//! # Handlers that change the same value
//! All handlers exist together until one of them runs, so two of them cannot borrow the same value
//! mutably, as by `self.count += 1`. Let each handler return what has happened, as a variant of an
//! enum, and match on that after the `await`:
//! ```
//! use joint_flow::choice::choose;
//!
//! enum Event { Read(u32), Closed }
//!
//! struct Server { sum: u32, is_closed: bool }
//!
//! impl Server {
//!     async fn step(&mut self) {
//!         let event = choose()
//!             .when(|| std::future::ready(7), Event::Read)
//!             .when(std::future::pending::<()>, |()| Event::Closed)
//!             .await;
//!         match event {
//!             Event::Read(value) => self.sum += value,
//!             Event::Closed => self.is_closed = true,
//!         }
//!     }
//! }
//!
//! let mut server = Server { sum: 0, is_closed: false };
//! joint::block_on(server.step());
//! assert_eq!((server.sum, server.is_closed), (7, false));
//! ```
//!
//! # Differences from Flow
//! A choice does nothing before it is polled. Flow's `Choose` tries a branch while it is being
//! built, and runs its handler there. In Flow every future can fail, so there is only what is
//! [`try_choose`] here.
//!
//! # Cost
//! No allocation: the branches are fields of the future. Each poll polls all branches up to the
//! first that is ready.

use std::{
    future::Future,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll, ready},
};

use joint::budget::Turn;
use pin_project_lite::pin_project;

use self::branch::{Branch, Branches, NoBranch};

mod branch;

/// Begins an ordered choice, whose branches are added by [`Choose::when`].
///
/// # Example
/// ```
/// use std::future::{pending, ready};
/// use joint_flow::choice::choose;
///
/// let word = joint::block_on(
///     choose()
///         .when(pending::<u32>, |n| n.to_string())
///         .when(|| ready('x'), |c| c.to_string())
///         .when(|| -> std::future::Ready<()> { panic!("not called") }, |()| String::new()),
/// );
/// assert_eq!(word, "x");
/// ```
#[doc(alias = "select")]
pub fn choose<R>() -> Choose<NoBranch, R> {
    Choose {
        branches: NoBranch,
        turn: Turn::new(),
        output: PhantomData,
    }
}

/// Begins an ordered choice of futures that can fail, whose branches are added by
/// [`TryChoose::when`].
///
/// # Example
/// ```
/// use std::future::{pending, ready};
/// use joint_flow::choice::try_choose;
///
/// let parsed: Result<u32, _> = joint::block_on(
///     try_choose()
///         .when(pending::<Result<u32, _>>, Ok)
///         .when(|| ready(Ok("12")), |text: &str| text.parse()),
/// );
/// assert_eq!(parsed, Ok(12));
///
/// let failed: Result<u32, &str> = joint::block_on(
///     try_choose()
///         .when(|| ready(Err("first")), |()| Ok(1))
///         .when(|| ready(Ok(())), |()| Ok(2)),
/// );
/// assert_eq!(failed, Err("first"));
/// ```
pub fn try_choose<R, E>() -> TryChoose<NoBranch, R, E> {
    TryChoose { choose: choose() }
}

pin_project! {
    /// The future of [`choose`]. Its output is that of the winner's handler.
    ///
    /// # Panics
    /// Panics if it is polled again after it was ready, or after a branch has panicked.
    #[must_use = "futures do nothing unless awaited"]
    pub struct Choose<B, R> {
        #[pin]
        branches: B,
        turn: Turn,
        output: PhantomData<fn() -> R>,
    }
}

impl<B, R> Choose<B, R> {
    /// Adds a branch behind the others. `make` makes its future, and `handler` gets the output of
    /// that future if the branch wins. At most one of all handlers runs, and at most once.
    pub fn when<M, F, H>(self, make: M, handler: H) -> Choose<Branch<B, M, F, F::Output, H>, R>
    where
        M: FnOnce() -> F,
        F: Future,
        H: FnOnce(F::Output) -> R,
    {
        Choose {
            branches: Branch::new(self.branches, make, handler),
            turn: self.turn,
            output: PhantomData,
        }
    }
}

impl<B: Branches<R>, R> Future for Choose<B, R> {
    type Output = R;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        // With a budget that is used up, the first branch that is ready would be refused.
        let this = self.project();
        ready!(this.turn.poll_proceed(cx));
        let mut branches = this.branches;
        ready!(branches.as_mut().poll(cx));
        branches.as_mut().drop_losers();
        match branches.finish() {
            Some(output) => Poll::Ready(output),
            None => unreachable!("a branch has just won"),
        }
    }
}

debug!(<B, R> Choose<B, R>);

pin_project! {
    /// The future of [`try_choose`]. Its output is that of the winner's handler, or the winner's
    /// error.
    ///
    /// # Panics
    /// As for [`Choose`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct TryChoose<B, R, E> {
        #[pin]
        choose: Choose<B, Result<R, E>>,
    }
}

impl<B, R, E> TryChoose<B, R, E> {
    /// Adds a branch behind the others, as [`Choose::when`]. If the branch wins with an error, that
    /// is the output of the choice, and its handler is dropped.
    #[allow(
        clippy::type_complexity,
        reason = "no alias can name the handler's type"
    )]
    pub fn when<M, F, T, H>(
        self,
        make: M,
        handler: H,
    ) -> TryChoose<Branch<B, M, F, Result<T, E>, impl FnOnce(Result<T, E>) -> Result<R, E>>, R, E>
    where
        M: FnOnce() -> F,
        F: Future<Output = Result<T, E>>,
        H: FnOnce(T) -> Result<R, E>,
    {
        TryChoose {
            choose: self.choose.when(make, |result| handler(result?)),
        }
    }
}

impl<B: Branches<Result<R, E>>, R, E> Future for TryChoose<B, R, E> {
    type Output = Result<R, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<R, E>> {
        self.project().choose.poll(cx)
    }
}

debug!(<B, R, E> TryChoose<B, R, E>);
