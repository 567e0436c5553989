//! An executor for a microcontroller, which needs neither the feature `std` nor an allocator. The
//! tasks lie in a `static`, and its queue is in the tasks themselves, by their links.
//!
//! `tools/compat/thumbv7em` has it with timers, for a Cortex-M4.

use core::{
    ptr::{self, NonNull},
    sync::atomic::{
        AtomicPtr,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use joint::task::{Full, Runnable, TaskPool};

/// The tasks that are due, the newest first.
static DUE: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
/// Room for 4 tasks of up to 256 bytes each.
static TASKS: TaskPool<256, 4> = TaskPool::new();

/// Called by wakers, and so also in interrupts.
fn schedule(runnable: Runnable) {
    let raw = runnable.into_raw();
    let mut top = DUE.load(Relaxed);
    loop {
        // SAFETY: it is not in the queue yet.
        unsafe { Runnable::<()>::raw_link(raw) }.set(top, Relaxed);
        match DUE.compare_exchange(top, raw.as_ptr(), Release, Relaxed) {
            Ok(_) => return,
            Err(now) => top = now,
        }
    }
}

/// Runs the tasks that are due, and returns whether there were any.
fn run() -> bool {
    let mut next = NonNull::new(DUE.swap(ptr::null_mut(), Acquire));
    let any = next.is_some();
    while let Some(raw) = next {
        // SAFETY: `schedule` put it into the queue, from which only this takes it.
        let runnable: Runnable = unsafe { Runnable::from_raw(raw) };
        next = NonNull::new(runnable.link().get(Relaxed));
        runnable.run();
    }
    any
}

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
