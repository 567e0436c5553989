//! Functions that block, on threads of their own.

use std::sync::mpsc::channel;

use crate::prelude::*;

#[test]
fn the_output_is_awaited_and_the_thread_is_another() {
    let here = thread::current().id();
    let there = block_on(spawn_blocking(|| thread::current().id()));
    assert_ne!(here, there);
}

#[test]
fn tasks_run_while_a_blocking_function_waits_for_them() {
    let executor = LocalExecutor::new();
    let (sender, receiver) = channel();
    let blocking = spawn_blocking(move || receiver.recv().unwrap());
    let task = executor.spawn(async move { sender.send(5).unwrap() });
    let received = executor.block_on(async {
        task.await;
        blocking.await
    });
    assert_eq!(received, 5);
}

#[test]
fn many_that_wait_for_one_another_all_end() {
    const MANY: usize = 20;
    let barrier = Arc::new(std::sync::Barrier::new(MANY));
    let tasks = [(); MANY].map(|()| {
        let barrier = barrier.clone();
        spawn_blocking(move || barrier.wait().is_leader())
    });
    let leaders = tasks.into_iter().map(block_on).filter(|&leads| leads);
    assert_eq!(leaders.count(), 1);
}

#[test]
fn a_panic_of_a_blocking_function_names_the_call_site() {
    let line = line!() + 1;
    let task = spawn_blocking(|| -> () { panic!("no") });
    let Err(JoinError::Panicked(panic)) = block_on(task.result()) else {
        panic!("it did not panic")
    };
    assert_eq!(panic.message(), Some("no"));
    assert_eq!(
        (panic.spawned().file(), panic.spawned().line()),
        (file!(), line)
    );
    assert_eq!(block_on(spawn_blocking(|| 1)), 1, "the thread goes on");
}

/// A function that has begun, and ends when it is told to.
fn begun() -> (joint::JoinHandle<u32>, mpsc::Sender<u32>) {
    let (begins, begun) = channel();
    let (end, ends) = channel();
    let task = spawn_blocking(move || {
        begins.send(()).unwrap();
        ends.recv().unwrap()
    });
    begun.recv().unwrap();
    (task, end)
}

#[test]
fn a_running_blocking_function_returns_in_spite_of_abort() {
    let (task, end) = begun();
    task.abort();
    end.send(3).unwrap();
    assert_eq!(block_on(task.result()).unwrap(), 3);
}

#[test]
fn cancel_waits_for_one_that_has_begun() {
    let (task, end) = begun();
    let cancelled = task.cancel();
    end.send(4).unwrap();
    assert_eq!(block_on(cancelled), Some(4));
}

#[test]
fn the_output_of_one_whose_handle_was_dropped_is_dropped() {
    let (begins, begun) = channel();
    let (end, ends) = channel();
    let (tells, told) = channel();
    let task = spawn_blocking(move || {
        begins.send(()).unwrap();
        ends.recv().unwrap();
        OnDrop(move || tells.send(()).unwrap())
    });
    begun.recv().unwrap();
    drop(task);
    end.send(()).unwrap();
    told.recv().unwrap();
}

#[test]
fn dropped_handles_lose_no_begun_function_and_run_none_twice() {
    static RAN: AtomicUsize = AtomicUsize::new(0);
    const MANY: usize = 200;
    let (sender, receiver) = channel();
    for _ in 0..MANY {
        let sender = sender.clone();
        let tells = OnDrop(move || sender.send(()).unwrap());
        drop(spawn_blocking(move || {
            let _tells = tells;
            RAN.fetch_add(1, Relaxed);
        }));
    }
    drop(sender);
    assert_eq!(receiver.iter().count(), MANY, "each is dropped once");
    assert!(RAN.load(Relaxed) <= MANY);
}
