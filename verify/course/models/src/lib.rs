//! What the lessons use in loom's place: joint-lab's types, which explain a model that fails.

pub use joint_lab::{Counterexample, Wakes, cell, name_thread, name_value, sync, thread};

use loom::model::Builder;

use thread::JoinHandle;

#[cfg(not(joint_check))]
compile_error!("build it in its folder, whose configuration sets the flags");

/// Spawns a thread with this name in pictures.
#[track_caller]
pub fn spawn<T: 'static>(name: &'static str, f: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
    thread::spawn(move || {
        name_thread(name);
        f()
    })
}

/// Demands that a model passes.
pub fn model(f: impl Fn() + Send + Sync + 'static) {
    joint_lab::check_bare(&Builder::new(), f);
}

/// Returns how a model fails, in the orders with at most that many preemptions.
#[must_use = "the model may have failed"]
pub fn failure_of(
    preemptions: Option<usize>,
    f: impl Fn() + Send + Sync + 'static,
) -> Option<Box<Counterexample>> {
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    joint_lab::failure_of(builder, f)
}
