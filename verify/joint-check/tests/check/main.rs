//! The tests of the checker: each kind of model, what a failing one says, and the executions of
//! `axioms` (`fuzz`).

mod bounds;
mod failures;
mod freely;
mod fuzz;
mod handles;
mod loom_issues;
mod memory;
mod primitives;
mod surface;
mod threads;

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
};

use joint_check::{
    cell::UnsafeCell,
    model::{Builder, Count, last_count, last_failure},
    thread,
};

/// Checks a model, none of whose executions may be visited twice.
#[track_caller]
fn count(f: impl Fn() + Send + Sync + 'static) -> Count {
    let mut builder = Builder::new();
    builder.finds_duplicates = true;
    builder.check(f);
    let count = last_count();
    assert_eq!(count.duplicates, 0);
    count
}

/// Returns the text of a model that fails.
#[track_caller]
fn failure(f: impl Fn() + Send + Sync + 'static) -> String {
    catch_unwind(AssertUnwindSafe(|| count(f))).expect_err("the model fails");
    last_failure().expect("a failure has a text")
}

#[track_caller]
fn assert_fails(part: &str, f: impl Fn() + Send + Sync + 'static) {
    let text = failure(f);
    assert!(text.contains(part), "`{part}` is not in:\n{text}");
}

/// Whether a model fails with these options.
fn fails_with(set: impl FnOnce(&mut Builder), f: impl Fn() + Send + Sync + 'static) -> bool {
    let mut builder = Builder::new();
    set(&mut builder);
    let check = std::panic::AssertUnwindSafe(|| builder.check(f));
    std::panic::catch_unwind(check).is_err()
}

/// Returns the results of a model, over all of its executions.
fn ends<T: Ord + Send + 'static>(f: impl Fn() -> T + Send + Sync + 'static) -> Vec<T> {
    let ends = Arc::new(Mutex::new(BTreeSet::new()));
    let found = ends.clone();
    Builder::new().check(move || {
        let end = f();
        found.lock().unwrap().insert(end);
    });
    let ends = std::mem::take(&mut *ends.lock().unwrap());
    ends.into_iter().collect()
}

/// Does something in a thread and something else beside it, with a value that both use.
#[track_caller]
fn beside<S: 'static, A: 'static, B>(
    shared: S,
    theirs: impl FnOnce(&S) -> A + 'static,
    ours: impl FnOnce(&S) -> B,
) -> (A, B) {
    let shared = Arc::new(shared);
    let copy = shared.clone();
    let other = thread::spawn(move || theirs(&copy));
    let ours = ours(&shared);
    (other.join().unwrap(), ours)
}

/// Returns a source of numbers below a limit, which are always the same for a seed.
fn chance(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}

/// A cell that several threads use.
struct Shared(UnsafeCell<u32>);

// SAFETY: the checker looks for races.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

impl Shared {
    #[track_caller]
    fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    #[track_caller]
    fn read(&self) -> u32 {
        // SAFETY: the model ends before a race comes to this.
        self.0.with(|value| unsafe { *value })
    }

    #[track_caller]
    fn write(&self, new: u32) {
        // SAFETY: as above.
        self.0.with_mut(|value| unsafe { *value = new });
    }
}
