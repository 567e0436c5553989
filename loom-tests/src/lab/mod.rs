//! [`joint_lab`], which here also records the operations of `joint`'s own source.

mod hooks;

pub use joint_lab::{
    Counterexample, cell, escaped, failure_of, is_recording, name_thread, name_value, sync, thread,
};

use crate::stacks::Kept;

/// [`joint_lab::model`], without an explanation unless this is called inside [`explain`].
pub fn model(f: impl Fn() + Send + Sync + 'static) {
    check(&loom::model::Builder::new(), f);
}

/// [`joint_lab::check_bare`].
pub fn check(builder: &loom::model::Builder, f: impl Fn() + Send + Sync + 'static) {
    let _kept = Kept::new();
    joint_lab::check_bare(builder, f);
}

/// [`joint_lab::explain`].
///
/// # Errors
/// If a model fails.
pub fn explain(models: impl FnOnce()) -> Result<(), Box<Counterexample>> {
    explain_with(|_| (), models)
}

/// [`joint_lab::explain_with`].
///
/// # Errors
/// If a model fails.
pub fn explain_with(
    tell: impl Fn(&Counterexample) + Send + Sync + 'static,
    models: impl FnOnce(),
) -> Result<(), Box<Counterexample>> {
    let _observing = hooks::Observing::start();
    joint_lab::explain_with(tell, models)
}
