//! [`joint_lab`], with models that explain nothing unless they are asked to.

pub use joint_lab::{
    Counterexample, cell, escaped, is_recording, name_thread, name_value, sync, thread,
};

use joint_switch::model::FencesTakeTurns;
use loom::model::Builder;

use crate::stacks::Kept;

/// [`joint_lab::model`], without an explanation unless this is called inside [`explain`].
pub fn model(f: impl Fn() + Send + Sync + 'static) {
    check(&Builder::new(), f);
}

/// [`joint_lab::check_bare`].
pub fn check(builder: &Builder, f: impl Fn() + Send + Sync + 'static) {
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
    // It expects that a model fails.
    joint_mutants::leave_out();
    joint_lab::explain_with(tell, models)
}

/// [`joint_lab::failure_of`], in the orders with at most that many preemptions.
#[must_use = "the model may have failed"]
pub fn failure_of(
    preemptions: Option<usize>,
    f: impl Fn() + Send + Sync + 'static,
) -> Option<Box<Counterexample>> {
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    joint_lab::failure_of(builder, move || {
        let _turns = FencesTakeTurns::new();
        f();
    })
}
