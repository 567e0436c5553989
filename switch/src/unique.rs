//! [`unique`]: numbers that are handed out once.

use core::{num::NonZero, sync::atomic::Ordering::Relaxed};

#[cfg(not(feature = "portable-atomic"))]
use core::sync::atomic::AtomicUsize;
#[cfg(feature = "portable-atomic")]
use portable_atomic::AtomicUsize;

// The model's atomics cannot be in a static, and no order matters here.
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// Returns a number that no other call in this process returns.
///
/// With the feature `std` a thread takes 1,024 numbers at a time from a counter that all threads
/// share.
pub fn unique() -> NonZero<u64> {
    NonZero::new(next()).expect("the numbers have not run out")
}

fn block() -> u64 {
    NEXT.fetch_add(1, Relaxed) as u64
}

#[cfg(feature = "std")]
fn next() -> u64 {
    use core::cell::Cell;

    const BLOCK: u64 = 1024;

    std::thread_local! {
        /// The next number of this thread's block. At a multiple of `BLOCK` there is no block.
        static OWN: Cell<u64> = const { Cell::new(0) };
    }

    let own = OWN.try_with(|own| {
        if own.get() % BLOCK == 0 {
            // A multiple of `BLOCK` is never handed out.
            own.set(block() * BLOCK + 1);
        }
        own.replace(own.get() + 1)
    });
    // A thread whose thread-locals are gone takes a whole block for one number.
    own.unwrap_or_else(|_| block() * BLOCK + 1)
}

#[cfg(not(feature = "std"))]
fn next() -> u64 {
    block()
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::{collections::HashSet, thread};

    use super::unique;

    #[test]
    fn no_number_is_handed_out_twice() {
        let take = || (0..3000).map(|_| unique()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..3).map(|_| thread::spawn(take)).collect();
        let taken = threads.into_iter().map(|thread| thread.join().unwrap());
        let all: Vec<_> = taken.chain([take()]).flatten().collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }
}
