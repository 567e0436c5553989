//! [`OnPanic`]: what a thread calls for the payloads of panics.

use core::{cell::Cell, num::NonZero};

use super::unwind;
use joint_switch::{thread_local, unique};

/// The functions that a thread calls for the payloads of panics: see [`set_on_panic`].
#[derive(Clone, Copy, Debug)]
pub struct OnPanic {
    /// A task has ended with a panic, or [`PanicPayload::new`](super::PanicPayload::new) was
    /// called. It is given a number, which no other payload of the process has, and the message, if
    /// there is one.
    pub caught: fn(NonZero<u64>, Option<&str>),
    /// The payload with this number was taken, or its message was read, perhaps not for the first
    /// time. Another thread, with other functions, may have caught it. A payload that was caught
    /// while no functions were set has no number, and this is not called for it.
    pub seen: fn(NonZero<u64>),
}

thread_local! {
    static ON_PANIC: Cell<Option<OnPanic>> = const { Cell::new(None) };
}

/// Sets the functions that this thread calls for each [`PanicPayload`](super::PanicPayload), or
/// `None` for nothing, which is the default. Returns what was set before.
///
/// A simulator learns from them which panics nobody looks at. They are called in the middle of the
/// end of a task, so they must not use the task. A panic of theirs ends the program.
///
/// # Example
/// ```
/// use joint::task::{self, OnPanic, set_on_panic};
/// use std::{cell::RefCell, collections::BTreeMap, num::NonZero};
///
/// type Unseen = BTreeMap<NonZero<u64>, String>;
/// thread_local! {
///     static UNSEEN: RefCell<Unseen> = const { RefCell::new(Unseen::new()) };
/// }
/// set_on_panic(Some(OnPanic {
///     caught: |number, message| {
///         let message = message.unwrap_or_default().into();
///         UNSEEN.with_borrow_mut(|unseen| unseen.insert(number, message));
///     },
///     seen: |number| UNSEEN.with_borrow_mut(|unseen| _ = unseen.remove(&number)),
/// }));
/// let (runnable, handle) = task::spawn(async { panic!("no") }, |_| {});
/// runnable.run();
/// let error = joint::block_on(handle.result()).unwrap_err();
/// assert!(error.is_panic());
/// assert!(UNSEEN.with_borrow(|unseen| unseen.values().eq(["no"])));
/// assert!(error.to_string().ends_with("panicked: no"));
/// assert!(UNSEEN.with_borrow(Unseen::is_empty));
/// ```
pub fn set_on_panic(on_panic: Option<OnPanic>) -> Option<OnPanic> {
    ON_PANIC.with(|cell| cell.replace(on_panic))
}

/// Calls one of the functions, if they are set. A task whose end a panic left half done would never
/// end.
fn call<R>(f: impl FnOnce(OnPanic) -> R) -> Option<R> {
    let on = ON_PANIC.try_with(Cell::get).ok().flatten()?;
    Some(unwind::or_abort(
        || "a function of `task::set_on_panic` panicked",
        || f(on),
    ))
}

/// Returns the number of a payload that was caught, if anybody asks for it.
pub(super) fn caught(message: Option<&str>) -> Option<NonZero<u64>> {
    call(|on| {
        let number = unique();
        (on.caught)(number, message);
        number
    })
}

/// Takes note that somebody looks at a payload.
pub(super) fn seen(number: NonZero<u64>) {
    call(|on| (on.seen)(number));
}
