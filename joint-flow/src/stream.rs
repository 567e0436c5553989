//! A stream of promises: [`channel`], with an end and an error of its own.
//!
//! It is a queue under a lock, with one waker and a cell for how the stream ends. Wakers run
//! outside of the lock, and items and errors are dropped outside of it. So a waker may use the
//! stream, or drop its receiver. (The crate async-channel wakes under a lock, so such a waker would
//! wait for itself. It also keeps the items of a dropped receiver for as long as a sender lives.)
//!
//! | the producers | what the receiver gets, after all items |
//! |---|---|
//! | call [`end`](Sender::end) | `None` |
//! | call [`fail`](Sender::fail) | the error once, and then `None` |
//! | are all dropped without either | [`Closed`] as an error once, and then `None` |
//!
//! # Differences from Flow
//! * The end of a stream is `None`, not an error `end_of_stream`.
//! * An item that is sent after the end, after an error, or when the receiver has been dropped,
//!   comes back to its sender. Flow ignores it without a word.
//! * A second waiter cannot exist, because the [`Receiver`] is not `Clone` and waiting borrows it.
//!   Flow has an assertion for that.
//! * An item is moved in and moved out, and never cloned.

use std::{
    collections::VecDeque,
    error::Error,
    fmt, mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
};

use joint::budget;

use crate::{Closed, waiting::poll_locked};
use joint_switch::{Mutex, MutexGuard};

#[doc(no_inline)]
pub use futures_lite::stream::{Stream, StreamExt};

/// Creates a stream of promises: a sender, which can be cloned, and the one receiver.
///
/// `E` is the error with which the stream can fail. It must be able to say that the promise was
/// broken. If nothing else can fail, use [`Closed`] itself.
///
/// # Cost
/// One allocation, and those with which a [`VecDeque`] grows. Each item takes a short critical
/// section to send and another one to receive.
///
/// # Example
/// ```
/// use joint_flow::{Closed, stream::{self, StreamExt}};
///
/// let (sender, mut receiver) = stream::channel::<_, Closed>();
/// sender.send("one").unwrap();
/// drop(sender);
/// joint::block_on(async {
///     assert_eq!(receiver.next().await, Some(Ok("one")));
///     assert_eq!(receiver.next().await, Some(Err(Closed)));
///     assert_eq!(receiver.next().await, None);
/// });
/// ```
pub fn channel<T, E: From<Closed>>() -> (Sender<T, E>, Receiver<T, E>) {
    let state = State {
        items: VecDeque::new(),
        end: End::Open,
        waker: None,
        senders: 1,
    };
    let shared = Arc::new(Shared(Mutex::new(state)));
    let receiver = Receiver {
        shared: shared.clone(),
        has_ended: false,
        turn: budget::Turn::new(),
    };
    (Sender { shared }, receiver)
}

struct Shared<T, E>(Mutex<State<T, E>>);

struct State<T, E> {
    items: VecDeque<T>,
    end: End<E>,
    /// The waker of the receiver, from a poll that was pending until it is woken.
    waker: Option<Waker>,
    senders: usize,
}

impl<T, E> Shared<T, E> {
    fn lock(&self) -> MutexGuard<'_, State<T, E>> {
        // Nothing in a critical section leaves the state half changed if it panics.
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Changes the state, and then wakes the receiver, unless the stream takes nothing more.
    fn offer<V>(&self, value: V, put: impl FnOnce(&mut State<T, E>, V)) -> Result<(), V> {
        let mut state = self.lock();
        if state.is_closed() {
            return Err(value);
        }
        put(&mut state, value);
        let waker = state.waker.take();
        drop(state);
        wake(waker);
        Ok(())
    }
}

impl<T, E> State<T, E> {
    fn is_closed(&self) -> bool {
        !matches!(self.end, End::Open)
    }

    /// Whether the receiver has nothing to wait for: there is an item, or the end.
    fn is_ready(&self) -> bool {
        !self.items.is_empty() || self.senders == 0 || self.is_closed()
    }
}

/// How a stream ends.
enum End<E> {
    /// Not yet known. If no sender is left, the promise is broken.
    Open,
    /// Without an error, or the error has been taken, or the receiver has been dropped.
    Ended,
    Failed(E),
}

/// The producer of a stream. Each clone is a producer of the same stream.
///
/// If the last one is dropped and none has called [`end`](Sender::end) or [`fail`](Sender::fail),
/// the promise is broken.
pub struct Sender<T, E> {
    shared: Arc<Shared<T, E>>,
}

impl<T, E> Sender<T, E> {
    /// Sends an item, and wakes the receiver if it waits. It never waits itself, because the stream
    /// is unbounded.
    ///
    /// # Errors
    /// Returns the item in a [`SendError`] if the stream has ended or failed, or if the receiver
    /// has been dropped.
    ///
    /// # Example
    /// ```
    /// use joint_flow::{Closed, stream::{self, SendError}};
    ///
    /// let (sender, receiver) = stream::channel::<u32, Closed>();
    /// assert_eq!(sender.send(1), Ok(()));
    /// sender.end();
    /// assert_eq!(sender.send(2), Err(SendError(2)));
    /// # drop(receiver);
    /// ```
    pub fn send(&self, item: T) -> Result<(), SendError<T>> {
        let sent = self
            .shared
            .offer(item, |state, item| state.items.push_back(item));
        sent.map_err(SendError)
    }

    /// Ends the stream. The receiver gets the items that have been sent, and then `None`.
    ///
    /// Returns false, and does nothing, if the stream has ended or failed already, or if the
    /// receiver has been dropped.
    ///
    /// # Example
    /// ```
    /// use joint_flow::{Closed, stream::{self, StreamExt}};
    ///
    /// let (sender, mut receiver) = stream::channel::<u32, Closed>();
    /// sender.send(1).unwrap();
    /// assert!(sender.end());
    /// assert!(!sender.end());
    /// joint::block_on(async {
    ///     assert_eq!(receiver.next().await, Some(Ok(1)));
    ///     assert_eq!(receiver.next().await, None);
    /// });
    /// ```
    pub fn end(&self) -> bool {
        self.shared
            .offer((), |state, ()| state.end = End::Ended)
            .is_ok()
    }

    /// Ends the stream with an error. The receiver gets the items that have been sent, then the
    /// error once, and then `None`.
    ///
    /// # Errors
    /// Returns the error in a [`SendError`], and does nothing, if the stream has ended or failed
    /// already, or if the receiver has been dropped.
    ///
    /// # Example
    /// ```
    /// use std::io;
    /// use joint_flow::stream::{self, StreamExt};
    ///
    /// let (sender, mut receiver) = stream::channel::<u32, io::Error>();
    /// sender.send(1).unwrap();
    /// sender.fail(io::ErrorKind::InvalidData.into()).unwrap();
    /// joint::block_on(async {
    ///     assert_eq!(receiver.next().await.unwrap().unwrap(), 1);
    ///     let error = receiver.next().await.unwrap().unwrap_err();
    ///     assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    ///     assert!(receiver.next().await.is_none());
    /// });
    /// ```
    pub fn fail(&self, error: E) -> Result<(), SendError<E>> {
        let sent = self
            .shared
            .offer(error, |state, error| state.end = End::Failed(error));
        sent.map_err(SendError)
    }

    /// Returns whether [`send`](Sender::send) would return the item, because the stream has ended
    /// or failed, or the receiver has been dropped.
    ///
    /// `false` may be outdated at once, while `true` is final.
    pub fn is_closed(&self) -> bool {
        self.shared.lock().is_closed()
    }

    /// Returns how many items have been sent and not been received.
    pub fn len(&self) -> usize {
        self.shared.lock().items.len()
    }

    /// Returns whether every item that has been sent has also been received.
    pub fn is_empty(&self) -> bool {
        self.shared.lock().items.is_empty()
    }
}

impl<T, E> Clone for Sender<T, E> {
    fn clone(&self) -> Self {
        self.shared.lock().senders += 1;
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<T, E> Drop for Sender<T, E> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.senders -= 1;
        let waker = (state.senders == 0).then(|| state.waker.take());
        drop(state);
        wake(waker.flatten());
    }
}

/// Wakes the receiver, after the critical section that took its waker.
fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

debug!(<T, E> Sender<T, E>, |it| len: it.len(), is_closed: it.is_closed());

/// The one consumer of a stream: a [`Stream`] of `Result<T, E>`.
///
/// Use the methods of [`StreamExt`] on it: `next`, `try_next`, `filter`, `take` and so on. Waiting
/// is safe to cancel: an item is taken only by the poll that returns it. Each item takes one from
/// the task's [budget], so that a task whose stream is never empty lets others run.
///
/// Dropping it drops the items that were not received, and every later item comes back to its
/// sender.
///
/// There is one:
/// ```compile_fail,E0599
/// let (_, receiver) = joint_flow::stream::channel::<u32, joint_flow::Closed>();
/// let _ = receiver.clone();
/// ```
#[must_use = "dropping the receiver of a stream refuses all items"]
pub struct Receiver<T, E> {
    shared: Arc<Shared<T, E>>,
    /// Whether the error or the end was reported.
    has_ended: bool,
    turn: budget::Turn,
}

impl<T, E> Receiver<T, E> {
    /// Returns how many items have been sent and not been received.
    pub fn len(&self) -> usize {
        self.shared.lock().items.len()
    }

    /// Returns whether no item can be received without waiting.
    pub fn is_empty(&self) -> bool {
        self.shared.lock().items.is_empty()
    }
}

// Items and errors are moved, and never pinned.
impl<T, E> Unpin for Receiver<T, E> {}

impl<T, E: From<Closed>> Stream for Receiver<T, E> {
    type Item = Result<T, E>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.has_ended {
            return Poll::Ready(None);
        }
        // A stream that is never empty would keep the thread from other tasks.
        ready!(this.turn.poll_proceed(cx));
        let shared = &this.shared;
        let state = poll_locked(cx, || shared.lock(), State::is_ready, |it| &mut it.waker);
        let mut state = ready!(state);
        if let Some(item) = state.items.pop_front() {
            this.turn.spend();
            return Poll::Ready(Some(Ok(item)));
        }
        let end = mem::replace(&mut state.end, End::Ended);
        drop(state);
        this.has_ended = true;
        Poll::Ready(match end {
            End::Open => Some(Err(Closed.into())),
            End::Ended => None,
            End::Failed(error) => Some(Err(error)),
        })
    }
}

impl<T, E> Drop for Receiver<T, E> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let items = mem::take(&mut state.items);
        let end = mem::replace(&mut state.end, End::Ended);
        let waker = state.waker.take();
        drop(state);
        drop((items, end, waker));
    }
}

debug!(<T, E> Receiver<T, E>, |it| len: it.len(), has_ended: it.has_ended);

/// The error of a [`Sender`] whose stream takes nothing more. It holds what was not sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

impl<T> SendError<T> {
    /// Returns what was not sent.
    pub fn into_inner(self) -> T {
        self.0
    }
}

debug!(<T> SendError<T>);

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the stream has ended, or its receiver has been dropped")
    }
}

impl<T> Error for SendError<T> {}
