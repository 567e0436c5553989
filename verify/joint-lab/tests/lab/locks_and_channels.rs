//! What a model says that fails at a reader-writer lock, a channel or a `Notify`, and what these
//! order.

use joint_lab::{
    explain, model,
    sync::{Arc, Notify, RwLock, mpsc},
    thread,
};

use crate::common::{printed, says};

#[test]
fn a_reader_that_would_also_write_is_named() {
    let text = printed(|| {
        let state = RwLock::new(0).named("state");
        let read = state.read().expect("never poisoned"); // reads
        if *read == 0 {
            *state.write().expect("never poisoned") = 1; // upgrades
        }
    });
    says(
        &text,
        "main locks state for writing at {upgrades}, which it has held itself for reading since step
        ({reads}).
        state.read()
        ✗ state.write(): never returns",
    );
}

#[test]
fn two_threads_that_would_both_write_after_reading_are_named() {
    let text = printed(|| {
        let locks = Arc::new((RwLock::new(()).named("a"), RwLock::new(()).named("b")));
        let others = locks.clone();
        let other = thread::spawn(move || {
            let _b = others.1.read().expect("never poisoned"); // reads b
            drop(others.0.write()); // writes a
        });
        let a = locks.0.write().expect("never poisoned");
        drop(locks.1.write()); // writes b
        drop(a);
        other.join().expect("no panic");
    });
    says(
        &text,
        "main locks b for writing at {writes b}, which thread 1 has held for reading
        ({reads b}).
        thread 1 locks a for writing at {writes a}, which main has held for writing",
    );
}

#[test]
fn a_receive_for_which_no_message_is_left_is_named() {
    let text = printed(|| {
        let (jobs, queue) = mpsc::channel();
        let jobs = jobs.named("jobs");
        let worker = thread::spawn(move || {
            // The bug: nothing tells the worker that no job follows.
            while let Ok(job) = queue.recv() {
                assert_eq!(job, 1);
            }
        });
        jobs.send(1).expect("a receiver"); // sends
        drop(jobs);
        worker.join().expect("no panic");
    });
    says(
        &text,
        "thread 1 receives from jobs at joint-lab/tests/lab/locks_and_channels.rs:
        and never gets a message: the last one was sent at step 2 ({sends})
        and was received at step 4 (
        loom's receiver also waits if all senders are dropped.
        ✗ jobs: receive: never returns",
    );
}

#[test]
fn a_second_wait_for_one_notification_is_named() {
    let text = printed(|| {
        let ready = Arc::new(Notify::new().named("ready"));
        let others = ready.clone();
        let other = thread::spawn(move || others.notify()); // notifies
        // A wait may end without a notification once, so the third one has none.
        for _ in 0..3 {
            ready.wait(); // waits
        }
        other.join().expect("no panic");
    });
    says(
        &text,
        "main waits for ready at {waits} and is never notified: the last notification came at step
        (thread 1, {notifies}), before it
        ready.notify()
        ✗ ready.wait(): never returns",
    );
}

/// How many edges the execution has that no atomic makes: a spawn, a join, and what is under test.
fn edges(f: fn()) -> usize {
    let ends = move || {
        f();
        panic!("the end");
    };
    let failure = explain(|| model(ends)).expect_err("it panics at its end");
    let picture = failure.svg("failure");
    picture.matches("class=\"edge other\"").count() - 1 // the legend's
}

fn first(f: impl FnOnce() + Send + 'static) {
    thread::spawn(f).join().expect("no panic");
}

fn locked_twice(first_lock: fn(&RwLock<()>), second_lock: fn(&RwLock<()>)) {
    let lock = Arc::new(RwLock::new(()));
    let others = lock.clone();
    first(move || first_lock(&others));
    second_lock(&lock);
}

fn reads(lock: &RwLock<()>) {
    drop(lock.read().expect("never poisoned"));
}

fn writes(lock: &RwLock<()>) {
    drop(lock.try_write().expect("nobody has it"));
}

#[test]
fn each_lock_is_ordered_after_those_that_exclude_it() {
    assert_eq!(edges(|| locked_twice(writes, writes)), 3);
    assert_eq!(edges(|| locked_twice(writes, reads)), 3);
    assert_eq!(edges(|| locked_twice(reads, writes)), 3);
    assert_eq!(edges(|| locked_twice(reads, reads)), 2);
}

#[test]
fn a_message_is_received_after_its_own_send() {
    let received = || {
        let (sender, receiver) = mpsc::channel();
        sender.send(1).expect("a receiver");
        first(move || sender.send(2).expect("a receiver"));
        assert_eq!(receiver.try_recv(), Ok(1));
        assert_eq!(receiver.recv(), Ok(2));
    };
    // No edge for the first message, which a thread sends to itself.
    assert_eq!(edges(received), 3);
}

#[test]
fn a_notification_orders_what_came_before_it() {
    let notified = || {
        let ready = Arc::new(Notify::new());
        let others = ready.clone();
        first(move || others.notify());
        ready.wait();
    };
    assert_eq!(edges(notified), 3);
}
