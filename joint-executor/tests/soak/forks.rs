//! Forks without exec, from a thread outside and from inside of a task, while the executor's
//! workers are busy. The child runs a program.
//!
//! No thread starts or ends at the fork: std has a lock of its own for that, which would stay
//! locked in the child.

use joint::block_on;

use crate::child::in_child;
use crate::prelude::*;

pub(crate) fn fork(program: fn(u64), seed: u64) {
    let executor = Executor::builder().workers(2).build().unwrap();
    let over = Arc::<AtomicBool>::default();
    // Each worker has begun when its task has.
    for worker in 0..2 {
        block_on(executor.spawn_on(worker, yield_now()));
    }
    let moment = Duration::from_micros(50);
    let until_over = |kind: usize| {
        let over = over.clone();
        executor.spawn(async move {
            while !over.load(Relaxed) {
                yield_now().await;
                match kind {
                    0 => {}
                    1 => sleep(moment).await,
                    _ => block_on(sleep(moment)),
                }
            }
        })
    };
    let tasks: Vec<_> = (0..6).map(|i| until_over(i % 3)).collect();
    in_child(|| program(seed));
    let inside = async move { in_child(|| call_apart(|| program(seed))) };
    block_on(executor.spawn(inside));
    // The parent takes no notice.
    over.store(true, Relaxed);
    for task in tasks {
        block_on(task);
    }
    assert_eq!(executor.metrics().live(), 0);
}
