//! The recorder as the observer of `joint`'s own atomics, cells, locks and parked threads.

use std::panic::Location;

use joint_switch::model::observe::{self, Act, Made, Observer, Operation};

use super::{event::Step, recorder};

/// Starts or stops observing `joint` on this thread.
pub(super) fn set(on: bool) {
    observe::set_observer(on.then_some(Observer {
        made,
        begins,
        ended: recorder::ended,
    }));
}

fn made(made: Made, source: &'static Location<'static>) -> u64 {
    match made {
        Made::Atomic(kind, value) => recorder::made(kind, value, source),
        Made::Cell => recorder::made("UnsafeCell", 0, source),
        Made::Mutex => recorder::made("Mutex", 0, source),
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
    recorder::begins(place, step(act), order, site, location);
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
        Act::Unpark(id) => Step::Unpark(recorder::lane_of(id)),
    }
}
