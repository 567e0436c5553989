//! [`unique`]: numbers that are handed out once.

use core::{num::NonZero, sync::atomic::Ordering::Relaxed};

// The model's atomics cannot be in a static, and no order matters here.
#[cfg(not(feature = "portable-atomic"))]
use core::sync::atomic as atomics;
#[cfg(feature = "portable-atomic")]
use portable_atomic as atomics;

#[cfg(not(all(target_has_atomic = "64", not(joint_narrow))))]
use atomics::AtomicU32 as Counter;
#[cfg(all(target_has_atomic = "64", not(joint_narrow)))]
use atomics::AtomicU64 as Counter;

static NEXT: Counter = Counter::new(1);

/// The most numbers or blocks of them: half of what the counter has room for, or a part of which
/// blocks of 1,024 fit into 64 bits. The rest is room for threads that are about to panic.
const MOST: u64 = 1 << if size_of::<Counter>() == 8 { 53 } else { 31 };

/// Returns a number that no other call in this process returns. The first one is 1.
///
/// With the feature `std` a thread takes 1,024 numbers at a time from a counter that all threads
/// share.
///
/// # Panics
/// If the numbers have run out. Where the machine has no atomics of 64 bits, there are 2^31 numbers
/// or, with the feature `std`, blocks.
pub fn unique() -> NonZero<u64> {
    NonZero::new(next()).expect("the counter starts at 1")
}

fn block() -> u64 {
    take(&NEXT)
}

fn take(counter: &Counter) -> u64 {
    #[allow(clippy::useless_conversion, reason = "the counter may be narrower")]
    let number = u64::from(counter.fetch_add(1, Relaxed));
    if number >= MOST {
        counter.fetch_sub(1, Relaxed);
        panic!(
            "the ids of tasks have run out: without atomics of 64 bits there are 2^31, or that many \
             blocks of 1,024 with the feature `std` of `joint`; ask for the ids of fewer tasks"
        );
    }
    number
}

#[cfg(feature = "std")]
const BLOCK: u64 = 1024;

#[cfg(feature = "std")]
fn next() -> u64 {
    use core::cell::Cell;

    std::thread_local! {
        /// The next number of this thread's block. At a multiple of `BLOCK` there is no block.
        static OWN: Cell<u64> = const { Cell::new(0) };
    }

    let own = OWN.try_with(|own| {
        if own.get() % BLOCK == 0 {
            // A multiple of `BLOCK` is never handed out.
            own.set(first_of_a_block());
        }
        own.replace(own.get() + 1)
    });
    // A thread whose thread-locals are gone takes a whole block for one number.
    own.unwrap_or_else(|_| first_of_a_block())
}

#[cfg(feature = "std")]
fn first_of_a_block() -> u64 {
    (block() - 1) * BLOCK + 1
}

#[cfg(not(feature = "std"))]
fn next() -> u64 {
    block()
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::{collections::HashSet, panic::catch_unwind, thread};

    use super::{Counter, MOST, take, unique};

    #[test]
    #[allow(clippy::useless_conversion, reason = "the counter may be narrower")]
    fn numbers_that_have_run_out_are_not_handed_out_again() {
        let counter = Counter::new((MOST - 1).try_into().unwrap());
        assert_eq!(take(&counter), MOST - 1);
        for _ in 0..3 {
            catch_unwind(|| take(&counter)).expect_err("there are no more numbers");
        }
    }

    #[test]
    fn no_number_is_handed_out_twice() {
        let take = || (0..3000).map(|_| unique()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..3).map(|_| thread::spawn(take)).collect();
        let taken = threads.into_iter().map(|thread| thread.join().unwrap());
        let all: Vec<_> = taken.chain([take()]).flatten().collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }
}
