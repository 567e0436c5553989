//! [`unique`]: numbers that are handed out once.

use core::{
    num::NonZero,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

static NEXT: AtomicU64 = AtomicU64::new(1);

/// Returns a number that no other call in this process returns.
///
/// With the feature `std` a thread takes 1,024 numbers at a time from a counter that all threads
/// share.
pub fn unique() -> NonZero<u64> {
    // 2^64 calls take centuries.
    NonZero::new(next()).expect("the numbers have not run out")
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
            own.set(NEXT.fetch_add(1, Relaxed) * BLOCK + 1);
        }
        own.replace(own.get() + 1)
    });
    // A thread whose thread-locals are gone takes a whole block for one number.
    own.unwrap_or_else(|_| NEXT.fetch_add(1, Relaxed) * BLOCK + 1)
}

#[cfg(not(feature = "std"))]
fn next() -> u64 {
    NEXT.fetch_add(1, Relaxed)
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
