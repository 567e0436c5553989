//! The record of events, and the types that write to it.

use std::{
    cell::{Cell, RefCell},
    fmt,
    sync::Arc,
    task::Wake,
};

use super::script::Poll;

thread_local! {
    pub(crate) static RECORD: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    pub(crate) static NEXT_POLL: Cell<Poll> = const { Cell::new(Poll::Pending) };
}

pub(crate) fn record(event: impl fmt::Display) {
    RECORD.with_borrow_mut(|record| record.push(event.to_string()));
}

/// Records its drop.
pub(crate) struct Dropped(pub(crate) &'static str);

impl Drop for Dropped {
    fn drop(&mut self) {
        record(format_args!("{} dropped", self.0));
    }
}

/// Records its wake-ups.
pub(crate) struct Awaiter(pub(crate) usize);

impl Wake for Awaiter {
    fn wake(self: Arc<Self>) {
        record(format_args!("awaiter {} woken", self.0));
    }
}
