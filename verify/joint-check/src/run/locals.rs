//! Thread-locals and lazy statics.

use std::any::Any;

use super::{Request, perform, with};
use crate::sync::atomic::Word;

/// A thread-local of one thread.
pub(super) struct Local {
    key: usize,
    /// Nothing once its destructor has begun.
    value: Option<Box<dyn Any>>,
    /// Whether it has a destructor. If not, it lives as long as its thread, as std's.
    needs_drop: bool,
}

/// Returns the running thread's value, and makes it at its first use. Returns nothing if its
/// destructor has begun.
pub(crate) fn local<T: Any>(key: usize, make: impl FnOnce() -> T) -> Option<*const dyn Any> {
    let pointer = |local: &Local| local.value.as_ref().map(|value| &raw const **value);
    let find = || {
        with(|run| {
            let mut locals = run.lane().locals.iter();
            locals.find(|local| local.key == key).map(pointer)
        })
    };
    if let Some(found) = find() {
        return found;
    }
    let value: Box<dyn Any> = Box::new(make());
    if let Some(found) = find() {
        return found;
    }
    let local = Local {
        key,
        value: Some(value),
        needs_drop: core::mem::needs_drop::<T>(),
    };
    with(|run| run.lane().locals.push(local));
    find().flatten()
}

/// Whether the running thread has locals with destructors.
pub(crate) fn has_locals() -> bool {
    with(|run| run.lane().locals.iter().any(|local| local.needs_drop))
}

/// Runs the destructors of the running thread's locals: the last that was made first, as std does
/// on Linux. They may make others.
pub(super) fn drop_locals() {
    let next = || {
        with(|run| {
            let mut locals = run.lane().locals.iter_mut().rev();
            locals.find_map(|local| local.value.take_if(|_| local.needs_drop))
        })
    };
    core::iter::from_fn(next).for_each(drop);
}

/// Frees locals after the end of the run, without the destructors that have not run.
pub(super) fn forget_locals(locals: Vec<Local>) {
    let destructible = locals.into_iter().filter(|local| local.needs_drop);
    destructible.for_each(core::mem::forget);
}

/// Returns the word of a lazy static. If the graph has none, the exploration begins again with one.
#[track_caller]
pub(crate) fn static_word(key: usize) -> Word {
    match with(|run| run.graph.of_static(key)) {
        Some(place) => Word::at(place),
        None => Word::at(perform("lazy static", Request::Discover(key)).id),
    }
}

pub(crate) fn get_static(key: usize) -> *const dyn Any {
    with(|run| &raw const *run.statics[&key])
}

pub(crate) fn set_static(key: usize, value: Box<dyn Any>) {
    with(|run| run.statics.insert(key, value));
}
