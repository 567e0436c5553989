//! What a failing model prints when it is run as any test is: without `--nocapture` and without a
//! variable. Each test starts itself again with a planted bug, and reads what the test harness
//! says.

use std::time::Duration;

use joint_lab::{
    model,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use crate::common::{printed, run, says};

#[test]
fn a_park_that_no_thread_unparks_is_named() {
    let text = printed(|| {
        let is_asleep = Arc::new(AtomicBool::new(false).named("is_asleep"));
        let workers = is_asleep.clone();
        let worker = thread::Builder::new().name("worker".to_owned());
        let worker = worker.spawn(move || {
            // The bug: who looks before this sees no sleeper.
            workers.store(true, Relaxed);
            thread::park(); // park
        });
        let worker = worker.expect("a thread");
        if is_asleep.load(Relaxed) {
            worker.thread().unpark();
        }
        worker.join().expect("no panic"); // join
    });
    says(
        &text,
        "worker parks at {park} and is never unparked: no thread unparks it.
        main joins worker at {join}, which never ends.
        ✗ park(): never returns
        is_asleep.store(true, Relaxed)
        deadlock",
    );
}

#[test]
fn an_unpark_that_came_too_early_is_named() {
    let text = printed(|| {
        let ready = Arc::new(AtomicUsize::new(0).named("ready"));
        let workers = ready.clone();
        let worker = thread::Builder::new()
            .name("worker".to_owned())
            .spawn(move || {
                thread::park(); // first park
                if workers.load(Relaxed) < 2 {
                    // The bug: both wake-ups may have come before the first park.
                    thread::park(); // second park
                }
            });
        let worker = worker.expect("a thread");
        for _ in 0..2 {
            worker.thread().unpark(); // early unpark
            ready.fetch_add(1, Relaxed);
        }
        worker.join().expect("no panic");
    });
    says(
        &text,
        "worker parks at {second park} and is never unparked: the last unpark came at step
        (main, {early unpark}), before it, and woke its park at step
        ({first park})",
    );
}

#[test]
fn a_notification_before_the_wait_is_named() {
    let text = printed(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new().named("changed")));
        let others = shared.clone();
        thread::spawn(move || {
            *others.0.lock().expect("nobody panics") = true;
            others.1.notify_one(); // notify
        });
        // The bug: it does not look at the value before it waits.
        let value = shared.0.lock().expect("nobody panics");
        let value = shared.1.wait(value).expect("nobody panics"); // wait
        assert!(*value);
    });
    says(
        &text,
        "main waits for changed at {wait} and is never notified: the last notification came at step
        (thread 1, {notify}), before it.
        ✗ changed.wait(): never returns",
    );
}

#[test]
fn a_wait_with_a_limit_needs_a_notification_too() {
    let text = printed(|| {
        let (value, changed) = (Mutex::new(()), Condvar::new().named("changed"));
        let value = value.lock().expect("nobody panics");
        let woken = changed.wait_timeout(value, Duration::ZERO); // limited wait
        assert!(!woken.expect("nobody panics").1.timed_out());
    });
    says(
        &text,
        "main waits for changed at {limited wait} and is never notified: no thread notifies it.",
    );
}

#[test]
fn a_mutex_that_a_thread_locks_twice_is_named() {
    let text = printed(|| {
        let state = Mutex::new(0).named("state");
        let _first = state.lock().expect("nobody panics"); // outer lock
        let _second = state.lock().expect("nobody panics"); // inner lock
    });
    says(
        &text,
        "main locks state at {inner lock}, which it has held itself since step
        ({outer lock}).
        ✗ state.lock(): never returns",
    );
}

#[test]
fn a_thread_that_blocks_where_nothing_is_recorded_is_counted() {
    let text = printed(|| loom::sync::Notify::new().wait());
    says(
        &text,
        "Threads that never return from an operation that is not recorded: 1.",
    );
}

#[test]
fn the_handles_that_leak_are_named() {
    let text = printed(|| {
        let value = Arc::new(7).named("value");
        let shared = value.clone(); // leaked clone
        thread::spawn(move || std::mem::forget(shared));
    });
    says(
        &text,
        "value leaks: its handle that main cloned at {leaked clone} (step
        is never dropped.
        ✗ value: clone",
    );
    assert!(!text.contains("✗ value: made"), "{text}");
}

#[test]
fn a_panic_that_the_model_catches_is_no_failure() {
    model(|| {
        let caught = std::panic::catch_unwind(|| panic!("on purpose"));
        assert!(caught.is_err());
    });
}

#[test]
fn a_panic_before_a_spawned_thread_starts_is_reported() {
    let text = printed(|| {
        let held = Arc::new(AtomicUsize::new(0).named("held"));
        let others = held.clone();
        // loom drops the closure after the model is over, and the handle with it.
        thread::spawn(move || others.store(1, Relaxed));
        panic!("on purpose");
    });
    says(
        &text,
        "the model says: on purpose
        spawn a thread",
    );
}

/// Its destructor uses the model, as a lock or a channel does.
struct Busy(AtomicUsize);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
        assert_eq!(self.0.load(Relaxed), 0, "a second panic");
    }
}

#[test]
fn a_second_panic_aborts_but_the_first_is_reported() {
    let (status, _, errors) = run(|| {
        let _busy = Busy(AtomicUsize::new(0));
        panic!("the first panic");
    });
    assert_eq!(status, None, "{errors}");
    says(&errors, "the model says: the first panic");
}

#[test]
fn the_failure_is_also_a_page_and_a_picture() {
    let text = printed(|| panic!("on purpose"));
    let named = text
        .lines()
        .find_map(|line| line.strip_prefix("As a page: "));
    let page = named.expect("a page is named");
    let html = std::fs::read_to_string(page).expect("the page is there");
    assert!(
        html.contains("<svg") && html.contains("on purpose"),
        "{html}"
    );
    let svg = std::fs::read_to_string(page.replace(".html", ".svg"));
    assert!(svg.expect("the picture is there").starts_with("<svg"));
}

#[test]
fn a_failed_assertion_shows_both_values() {
    let text = printed(|| {
        let count = AtomicUsize::new(7);
        assert_eq!(count.load(Relaxed), 5);
    });
    says(&text, "  left: 7\n right: 5");
}

#[test]
fn the_steps_of_a_library_are_one_row() {
    let text = printed(|| {
        let count = Arc::new(AtomicUsize::new(0).named("count"));
        let counts = count.clone();
        let other = thread::spawn(move || {
            // A function pointer calls from the package that defines the function.
            let store: fn(&AtomicUsize, usize, std::sync::atomic::Ordering) = AtomicUsize::store;
            for value in 1..4 {
                store(&counts, value, Relaxed);
            }
        });
        other.join().expect("no panic");
        assert_eq!(count.load(Relaxed), 0, "it is not zero");
    });
    says(
        &text,
        "… 3 steps in joint-lab/src
        count.load(Relaxed) = 3
        it is not zero",
    );
    assert!(!text.contains("count.store(2, Relaxed)"), "{text}");
}
