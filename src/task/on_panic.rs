//! [`OnPanic`]: what a thread calls for the payloads of panics.

use core::cell::Cell;

use joint_switch::thread_local;

/// The functions that a thread calls for the payloads of panics: see [`set_on_panic`].
#[derive(Clone, Copy, Debug)]
pub struct OnPanic {
    /// A task has ended with a panic, or [`PanicPayload::new`](super::PanicPayload::new) was
    /// called. It is given the message, if there is one, and returns a number for the payload.
    pub caught: fn(Option<&str>) -> u64,
    /// The payload with this number was taken, or its message was read, perhaps not for the first
    /// time.
    pub seen: fn(u64),
}

thread_local! {
    static ON_PANIC: Cell<Option<OnPanic>> = const { Cell::new(None) };
}

/// Sets the functions that this thread calls for each [`PanicPayload`](super::PanicPayload), or
/// `None` for nothing, which is the default. Returns what was set before.
///
/// A simulator learns from them which panics nobody looks at. They are called in the middle of the
/// end of a task, so they must not use the task, and must not panic.
///
/// # Example
/// ```
/// use joint::task::{self, OnPanic, set_on_panic};
/// use std::cell::Cell;
///
/// thread_local! {
///     static UNSEEN: Cell<u32> = const { Cell::new(0) };
/// }
/// fn caught(message: Option<&str>) -> u64 {
///     assert_eq!(message, Some("no"));
///     UNSEEN.set(UNSEEN.get() + 1);
///     7
/// }
/// set_on_panic(Some(OnPanic { caught, seen: |_| UNSEEN.set(0) }));
/// let (runnable, handle) = task::spawn(async { panic!("no") }, |_| {});
/// runnable.run();
/// assert_eq!(UNSEEN.get(), 1);
/// let error = joint::block_on(handle.result()).unwrap_err();
/// assert!(error.is_panic() && UNSEEN.get() == 1);
/// assert!(error.to_string().ends_with("panicked: no"));
/// assert_eq!(UNSEEN.get(), 0);
/// ```
pub fn set_on_panic(on_panic: Option<OnPanic>) -> Option<OnPanic> {
    ON_PANIC.with(|cell| cell.replace(on_panic))
}

fn set() -> Option<OnPanic> {
    ON_PANIC.try_with(Cell::get).ok().flatten()
}

/// Returns the number of a payload that was caught.
pub(super) fn caught(message: Option<&str>) -> u64 {
    set().map_or(0, |on| (on.caught)(message))
}

/// Takes note that somebody looks at a payload.
pub(super) fn seen(number: u64) {
    if let Some(on) = set() {
        (on.seen)(number);
    }
}
