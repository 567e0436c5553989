//! [`all`], [`try_all`] and [`all_ready`]: the outputs of all futures.

use std::{
    any::Any,
    convert::Infallible,
    panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;

use crate::{
    group::{Children, Group, Kept, TryChildren, TryGroup},
    payload::{discard, discard_panic},
    woken::Woken,
};

/// Waits for all futures, and returns their outputs in the order of the futures.
///
/// Takes a tuple of 2 to 8 futures, an array, or a `Vec` ([`Group`]), and returns the outputs in
/// the same shape. Outputs may be `Result`s, which are returned like any other value;
/// [`try_all`] ends with the first error instead. `all` of no futures is ready at once.
///
/// If it is dropped, its futures are dropped, from the first to the last, and so are the outputs of
/// those that have ended. If a future panics, the panic goes through, and the others are dropped
/// with it; [`all_ready`] lets them run to their end.
///
/// # Panics
/// If it is polled again after it was ready, or after a future panicked.
///
/// # Cost
/// Up to 3 futures get the waker of the task, and each poll polls all of them that have not ended.
/// Of more futures, only those that were woken are polled. 4 to 8 futures in a tuple or an array
/// allocate nothing, except for the first time on each thread. The waker of another crate's
/// executor is then boxed each time that it is registered.
///
/// # Example
/// ```
/// use joint_flow::all;
///
/// # joint::block_on(async {
/// assert_eq!(all((async { 1 }, async { "two" })).await, (1, "two"));
/// let squares = (1..=3).map(async |n| n * n).collect::<Vec<_>>();
/// assert_eq!(all(squares).await, [1, 4, 9]);
/// # });
/// ```
pub fn all<G: Group>(futures: G) -> All<Kept<G>> {
    All {
        all: Outputs::new(futures),
    }
}

/// Waits for all futures, or for the first error.
///
/// Takes a tuple, an array or a `Vec` of futures that return `Result`s with one type of error
/// ([`TryGroup`]), and returns the values in the order of the futures, in the same shape. It ends
/// with the error of the future that fails first in time, wherever it stands. If several have
/// failed when they are polled, it is the leftmost of these. The other futures, and the values of
/// those that have ended, are dropped before it returns, from the first to the last.
///
/// `try_all` of no futures is ready at once. What holds for [`all`] when it is dropped or when a
/// future panics holds here too.
///
/// # Panics
/// If it is polled again after it was ready, or after a future panicked.
///
/// # Cost
/// As for [`all`].
///
/// # Example
/// ```
/// use joint_flow::try_all;
/// use std::future::{pending, ready};
///
/// # joint::block_on(async {
/// let both = try_all((ready(Ok::<_, &str>(1)), ready(Ok("two"))));
/// assert_eq!(both.await, Ok((1, "two")));
///
/// let fails = try_all((pending::<Result<(), _>>(), ready(Err::<(), _>("unreachable host"))));
/// assert_eq!(fails.await, Err("unreachable host"));
/// # });
/// ```
pub fn try_all<G: TryGroup>(futures: G) -> TryAll<Kept<G>> {
    TryAll {
        all: Outputs::new(futures),
    }
}

/// Waits until all futures have ended, whatever happens, and returns their outputs in the order of
/// the futures.
///
/// It is [`all`], except that a panic does not end it: the other futures run to their end, and the
/// first panic is resumed after that. So when it has returned, or has panicked, none of its futures
/// was dropped halfway. A future that panicked is dropped at once.
///
/// # Panics
/// With the first panic of a future, after all futures have ended; and if it is polled again after
/// that, or after it was ready.
///
/// # Cost
/// As for [`all`].
///
/// # Example
/// ```
/// use joint_flow::all_ready;
/// use std::future::ready;
///
/// # joint::block_on(async {
/// let results = all_ready([ready(Err("lost")), ready(Ok(2))]).await;
/// assert_eq!(results, [Err("lost"), Ok(2)]);
/// # });
/// ```
pub fn all_ready<G: Group>(futures: G) -> AllReady<Kept<G>> {
    AllReady {
        all: Outputs::new(futures),
        panic: FirstPanic::default(),
    }
}

pin_project! {
    /// The children, and how many of them have not ended.
    pub(crate) struct Outputs<C> {
        #[pin]
        children: C,
        left: usize,
        woken: Woken,
    }
}

impl<C> Outputs<C> {
    pub(crate) fn left(&self) -> usize {
        self.left
    }
}

impl<C: Children> Outputs<C> {
    fn new<G: Group<Children = C>>(futures: G) -> Self {
        let children = futures.into_children();
        let left = children.len();
        Self::of(children, left)
    }

    /// Returns the children, of which `left` have not ended.
    pub(crate) fn of(children: C, left: usize) -> Self {
        Self {
            children,
            left,
            woken: Woken::default(),
        }
    }

    pub(crate) fn children(self: Pin<&mut Self>) -> Pin<&mut C> {
        self.project().children
    }

    /// Polls the children that were woken, until all have ended.
    pub(crate) fn poll_all(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.poll(cx, |children, child, cx| {
            children.poll(child, cx).map(Ok::<(), Infallible>)
        })
        .map(|Ok(())| ())
    }

    /// Polls the children that were woken by `poll_child`, until all have ended or one fails.
    fn poll<E>(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut poll_child: impl FnMut(Pin<&mut C>, usize, &mut Context<'_>) -> Poll<Result<(), E>>,
    ) -> Poll<Result<(), E>> {
        let mut this = self.project();
        if *this.left == 0 {
            this.woken.end();
            return Poll::Ready(Ok(()));
        }
        let count = this.children.len();
        this.woken.poll(cx, count, |child, cx| {
            let Poll::Ready(ended) = poll_child(this.children.as_mut(), child, cx) else {
                return Ok(());
            };
            *this.left -= 1;
            match ended {
                Err(error) => Err(Err(error)),
                Ok(()) if *this.left == 0 => Err(Ok(())),
                Ok(()) => Ok(()),
            }
        })
    }
}

pin_project! {
    /// The future of [`all`], of what it [keeps](Kept).
    #[must_use = "futures do nothing unless polled"]
    pub struct All<C> {
        #[pin]
        all: Outputs<C>,
    }
}

impl<C: Children> Future for All<C> {
    type Output = C::Outputs;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<C::Outputs> {
        let mut all = self.project().all;
        ready!(all.as_mut().poll_all(cx));
        Poll::Ready(all.children().outputs())
    }
}

pin_project! {
    /// The future of [`try_all`], of what it [keeps](Kept).
    #[must_use = "futures do nothing unless polled"]
    pub struct TryAll<C> {
        #[pin]
        all: Outputs<C>,
    }
}

impl<C: TryChildren> Future for TryAll<C> {
    type Output = Result<C::Values, C::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut all = self.project().all;
        let ended = all.as_mut().poll(cx, |mut children, child, cx| {
            let ended = children.as_mut().poll(child, cx);
            ended.map(|()| children.error(child).map_or(Ok(()), Err))
        });
        let ended = ready!(ended);
        let mut children = all.children();
        Poll::Ready(match ended {
            Ok(()) => Ok(children.values()),
            Err(error) => {
                children.as_mut().drop_all();
                Err(error)
            }
        })
    }
}

pin_project! {
    /// The future of [`all_ready`], of what it [keeps](Kept).
    #[must_use = "futures do nothing unless polled"]
    pub struct AllReady<C> {
        #[pin]
        all: Outputs<C>,
        panic: FirstPanic,
    }
}

/// The payload of the first panic of a child.
#[derive(Default)]
struct FirstPanic(Option<Box<dyn Any + Send>>);

// SAFETY: nothing is done with a shared reference.
unsafe impl Sync for FirstPanic {}

// The payload has crossed an unwind already, and is only passed on.
impl UnwindSafe for FirstPanic {}
impl RefUnwindSafe for FirstPanic {}

impl<C: Children> Future for AllReady<C> {
    type Output = C::Outputs;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<C::Outputs> {
        let mut this = self.project();
        let panic = &mut this.panic.0;
        let ended = this.all.as_mut().poll(cx, |mut children, child, cx| {
            // The child is not polled again after a panic, and nobody else sees it.
            let poll = AssertUnwindSafe(|| children.as_mut().poll(child, cx));
            let polled = catch_unwind(poll).unwrap_or_else(|payload| {
                match panic {
                    None => *panic = Some(payload),
                    Some(_) => discard(payload),
                }
                // A second panic, from the destructor, must not end it either.
                discard_panic(|| children.drop_one(child));
                Poll::Ready(())
            });
            polled.map(Ok::<(), Infallible>)
        });
        let Ok(()) = ready!(ended);
        if let Some(payload) = this.panic.0.take() {
            discard_panic(|| this.all.children().drop_all());
            resume_unwind(payload);
        }
        Poll::Ready(this.all.children().outputs())
    }
}

debug!(<C> All<C>, |it| left: it.all.left, ..);
debug!(<C> TryAll<C>, |it| left: it.all.left, ..);
debug!(<C> AllReady<C>, |it| left: it.all.left, ..);
