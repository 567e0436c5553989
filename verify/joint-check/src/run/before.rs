//! What the package that stands for std does before each step of a model.

use core::panic::Location;
use std::sync::OnceLock;

static BEFORE_STEP: OnceLock<fn(&'static Location<'static>)> = OnceLock::new();

/// From now on, `f` is called before each step of a model, with its place. It may do steps.
pub fn before_each_step(f: fn(&'static Location<'static>)) {
    BEFORE_STEP.get_or_init(|| f);
}

pub(super) fn before_step(at: &'static Location<'static>) {
    if let Some(f) = BEFORE_STEP.get() {
        f(at);
    }
}
