//! What a failing model says, and that its line repeats the execution.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc as StdArc,
        atomic::{AtomicUsize as Counter, Ordering::Relaxed as Plainly},
    },
};

use joint_check::{
    alloc::Track,
    model::Builder,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering::*, fence},
    },
    thread,
};

use crate::{Shared, failure_of, panic_of};

/// Runs a model that fails, all of it or one line, and returns its text and the number of runs.
fn fails(line: Option<&str>, f: impl Fn() + Send + Sync + 'static) -> (String, usize) {
    let runs = StdArc::new(Counter::new(0));
    let counted = runs.clone();
    let mut builder = Builder::new();
    builder.replay = line.map(str::to_owned);
    let text = failure_of(&builder, move || {
        counted.fetch_add(1, Plainly);
        f();
    });
    (text, runs.load(Plainly))
}

fn line(text: &str) -> &str {
    let last = text.lines().last().expect("a text has lines");
    last.split_once('=').expect("the last line repeats").1
}

/// Checks that the line of a failure repeats it in one run, word by word.
#[track_caller]
fn text_of(f: impl Fn() + Clone + Send + Sync + 'static) -> String {
    let (text, _) = fails(None, f.clone());
    let (again, runs) = fails(Some(line(&text)), f);
    assert_eq!((&*again, runs), (&*text, 1));
    text
}

/// Checks that a text has each of these lines, where `{here}` is this file.
#[track_caller]
fn assert_says(text: &str, lines: &str) {
    for line in lines.replace("{here}", file!()).lines().map(str::trim) {
        assert!(text.contains(line), "`{line}` is not in:\n{text}");
    }
}

type Message = (Shared, AtomicUsize);

fn message() -> StdArc<Message> {
    StdArc::new((Shared::new(), AtomicUsize::new(0)))
}

#[test]
fn a_race_names_both_steps() {
    let text = text_of(|| {
        let shared = message();
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            theirs.0.write(1);
            theirs.1.store(1, Relaxed);
        });
        if shared.1.load(Acquire) == 1 {
            _ = shared.0.read();
        }
        other.join().unwrap();
    });
    assert_says(
        &text,
        "data race: neither of step 4 (thread 1, {here}:
        and step 7 (main, {here}:
        AtomicUsize#2.store(Relaxed) 1
        AtomicUsize#2.load(Acquire): 1, from 5
        UnsafeCell#1.read
        Step 5 (thread 1's store, Relaxed, {here}:
        ) was read by step 6 (main's load, Acquire, {here}:
        ). The release half of the first (Release instead of Relaxed) would order them.",
    );
}

#[test]
fn a_race_names_the_half_that_is_missing_behind_an_exchange() {
    let text = text_of(|| {
        let shared = message();
        let (theirs, others) = (shared.clone(), shared.clone());
        let writer = thread::spawn(move || {
            theirs.0.write(1);
            theirs.1.store(1, Release);
        });
        let exchanger = thread::spawn(move || others.1.fetch_add(1, Relaxed));
        if shared.1.load(Relaxed) == 2 {
            _ = shared.0.read();
        }
        writer.join().unwrap();
        exchanger.join().unwrap();
    });
    assert_says(
        &text,
        "(thread 1's store, Release,
        (main's load, Relaxed,
        The acquire half of the second (Acquire instead of Relaxed) would order them.",
    );
}

#[test]
fn a_read_that_passes_over_a_write_says_so() {
    let text = text_of(|| {
        let words = StdArc::new([0; 2].map(AtomicUsize::new));
        let theirs = words.clone();
        let other = thread::Builder::new().name("writer".into()).spawn(move || {
            theirs[0].store(1, Relaxed);
            theirs[1].store(1, Relaxed);
        });
        if words[1].load(Relaxed) == 1 {
            assert_eq!(words[0].load(Relaxed), 1, "the data are there");
        }
        other.unwrap().join().unwrap();
    });
    assert_says(
        &text,
        "main panicked: assertion `left == right` failed: the data are there
        writer
        AtomicUsize#2.load(Relaxed): 1, from 5
        AtomicUsize#1.load(Relaxed): 0, from 1, though 4 is newer",
    );
}

#[test]
fn a_deadlock_says_who_waits_where_and_for_whom() {
    let text = text_of(|| {
        let locks = StdArc::new((Mutex::new(()), Mutex::new(())));
        let theirs = locks.clone();
        let other = thread::spawn(move || {
            let _first = theirs.1.lock();
            let _second = theirs.0.lock();
        });
        let first = locks.0.lock();
        let second = locks.1.lock();
        drop((first, second));
        other.join().unwrap();
    });
    assert_says(
        &text,
        "deadlock: main waits at {here}:
        in `lock` of Mutex#2, which thread 1 holds since step
        thread 1 waits at
        in `lock` of Mutex#1, which main holds since step",
    );
}

/// A waiter that announces itself and then looks, and a waker that raises the flag and then looks
/// for a waiter.
fn wake_up(announce: std::sync::atomic::Ordering, fenced: [bool; 2]) {
    let shared = StdArc::new([0; 2].map(AtomicUsize::new));
    let theirs = shared.clone();
    let waiter = thread::Builder::new().name("waiter".into());
    let waiter = waiter.spawn(move || {
        theirs[0].store(1, announce);
        fenced[0].then(|| fence(SeqCst));
        if theirs[1].load(Acquire) == 0 {
            thread::park();
        }
    });
    let waiter = waiter.unwrap();
    shared[1].store(1, Release);
    fenced[1].then(|| fence(SeqCst));
    if shared[0].load(Acquire) == 1 {
        waiter.thread().unpark();
    }
    waiter.join().unwrap();
}

#[test]
fn a_lost_wake_up_names_the_load_of_an_old_value_and_its_cure() {
    let text = text_of(|| wake_up(Release, [false; 2]));
    assert_says(
        &text,
        "deadlock, because step 7 (waiter's load, Acquire, {here}:
        ) read 0 from AtomicUsize#2, and not 1, because step 4 (main's store, Release, {here}:
        ) was not visible to it. A `SeqCst` fence between steps 6 and 7 of waiter and one between
        steps 4 and 5 of main, or `SeqCst` for all of steps 6, 7, 4 and 5, forbids that both 7 and 5
        waiter parks at",
    );
    let text = text_of(|| wake_up(Relaxed, [true, false]));
    assert_says(
        &text,
        "was not visible to it. A `SeqCst` fence between steps",
    );
    assert!(!text.contains("and one between"), "{text}");
    joint_check::model(|| wake_up(Relaxed, [true; 2]));
}

/// What came before an unpark is visible after the park, but not if it is told by a relaxed store.
#[test]
fn a_lost_wake_up_names_the_edge_that_is_missing() {
    let text = text_of(|| {
        let shared = StdArc::new([0; 2].map(AtomicUsize::new));
        let theirs = shared.clone();
        let waiter = thread::spawn(move || {
            if theirs[0].load(Acquire) == 1 && theirs[1].load(Relaxed) == 0 {
                thread::park();
            }
        });
        shared[1].store(1, Relaxed);
        shared[0].store(1, Relaxed);
        waiter.join().unwrap();
    });
    assert_says(
        &text,
        "deadlock, because step
        read 0 from AtomicUsize#2, and not 1, because step
        was not visible to it. Step
        The release half of the first (Release instead of Relaxed) would order them.",
    );
}

#[test]
fn a_thread_that_nobody_unparks_or_notifies_is_named() {
    let text = text_of(|| {
        let other = thread::spawn(|| {
            thread::park();
        });
        other.join().unwrap();
    });
    assert_says(
        &text,
        "main waits at
        for the end of thread 1
        thread 1 parks at joint-check/
        , and nobody unparks it",
    );
    let text = text_of(|| {
        let shared = Arc::new((Mutex::new(()), Condvar::new()));
        shared.1.notify_one();
        let guard = shared.0.lock().unwrap();
        drop(shared.1.wait(guard).unwrap());
    });
    assert_says(
        &text,
        "main waits at {here}:
        for Condvar#2 and is never notified: the last notification, at step 4 (
        ), came before it",
    );
}

#[test]
fn a_park_whose_unpark_was_taken_before_says_by_whom() {
    let text = text_of(|| {
        let main = thread::current();
        thread::spawn(move || main.unpark()).join().unwrap();
        thread::park();
        thread::park();
    });
    assert_says(
        &text,
        "deadlock: main parks at {here}:
        and is never unparked: the last unpark came at step 2 ({here}:
        ), and the park of step 5 ({here}:
        ) took it",
    );
}

#[test]
fn a_lock_that_is_taken_twice_is_named() {
    let text = text_of(|| {
        let lock = Mutex::new(());
        let _held = lock.lock();
        drop(lock.lock());
    });
    assert_says(
        &text,
        "deadlock: main waits at {here}:
        in `lock` of Mutex#1, which it holds itself since step 2 ({here}:",
    );
}

#[test]
fn a_leak_names_where_the_value_was_made() {
    let text = text_of(|| std::mem::forget((Track::new(()), Arc::new(1))));
    assert_says(
        &text,
        "leak: Track of step 1 ({here}:
        ) is never dropped; Arc of step 2 ({here}:",
    );
}

/// Takes a lock when it is dropped.
struct Locks(StdArc<Mutex<()>>);

impl Drop for Locks {
    fn drop(&mut self) {
        drop(self.0.lock());
    }
}

#[test]
fn a_panic_that_waits_on_its_way_out_is_the_failure() {
    let text = text_of(|| {
        let lock = StdArc::new(Mutex::new(()));
        let locks = Locks(lock.clone());
        let held = lock.lock();
        let other = thread::spawn(move || {
            let _locks = locks;
            assert!(std::hint::black_box(false), "on the way out");
        });
        other.join().unwrap();
        drop(held);
    });
    assert_says(&text, "thread 1 panicked: on the way out");
    assert!(!std::thread::panicking());
}

#[test]
fn a_panic_that_is_caught_may_wait_on_its_way_out() {
    joint_check::model(|| {
        let lock = StdArc::new(Mutex::new(0));
        let theirs = lock.clone();
        let other = thread::spawn(move || {
            let locks = StdArc::new(Mutex::new(()));
            let caught = catch_unwind(AssertUnwindSafe(|| {
                let _locks = Locks(locks);
                *theirs.lock().unwrap() += 1;
                std::panic::resume_unwind(Box::new(()));
            }));
            assert!(caught.is_err());
            *theirs.lock().unwrap() += 1;
        });
        *lock.lock().unwrap() += 1;
        other.join().unwrap();
        assert_eq!(*lock.lock().unwrap(), 3);
    });
}

#[test]
fn an_atomic_that_this_execution_has_not_made_is_refused() {
    let kept = StdArc::new(std::sync::OnceLock::new());
    let keep = kept.clone();
    joint_check::model(move || {
        let atomics = [0; 9].map(AtomicUsize::new);
        assert!(keep.set(atomics).is_ok());
    });
    let text = text_of(move || _ = kept.get().expect("it was kept")[8].load(Relaxed));
    assert_says(&text, "that this execution has not made");
}

#[test]
fn a_step_of_a_drop_says_so_instead_of_a_place_in_core() {
    let text = text_of(|| {
        drop(Mutex::new(0).lock().unwrap());
        panic!("after the drop");
    });
    assert_says(
        &text,
        "Mutex#1.unlock(Release) 0
        in a drop",
    );
    assert!(!text.contains("ptr/mod.rs"), "{text}");
}

#[test]
fn a_loop_without_an_end_is_a_failure() {
    let (text, _) = fails(None, || {
        let flag = AtomicUsize::new(0);
        while flag.load(Relaxed) == 0 {}
    });
    assert_says(
        &text,
        "more than 1000 atomic accesses
        `spin_loop` or `yield_now`",
    );
    assert!(text.lines().count() < 250);
}

#[test]
fn a_line_of_another_model_is_refused() {
    let model = || thread::spawn(|| ()).join().unwrap();
    for (line, part) in [
        ("0000x", "is no line of a failure"),
        ("0107", "cannot go on"),
        ("0100", "does not fail"),
    ] {
        let mut builder = Builder::new();
        builder.replay = Some(line.to_owned());
        let text = panic_of(|| builder.check(model));
        assert!(text.contains(part), "{line}: {text}");
    }
}
