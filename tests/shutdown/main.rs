//! How an executor ends while polls block its workers: nobody waits forever.

mod blocked;
mod each_other;
mod inside;
mod limits;

#[path = "../support/ends.rs"]
mod ends;

use ends::ends;
use joint::Executor;

fn executor(workers: usize) -> Executor {
    Executor::builder().workers(workers).build().unwrap()
}
