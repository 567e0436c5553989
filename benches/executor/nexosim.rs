//! nexosim's executor. It can run the rows that need no handle and no spawning from inside.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use nexosim::dev_hooks::Executor;

use super::rows::{
    MANY, OUTSIDE_DETACHED, PING_PONG_OUTSIDE, all_detached, all_ping_pong, count, turns,
};
use joint_benches::{runtime::leak, table::Run};

/// The rows that it can do.
pub(crate) fn rows(workers: usize) -> [(&'static str, u64, Run); 2] {
    let executor: &Mutex<Executor> = leak(Mutex::new(Executor::new(workers)));
    // The tasks start when all have been spawned, and the call returns when all have ended.
    let timed = move |spawn_all: &dyn Fn(&Executor)| -> Duration {
        let mut executor = executor.lock().expect("no panics");
        let start = Instant::now();
        spawn_all(&executor);
        executor.run();
        start.elapsed()
    };
    let detached = move || timed(&|executor| all_detached(|i| executor.spawn_and_forget(count(i))));
    let ping_pong =
        move || timed(&|executor| all_ping_pong(|player| executor.spawn_and_forget(player)));
    [
        (OUTSIDE_DETACHED, MANY as u64, Box::new(detached)),
        (PING_PONG_OUTSIDE, turns() as u64, Box::new(ping_pong)),
    ]
}
