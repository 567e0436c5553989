//! [`wait_until`]: how a thread waits for another one that needs only a few instructions. And
//! [`now`], the clock of all waits.

use core::time::Duration;
#[cfg(not(joint_cores))]
use std::time::Instant;

use super::thread;

/// The number of times that the thread lets another one run before it sleeps.
const YIELDS: usize = 64;
const SHORTEST: Duration = Duration::from_micros(1);
const LONGEST: Duration = Duration::from_millis(1);

#[cfg(joint_cores)]
pub use loom::now;

/// Returns the time. In a model it passes for a thread only while that thread waits with a limit.
#[cfg(not(joint_cores))]
pub fn now() -> Instant {
    Instant::now()
}

/// Waits until `is_done` returns true, which another thread brings about without waiting for this
/// one.
///
/// The other thread may have lost its processor in between. If this thread has a higher real-time
/// priority, a yield does not give the processor to it, however often this thread yields. After
/// some yields this thread therefore sleeps.
pub fn wait_until(mut is_done: impl FnMut() -> bool) {
    for _ in 0..YIELDS {
        if is_done() {
            return;
        }
        thread::yield_now();
    }
    let mut pause = SHORTEST;
    while !is_done() {
        thread::sleep(pause);
        pause = LONGEST.min(2 * pause);
    }
}

#[cfg(test)]
mod tests {
    use super::{YIELDS, wait_until};

    #[test]
    fn a_wait_ends_when_the_other_thread_is_done_and_not_before() {
        for looks in [1, YIELDS, YIELDS + 5] {
            let mut left = looks;
            wait_until(|| {
                left -= 1;
                left == 0
            });
            assert_eq!(left, 0);
        }
    }
}
