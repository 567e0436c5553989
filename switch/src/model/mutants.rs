//! [`Changed`]: what a run of the models can change besides an ordering. It can split one
//! read-modify-write into two steps, or make one second look see nothing. The module also records
//! which of these places a run reaches.

use core::{cell::RefCell, panic::Location, sync::atomic::Ordering};
use std::{
    collections::{BTreeMap, BTreeSet},
    string::{String, ToString},
    vec::Vec,
};

std::thread_local! {
    static CHANGED: RefCell<Option<Target>> = const { RefCell::new(None) };
    /// By the address of the location, which is faster to compare than the location.
    static OPERATIONS: RefCell<BTreeMap<*const Location<'static>, &'static Location<'static>>> = const { RefCell::new(BTreeMap::new()) };
    static LOOKS: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
}

enum Target {
    Operation { file: String, line: u32 },
    Look(String),
}

/// Returns the file's path from the package's root, with slashes.
fn file_of(at: &Location<'_>) -> String {
    at.file().replace('\\', "/")
}

/// While it is alive, the models of this thread run with one place changed. There is at most one at
/// a time.
#[derive(Debug)]
pub struct Changed(());

impl Changed {
    /// Splits the read-modify-write at this place into a load and a store.
    #[must_use = "the place is changed only while the value exists"]
    pub fn in_two(file: &str, line: u32) -> Self {
        let file = file.to_string();
        CHANGED.set(Some(Target::Operation { file, line }));
        Self(())
    }

    /// Makes the second look of this name (such as `executor::sleep::sleep_again`) see nothing.
    #[must_use = "the place is changed only while the value exists"]
    pub fn blind(look: &str) -> Self {
        CHANGED.set(Some(Target::Look(look.to_string())));
        Self(())
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        CHANGED.set(None);
    }
}

/// Returns the orderings of the load and of the store, if this run splits the caller's
/// read-modify-write.
#[track_caller]
pub(super) fn in_two(success: Ordering, failure: Ordering) -> Option<(Ordering, Ordering)> {
    let at = Location::caller();
    OPERATIONS.with_borrow_mut(|seen| seen.insert(at, at));
    let is_changed = CHANGED.with_borrow(|place| {
        matches!(place, Some(Target::Operation { file, line })
            if *line == at.line() && *file == file_of(at))
    });
    is_changed.then(|| halves(success, failure))
}

fn halves(success: Ordering, failure: Ordering) -> (Ordering, Ordering) {
    let acquires = |order| matches!(order, Ordering::Acquire | Ordering::AcqRel);
    let load = if acquires(success) || acquires(failure) {
        Ordering::Acquire
    } else {
        Ordering::Relaxed
    };
    let store = match success {
        Ordering::Release | Ordering::AcqRel => Ordering::Release,
        _ => Ordering::Relaxed,
    };
    (load, store)
}

/// Returns a path without the package `joint`, and that in another package of the workspace with
/// the short name of the package: `flow`, not `joint_flow`.
pub(super) fn without_package(path: &'static str) -> &'static str {
    let own = path.strip_prefix("joint::");
    own.or_else(|| path.strip_prefix("joint_")).unwrap_or(path)
}

/// Returns whether a second look sees anything in this run.
pub fn sees(path: &'static str, look: impl FnOnce() -> bool) -> bool {
    let name = without_package(path);
    LOOKS.with_borrow_mut(|seen| seen.insert(name));
    let is_blind =
        CHANGED.with_borrow(|place| matches!(place, Some(Target::Look(look)) if look == name));
    !is_blind && look()
}

/// Returns the read-modify-writes, by file and line, and the second looks, by name, that have run
/// on this thread so far.
pub fn places_seen() -> Vec<String> {
    let operations = OPERATIONS.with_borrow(|seen| seen.values().copied().collect::<BTreeSet<_>>());
    let operations = operations.into_iter();
    let mut places = operations
        .map(|at| std::format!("{}:{}", file_of(at), at.line()))
        .collect::<Vec<_>>();
    LOOKS.with_borrow(|seen| places.extend(seen.iter().map(ToString::to_string)));
    places
}
