//! An application on `joint-executor` alone.

use joint_executor::{Executor, block_on, oneshot, spawn, time::sleep};
use std::time::Duration;

fn main() -> std::io::Result<()> {
    let executor = Executor::builder().workers(2).build()?;
    let (sender, receiver) = oneshot::channel();
    let total = executor.spawn(async move {
        let parts: Vec<_> = (1..=10_u64).map(|n| spawn(async move { n * n })).collect();
        let mut total = 0;
        for part in parts {
            total += part.await;
        }
        sleep(Duration::from_millis(1)).await;
        sender.send(total).is_ok()
    });
    assert_eq!(block_on(receiver), Ok(385));
    assert!(block_on(total));
    println!("joint-executor: a task has slept and sent");
    Ok(())
}
