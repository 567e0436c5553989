//! Panics while what a task was made with is dropped: its metadata and its schedule function. The
//! rest is dropped all the same, and the memory given back.

use std::{future::pending, thread};

use joint::{
    JoinHandle,
    task::{Builder, Runnable},
};

use crate::support::{Count, OnDrop, Queue, panics};

/// Counts its drop, and then panics.
struct Panicking(Count, &'static str);

impl Drop for Panicking {
    fn drop(&mut self) {
        self.0.add();
        std::panic::panic_any(self.1);
    }
}

/// A task whose metadata panics when it is dropped, and what counts that, and the drop of its
/// schedule function.
fn spawn() -> (Runnable<Panicking>, JoinHandle<(), Panicking>, [Count; 2]) {
    let counts = [Count::new(), Count::new()];
    let function = counts[1].clone();
    let captured = OnDrop(move || function.add());
    let builder = Builder::new()
        .metadata(Panicking(counts[0].clone(), "metadata"))
        .name(String::from("owned"));
    let (runnable, handle) = builder.spawn(
        |_| pending(),
        move |runnable| {
            let _captured = &captured;
            drop(runnable);
        },
    );
    (runnable, handle, counts)
}

#[track_caller]
fn dropped_once(counts: &[Count; 2]) {
    assert_eq!(counts.each_ref().map(Count::get), [1, 1]);
}

#[test]
fn a_panic_in_the_drop_of_metadata_passes_through_the_last_handle() {
    let (runnable, handle, counts) = spawn();
    drop(runnable);
    panics(|| drop(handle));
    dropped_once(&counts);
}

#[test]
fn a_panic_in_the_drop_of_metadata_passes_through_the_last_run() {
    let (runnable, handle, counts) = spawn();
    handle.detach();
    panics(|| runnable.run());
    dropped_once(&counts);
}

#[test]
fn a_panic_in_the_drop_of_metadata_passes_through_the_last_runnable() {
    let (runnable, handle, counts) = spawn();
    drop(handle);
    panics(|| drop(runnable));
    dropped_once(&counts);
}

#[test]
fn a_panic_in_the_drop_of_metadata_passes_through_the_last_waker() {
    for wakes in [false, true] {
        let (runnable, handle, counts) = spawn();
        let waker = runnable.waker();
        drop(runnable);
        drop(handle);
        let dropper = thread::spawn(move || if wakes { waker.wake() } else { drop(waker) });
        let payload = dropper.join().unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"metadata"));
        dropped_once(&counts);
    }
}

#[test]
fn metadata_is_dropped_although_the_drop_of_the_schedule_function_panics() {
    let counts = [Count::new(), Count::new()];
    let captured = Panicking(counts[0].clone(), "function");
    let function = counts[1].clone();
    let builder = Builder::new().metadata(OnDropSync(function));
    let (runnable, handle) = builder.spawn(
        |_| async {},
        move |_| {
            let _captured = &captured;
        },
    );
    runnable.run();
    let payload = panics(|| drop(handle));
    assert_eq!(payload.downcast_ref(), Some(&"function"));
    dropped_once(&counts);
}

/// Counts its drop.
struct OnDropSync(Count);

impl Drop for OnDropSync {
    fn drop(&mut self) {
        self.0.add();
    }
}

#[test]
fn a_panicking_constructor_passes_its_panic_and_drops_the_schedule_function() {
    // The second panic would meet the first: only one of the two may panic here.
    let function = Count::new();
    let count = function.clone();
    let captured = OnDrop(move || count.add());
    let queue = Queue::<()>::new();
    let counted = queue.clone();
    let payload = panics(|| {
        Builder::new().spawn(
            |()| -> std::future::Ready<()> { panic!("no future") },
            move |runnable| {
                let _captured = &captured;
                counted.push(runnable);
            },
        )
    });
    assert_eq!(payload.downcast_ref(), Some(&"no future"));
    assert_eq!((function.get(), queue.tasks()), (1, 0));
}
