//! What std leaves open: what may happen for no reason or in any order, and the options for that.
//! And what the checker does not see.

use std::{
    env,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use joint_check::{
    future::block_on,
    model::Builder,
    sync::{
        Arc, Condvar, Mutex, Notify, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering::*, fence},
    },
    thread,
};

use crate::{Shared, assert_fails, beside, count, ends, ends_with, fails_with, failure, once};

/// Returns the counts of a model that passes with at most this many events for no reason.
fn spurious(most: usize, f: impl Fn() + Send + Sync + 'static) -> u64 {
    let mut builder = once();
    builder.spurious = Some(most);
    ends_with(&builder, f).1.complete
}

#[test]
fn a_notify_and_a_future_wake_once_for_no_reason_as_on_loom() {
    let waits = || {
        let notifies = |it: &(Notify, AtomicBool)| {
            it.1.store(true, Relaxed);
            it.0.notify();
        };
        beside((Notify::new(), AtomicBool::new(false)), notifies, |it| {
            it.0.wait();
            it.1.load(Relaxed)
        })
        .1
    };
    assert_eq!(ends(waits), [false, true]);
    assert_eq!(spurious(0, move || assert!(waits())), 1);
    // A wait returns when it is notified, and not before that.
    count(|| {
        let handle = Arc::new(0);
        let (theirs, notify) = (handle.clone(), Arc::new(Notify::new()));
        let waiter = notify.clone();
        let other = thread::spawn(move || {
            waiter.wait();
            drop(theirs);
        });
        let handle = Arc::try_unwrap(handle).unwrap_err();
        notify.notify();
        other.join().unwrap();
        Arc::try_unwrap(handle).unwrap();
    });
    let polls = || {
        let mut polls = 0;
        block_on(std::future::poll_fn(|context| {
            polls += 1;
            context.waker().wake_by_ref();
            match polls {
                3 => std::task::Poll::Ready(()),
                _ => std::task::Poll::Pending,
            }
        }));
    };
    // None, the first, or the second.
    assert_eq!(count(polls).complete, 3);
    assert_eq!(spurious(2, polls), 4);
}

#[test]
fn a_condition_variable_returns_for_no_reason_within_the_bound() {
    let waits = |is_loop: bool| {
        move || {
            let sets = |it: &(Mutex<bool>, Condvar)| {
                *it.0.lock().unwrap() = true;
                it.1.notify_one();
            };
            beside((Mutex::new(false), Condvar::new()), sets, |it| {
                let mut flag = it.0.lock().unwrap();
                if !*flag {
                    flag = it.1.wait(flag).unwrap();
                }
                while is_loop && !*flag {
                    flag = it.1.wait(flag).unwrap();
                }
                assert!(*flag);
            });
        }
    };
    count(waits(false));
    let once = |builder: &mut Builder| builder.spurious = Some(1);
    assert!(fails_with(once, waits(false)));
    for most in 0..3 {
        assert!(spurious(most, waits(true)) > most as u64);
    }
}

#[test]
fn a_weak_exchange_fails_for_no_reason_within_the_bound() {
    let run = || {
        let word = AtomicUsize::new(0);
        let mut failures = 0;
        while word.compare_exchange_weak(0, 1, AcqRel, Acquire).is_err() {
            failures += 1;
        }
        (failures, word.load(Relaxed))
    };
    assert_eq!(ends(run), [(0, 1)]);
    for most in 0..4 {
        assert_eq!(spurious(most, move || _ = run()), most as u64 + 1);
    }
    assert!(fails_with(
        |builder| builder.spurious = Some(1),
        move || {
            assert_eq!(run().0, 0);
        }
    ));
}

/// Two kinds of waiters at one condition variable. Each of the two threads waits for a flag of its
/// own.
#[test]
fn notify_one_wakes_any_waiter_unless_they_come_in_order() {
    let run = || {
        let shared = Arc::new((Mutex::new([false; 3]), Condvar::new()));
        let waits = |own: usize| {
            let shared = shared.clone();
            thread::spawn(move || {
                let mut flags = shared.0.lock().unwrap();
                while own == 1 && !flags[2] {
                    flags = shared.1.wait(flags).unwrap();
                }
                flags[2] = true;
                while !flags[own] {
                    flags = shared.1.wait(flags).unwrap();
                }
            })
        };
        let first = waits(0);
        loop {
            let flags = shared.0.lock().unwrap();
            if flags[2] {
                break;
            }
            drop(flags);
            thread::yield_now();
        }
        let second = waits(1);
        shared.0.lock().unwrap()[0] = true;
        shared.1.notify_one();
        first.join().unwrap();
        shared.0.lock().unwrap()[1] = true;
        shared.1.notify_one();
        second.join().unwrap();
    };
    assert!(fails_with(|_| (), run));
    assert!(!fails_with(|builder| builder.in_order = true, run));
}

#[test]
fn a_park_that_returns_for_no_reason_acquires_nothing() {
    let run = || {
        let main = thread::current();
        let shared = [(); 2].map(|()| AtomicUsize::new(0));
        let shared = Arc::new((shared, Shared::new()));
        let start = |unparks: fn(&([AtomicUsize; 2], Shared), &thread::Thread)| {
            let (shared, main) = (shared.clone(), main.clone());
            thread::spawn(move || unparks(&shared, &main))
        };
        let first = start(|(words, data), main| {
            data.write(1);
            main.unpark();
            words[0].store(1, Relaxed);
        });
        // Its unpark comes after the other one.
        let second = start(|(words, _), main| {
            if words[0].load(Relaxed) == 1 {
                main.unpark();
                words[1].store(1, Release);
            }
        });
        if shared.0[1].load(Acquire) == 1 {
            thread::park();
            fence(Acquire);
            shared.1.read();
        }
        first.join().unwrap();
        second.join().unwrap();
    };
    assert!(!fails_with(|_| (), run));
    assert!(fails_with(|builder| builder.spurious = Some(1), run));
}

#[test]
fn a_notification_orders_nothing_without_the_lock() {
    assert_fails("data race", || {
        let shared = (
            Mutex::new(()),
            Condvar::new(),
            AtomicBool::new(false),
            Shared::new(),
        );
        let notifies = |it: &(Mutex<()>, Condvar, AtomicBool, Shared)| {
            while !it.2.load(Relaxed) {
                thread::yield_now();
            }
            drop(it.0.lock().unwrap());
            it.3.write(1);
            it.1.notify_one();
        };
        beside(shared, notifies, |it| {
            let guard = it.0.lock().unwrap();
            it.2.store(true, Relaxed);
            let guard = it.1.wait(guard).unwrap();
            it.3.read();
            drop(guard);
        });
    });
}

#[test]
fn the_number_of_handles_orders_nothing() {
    let run = |reads: fn(&mut Arc<Shared>)| {
        move || {
            let mut shared = Arc::new(Shared::new());
            let theirs = shared.clone();
            let other = thread::spawn(move || theirs.write(1));
            reads(&mut shared);
            other.join().unwrap();
        }
    };
    let counts = |it: &mut Arc<Shared>| {
        if Arc::strong_count(it) == 1 {
            it.read();
        }
    };
    assert_fails("data race", run(counts));
    count(run(|it| _ = Arc::get_mut(it).map(|it| it.read())));
}

#[test]
fn a_panic_poisons_a_lock_unless_it_is_told_not_to() {
    let run = |poisons: bool| {
        move || {
            let (lock, shared) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)));
            let theirs = (lock.clone(), shared.clone());
            let other = thread::spawn(move || {
                let panics = std::panic::AssertUnwindSafe(|| {
                    let _reads = theirs.1.read();
                    let _locks = theirs.0.lock();
                    panic!("with the lock");
                });
                assert!(std::panic::catch_unwind(panics).is_err());
            });
            other.join().unwrap();
            assert_eq!(lock.is_poisoned(), poisons);
            assert_eq!(lock.lock().is_err(), poisons);
            assert_eq!(lock.try_lock().is_err(), poisons);
            lock.clear_poison();
            assert!(lock.lock().is_ok());
            // Only a writer leaves a value that may be broken.
            assert!(shared.write().is_ok());
        }
    };
    count(run(true));
    assert!(!fails_with(|builder| builder.poisons = false, run(false)));
}

#[test]
fn a_second_read_waits_for_a_writer_if_writers_come_first() {
    let run = |reads_twice: bool| {
        move || {
            let writes = |it: &RwLock<u32>| *it.write().unwrap() += 1;
            beside(RwLock::new(0), writes, |it| {
                let first = it.read().unwrap();
                if !reads_twice {
                    drop(first);
                    return;
                }
                assert_eq!(*first, *it.read().unwrap());
            });
        }
    };
    let first = |builder: &mut Builder| builder.writers_first = true;
    count(run(true));
    assert!(!fails_with(first, run(false)));
    assert!(fails_with(first, run(true)));
}

// What the checker does not see.

#[test]
fn a_frame_of_two_megabytes_fits() {
    count(|| {
        let other = thread::spawn(|| {
            let bytes = [1_u8; 2 << 20];
            std::hint::black_box(&bytes).len()
        });
        assert_eq!(other.join().unwrap(), 2 << 20);
    });
}

#[test]
fn a_model_that_differs_says_on_what_it_may_depend() {
    static RUNS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let text = failure(|| {
        let is_first = RUNS.fetch_add(1, Relaxed) == 0;
        beside(
            AtomicUsize::new(0),
            |it| it.store(1, Relaxed),
            |it| match is_first {
                true => _ = it.load(Relaxed),
                false => it.store(2, Relaxed),
            },
        );
    });
    assert!(text.contains("does not do the same"), "{text}");
    assert!(text.contains("it now does `store`"), "{text}");
    assert!(text.contains("what a static keeps"), "{text}");
    assert!(text.contains("freely.rs:"), "{text}");
}

/// Runs a model in a process of its own until that says all of these. `name` is the test.
fn says(name: &str, parts: &[&str], model: impl Fn() + Send + Sync + 'static) {
    const IS_CHILD: &str = "JOINT_CHECK_TEST_CHILD";
    if env::var_os(IS_CHILD).is_some() {
        joint_check::model(model);
        return;
    }
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", &format!("freely::{name}"), "--nocapture"])
        .env(IS_CHILD, "1")
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let said = lines
        .map_while(Result::ok)
        .any(|line| parts.iter().all(|part| line.contains(part)));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(said);
}

#[test]
fn a_lock_of_std_that_is_held_over_a_step_is_said() {
    let name = "a_lock_of_std_that_is_held_over_a_step_is_said";
    says(
        name,
        &["no step for", "a lock of std's over a step"],
        || {
            let lock = std::sync::Arc::new(std::sync::Mutex::new(()));
            let theirs = lock.clone();
            let holds = move |word: &AtomicUsize| {
                let _held = theirs.lock();
                word.store(1, Relaxed);
            };
            beside(AtomicUsize::new(0), holds, |word| {
                let _held = lock.lock();
                word.load(Relaxed);
            });
        },
    );
}

#[cfg(unix)]
#[test]
fn a_thread_that_uses_up_its_stack_is_named() {
    fn deep(n: usize) -> usize {
        let bytes = std::hint::black_box([n; 100]);
        if n == usize::MAX {
            0
        } else {
            deep(n + 1) + bytes[n % 100]
        }
    }
    let name = "a_thread_that_uses_up_its_stack_is_named";
    says(name, &["deep thread has used up its stack"], || {
        let named = thread::Builder::new().name("deep thread".to_owned());
        named.spawn(|| deep(0)).unwrap().join().unwrap();
    });
}
