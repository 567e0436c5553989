//! Keeps the panics of a thread from printing their messages.

use core::cell::Cell;
use std::{
    boxed::Box,
    panic::{set_hook, take_hook},
    sync::Once,
};

std::thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Sets back what was set before.
pub(super) struct Before(bool);

impl Drop for Before {
    fn drop(&mut self) {
        QUIET.with(|quiet| quiet.set(self.0));
    }
}

/// Sets whether panics of this thread print nothing.
///
/// The first call wraps the program's panic hook. A hook that is set later prints everything.
pub(super) fn set(is_quiet: bool) -> Before {
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.try_with(Cell::get).unwrap_or(false) {
                before(panic);
            }
        }));
    });
    Before(QUIET.with(|quiet| quiet.replace(is_quiet)))
}
