//! What a recorder is told of a model's run: each operation on what threads share, right before it and right after it.
//!
//! Nothing here is an operation of the model's own: with and without an observer the same orders are tried.

use core::{cell::Cell, panic::Location, sync::atomic::Ordering};

use loom::thread::ThreadId;

/// What a thread does to a place, or beside all places.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "named as the functions are")]
pub enum Act {
    Load,
    Store(u64),
    Swap(u64),
    Add(u64),
    Sub(u64),
    CompareExchange {
        current: u64,
        new: u64,
        failure: Ordering,
    },
    Fence,
    /// Of a cell.
    Read,
    /// Of a cell.
    Write,
    /// An access to an atomic that must be the only one. It ends with the value that it leaves.
    Exclusive,
    Lock,
    Unlock,
    Park,
    Unpark(ThreadId),
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// What [`Observer::made`] answered for it. 0: none, or one that was made unobserved.
    pub place: u64,
    /// What is done.
    pub act: Act,
    /// The ordering that it runs with; `Relaxed` where there is none.
    pub order: Ordering,
    /// The name of the atomic site.
    pub site: Option<&'static str>,
    /// Where it stands in the source.
    pub location: &'static Location<'static>,
}

/// A kind of place, with what it holds at first.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "named as the types are")]
pub enum Made {
    Atomic(&'static str, u64),
    Cell,
    Mutex,
}

/// Who is told. The functions must not use the model's atomics.
#[derive(Clone, Copy, Debug)]
pub struct Observer {
    /// A place was made. The answer names it from then on.
    pub made: fn(Made, &'static Location<'static>) -> u64,
    /// The running thread of the model begins an operation. Others may run before it ends, unless it is on a cell.
    pub begins: fn(Operation),
    /// The operation that the running thread began has been done, and this is what it has read.
    pub ended: fn(u64),
}

std::thread_local! {
    static OBSERVER: Cell<Option<Observer>> = const { Cell::new(None) };
    /// The sites that were asked for their orderings since the last operation: the last but one, and the last.
    static ASKED: Cell<[Option<&'static str>; 2]> = const { Cell::new([None; 2]) };
}

/// From here on, the models of this thread are observed; or no longer.
pub fn set_observer(observer: Option<Observer>) {
    OBSERVER.set(observer);
}

pub(super) fn asked(site: &'static str) {
    ASKED.set([ASKED.get()[1], Some(site)]);
}

/// The operation that asked is left out.
pub(super) fn forget() {
    ASKED.take();
}

/// A place's name for the observer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place(u64);

impl Place {
    /// Of no place in particular.
    pub(super) const NONE: Self = Self(0);

    #[track_caller]
    pub(super) fn new(made: Made) -> Self {
        let source = Location::caller();
        Self(
            OBSERVER
                .get()
                .map_or(0, |observer| (observer.made)(made, source)),
        )
    }

    #[track_caller]
    pub(super) fn begins(self, act: Act, order: Ordering) {
        let [first, last] = ASKED.take();
        let Some(observer) = OBSERVER.get() else {
            return;
        };
        let two = matches!(act, Act::CompareExchange { .. });
        (observer.begins)(Operation {
            place: self.0,
            act,
            order,
            site: if two { first.or(last) } else { last },
            location: Location::caller(),
        });
    }
}

/// Passes on what an operation has read.
pub(super) fn ended<T: Bits>(value: T) -> T {
    if let Some(observer) = OBSERVER.get() {
        (observer.ended)(value.bits());
    }
    value
}

/// A value as the observer gets it.
pub(super) trait Bits {
    fn bits(&self) -> u64;
}

impl Bits for () {
    fn bits(&self) -> u64 {
        0
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
