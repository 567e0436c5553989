//! A model of code that uses an executor: two tasks add to a counter, on either of two workers.
//!
//! Run it in this folder: `cargo run --release --example whole_executor`.

#[cfg(joint_loom)]
fn main() {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize as Count, Ordering::Relaxed},
    };

    use joint_executor::{Executor, block_on, spawn};
    use loom::sync::atomic::AtomicUsize;

    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(1);
    builder.max_branches = 10_000;
    builder.expect_explicit_explore = true;
    let orders = Arc::new(Count::new(0));
    let counted = orders.clone();
    builder.check(move || {
        counted.fetch_add(1, Relaxed);
        let executor = Executor::builder().workers(2).build().expect("threads");
        let sum = executor.spawn(async {
            let sum = Arc::new(AtomicUsize::new(0));
            loom::explore();
            let tasks = [1, 2].map(|part| {
                let sum = sum.clone();
                spawn(async move { sum.fetch_add(part, Relaxed) })
            });
            for task in tasks {
                task.await;
            }
            loom::stop_exploring();
            sum.load(Relaxed)
        });
        assert_eq!(block_on(sum), 3);
    });
    println!("the sum is 3 in all {} orders", orders.load(Relaxed));
}

#[cfg(not(joint_loom))]
fn main() {
    eprintln!("run it in the folder `loom-tests`, which sets what the model checker needs");
}
