//! Functions that block, on threads of their own.

use crate::prelude::*;

#[test]
fn the_output_is_awaited_and_the_thread_is_another() {
    let here = thread::current().id();
    let there = block_on(spawn_blocking(|| thread::current().id()));
    assert_ne!(here, there);
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
fn begun<T: Send + 'static>() -> (JoinHandle<T>, mpsc::Sender<T>) {
    let (begins, begun) = mpsc::channel();
    let (end, ends) = mpsc::channel();
    let task = spawn_blocking(move || {
        begins.send(()).unwrap();
        ends.recv().unwrap()
    });
    begun.recv().unwrap();
    (task, end)
}

#[test]
fn a_running_blocking_function_returns_after_abort_and_drop() {
    let (task, end) = begun();
    task.abort();
    end.send(3).unwrap();
    assert_eq!(block_on(task.result()).unwrap(), 3);
    let (task, end) = begun();
    drop(task);
    let (tells, told) = mpsc::channel();
    assert!(end.send(on_drop(move || tells.send(()).unwrap())).is_ok());
    told.recv().unwrap();
}

#[test]
fn cancel_waits_for_one_that_has_begun() {
    let (task, end) = begun();
    let cancelled = task.cancel();
    end.send(4).unwrap();
    assert_eq!(block_on(cancelled), Some(4));
}

#[test]
fn dropped_handles_lose_no_begun_function_and_run_none_twice() {
    static RAN: AtomicUsize = AtomicUsize::new(0);
    const MANY: usize = 200;
    let (sender, receiver) = mpsc::channel();
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
