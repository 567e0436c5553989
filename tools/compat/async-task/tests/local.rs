//! Another thread may neither run nor drop a local task. `as_upstream` has its own thread.
#![cfg(feature = "std")]

use std::{rc::Rc, thread};

use async_task::{Runnable, spawn_local};

/// Another thread does something to a local task. Returns how that ended.
fn elsewhere(act: fn(Runnable)) -> thread::Result<()> {
    let held = Rc::new(());
    let own = held.clone();
    let (runnable, task) = spawn_local(async move { drop(own) }, drop);
    let ended = thread::spawn(move || act(runnable)).join();
    drop(task);
    assert_eq!(Rc::strong_count(&held), 2, "the future was touched");
    ended
}

#[test]
fn another_thread_does_not_touch_a_local_future() {
    let panic = elsewhere(|runnable| _ = runnable.run()).expect_err("it was run");
    let words = "local task polled by a thread that didn't spawn it";
    assert_eq!(
        panic.downcast_ref::<String>().map(String::as_str),
        Some(words)
    );
    // The panic of a future's drop ends there, and the future is leaked.
    elsewhere(drop).expect("it is cancelled");
}
