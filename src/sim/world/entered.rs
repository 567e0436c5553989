//! How a thread is in a world: its clock, its waits, and where the executor finds the world.

use alloc::boxed::Box;
use core::cell::Cell;
use std::{panic::resume_unwind, time::Instant};

use super::{World, step::Step};
use crate::{
    executor::{
        driver::clock,
        simulated::{self, virtual_time},
    },
    waker::{
        budget,
        park::{self, Parked},
    },
};

/// The panic by which a blocked poll ends in a run that has failed.
struct RunHasFailed;

std::thread_local! {
    static WORLD: Cell<Option<*const World>> = const { Cell::new(None) };
}

/// Calls `f` with the world that this thread is in.
pub(in crate::sim) fn with<R>(f: impl FnOnce(Option<&World>) -> R) -> R {
    let world = WORLD.try_with(Cell::get).ok().flatten();
    // SAFETY: set by `Entered::new` to a world that outlives it, and reset by its drop.
    f(world.map(|world| unsafe { &*world }))
}

/// Keeps a thread in a world.
pub(super) struct Entered<'a> {
    _inside: simulated::Inside<'a>,
    wait: Option<park::Wait>,
    /// Neither does the thread's past change a run, nor does a run change the thread's future.
    _budget: budget::Saved,
}

impl<'a> Entered<'a> {
    pub(super) fn new(world: &'a World) -> Self {
        WORLD.with(|cell| cell.set(Some(world)));
        virtual_time::set(world.now.get());
        Self {
            // SAFETY: a world has one thread.
            _inside: unsafe { simulated::enter(world) },
            wait: park::set_wait(Some(wait)),
            _budget: budget::save(),
        }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        park::set_wait(self.wait);
        virtual_time::reset();
        WORLD.with(|cell| cell.set(None));
    }
}

/// How a thread of a world waits.
fn wait(deadline: Option<Instant>, is_due: &mut dyn FnMut() -> bool) -> Parked {
    with(|world| {
        let world = world.expect("a thread waits in this way only inside a world");
        let limit = deadline.map(|deadline| world.late_deadline(clock::nanos(deadline)));
        let mut slept = false;
        world.collect_from_busy();
        loop {
            if is_due() {
                return Parked::Due { slept };
            }
            if limit.is_some_and(|limit| limit <= world.now.get()) {
                return Parked::TimedOut;
            }
            slept = true;
            let mut step = Step::Failed;
            simulated::run_apart(|| step = world.step(limit));
            if step == Step::Failed {
                // Without the message of a panic: the run reports its failure itself.
                resume_unwind(Box::new(RunHasFailed));
            }
        }
    })
}
