//! [`note_waits`]: notes what a waker waits for, for an executor that shows it.

use core::task::Waker;
#[cfg(feature = "std")]
use std::sync::OnceLock;

#[cfg(feature = "std")]
static NOTE: OnceLock<fn(Waker, &'static str) -> Waker> = OnceLock::new();

/// Calls `note` from now on with each waker that a [oneshot](crate::oneshot) channel is about to
/// register, and registers the waker that `note` returns. For an executor that shows what its tasks
/// wait for.
///
/// The text is the [name of the type](core::any::type_name) that is polled: a
/// [`Receiver`](crate::oneshot::Receiver), or a [`Sender`](crate::oneshot::Sender) that waits until
/// its receiver is gone.
///
/// The waker that `note` returns has to wake the one that was passed. Once it is woken, there is an
/// answer. If it is dropped before, the waiter is gone or was polled again. It is not woken twice.
///
/// Returns whether this `note` is the first. There is one for the whole process, and it stays.
///
/// # Cost
/// One load for each poll that registers a waker, whether this was called or not.
///
/// # Example
/// ```
/// use joint::{oneshot, waker::note_waits};
/// use std::{future::Future, pin::pin, sync::Mutex, task::{Context, Waker}};
///
/// static NOTED: Mutex<Vec<&str>> = Mutex::new(Vec::new());
/// assert!(note_waits(|waker, what| {
///     NOTED.lock().unwrap().push(what);
///     waker
/// }));
///
/// let (_sender, receiver) = oneshot::channel::<u32>();
/// assert!(pin!(receiver).poll(&mut Context::from_waker(Waker::noop())).is_pending());
/// assert!(NOTED.lock().unwrap()[0].ends_with("Receiver<u32>"));
/// ```
#[cfg(feature = "std")]
pub fn note_waits(note: fn(Waker, &'static str) -> Waker) -> bool {
    NOTE.set(note).is_ok()
}

/// Returns what is to be registered for `waker`, with which an object is polled whose type has that
/// name.
#[cfg_attr(
    not(feature = "std"),
    expect(unused_variables, reason = "nobody notes anything")
)]
pub(crate) fn noted(waker: Waker, name: fn() -> &'static str) -> Waker {
    #[cfg(feature = "std")]
    if let Some(note) = NOTE.get() {
        return note(waker, name());
    }
    waker
}

/// Returns whether wakers are noted.
#[inline]
pub(crate) fn is_on() -> bool {
    #[cfg(feature = "std")]
    return NOTE.get().is_some();
    #[cfg(not(feature = "std"))]
    false
}
