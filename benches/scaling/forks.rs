//! Fork and join on the stack.

use std::{hint::black_box, time::Instant};

use joint_benches::{
    forks::Forks,
    runtime::leak,
    table::{NamedRun, Run},
};

/// The joins that fib of this number makes.
const FIB: (u32, u64) = (25, 121_392);

/// The calling thread takes part, or waits, beside this many.
pub(crate) fn with<T: Forks + 'static>(workers: usize) -> [NamedRun; 1] {
    let threads = leak(T::start(workers));
    let run: Run = Box::new(move || {
        let start = Instant::now();
        assert_eq!(threads.fib(black_box(FIB.0)), 75_025);
        start.elapsed()
    });
    [("fib(25) on the stack, per join", FIB.1, run)]
}
