//! The recorder as the observer of `joint`'s own atomics, cells, locks and parked threads.

use std::panic::Location;

use joint_switch::model::observe::{self, Act, Made, Observer, Operation};

use joint_lab::record::{self, Step};

/// While it exists, the operations of `joint` on this thread are recorded.
pub(super) struct Observing(());

impl Observing {
    pub(super) fn start() -> Self {
        observe::set_observer(Some(Observer {
            made,
            begins,
            ended: record::ended,
        }));
        Self(())
    }
}

impl Drop for Observing {
    fn drop(&mut self) {
        observe::set_observer(None);
    }
}

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
