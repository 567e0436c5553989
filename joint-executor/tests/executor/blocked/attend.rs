//! An event reaches a blocked worker also when the worker that kept the driver turns to
//! something else, and does not come back.

use super::{Sender, read, socket};
use crate::prelude::*;

/// Reads a datagram in a blocking wait on one worker of two, and tells when it is about to.
fn blocked_read(
    executor: &joint_executor::Executor,
) -> (joint::JoinHandle<()>, mpsc::Receiver<Sender>) {
    // From here on an idle worker keeps the driver.
    block_on(executor.spawn(sleep(MILLI)));
    let (tell, told) = mpsc::channel();
    let task = executor.spawn(async move {
        let (socket, sender) = socket();
        // Asks for nothing: the test does, later.
        let (quiet, _kept) = mpsc::channel();
        tell.send(sender).unwrap();
        block_on(read(socket, Sender(quiet)));
    });
    (task, told)
}

/// The other worker keeps the driver until it gets a task, which blocks in a wait of std.
#[test]
fn the_keeper_turns_to_a_poll_that_blocks_elsewhere() {
    ends(|| {
        for _ in 0..20 {
            let executor = executor(2);
            let (reads, told) = blocked_read(&executor);
            let sender = told.recv().unwrap();
            // Time for the reader to block and for the other worker to keep the driver, most times.
            block_on(executor.spawn(sleep(MILLI)));
            let (begin, begun) = mpsc::channel();
            let (end, ended) = mpsc::channel::<()>();
            let blocks = executor.spawn(async move {
                begin.send(()).unwrap();
                let _ = ended.recv();
            });
            begun.recv().unwrap();
            sender.send();
            block_on(reads);
            end.send(()).unwrap();
            block_on(blocks);
        }
    });
}

/// The other worker leaves, because the executor is being dropped.
#[test]
fn the_keeper_leaves_with_the_executor() {
    ends(|| {
        for _ in 0..20 {
            let executor = executor(2);
            let (reads, told) = blocked_read(&executor);
            reads.detach();
            let sender = told.recv().unwrap();
            block_on(executor.spawn(sleep(MILLI)));
            let drops = thread::spawn(move || drop(executor));
            sender.send();
            drops.join().unwrap();
        }
    });
}
