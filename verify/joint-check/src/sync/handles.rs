//! How many handles a shared value has.

use core::sync::atomic::Ordering;

use super::atomic::Word;
use crate::{
    graph::Id,
    run::{self, Request, perform},
};

/// What drops one.
const LESS: u64 = u64::MAX;
/// One weak handle. The lower half of a word counts the others.
pub(super) const WEAK: u64 = 1 << 32;

/// How many handles a word counts that are not weak.
pub(super) fn strong(word: u64) -> u64 {
    word % WEAK
}

/// A count of handles. Which drop is the last is explored, and no other order of the changes,
/// unless an execution looks at the count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handles(Id);

impl Handles {
    /// Creates a count of one.
    #[track_caller]
    pub(super) fn new(name: &'static str) -> Self {
        Self(run::new_count(name))
    }

    pub(super) const fn at(place: Id) -> Self {
        Self(place)
    }

    pub(super) fn place(self) -> Id {
        self.0
    }

    /// Adds a handle.
    #[track_caller]
    pub(super) fn add(self, name: &'static str) {
        if run::commutes(self.0) {
            self.change(name, false);
        } else {
            Word::at(self.0).add(name, 1, Ordering::Relaxed);
        }
    }

    /// Drops a handle. Returns whether it was the last.
    #[track_caller]
    pub(super) fn drop(self, name: &'static str) -> bool {
        if run::commutes(self.0) {
            return self.change(name, true);
        }
        strong(Word::at(self.0).add(name, LESS, Ordering::Release)) == 1
    }

    #[track_caller]
    fn change(self, name: &'static str, drops: bool) -> bool {
        let count = self.0;
        perform(name, Request::Handle { count, drops }).value == 1
    }

    /// Whether the running thread is sure to have the only handle, without a look.
    pub(super) fn is_only(self) -> bool {
        run::commutes(self.0) && run::is_only_handle(self.0)
    }

    /// Returns the word, whose changes have an order. If they have none, the model begins again.
    #[track_caller]
    pub(super) fn look(self) -> Word {
        if run::commutes(self.0) {
            perform("look", Request::Look { count: self.0 });
        }
        Word::at(self.0)
    }
}
