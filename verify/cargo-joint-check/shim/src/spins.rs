//! Loops that wait without saying so. A loop of a real program may look at an atomic until it
//! changes, without `spin_loop`. Here a thread that looks at the same place again and again, and
//! writes nothing meanwhile, is taken to wait.

use core::{cell::RefCell, panic::Location};
use real::collections::BTreeMap;

use joint_check::{alloc::outside, hint, thread};

use crate::threads::number;

/// So many looks at a place are not taken for a loop.
const LOOKS: u32 = 8;

/// The places at which a thread has looked since it wrote or waited, and how often.
type Looked = Vec<(&'static Location<'static>, u32)>;

real::thread_local! {
    /// For each thread.
    static LOOKED: RefCell<BTreeMap<u64, Looked>> = const { RefCell::new(BTreeMap::new()) };
}

/// The thread begins anew: it has written something, or waits as it should.
pub(crate) fn wrote() {
    LOOKED.with_borrow_mut(|looked| looked.remove(&number()));
}

/// The thread is about to read an atomic.
#[track_caller]
pub(crate) fn looks() {
    let (own, here) = (number(), Location::caller());
    let outside = outside();
    let is_loop = LOOKED.with_borrow_mut(|all| {
        let looked = all.entry(own).or_default();
        match looked.iter_mut().find(|(at, _)| *at == here) {
            Some((_, count)) => *count += 1,
            None => looked.push((here, 1)),
        }
        // The place that is the first to be looked at so often stands for the loop.
        let first = looked.iter().find(|(_, count)| *count > LOOKS);
        first.is_some_and(|(at, _)| *at == here)
    });
    drop(outside);
    if is_loop {
        thread::yield_now();
    }
}

#[track_caller]
pub fn spin_loop() {
    wrote();
    hint::spin_loop();
}

/// Begins an execution.
pub(crate) fn begin() {
    LOOKED.take();
}
