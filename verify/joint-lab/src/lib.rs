//! Why does a [loom](https://docs.rs/loom) model fail? A sentence and a picture of the failing
//! execution.
//!
//! Use this crate's [`sync`], [`cell`] and [`thread`] in place of loom's, which have std's names,
//! and run the model with [`model`]. If it fails, the test prints what each thread did, in order,
//! and says why: a lost wake-up, a deadlock, a lock that is taken twice, an `Arc` that leaks, or
//! two accesses with no order between them and the half of the operation that would have made it.
//! It needs neither `--nocapture` nor a variable, and also writes a page and a picture.
//!
//! ```should_panic
//! use joint_lab::{model, sync::{Arc, Condvar, Mutex}, thread};
//!
//! model(|| {
//!     let shared = Arc::new((Mutex::new(false), Condvar::new().named("changed")));
//!     let others = shared.clone();
//!     thread::spawn(move || {
//!         *others.0.lock().unwrap() = true;
//!         others.1.notify_one();
//!     });
//!     let value = shared.0.lock().unwrap();
//!     // main waits for changed at ... and is never notified: the last notification came at step 6
//!     // (thread 1, ...), before it.
//!     drop(shared.1.wait(value).unwrap());
//! });
//! ```
//!
//! [`explain`] returns the failing execution as a [`Counterexample`] instead, which can be shown as
//! [text](Counterexample::text), as [SVG](Counterexample::svg) and as [a
//! page](Counterexample::html).
//!
//! The recorder adds no operation to the model. loom runs all threads of a model on one thread of
//! the system, and the recorder's state is local to that thread. So loom explores the same orders
//! with the recorder and without it.
//!
//! This crate computes happens-before again, from the recorded events, as the language defines it:
//! program order, spawn and join, locks, and the orderings of the atomics and fences as they are
//! written. Only loom decides whether the model fails.
//!
//! Where joint-check stands in loom's place, the same is made of the execution that it reports.
//!
//! # What it does not see
//! * Locations and threads of loom's own that did not come from this crate. A failure at such a
//!   location has no picture of its race. A thread that was spawned elsewhere counts as spawned
//!   right before its first operation.
//! * Which store a load read from, if several that it may read hold the same value. The picture
//!   then says so.
//! * Where a lock is unlocked. The row of an unlock names the place of its lock.
//!
//! Steps of code outside of the package under test and its workspace become one row, unless the
//! explanation names them.
//!
//! # What stays behind
//! loom unwinds the thread in which a model fails. Its destructors then run operations although no
//! thread of the model may run any more, or outside of it, which panics again and aborts the
//! process. [`model`] therefore stops the thread of a failed model for
//! good instead, and its threads and values stay until the process ends. If a destructor panics
//! while a panic of the test's own unwinds, nothing can keep the process alive. The report is then
//! written to the standard error before the process is aborted.
//!
//! [`explain`] does unwind, so its process may end. If the counterexample must not be lost, use
//! [`failure_of`], or [`explain_with`], which reports it as soon as the model fails.

#[macro_use]
mod wrapper;

mod analysis;
mod arrows;
pub mod cell;
mod counterexample;
mod ends;
mod event;
mod fold;
mod html;
pub mod record;
mod recorder;
mod report;
mod sentence;
mod svg;
pub mod sync;
mod text;
pub mod thread;
mod verdict;
mod wakes;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

pub use counterexample::Counterexample;
pub use loom::{
    MAX_THREADS, alloc, explore, hint, lazy_static, model::Builder, skip_branch, stop_exploring,
    thread_local,
};
pub use recorder::{name_thread, name_value};
pub use report::failure_of;
pub use svg::escaped;
pub use wakes::Wakes;

/// Runs `f` in every order that loom explores, as `loom::model` does, and explains a failure.
///
/// Inside [`explain`], it only runs `f`.
///
/// # Panics
/// If the model fails. The message is the sentence, the picture as text, and the name of a file
/// with the same as a page, so that the test harness prints them.
#[track_caller]
pub fn model(f: impl Fn() + Send + Sync + 'static) {
    check(Builder::new(), f);
}

/// Does the same as [`model`], with the given builder.
///
/// # Panics
/// If the model fails.
#[track_caller]
pub fn check(builder: Builder, f: impl Fn() + Send + Sync + 'static) {
    if is_recording() {
        check_bare(&builder, f);
    } else if let Some(failure) = report::failure_of(builder, f) {
        panic!("{}", report::message(&failure));
    }
}

/// Runs the model on this thread, without explaining anything unless this is called inside
/// [`explain`].
pub fn check_bare(builder: &Builder, f: impl Fn() + Send + Sync + 'static) {
    let started = Instant::now();
    // joint-check says it itself.
    let has_advised = AtomicBool::new(cfg!(joint_check));
    builder.check(move || {
        if started.elapsed() > LONG && !has_advised.swap(true, Ordering::Relaxed) {
            advise();
        }
        recorder::new_execution();
        recorder::guarded(&f);
    });
}

/// After this time, the user is told what to do.
const LONG: Duration = Duration::from_secs(10);

/// Says what to do about a model that takes long.
fn advise() {
    let name = std::thread::current();
    let name = name.name().unwrap_or("a model").to_owned();
    eprintln!(
        "joint-lab: {name} has not ended after {} seconds. To make it end:\n\
         * fewer threads, or fewer operations in each;\n\
         * `hint::spin_loop` or `thread::yield_now` in each loop that waits;\n\
         * LOOM_MAX_PREEMPTIONS=2 or 3, to explore only orders with so few preemptions;\n\
         * LOOM_MAX_DURATION=60, to end after so many seconds;\n\
         * joint-check in loom's place, which explores each execution once.",
        LONG.as_secs()
    );
}

/// Returns whether the models of this thread are recorded, which they are inside [`explain`].
#[inline]
pub fn is_recording() -> bool {
    recorder::is_armed()
}

/// Runs models, and returns the execution in which one of them failed.
///
/// # Errors
/// If a model fails.
pub fn explain(models: impl FnOnce()) -> Result<(), Box<Counterexample>> {
    explain_with(|_| (), models)
}

/// Does the same as [`explain`], and also calls `tell` with the failing execution as soon as the
/// model fails, before anything is unwound. `tell` runs on a thread of its own.
///
/// # Errors
/// If a model fails.
pub fn explain_with(
    tell: impl Fn(&Counterexample) + Send + Sync + 'static,
    models: impl FnOnce(),
) -> Result<(), Box<Counterexample>> {
    let recording = recorder::Recording::start(tell);
    match catch_unwind(AssertUnwindSafe(models)) {
        Ok(()) => Ok(()),
        Err(payload) => Err(Box::new(recording.failed(&*payload))),
    }
}
