//! The record of one execution.

use std::{panic::Location, sync::atomic::Ordering};

/// A place in the source.
pub type Source = &'static Location<'static>;

/// An action of a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the variants are named after the functions")]
pub enum Step {
    /// The location was made, with this value.
    Made(u64),
    Load,
    Store(u64),
    /// A read-modify-write, by name and operand, with the value that it leaves.
    Update {
        name: &'static str,
        operand: u64,
        wrote: u64,
    },
    /// A compare-exchange from `current` to `new`. Whether it succeeds is not known until it ends.
    Exchange {
        current: u64,
        new: u64,
        failure: Ordering,
        done: bool,
    },
    Fence,
    /// The read of a cell.
    Read,
    /// The write of a cell.
    Write,
    /// A non-atomic access to an atomic, with the value that it leaves.
    Exclusive(u64),
    /// Locks a mutex, or an `RwLock` for writing.
    Lock,
    Unlock,
    ReadLock,
    ReadUnlock,
    /// Waits for a notification of a condition variable. The mutex is unlocked before and locked
    /// after.
    Wait,
    /// Notifies one of the threads that wait, or all of them.
    Notify {
        all: bool,
    },
    /// Waits for a notification that is kept until somebody waits.
    Await,
    /// Gives such a notification.
    Signal,
    Send,
    Receive,
    /// Makes a handle of an `Arc`. The first one is made by `Made`, and has the number 0.
    Clone(usize),
    /// Drops this handle of an `Arc`.
    Drop(usize),
    /// Turns this handle of an `Arc` into a raw pointer.
    IntoRaw(usize),
    Park,
    /// Unparks this lane, if the lane is known.
    Unpark(Option<usize>),
    /// Spawns a thread. The new thread's first step has the same token.
    Spawn(usize),
    Start(usize),
    End,
    /// Joins the thread that was spawned with this token.
    Join(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Event {
    /// The thread, numbered in the order of the threads' first steps.
    pub(super) lane: usize,
    pub(super) step: Step,
    pub(super) place: Option<usize>,
    pub(super) order: Ordering,
    /// The name of the operation, if it has one.
    pub(super) site: Option<&'static str>,
    pub(super) source: Source,
    /// The value that an atomic operation read.
    pub(super) read: Option<u64>,
    /// How many steps had been recorded when it began.
    pub(super) after: usize,
    /// Whether it blocks its thread, and never returns.
    pub(super) stuck: bool,
}

impl Event {
    /// The value that it wrote to an atomic.
    pub(super) fn wrote(&self) -> Option<u64> {
        match self.step {
            Step::Made(value) | Step::Store(value) | Step::Exclusive(value) => Some(value),
            Step::Update { wrote, .. } => Some(wrote),
            Step::Exchange { new, .. } => self.exchanged().then_some(new),
            _ => None,
        }
    }

    /// Whether it is a compare-exchange that succeeded.
    pub(super) fn exchanged(&self) -> bool {
        matches!(self.step, Step::Exchange { current, done: true, .. } if self.read == Some(current))
    }

    pub(super) fn is_update(&self) -> bool {
        matches!(self.step, Step::Update { .. }) || self.exchanged()
    }

    pub(super) fn is_atomic(&self) -> bool {
        use Step::{Exchange, Load, Store, Update};
        matches!(self.step, Load | Store(_) | Update { .. } | Exchange { .. })
    }

    /// Whether it conflicts with every other access to its location, or only with writes.
    pub(super) fn is_write(&self) -> bool {
        use Step::{Exchange, Exclusive, Made, Store, Update, Write};
        match self.step {
            Made(_) | Store(_) | Update { .. } | Write | Exclusive(_) => true,
            Exchange { done, .. } => !done || self.exchanged(),
            _ => false,
        }
    }

    pub(super) fn is_access(&self) -> bool {
        use Step::{Exclusive, Made, Read, Write};
        self.is_atomic() || matches!(self.step, Made(_) | Read | Write | Exclusive(_))
    }

    pub(super) fn conflicts(&self, other: &Self) -> bool {
        let both_access = self.is_access() && other.is_access() && self.place.is_some();
        both_access
            && self.place == other.place
            && self.lane != other.lane
            && (self.is_write() || other.is_write())
            && !(self.is_atomic() && other.is_atomic())
    }

    /// Whether it can block its thread.
    pub(super) fn blocks(&self) -> bool {
        use Step::{Await, Join, Lock, Park, ReadLock, Receive, Wait};
        matches!(
            self.step,
            Join(_) | Lock | ReadLock | Park | Wait | Await | Receive
        )
    }

    pub(super) fn acquires(&self) -> bool {
        joint_facade::acquires(self.order)
    }

    pub(super) fn releases(&self) -> bool {
        joint_facade::releases(self.order)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Shared {
    /// The name of its type.
    pub(super) kind: &'static str,
    /// The name that the model gives it.
    pub(super) name: Option<String>,
    pub(super) source: Source,
}

/// One execution, up to the failure.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace {
    pub(super) events: Vec<Event>,
    /// The operations that threads had begun and not ended, the latest first. A failed
    /// access is among these.
    pub(super) begun: Vec<Event>,
    pub(super) places: Vec<Shared>,
    /// The names that the model gives its threads.
    pub(super) names: Vec<Option<String>>,
    /// The names that the model gives to certain pointers.
    pub(super) values: Vec<(u64, String)>,
}

impl Event {
    /// Takes in what the operation has read, and what it left if the recorder cannot know it.
    pub(super) fn end(&mut self, value: u64, left: Option<u64>) {
        match &mut self.step {
            Step::Load => self.read = Some(value),
            Step::Exclusive(left) => *left = value,
            Step::Update {
                name,
                operand,
                wrote,
            } => {
                self.read = Some(value);
                *wrote = left.unwrap_or_else(|| updated(name, value, *operand));
            }
            Step::Exchange {
                current,
                failure,
                done,
                ..
            } => {
                self.read = Some(value);
                *done = true;
                if value != *current {
                    self.order = *failure;
                }
            }
            _ => {}
        }
    }
}

/// The value that a 64-bit exchange, addition, subtraction or union leaves.
fn updated(name: &str, before: u64, operand: u64) -> u64 {
    match name {
        "fetch_add" => before.wrapping_add(operand),
        "fetch_sub" => before.wrapping_sub(operand),
        "fetch_or" => before | operand,
        _ => operand,
    }
}
