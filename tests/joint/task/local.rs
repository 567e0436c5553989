//! Futures that stay on their thread, in tasks that do not.

use std::{marker::PhantomData, rc::Rc};

use crate::prelude::*;

fn elsewhere<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    thread::spawn(f).join().unwrap()
}

/// A local task of the queue, the line that it was spawned at, and what counts the drop of its
/// future.
fn spawn(queue: &Queue) -> (task::Runnable, JoinHandle<()>, u32, Count) {
    /// Kept in sight: a future that is leaked must not take its count out of reach of a leak
    /// checker.
    static COUNTS: Mutex<Vec<Count>> = Mutex::new(Vec::new());
    let dropped = Count::new();
    COUNTS.lock().unwrap().push(dropped.clone());
    let guard = Dropped(dropped.clone());
    let future = async move {
        let _guard = (guard, PhantomData::<Rc<()>>);
        pending::<()>().await;
    };
    let line = line!() + 1;
    let (runnable, handle) = task::spawn_local(future, queue.scheduler());
    (runnable, handle, line, dropped)
}

#[track_caller]
fn panic_of(handle: JoinHandle<()>) -> String {
    let Err(JoinError::Panicked(panic)) = ready(handle.result()) else {
        panic!("it did not panic")
    };
    String::from(panic.message().unwrap())
}

#[test]
fn a_local_future_may_use_and_return_values_that_are_not_send() {
    let queue = Queue::new();
    let shared = Rc::new(Cell::new(6));
    let own = shared.clone();
    let future = async move {
        pending_once().await;
        own.set(own.get() + 1);
        own
    };
    let (runnable, handle) = task::spawn_local(future, queue.scheduler());
    let waker = runnable.waker();
    runnable.run();
    elsewhere(move || waker.wake());
    assert_eq!(queue.run(), 1);
    let output = ready(handle);
    assert!(Rc::ptr_eq(&output, &shared), "an output that is not sent");
    assert_eq!((shared.get(), queue.tasks()), (7, 0));
}

#[test]
fn an_output_that_is_not_sent_is_dropped_on_its_thread() {
    let queue = Queue::new();
    for detach_first in [false, true] {
        let shared = Rc::new(());
        let own = shared.clone();
        let (runnable, handle) = task::spawn_local(async move { own }, queue.scheduler());
        if detach_first {
            handle.detach();
            runnable.run();
        } else {
            runnable.run();
            assert_eq!(Rc::strong_count(&shared), 2);
            drop(handle);
        }
        assert_eq!((Rc::strong_count(&shared), queue.tasks()), (1, 0));
    }
}

/// It says what happened and where it was spawned, and leaks its future and nothing else.
#[test]
fn a_runnable_that_another_thread_gets_ends_in_a_panic() {
    type Get = fn(task::Runnable);
    let rows: [(&str, Get); 2] = [
        ("polled by another thread", |runnable| {
            runnable.run();
        }),
        ("dropped by another thread", drop),
    ];
    for (what, get) in rows {
        let queue = Queue::new();
        let (runnable, handle, line, dropped) = spawn(&queue);
        elsewhere(move || get(runnable));
        let text = panic_of(handle);
        assert!(text.contains(what), "{text}");
        assert!(text.contains(&format!("local.rs:{line}:")), "{text}");
        assert_eq!((dropped.get(), queue.tasks()), (0, 0), "{what}");
    }
}

#[test]
fn its_last_waker_may_be_dropped_on_another_thread() {
    let queue = Queue::new();
    let (runnable, handle, _, dropped) = spawn(&queue);
    let waker = runnable.waker();
    handle.detach();
    runnable.run();
    elsewhere(move || drop(waker));
    assert_eq!((queue.len(), dropped.get()), (1, 0), "this thread drops it");
    assert_eq!(queue.run(), 1);
    assert_eq!((dropped.get(), queue.tasks()), (1, 0));
}
