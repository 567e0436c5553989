//! A local task stays on its thread: another one may neither run nor drop it.
#![cfg(feature = "std")]

use std::{future::pending, rc::Rc, thread};

use async_task::{Runnable, spawn_local};

/// Does something to a local task that waits, here or on another thread. Returns how that ended,
/// and whether the future is still there when the task is gone.
fn act(act: fn(Runnable), here: bool) -> (thread::Result<()>, bool) {
    let held = Rc::new(());
    let own = held.clone();
    let waits = async move {
        let _own = own;
        pending::<()>().await;
    };
    let (runnable, task) = spawn_local(waits, drop);
    let ended = if here {
        act(runnable);
        Ok(())
    } else {
        thread::spawn(move || act(runnable)).join()
    };
    drop(task);
    (ended, Rc::strong_count(&held) == 2)
}

#[test]
fn another_thread_does_not_touch_a_local_future() {
    let (ran, is_there) = act(|runnable| _ = runnable.run(), false);
    let panic = ran.expect_err("it was run");
    let words = "local task polled by a thread that didn't spawn it";
    assert_eq!(
        panic.downcast_ref::<String>().map(String::as_str),
        Some(words)
    );
    assert!(is_there);
    // The panic of a future's drop ends there, and the future is leaked.
    let (dropped, is_there) = act(drop, false);
    assert!(dropped.is_ok() && is_there);
}

#[test]
fn its_own_thread_runs_a_local_task_or_drops_it() {
    for does in [|runnable: Runnable| _ = runnable.run(), drop] {
        let (_, is_there) = act(does, true);
        assert!(!is_there);
    }
}
