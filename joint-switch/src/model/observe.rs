//! [`Observer`]: the callbacks of a recorder of model runs. They are called right before and right
//! after each operation on shared memory. The observer is `joint-lab`, unless a test sets its own.
//!
//! Nothing here is an operation of the model, so the same interleavings are tried with and without
//! an observer.

use core::{cell::Cell, panic::Location, sync::atomic::Ordering};

use loom::thread::ThreadId;

use super::record::RECORDER;

/// An operation on a place, or one without a place.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the variants are named after the functions")]
pub enum Act {
    Load,
    Store(u64),
    Swap(u64),
    Add(u64),
    Or(u64),
    Sub(u64),
    CompareExchange {
        current: u64,
        new: u64,
        failure: Ordering,
    },
    Fence,
    /// An access to a cell.
    Read,
    /// An access to a cell.
    Write,
    /// An exclusive access to an atomic. It ends with the value that it leaves.
    Exclusive,
    Lock,
    Unlock,
    Park,
    Unpark(ThreadId),
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The place, as [`Observer::made`] returned it. 0 if there is none, or if it was made without
    /// an observer.
    pub place: u64,
    /// The kind of operation.
    pub act: Act,
    /// The ordering that it runs with, or `Relaxed` if it has none.
    pub order: Ordering,
    /// The name of the atomic site.
    pub site: Option<&'static str>,
    /// Where it is in the source.
    pub location: &'static Location<'static>,
}

/// A kind of place, with its initial value.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the variants are named after the types")]
pub enum Made {
    Atomic(&'static str, u64),
    Cell,
    Mutex,
}

/// The callbacks. They must not use the model's atomics.
#[derive(Clone, Copy, Debug)]
pub struct Observer {
    /// Called when a place is made. The returned number identifies the place from then on.
    pub made: fn(Made, &'static Location<'static>) -> u64,
    /// Called when the running thread of the model begins an operation. Other threads may run
    /// before the operation ends, unless it is on a cell.
    pub begins: fn(Operation),
    /// Called when the running thread has done the operation that it began, with the value that it
    /// read.
    pub ended: fn(u64),
}

std::thread_local! {
    static OBSERVER: Cell<Option<Observer>> = const { Cell::new(None) };
    /// The last two sites that were asked for their orderings since the last operation, older
    /// first.
    static ASKED: Cell<[Option<&'static str>; 2]> = const { Cell::new([None; 2]) };
}

/// Sets the observer of the models of this thread, or restores the one that it has at first.
pub fn set_observer(observer: Option<Observer>) {
    OBSERVER.set(observer);
}

/// The observer that was set, or the recorder while it records.
fn observer() -> Option<Observer> {
    let recorder = || joint_lab::is_recording().then_some(RECORDER);
    OBSERVER.get().or_else(recorder)
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

/// The number by which the observer knows a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object(u64);

impl Object {
    /// The number of an operation without a place.
    pub(super) const NONE: Self = Self(0);

    #[track_caller]
    pub(super) fn new(made: Made) -> Self {
        let source = Location::caller();
        Self(observer().map_or(0, |observer| (observer.made)(made, source)))
    }

    #[track_caller]
    pub(super) fn begins(self, act: Act, order: Ordering) {
        let [first, last] = ASKED.take();
        let Some(observer) = observer() else {
            return;
        };
        let site = match act {
            Act::CompareExchange { .. } => first.or(last),
            Act::Park | Act::Unpark(_) => None,
            _ => last,
        };
        (observer.begins)(Operation {
            place: self.0,
            act,
            order,
            site,
            location: Location::caller(),
        });
    }
}

/// Reports what an operation has read, and returns it.
pub(super) fn ended<T: Bits>(value: T) -> T {
    if let Some(observer) = observer() {
        (observer.ended)(value.bits());
    }
    value
}

/// A value in the form that the observer gets.
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
