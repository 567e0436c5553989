//! The recorder of `joint-lab` as the observer, so that a failing model of any crate also shows
//! what the types of joint did.

use core::panic::Location;

use joint_lab::record::{self, Step};

use super::observe::{Act, Made, Observer, Operation};

/// The observer of a thread that has set none, while it records.
pub(super) const RECORDER: Observer = Observer {
    made,
    begins,
    ended: record::ended,
};

fn made(made: Made, source: &'static Location<'static>) -> u64 {
    match made {
        Made::Atomic(kind, value) => record::made(kind, value, source),
        Made::Cell => record::made("UnsafeCell", 0, source),
        Made::Mutex => record::made("Mutex", 0, source),
    }
}

fn begins(operation: Operation) {
    let Operation {
        place,
        act,
        order,
        site,
        location,
    } = operation;
    record::begins(place, step(act), order, site, location);
}

fn step(act: Act) -> Step {
    let update = |name, operand| Step::Update {
        name,
        operand,
        wrote: operand,
    };
    match act {
        Act::Load => Step::Load,
        Act::Store(value) => Step::Store(value),
        Act::Swap(value) => update("swap", value),
        Act::Add(value) => update("fetch_add", value),
        Act::Or(value) => update("fetch_or", value),
        Act::Sub(value) => update("fetch_sub", value),
        Act::CompareExchange {
            current,
            new,
            failure,
        } => Step::Exchange {
            current,
            new,
            failure,
            done: false,
        },
        Act::Fence => Step::Fence,
        Act::Read => Step::Read,
        Act::Write => Step::Write,
        Act::Exclusive => Step::Exclusive(0),
        Act::Lock => Step::Lock,
        Act::Unlock => Step::Unlock,
        Act::Park => Step::Park,
        Act::Unpark(id) => Step::Unpark(record::lane_of(id)),
    }
}
