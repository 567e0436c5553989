//! Hints for loops that wait.

/// Marks an iteration of a loop that waits, as [`yield_now`](crate::thread::yield_now) does.
#[track_caller]
pub fn spin_loop() {
    crate::thread::yield_now();
}

/// Fails the model, which must not reach this.
///
/// # Safety
/// It is never called.
///
/// # Panics
/// Always.
#[track_caller]
pub unsafe fn unreachable_unchecked() -> ! {
    panic!("unreachable code was reached")
}
