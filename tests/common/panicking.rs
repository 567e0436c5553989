//! A future whose poll panics, and that records whether it is dropped while that panic unwinds.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    thread,
};

use super::OnDrop;

/// A future that was written by hand: its field is dropped with the future, not by its poll.
pub(crate) struct Panicking<T>(pub(crate) T);

impl<T: Unpin> Future for Panicking<T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        panic!("in poll")
    }
}

/// For each drop, whether the thread was panicking.
pub(crate) type Unwound = Arc<Mutex<Vec<bool>>>;

/// A future that panics, and whose drop is recorded.
pub(crate) fn panicking(seen: &Unwound) -> Panicking<impl Send + Unpin + use<>> {
    let seen = seen.clone();
    Panicking(OnDrop(move || {
        seen.lock().unwrap().push(thread::panicking())
    }))
}
