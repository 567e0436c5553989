//! What the recorder of `joint-lab` is told of models, so that a failing model of any crate also
//! shows what the types of joint did. A test can set a function that is told instead.
//!
//! Nothing here is an operation of the model, so the same interleavings are tried with and without
//! a recorder.

use core::{cell::Cell, panic::Location, sync::atomic::Ordering};

pub use joint_lab::record::Step;
use joint_lab::{is_recording, record};

/// One operation.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The kind of operation.
    pub step: Step,
    /// The ordering that it runs with, or `Relaxed` if it has none.
    pub order: Ordering,
    /// The name of the atomic site.
    pub site: Option<&'static str>,
}

/// Called when the running thread of the model begins an operation. Other threads may run before
/// the operation ends, unless it is on a cell. It must not use the model's atomics.
pub type Observer = fn(Operation);

std::thread_local! {
    static OBSERVER: Cell<Option<Observer>> = const { Cell::new(None) };
    /// The last two sites that were asked for their orderings since the last operation, older
    /// first.
    static ASKED: Cell<[Option<&'static str>; 2]> = const { Cell::new([None; 2]) };
}

/// Sets what is told of the models of this thread instead of the recorder, or nothing.
pub fn set_observer(observer: Option<Observer>) {
    OBSERVER.set(observer);
}

fn is_recorded() -> bool {
    OBSERVER.get().is_none() && is_recording()
}

pub(super) fn asked(site: &'static str) {
    ASKED.set([ASKED.get()[1], Some(site)]);
}

/// The sites that have asked, for an operation of several steps, each of which [asks
/// again](ask_again).
pub(super) fn sites() -> [Option<&'static str>; 2] {
    ASKED.get()
}

pub(super) fn ask_again(sites: [Option<&'static str>; 2]) {
    ASKED.set(sites);
}

/// Forgets the sites that asked, because their operation is left out.
pub(super) fn forget() {
    ASKED.take();
}

/// The number by which the recorder knows a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object(u64);

impl Object {
    /// The number of an operation without a place.
    pub(super) const NONE: Self = Self(0);

    /// A place of this kind is made, with this value.
    #[track_caller]
    pub(super) fn new(kind: &'static str, value: u64) -> Self {
        let source = Location::caller();
        Self(match is_recorded() {
            true => record::made(kind, value, source),
            false => 0,
        })
    }

    #[track_caller]
    pub(super) fn begins(self, step: Step, order: Ordering) {
        let [first, last] = ASKED.take();
        let site = match step {
            Step::Exchange { .. } => first.or(last),
            Step::Park | Step::Unpark(_) => None,
            _ => last,
        };
        if let Some(observer) = OBSERVER.get() {
            observer(Operation { step, order, site });
        } else if is_recording() {
            record::begins(self.0, step, order, site, Location::caller());
        }
    }
}

/// An update by that function.
pub(super) fn update(name: &'static str, operand: u64) -> Step {
    Step::Update {
        name,
        operand,
        wrote: operand,
    }
}

/// Reports what an operation has read, and returns it.
pub(super) fn ended<T: Bits>(value: T) -> T {
    if is_recorded() {
        record::ended(value.bits());
    }
    value
}

/// A value in the form that the recorder gets.
pub(super) trait Bits {
    fn bits(&self) -> u64;
}

impl Bits for () {
    fn bits(&self) -> u64 {
        0
    }
}

impl Bits for u32 {
    fn bits(&self) -> u64 {
        (*self).into()
    }
}

impl Bits for u64 {
    fn bits(&self) -> u64 {
        *self
    }
}

impl Bits for usize {
    fn bits(&self) -> u64 {
        *self as u64
    }
}

impl<T> Bits for *mut T {
    fn bits(&self) -> u64 {
        self.addr() as u64
    }
}

impl<T: Bits> Bits for Result<T, T> {
    fn bits(&self) -> u64 {
        match self {
            Ok(value) | Err(value) => value.bits(),
        }
    }
}
