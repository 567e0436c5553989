//! Polls that block their worker: others serve the timers meanwhile.

use crate::prelude::*;

/// How often: each time, the one worker that is awake blocks, and what it waits for is served by
/// one that slept.
const TIMES: usize = 30;

#[test]
fn a_poll_that_blocks_on_a_sleep_is_woken() {
    for workers in [2, 4] {
        ends(move || {
            let executor = executor(workers);
            for _ in 0..TIMES {
                block_on(executor.spawn(async { block_on(sleep(MILLI)) }));
            }
        });
    }
}

#[test]
fn a_poll_that_blocks_on_what_a_sleeping_task_sends_is_woken() {
    for workers in [2, 4] {
        ends(move || {
            let executor = executor(workers);
            for _ in 0..TIMES {
                let waits = executor.spawn(async {
                    let (sender, receiver) = mpsc::channel();
                    spawn(async move {
                        sleep(5 * MILLI).await;
                        sender.send(()).unwrap();
                    })
                    .detach();
                    // By then the other one sleeps as well.
                    sleep(MILLI).await;
                    receiver.recv().unwrap();
                });
                block_on(waits);
            }
        });
    }
}
