//! Executors of the current thread.

use super::*;

#[test]
fn tasks_run_on_in_the_next_call_on_the_current_thread() {
    let (executor, mut worker) = current_thread();
    let task = executor.spawn(async {
        yield_now().await;
        7
    });
    worker.block_on(async {});
    assert_eq!(worker.block_on(task), 7);
    crate::common::panics(|| worker.block_on(async { panic!("main") }));
    assert_eq!(worker.block_on(spawn_blocking(|| 8)), 8);
}

#[test]
fn a_future_and_tasks_take_turns_on_the_current_thread() {
    let (_executor, mut worker) = current_thread();
    let turns = Rc::new(AtomicUsize::new(0));
    worker.block_on(async {
        let counts = turns.clone();
        let task = spawn_local(async move {
            loop {
                counts.fetch_add(1, Relaxed);
                yield_now().await;
            }
        });
        for _ in 0..1000 {
            yield_now().await;
        }
        drop(task);
    });
    assert!((500..=62_000).contains(&turns.load(Relaxed)), "{turns:?}");
}

#[test]
#[should_panic(expected = "the executor was shut down while its worker was in `block_on`")]
fn a_future_on_the_current_thread_panics_if_its_executor_goes() {
    let (executor, mut worker) = current_thread();
    worker.block_on(async {
        drop(executor);
        pending::<()>().await;
    });
}
