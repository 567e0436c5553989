//! [`Cell`]: a future that one side polls and any other side can cancel, and the [`Driver`] that
//! polls it.
//!
//! The cell is in an `Arc`. The driver has one reference, and whoever may cancel has others. The
//! rules for its content:
//!
//! 1. Only the side that `State` names touches the content.
//! 2. The content is dropped field by field, in place, and is never moved. The future is therefore
//!    pinned from its first poll on.
//! 3. What runs the user's code (poll, destructors, wakers) leaves the word in a state in which a
//!    re-entrant `cancel` does nothing.

use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use super::{
    canceller::Handles,
    state::{Begun, Cancelled, State, Suspended},
};
use crate::{payload::discard, sync::UnsafeCell};

/// Where a future's result goes. If the future is cancelled, this is dropped instead.
pub(crate) trait Sink<T> {
    /// Passes on the output, or the payload of the future's panic. The future is dropped already.
    fn finish(self, result: Result<T, Box<dyn Any + Send>>);
}

/// A future that can be cancelled, without its type.
pub(crate) trait Cancel: Send + Sync {
    /// Drops the future at once, on this thread, if it is idle. If it is being polled, the poller
    /// drops it after that poll, unless it is ready. Does nothing if the future has ended or was
    /// cancelled before.
    ///
    /// # Panics
    /// If a destructor of the future panics. The future is gone and the driver is told even then.
    fn cancel(&self);

    fn handles(&self) -> &Handles;
}

pub(crate) struct Cell<F, S> {
    state: State,
    handles: Handles,
    content: UnsafeCell<Content<F, S>>,
}

struct Content<F, S> {
    /// The future, or `None` after its end. It is pinned by rule 2.
    future: Option<F>,
    /// Where the result goes, or `None` after the end.
    sink: Option<S>,
    /// Wakes the driver, so that it ends when the future is cancelled. An executor also keeps a
    /// task for as long as it has a waker, although the future may wait for nothing.
    waker: Option<Waker>,
}

// SAFETY: the content is used by one thread at a time (rule 1), and each of its fields is `Send`.
unsafe impl<F: Send, S: Send> Send for Cell<F, S> {}
// SAFETY: as for `Send`. A shared reference gives no shared access to the content.
unsafe impl<F: Send, S: Send> Sync for Cell<F, S> {}

impl<F, S> Cell<F, S>
where
    F: Future,
    S: Sink<F::Output>,
{
    pub(crate) fn new(future: F, sink: S) -> Arc<Self> {
        Arc::new(Self {
            state: State::new(),
            handles: Handles::new(),
            content: UnsafeCell::new(Content {
                future: Some(future),
                sink: Some(sink),
                waker: None,
            }),
        })
    }

    /// Returns `Ready` if the future has ended or was cancelled. Only the driver calls this.
    fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.state.begin() == Begun::Cancelled {
            return Poll::Ready(());
        }
        // SAFETY: the poll has begun (rule 1).
        let polled = self.content.with_mut(|it| unsafe { (*it).poll(cx) });
        match polled {
            Polled::Ended {
                result,
                sink,
                waker,
            } => {
                sink.finish(result);
                // This is another's code, so it comes last.
                drop(waker);
                Poll::Ready(())
            }
            Polled::Pending => match self.state.suspend() {
                Suspended::Idle => Poll::Pending,
                Suspended::DropFuture => {
                    // SAFETY: the state says so (rule 1).
                    let waker = self.content.with_mut(|it| unsafe { (*it).cancel() });
                    waker.forget();
                    Poll::Ready(())
                }
            },
        }
    }
}

enum Polled<T, S> {
    Pending,
    Ended {
        result: Result<T, Box<dyn Any + Send>>,
        sink: S,
        waker: Option<Waker>,
    },
}

impl<F: Future, S: Sink<F::Output>> Content<F, S> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Polled<F::Output, S> {
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let Some(future) = self.future().as_pin_mut() else {
                unreachable!("a future is polled again after its end");
            };
            let polled = future.poll(cx);
            match polled {
                Poll::Ready(_) => self.future().set(None),
                Poll::Pending => self.remember(cx.waker()),
            }
            polled
        }));
        let result = match polled {
            Ok(Poll::Pending) => return Polled::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(payload) => {
                // A second panic, of a destructor, is dropped: the first one is the result.
                if let Err(second) = catch_unwind(AssertUnwindSafe(|| self.future().set(None))) {
                    discard(second);
                }
                Err(payload)
            }
        };
        match self.sink.take() {
            Some(sink) => Polled::Ended {
                result,
                sink,
                waker: self.waker.take(),
            },
            None => unreachable!("a future ends twice"),
        }
    }

    fn remember(&mut self, waker: &Waker) {
        if !self.waker.as_ref().is_some_and(|old| old.will_wake(waker)) {
            self.waker = Some(waker.clone());
        }
    }
}

impl<F, S> Content<F, S> {
    fn future(&mut self) -> Pin<&mut Option<F>> {
        // SAFETY: rule 2.
        unsafe { Pin::new_unchecked(&mut self.future) }
    }

    /// Drops the future, and then the sink, also if a destructor panics. What is returned wakes the
    /// driver when it is dropped.
    fn cancel(&mut self) -> WakeOnDrop {
        let waker = WakeOnDrop(self.waker.take());
        let sink = self.sink.take();
        self.future().set(None);
        drop(sink);
        waker
    }
}

struct WakeOnDrop(Option<Waker>);

impl WakeOnDrop {
    /// Drops the waker without waking it: the driver is here, and is about to be ready.
    fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for WakeOnDrop {
    fn drop(&mut self) {
        if let Some(waker) = self.0.take() {
            waker.wake();
        }
    }
}

impl<F: Send, S: Send> Cancel for Cell<F, S> {
    fn cancel(&self) {
        if self.state.cancel() == Cancelled::DropFuture {
            // SAFETY: the state says so (rule 1).
            drop(self.content.with_mut(|it| unsafe { (*it).cancel() }));
        }
    }

    fn handles(&self) -> &Handles {
        &self.handles
    }
}

/// Polls the future of a cell. It is ready once the future has ended or was cancelled, and cancels
/// the future if it is dropped before.
pub(crate) struct Driver<F: Future + Send, S: Sink<F::Output> + Send> {
    /// `None` after the end.
    cell: Option<Arc<Cell<F, S>>>,
}

impl<F: Future + Send, S: Sink<F::Output> + Send> Driver<F, S> {
    /// Creates the one driver of a cell.
    pub(crate) fn new(cell: Arc<Cell<F, S>>) -> Self {
        Self { cell: Some(cell) }
    }
}

impl<F: Future + Send, S: Sink<F::Output> + Send> Future for Driver<F, S> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(cell) = &self.cell else {
            return Poll::Ready(());
        };
        let polled = cell.poll(cx);
        if polled.is_ready() {
            self.cell = None;
        }
        polled
    }
}

impl<F: Future + Send, S: Sink<F::Output> + Send> Drop for Driver<F, S> {
    fn drop(&mut self) {
        if let Some(cell) = &self.cell {
            cell.cancel();
        }
    }
}
