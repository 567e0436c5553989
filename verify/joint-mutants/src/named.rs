//! Places that a crate names itself, for wrappers around the atomics of any model checker.
//!
//! An ordering that is handed to a helper function belongs to the line that names it, not to the
//! line of the atomic operation. A name also stays the same when the function is renamed.

use core::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::{
    place::{Change, LOOK, ORDER},
    request::change,
};

/// Returns the ordering that this process uses at the place `name`, which asks for `asked`. For a
/// fence, `Relaxed` means that there is none.
///
/// ```
/// # use std::sync::atomic::Ordering::Release;
/// let order = joint_mutants::named::order("slot::fill", Release);
/// # assert_eq!(order, Release);
/// ```
#[track_caller]
pub fn order(name: &'static str, asked: Ordering) -> Ordering {
    match change([ORDER, name], [Some(asked), None]) {
        Some(Change::Order(weaker)) => weaker,
        _ => asked,
    }
}

/// Returns whether the condition `name` holds, such as the second look of a protocol, which finds
/// what has changed since the first. If this process blinds it, the condition is not evaluated and
/// does not hold.
///
/// ```
/// # let has_work = || true;
/// if joint_mutants::named::sees("sleep::look_again", has_work) {
///     // Do not sleep.
/// }
/// ```
#[track_caller]
pub fn sees(name: &'static str, look: impl FnOnce() -> bool) -> bool {
    change([LOOK, name], [None; 2]).is_none() && look()
}

/// The orderings of a read-modify-write that is a load and then a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halves {
    /// The ordering of the load.
    pub load: Ordering,
    /// The ordering of the store, or `None` if the store is deleted.
    pub store: Option<Ordering>,
}

impl Halves {
    pub(crate) fn of(change: Change, success: Ordering, failure: Ordering) -> Self {
        let all = [success, failure];
        let load = if all.contains(&SeqCst) {
            SeqCst
        } else if all.contains(&Acquire) || all.contains(&AcqRel) {
            Acquire
        } else {
            Relaxed
        };
        let store = match success {
            Release | AcqRel => Release,
            SeqCst => SeqCst,
            _ => Relaxed,
        };
        let store = (change == Change::Split).then_some(store);
        Self { load, store }
    }
}

/// Returns how the caller's read-modify-write is to be done, if this process splits it or deletes
/// its store. Its orderings are places of their own, so it has no other changes.
#[track_caller]
pub fn halves(operation: &'static str, success: Ordering, failure: Ordering) -> Option<Halves> {
    let change = change([operation, ""], [None; 2])?;
    Some(Halves::of(change, success, failure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_has_its_part_of_the_orderings() {
        let halves = |change, success, failure| {
            let Halves { load, store } = Halves::of(change, success, failure);
            (load, store)
        };
        for (success, failure, load, store) in [
            (AcqRel, Relaxed, Acquire, Release),
            (Release, Acquire, Acquire, Release),
            (Acquire, Acquire, Acquire, Relaxed),
            (SeqCst, Relaxed, SeqCst, SeqCst),
            (Relaxed, Relaxed, Relaxed, Relaxed),
        ] {
            assert_eq!(halves(Change::Split, success, failure), (load, Some(store)));
            assert_eq!(halves(Change::Deleted, success, failure), (load, None));
        }
    }
}
