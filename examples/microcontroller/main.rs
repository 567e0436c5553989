//! An executor for a microcontroller, which needs neither the feature `std` nor an allocator. The
//! tasks lie in a `static`, and the queue is in `queue.rs`.
//!
//! `tools/compat/thumbv7em` has it with timers, for a Cortex-M4.

use joint::task::{Full, Runnable, TaskPool};
use queue::{run, schedule};

mod queue;

/// Room for 4 tasks of up to 256 bytes each.
static TASKS: TaskPool<256, 4> = TaskPool::new();

fn spawn<F>(future: F) -> Result<(), Full<F>>
where
    F: Future<Output: Send> + Send + 'static,
{
    TASKS
        .spawn_detached(future, schedule)
        .map(Runnable::schedule)
}

async fn blink(times: u32) {
    println!("blinks {times} times");
}

pub(crate) fn main() {
    spawn(blink(3)).unwrap();
    spawn(blink(5)).unwrap();
    while run() {} // then `wfi`, and again
}
