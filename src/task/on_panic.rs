//! What is called for the payloads of panics: see [`OnPanic`].

use core::num::NonZero;

use super::unwind;
use crate::host::{self, OnPanic};
use joint_switch::unique;

/// Calls one of the functions, if they are set. A task whose end a panic left half done would never
/// end.
fn call<R>(f: impl FnOnce(OnPanic) -> R) -> Option<R> {
    let on = host::part(|host| host.on_panic)?;
    let why = || "a function of `Host::on_panic` panicked";
    Some(unwind::or_abort(why, || f(on)))
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
