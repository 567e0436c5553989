//! Tests of the recorder: it finds the halves that are missing in models of loom types, and it does
//! not change which executions are explored.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize as Count, Ordering},
    },
    thread::panicking,
};

use joint_lab::{
    self as lab, Counterexample,
    cell::UnsafeCell,
    explain, model, name_thread,
    sync::{
        Mutex,
        atomic::{AtomicUsize, fence},
    },
    thread,
};

use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

#[derive(Default)]
struct Shared {
    message: UnsafeCell<u32>,
    first: AtomicUsize,
    second: AtomicUsize,
}

// SAFETY: the models show whether the flags order the accesses.
unsafe impl Send for Shared {}
// SAFETY: as for `Send`.
unsafe impl Sync for Shared {}

impl Shared {
    fn write(&self) {
        self.message.with_mut(|_| ());
    }

    fn read(&self) {
        self.message.with(|_| ());
    }
}

/// A model in which two threads share a message and its flags.
fn both(
    theirs: impl Fn(&Shared) + Copy + Send + Sync + 'static,
    ours: impl Fn(&Shared) + Send + Sync + 'static,
) -> impl Fn() + Send + Sync + 'static {
    move || {
        let shared = Arc::new(Shared::default());
        let others = shared.clone();
        thread::spawn(move || theirs(&others));
        ours(&shared);
    }
}

/// The halves that are missing, in the order in which their operations would run.
fn halves(failure: &Counterexample) -> Vec<&'static str> {
    failure
        .missing()
        .into_iter()
        .map(|(_, half)| half)
        .collect()
}

fn fails(f: impl Fn() + Send + Sync + 'static) -> Box<Counterexample> {
    explain(|| model(f)).expect_err("the model is wrong")
}

fn message_passing(store: Ordering, load: Ordering) -> impl Fn() + Send + Sync + 'static {
    let sends = move |shared: &Shared| {
        shared.write();
        shared.first.store(1, store);
    };
    both(sends, move |shared| {
        if shared.first.load(load) == 1 {
            shared.read();
        }
    })
}

#[test]
fn each_half_of_message_passing_is_named() {
    for (store, load, missing) in [
        (Relaxed, Relaxed, &["release", "acquire"][..]),
        (Relaxed, Acquire, &["release"]),
        (Release, Relaxed, &["acquire"]),
        (SeqCst, Relaxed, &["acquire"]),
    ] {
        let failure = fails(message_passing(store, load));
        assert!(failure.is_race());
        assert_eq!(halves(&failure), missing, "{}", failure.text());
    }
    assert!(explain(|| model(message_passing(Release, Acquire))).is_ok());
}

fn fenced(release: bool, acquire: bool) -> impl Fn() + Send + Sync + 'static {
    let sends = move |shared: &Shared| {
        shared.write();
        if release {
            fence(Release);
        }
        shared.first.store(1, Relaxed);
    };
    both(sends, move |shared| {
        if shared.first.load(Relaxed) == 1 {
            if acquire {
                fence(Acquire);
            }
            shared.read();
        }
    })
}

#[test]
fn a_fence_is_as_good_as_a_half() {
    assert!(explain(|| model(fenced(true, true))).is_ok());
    assert_eq!(halves(&fails(fenced(true, false))), ["acquire"]);
    assert_eq!(halves(&fails(fenced(false, true))), ["release"]);
}

#[test]
fn a_fence_before_the_write_publishes_nothing() {
    let sends = |shared: &Shared| {
        fence(Release);
        shared.write();
        shared.first.store(1, Relaxed);
    };
    let failure = fails(both(sends, |shared| {
        if shared.first.load(Acquire) == 1 {
            shared.read();
        }
    }));
    assert_eq!(halves(&failure), ["release"], "{}", failure.text());
}

#[test]
fn the_recorder_names_the_broken_edge_of_a_chain() {
    let failure = fails(|| {
        let shared = Arc::new(Shared::default());
        let (writers, passers) = (shared.clone(), shared.clone());
        thread::spawn(move || {
            writers.write();
            writers.first.store(1, Release);
        });
        thread::spawn(move || {
            name_thread("passer");
            if passers.first.load(Relaxed) == 1 {
                passers.second.store(1, Release);
            }
        });
        if shared.second.load(Acquire) == 1 {
            shared.read();
        }
    });
    assert_eq!(halves(&failure), ["acquire"]);
    assert!(
        failure.sentence().contains("passer's load"),
        "{}",
        failure.sentence()
    );
}

#[test]
fn a_read_modify_write_carries_a_release_on() {
    let chain = |last: Ordering| {
        move || {
            let shared = Arc::new(Shared::default());
            let (writers, passers) = (shared.clone(), shared.clone());
            thread::spawn(move || {
                writers.write();
                writers.first.store(1, Release);
            });
            thread::spawn(move || {
                passers.first.fetch_add(1, Relaxed);
            });
            if shared.first.load(last) == 2 {
                shared.read();
            }
        }
    };
    let failure = fails(chain(Relaxed));
    assert_eq!(halves(&failure), ["acquire"], "{}", failure.text());
    assert!(explain(|| model(chain(Acquire))).is_ok());
}

/// A store, then perhaps a fence, then a load of the location that the other thread stores to.
fn store_load(fences: [bool; 2], store: Ordering, load: Ordering) -> impl Fn() + Send + Sync {
    move || {
        let shared = Arc::new(Shared::default());
        let others = shared.clone();
        let other = thread::spawn(move || {
            others.second.store(1, store);
            if fences[1] {
                fence(SeqCst);
            }
            others.first.load(load)
        });
        shared.first.store(1, store);
        if fences[0] {
            fence(SeqCst);
        }
        let seen = shared.second.load(load);
        let others = other.join().expect("a panic ends the model before");
        assert!(seen + others > 0, "each missed the other");
    }
}

#[test]
fn a_handshake_needs_a_fence_on_both_sides() {
    let with = |fences| store_load(fences, Release, Acquire);
    assert_eq!(halves(&fails(with([false, false]))).len(), 2);
    assert_eq!(halves(&fails(with([true, false]))), ["SeqCst fence"]);
    assert_eq!(halves(&fails(with([false, true]))), ["SeqCst fence"]);
    assert!(explain(|| model(with([true, true]))).is_ok());
    // loom fails what is right, and the lab does not say that a fence is missing.
    let failure = fails(store_load([false, false], SeqCst, SeqCst));
    assert!(halves(&failure).is_empty(), "{}", failure.sentence());
    assert!(
        failure
            .sentence()
            .ends_with("which loom takes for weaker ones.")
    );
}

#[test]
fn an_old_value_that_was_read_is_a_missing_edge_too() {
    let stores = |shared: &Shared| {
        shared.first.store(7, Relaxed);
        shared.second.store(1, Relaxed);
    };
    let failure = fails(both(stores, |shared| {
        if shared.second.load(Acquire) == 1 {
            assert_eq!(shared.first.load(Relaxed), 7, "an old value");
        }
    }));
    assert!(!failure.is_race());
    assert_eq!(halves(&failure), ["release"], "{}", failure.text());
    assert!(failure.message().contains("an old value"));
}

#[test]
fn locks_spawns_and_joins_order_what_they_order() {
    let locked = |lock: bool| {
        move || {
            let shared = Arc::new((Shared::default(), Mutex::new(()).named("lock")));
            let others = shared.clone();
            shared.0.write();
            let other = thread::spawn(move || {
                let _guard = others.1.lock().expect("nobody panics");
                others.0.write();
            });
            if lock {
                let _guard = shared.1.lock().expect("nobody panics");
                shared.0.read();
            }
            other.join().expect("a panic ends the model before");
            shared.0.write();
            assert!(lock, "only so");
        }
    };
    assert!(explain(|| model(locked(true))).is_ok());
    let failure = fails(locked(false));
    assert!(!failure.is_race());
    assert!(failure.missing().is_empty(), "{}", failure.text());
}

#[test]
fn a_race_without_any_synchronization_is_reported_as_one() {
    let failure = fails(both(Shared::write, Shared::write));
    assert!(failure.is_race() && failure.missing().is_empty());
    assert!(
        failure.sentence().contains("No read leads"),
        "{}",
        failure.sentence()
    );
}

#[test]
fn the_picture_warns_when_two_stores_match_the_value_read() {
    let stores = |shared: &Shared| {
        shared.first.store(1, Relaxed);
        shared.first.store(1, Relaxed);
        shared.write();
    };
    let failure = fails(both(stores, |shared| {
        if shared.first.load(Relaxed) == 1 {
            shared.write();
        }
    }));
    assert!(
        failure.text().contains("more than once"),
        "{}",
        failure.text()
    );
}

#[test]
fn values_places_and_threads_are_shown() {
    let failure = fails(|| {
        name_thread("reader");
        let shared = Arc::new(Shared::default());
        let flag = Arc::new(AtomicUsize::new(5).named("flag"));
        let (others, raised) = (shared.clone(), flag.clone());
        thread::spawn(move || {
            others.write();
            raised.fetch_add(2, Relaxed);
        });
        if flag.compare_exchange(7, 8, AcqRel, Relaxed).is_ok() {
            shared.read();
        }
    });
    let text = failure.text();
    for part in [
        "reader",
        "thread 1",
        "flag.fetch_add(2, Relaxed) = 5",
        "flag.compare_exchange(7, 8, AcqRel) = 7",
        "✗ UnsafeCell#1: read",
        "tests/lab/recorder.rs:",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn the_same_orders_are_tried_with_and_without_a_recorder() {
    let runs = || {
        let count = Arc::new(Count::new(0));
        let counted = count.clone();
        model(move || {
            counted.fetch_add(1, Relaxed);
            message_passing(Release, Acquire)();
        });
        count.load(Relaxed)
    };
    let without = runs();
    let mut with = 0;
    assert!(explain(|| with = runs()).is_ok());
    assert!(without > 1);
    assert_eq!(with, without);
}

#[test]
fn recording_stops_after_a_failure() {
    assert!(!lab::is_recording());
    drop(fails(message_passing(Relaxed, Relaxed)));
    assert!(!lab::is_recording() && !panicking());
}
