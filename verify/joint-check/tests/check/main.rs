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
    ends_with(&once(), f).1
}

/// Returns what a model that fails panics with.
#[track_caller]
fn panic_of(check: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(check)).expect_err("the model fails");
    let text = panic.downcast_ref::<&str>().map(|&text| text.to_owned());
    text.unwrap_or_else(|| *panic.downcast().expect("a text"))
}

/// Returns the text of a model that fails.
#[track_caller]
fn failure(f: impl Fn() + Send + Sync + 'static) -> String {
    failure_of(&Builder::new(), f)
}

/// Returns the text of a model that fails, checked so.
#[track_caller]
fn failure_of(builder: &Builder, f: impl Fn() + Send + Sync + 'static) -> String {
    panic_of(|| builder.check(f));
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
    catch_unwind(AssertUnwindSafe(|| builder.check(f))).is_err()
}

/// Returns the results of a model, over all of its executions.
fn ends<T: Ord + Send + 'static>(f: impl Fn() -> T + Send + Sync + 'static) -> Vec<T> {
    ends_with(&Builder::new(), f).0
}

/// Returns the results of a model that is checked so, and the counts.
#[track_caller]
fn ends_with<T: Ord + Send + 'static>(
    builder: &Builder,
    f: impl Fn() -> T + Send + Sync + 'static,
) -> (Vec<T>, Count) {
    let ends = Arc::new(Mutex::new(BTreeSet::new()));
    let found = ends.clone();
    builder.check(move || {
        let end = f();
        found.lock().unwrap().insert(end);
    });
    let ends = std::mem::take(&mut *ends.lock().unwrap());
    let count = last_count();
    assert_eq!(count.duplicates, 0);
    (ends.into_iter().collect(), count)
}

/// Checks none of whose executions may be visited twice.
fn once() -> Builder {
    let mut builder = Builder::new();
    builder.finds_duplicates = true;
    builder
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
