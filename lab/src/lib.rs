//! Readable counterexamples: a recorder beside loom's atomics, cells, locks and threads.
//!
//! Use this crate's [`sync`], [`cell`] and [`thread`] instead of loom's, write the model as usual,
//! and run it with [`model`] inside [`explain`]. If the model fails, `explain` returns the failing
//! execution as a [`Counterexample`]: what each thread did, in order, which read reads from which
//! write, which synchronizes-with edge is missing, and which half of which operation would have
//! made that edge. It can be shown as [text](Counterexample::text) and as
//! [SVG](Counterexample::svg).
//!
//! The recorder adds no operation to the model. loom runs all threads of a model on one thread of
//! the system, and the recorder's state is local to that thread. So loom explores the same orders
//! with the recorder and without it.
//!
//! This crate computes happens-before again, from the recorded events, as the language defines it:
//! program order, spawn and join, locks, and the orderings of the atomics and fences as they are
//! written. Only loom decides whether the model fails.
//!
//! # What it does not see
//! * Locations and threads of loom's own that did not come from this crate. A failure at such a
//!   location has no picture of its race. A thread that was spawned elsewhere counts as spawned
//!   right before its first operation.
//! * Which store a load read from, if several that it may read hold the same value. The picture
//!   then says so.
//! * A panic that the model catches, if another one follows: the last panic counts.
//!
//! # A process of its own
//! A model that fails may end its process, because the destructors of what it leaves behind run
//! outside of any model. If the counterexample must not be lost, use [`explain_with`], which
//! reports it as soon as the model fails.

mod analysis;
pub mod cell;
mod counterexample;
mod event;
pub mod record;
mod recorder;
mod sentence;
mod svg;
pub mod sync;
mod text;
pub mod thread;
mod verdict;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use counterexample::Counterexample;
pub use recorder::{name_thread, name_value};
pub use svg::escaped;

/// Runs `f` in every order that loom explores, as `loom::model` does.
pub fn model(f: impl Fn() + Send + Sync + 'static) {
    check(&loom::model::Builder::new(), f);
}

/// Does the same as [`model`], with the given builder.
pub fn check(builder: &loom::model::Builder, f: impl Fn() + Send + Sync + 'static) {
    builder.check(move || {
        recorder::new_execution();
        f();
    });
}

/// Returns whether the models of this thread are recorded, which they are inside [`explain`].
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
