//! The first timer of an executor whose workers are all blocked.
//!
//! A program of its own, because it takes the global executor, whose driver nothing has used yet.

use crate::prelude::*;

#[test]
fn the_driver_is_used_first_when_every_worker_is_blocked() {
    crate::common::alone(|| {
        ends(|| {
            let workers = Executor::global().workers();
            let (begin, begun) = mpsc::channel();
            let blocked: Vec<_> = (0..workers)
                .map(|_| {
                    let (sender, receiver) = oneshot::channel::<()>();
                    let begin = begin.clone();
                    let task = spawn(async move {
                        begin.send(()).unwrap();
                        receiver.blocking_recv().unwrap();
                    });
                    (sender, task)
                })
                .collect();
            for _ in 0..workers {
                begun.recv().unwrap();
            }
            // No worker, so it is the global executor's.
            block_on(sleep(Duration::from_millis(1)));
            for (sender, task) in blocked {
                sender.send(()).unwrap();
                block_on(task);
            }
        });
    });
}
