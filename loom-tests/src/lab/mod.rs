//! Counterexamples that one can read: a recorder beside loom's atomics, cells, locks and threads.
//!
//! Take [`sync`], [`cell`] and [`thread`] of here in the place of loom's, write the model as always, and run it by [`model`]
//! inside of [`explain`]. When the model fails, the failing execution comes back as a [`Counterexample`]: what each thread did,
//! in order, who read what from where, which synchronizes-with edge is missing, and which half of which operation would have
//! made it. It is shown as [text](Counterexample::text) and as [SVG](Counterexample::svg). Nothing here is of the crate `joint`.
//!
//! The recorder adds no operation to the model: loom runs all the threads of a model on one thread of the system, and the
//! recorder's state is that thread's own. The same orders are tried with it and without.
//!
//! Happens-before is computed here anew, from what was recorded, as the language defines it: program order, spawn and join,
//! locks, and the orderings of the atomics and fences as they are written. Whether the model fails is loom's to say.
//!
//! # What it does not see
//! * Places and threads of loom's own that did not go through here. A failure on such a place has no picture of its race; a
//!   thread that was spawned elsewhere is taken to have been spawned right before it first did something.
//! * Which store a load read from, where several that it may read hold the same value. The picture says so where that is so.
//! * What happens on a panic that the model catches: the last panic counts.
//!
//! # A process of its own
//! A model that fails may end its process: the destructors of what it leaves behind run outside of any model. What must not be
//! lost is to be put out by [`explain_with`], which tells as soon as the model fails.

mod analysis;
pub mod cell;
mod counterexample;
mod event;
mod hooks;
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
pub(crate) use svg::escaped;

/// Runs `f` in every order that loom knows, as `loom::model` does.
pub fn model(f: impl Fn() + Send + Sync + 'static) {
    check(&loom::model::Builder::new(), f);
}

/// As [`model`], with a builder of your own.
pub fn check(builder: &loom::model::Builder, f: impl Fn() + Send + Sync + 'static) {
    builder.check(move || {
        recorder::new_execution();
        f();
    });
}

/// Whether the models of this thread are recorded: inside of [`explain`].
pub fn is_recording() -> bool {
    recorder::is_armed()
}

/// Runs models, and gives the execution in which one of them failed.
///
/// # Errors
/// When a model fails.
pub fn explain(models: impl FnOnce()) -> Result<(), Box<Counterexample>> {
    explain_with(|_| (), models)
}

/// As [`explain`], and hands out the failing execution as soon as the model fails, before anything is unwound. That is done on a
/// thread of its own.
///
/// # Errors
/// When a model fails.
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
