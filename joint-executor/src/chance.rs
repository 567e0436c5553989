//! Decisions that are left to chance: random numbers, and faults of the program's own.
//!
//! A thread's [`Host`](crate::hosted::Host) can make them, as that of `joint-sim` does by its seed.
//! A program that draws its numbers here is then repeatable, and a test can take the paths on which
//! something fails. Elsewhere, the numbers are random and no fault happens.

use core::panic::Location;

use crate::hosted;

/// Returns a random number, or the one that the thread's [`Host`](crate::hosted::Host) decides for.
/// `joint-sim` draws it from its seed, and shrinks a failure to small numbers.
///
/// Outside it comes from the keys of std's hash maps, which differ in each thread and each program.
/// It is not fit for secrets.
///
/// # Example
/// ```
/// use std::time::Duration;
///
/// use joint_executor::chance::random;
///
/// /// Returns a pause of 10 ms and up to twice that, so that not all clients try again at once.
/// fn pause() -> Duration {
///     Duration::from_millis(10 + random() % 10)
/// }
///
/// assert!((10..20).contains(&pause().as_millis()));
/// ```
#[track_caller]
pub fn random() -> u64 {
    let place = Location::caller();
    let hosts = hosted::host().and_then(|host| host.random(place));
    hosts.unwrap_or_else(joint_switch::random)
}

/// Returns whether a fault of the program's own is to happen here. The thread's
/// [`Host`](crate::hosted::Host) decides. Without one it returns false.
///
/// In `joint-sim`, a site, which is all calls with the same name, is active in some runs only. So a
/// rare fault does not always come together with all others.
///
/// # Cost
/// Without a host, the load of a thread-local and a branch.
///
/// # Example
/// ```
/// use joint_executor::chance::fault;
///
/// fn write(text: &str) -> Result<usize, &'static str> {
///     if fault("the disk is full") {
///         return Err("full");
///     }
///     Ok(text.len())
/// }
///
/// assert_eq!(write("abc"), Ok(3));
/// ```
#[inline]
pub fn fault(name: &str) -> bool {
    hosted::host().is_some_and(|host| host.fires(name))
}
