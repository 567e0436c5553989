//! What the names of std and of loom mean here: which operations race, how long an access lasts,
//! what ends with an atomic, and what may happen for no reason.

use std::{
    cell::RefCell,
    env,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::atomic::Ordering,
};

use joint_check::{
    cell::{MutPtr, UnsafeCell},
    future::block_on,
    model::{Builder, last_count},
    sync::{
        Arc, Condvar, Mutex, Notify, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering::*, fence},
    },
    thread,
};

use crate::{Shared, assert_fails, beside, count, ends, failure};

/// Returns the counts of a model that passes with at most this many events for no reason.
fn spurious(most: usize, f: impl Fn() + Send + Sync + 'static) -> u64 {
    let mut builder = Builder::new();
    builder.spurious = Some(most);
    builder.finds_duplicates = true;
    builder.check(f);
    assert_eq!(last_count().duplicates, 0);
    last_count().complete
}

/// Whether a model fails with these options.
fn fails_with(set: impl FnOnce(&mut Builder), f: impl Fn() + Send + Sync + 'static) -> bool {
    let mut builder = Builder::new();
    set(&mut builder);
    let check = std::panic::AssertUnwindSafe(|| builder.check(f));
    std::panic::catch_unwind(check).is_err()
}

// Reads that are not atomic.

#[test]
fn a_plain_load_races_with_a_write_and_with_nothing_else() {
    // SAFETY: the model fails if it races.
    let loads = |it: &AtomicUsize| unsafe { it.unsync_load() };
    let run = |other: fn(&AtomicUsize) -> usize| {
        move || {
            beside(AtomicUsize::new(3), other, loads);
        }
    };
    assert_eq!(count(run(|it| it.load(Relaxed))).complete, 1);
    // SAFETY: as above.
    assert_eq!(count(run(|it| unsafe { it.unsync_load() })).complete, 1);
    count(run(|it| {
        it.compare_exchange(1, 2, Relaxed, Relaxed).unwrap_err()
    }));
    assert_fails("data race", run(|it| it.swap(1, Relaxed)));
    let stores = |it: &AtomicUsize| {
        it.store(1, Relaxed);
        0
    };
    assert_fails("data race", run(stores));
}

#[test]
fn an_owner_reads_plainly_what_others_only_load() {
    count(|| {
        beside(
            AtomicUsize::new(0),
            |it| it.load(Acquire),
            |it| {
                for n in 0..2 {
                    // SAFETY: the model fails if it races.
                    let before = unsafe { it.unsync_load() };
                    assert_eq!(before, n);
                    it.store(before + 1, Release);
                }
            },
        );
    });
}

#[test]
fn orderings_that_an_operation_cannot_have_panic() {
    type Does = fn(&AtomicUsize, Ordering);
    let load: Does = |it, order| _ = it.load(order);
    let store: Does = |it, order| it.store(1, order);
    let exchange: Does = |it, order| _ = it.compare_exchange(1, 2, SeqCst, order);
    for (does, order) in [
        (load, Release),
        (load, AcqRel),
        (store, Acquire),
        (store, AcqRel),
        (exchange, Release),
        (exchange, AcqRel),
    ] {
        assert_fails("there is no such thing", move || {
            does(&AtomicUsize::new(0), order);
        });
    }
    assert_fails("orders nothing", || fence(Relaxed));
}

// Accesses to cells.

/// A lock whose guard keeps the pointer, and is released before that.
struct Guard<'a>(&'a AtomicBool, #[allow(dead_code)] MutPtr<u32>);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.store(false, Release);
    }
}

struct Spin(AtomicBool, UnsafeCell<u32>);

// SAFETY: the model looks for races.
unsafe impl Sync for Spin {}
// SAFETY: as above.
unsafe impl Send for Spin {}

impl Spin {
    fn try_lock(&self) -> Option<Guard<'_>> {
        let locks = !self.0.swap(true, Acquire);
        locks.then(|| Guard(&self.0, self.1.get_mut()))
    }
}

#[test]
fn a_guard_may_release_before_its_pointer_is_dropped() {
    let counted = count(|| {
        let lock = Spin(AtomicBool::new(false), UnsafeCell::new(0));
        let both = beside(
            lock,
            |it| it.try_lock().is_some(),
            |it| it.try_lock().is_some(),
        );
        assert!(both.0 || both.1);
    });
    assert_eq!(counted.complete, 4);
}

#[test]
fn a_fence_and_a_relaxed_store_may_release_before_the_pointer_is_dropped() {
    let run = |has_fence: bool| {
        move || {
            let writes = |(cell, flag): &(Shared, AtomicBool)| {
                if flag.load(Acquire) {
                    cell.write(1);
                }
            };
            beside((Shared::new(), AtomicBool::new(false)), writes, |it| {
                let pointer = it.0.0.get_mut();
                if has_fence {
                    fence(Release);
                }
                it.1.store(true, Relaxed);
                drop(pointer);
            });
        }
    };
    count(run(true));
    assert_fails("data race", run(false));
}

#[test]
fn two_accesses_of_one_thread_at_once_are_a_failure() {
    let cell = || UnsafeCell::new(0);
    assert_fails("two accesses to a cell at once", move || {
        let cell = cell();
        cell.with_mut(|_| cell.with_mut(|_| ()));
    });
    assert_fails("comes during the access of step 2", move || {
        let cell = cell();
        cell.with(|_| cell.with_mut(|_| ()));
    });
    assert_fails("two accesses to a cell at once", move || {
        let cell = cell();
        let pointer = cell.get_mut();
        cell.with(|_| ());
        drop(pointer);
    });
    count(move || {
        let (one, other) = (cell(), cell());
        one.with(|_| one.with(|_| other.with_mut(|_| ())));
        drop(one.get_mut());
        one.with_mut(|_| ());
    });
}

// The end of atomics and cells.

struct Inner {
    count: AtomicUsize,
    value: UnsafeCell<u32>,
}

/// An `Arc` by hand.
struct Handle(*mut Inner, Ordering, bool);

// SAFETY: the model looks for what is wrong.
unsafe impl Send for Handle {}

impl Handle {
    fn read(&self) -> u32 {
        // SAFETY: the handle keeps the value.
        unsafe { (*self.0).value.with(|value| *value) }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let Self(inner, order, has_fence) = *self;
        // SAFETY: the handle keeps the value.
        if unsafe { (*inner).count.fetch_sub(1, order) } == 1 {
            if has_fence {
                fence(Acquire);
            }
            // SAFETY: this was the last handle.
            drop(unsafe { Box::from_raw(inner) });
        }
    }
}

#[test]
fn a_free_is_ordered_after_all_accesses() {
    let run = |order: Ordering, has_fence: bool| {
        move || {
            let inner = Inner {
                count: AtomicUsize::new(2),
                value: UnsafeCell::new(7),
            };
            let inner = Box::into_raw(Box::new(inner));
            let [ours, theirs] = [
                Handle(inner, order, has_fence),
                Handle(inner, order, has_fence),
            ];
            let other = thread::spawn(move || theirs.read());
            ours.read();
            drop(ours);
            other.join().unwrap();
        }
    };
    assert_eq!(count(run(Release, true)).complete, 2);
    let says = "does not happen before that. Step";
    assert_fails(says, run(Release, false));
    assert_fails(says, run(Relaxed, true));
    assert!(failure(run(Release, false)).contains("use after free: AtomicUsize#"));
}

#[test]
fn an_atomic_that_is_used_after_its_free_is_found() {
    assert_fails("use after free", || {
        let words = Box::into_raw(Box::new([0; 2].map(AtomicUsize::new)));
        let address = words.expose_provenance();
        let other = thread::spawn(move || {
            let words: *const [AtomicUsize; 2] = std::ptr::with_exposed_provenance(address);
            // SAFETY: that is the bug.
            let [first, second] = unsafe { &*words };
            first.store(1, Release);
            second.load(Relaxed);
        });
        // SAFETY: nobody frees it before.
        while unsafe { (*words)[0].load(Acquire) } == 0 {
            thread::yield_now();
        }
        // SAFETY: it was a box.
        drop(unsafe { Box::from_raw(words) });
        other.join().unwrap();
    });
}

/// What std's `Arc` orders is not seen, but a trial shows that the value lives long enough.
#[test]
fn a_value_in_an_arc_of_std_is_dropped_late_enough() {
    type Value = (AtomicUsize, AtomicUsize, Shared);
    let run = |is_told: bool| {
        move || {
            let value =
                std::sync::Arc::new((AtomicUsize::new(0), AtomicUsize::new(0), Shared::new()));
            let told = Arc::new(AtomicBool::new(false));
            let (theirs, tells) = (value.clone(), told.clone());
            let other = thread::spawn(move || {
                theirs.0.store(1, Relaxed);
                theirs.2.read();
                tells.store(is_told, Relaxed);
                drop::<std::sync::Arc<Value>>(theirs);
                tells.load(Relaxed);
            });
            value.1.load(Relaxed);
            told.load(Relaxed);
            drop(value);
            told.load(Relaxed);
            other.join().unwrap();
        }
    };
    count(run(false));
    count(run(true));
}

// Statics.

joint_check::lazy_static! {
    static ref HANDLE: Arc<AtomicUsize> = Arc::new(AtomicUsize::new(0));
    static ref OTHER: AtomicUsize = AtomicUsize::new(HANDLE.load(Relaxed));
    static ref ALONE: AtomicUsize = AtomicUsize::new(0);
}

#[test]
fn a_lazy_static_is_dropped_before_leaks_are_counted() {
    let counted = count(|| {
        beside(
            (),
            |()| HANDLE.fetch_add(1, Relaxed),
            |()| OTHER.load(Relaxed),
        );
    });
    assert!(counted.complete > 2);
    assert_fails("leak", || std::mem::forget(HANDLE.clone()));
}

#[test]
fn lazy_statics_do_not_order_each_other() {
    assert_fails("data race", || {
        let writes = |it: &(Shared, AtomicBool)| {
            it.0.write(1);
            HANDLE.load(Relaxed);
            it.1.store(true, Relaxed);
        };
        beside((Shared::new(), AtomicBool::new(false)), writes, |it| {
            if it.1.load(Relaxed) {
                ALONE.load(Relaxed);
                it.0.read();
            }
        });
    });
}

/// More than fit into a word, and used by several threads of the system.
#[test]
fn a_model_may_have_many_lazy_statics() {
    macro_rules! many {
        ($($name:ident)+) => {
            joint_check::lazy_static! { $(static ref $name: Mutex<u32> = Mutex::new(1);)+ }
            fn sum() -> u32 {
                0 $(+ *$name.lock().unwrap())+
            }
        };
    }
    many! {
        A B C D E F G H I J K L M N O P Q R S T U V W X Y Z
        AA AB AC AD AE AF AG AH AI AJ AK AL AM AN AO AP AQ AR AS AT AU AV AW AX AY AZ
    }
    for workers in [1, 2] {
        let mut builder = Builder::new();
        builder.workers = workers;
        builder.check(|| assert_eq!(sum(), 52));
        assert_eq!(last_count().complete, 1);
    }
}

#[test]
fn a_failure_with_lazy_statics_is_repeated_by_its_line() {
    let model = || {
        let (seen, _) = beside(
            (),
            |()| HANDLE.load(Relaxed),
            |()| OTHER.fetch_add(1, Relaxed),
        );
        HANDLE.store(seen + 1, Relaxed);
        assert_ne!(HANDLE.load(Relaxed), 1);
    };
    let text = failure(model);
    let line = text
        .rsplit_once("JOINT_CHECK_REPLAY=")
        .unwrap()
        .1
        .trim()
        .to_owned();
    assert!(fails_with(|builder| builder.replay = Some(line), model));
}

// Thread-locals.

/// Appends its name to a list, and uses another local.
struct Last(&'static str, Arc<Mutex<Vec<&'static str>>>);

impl Drop for Last {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0);
        if self.0 == "first" {
            let third = Self("third", self.1.clone());
            THIRD.with(|it| *it.borrow_mut() = Some(third));
            assert!(FIRST.try_with(|_| ()).is_err());
            PLAIN.with(|it| assert_eq!(it.get(), 1));
        }
    }
}

joint_check::thread_local! {
    static FIRST: RefCell<Option<Last>> = const { RefCell::new(None) };
    static SECOND: RefCell<Option<Last>> = RefCell::new(None);
    static THIRD: RefCell<Option<Last>> = RefCell::new(None);
    static PLAIN: std::cell::Cell<u32> = std::cell::Cell::new(0);
}

#[test]
fn thread_locals_are_destroyed_as_stds() {
    count(|| {
        let names = Arc::new(Mutex::new(Vec::new()));
        let theirs = names.clone();
        let other = thread::spawn(move || {
            PLAIN.with(|it| it.set(1));
            for (key, name) in [(&FIRST, "first"), (&SECOND, "second")] {
                let last = Last(name, theirs.clone());
                key.with(|it| *it.borrow_mut() = Some(last));
            }
        });
        other.join().unwrap();
        let names = std::mem::take(&mut *names.lock().unwrap());
        assert_eq!(names, ["second", "first", "third"]);
    });
}

#[test]
fn a_scope_waits_for_closures_and_a_join_for_destructors() {
    struct Sets(Arc<AtomicBool>);
    impl Drop for Sets {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }
    joint_check::thread_local! {
        static SETS: RefCell<Option<Sets>> = const { RefCell::new(None) };
    }
    let run = |joins: bool| {
        ends(move || {
            let flag = Arc::new(AtomicBool::new(false));
            thread::scope(|scope| {
                let sets = Sets(flag.clone());
                let handle = scope.spawn(|| SETS.with(|it| *it.borrow_mut() = Some(sets)));
                if joins {
                    handle.join().unwrap();
                }
            });
            flag.load(Relaxed)
        })
    };
    assert_eq!(run(false), [false, true]);
    assert_eq!(run(true), [true]);
}

// What may happen for no reason, or in any order.

#[test]
fn a_notify_and_a_future_are_woken_once_for_no_reason_as_on_loom() {
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
fn a_park_and_a_condition_variable_return_for_no_reason_within_the_bound() {
    let parks = |is_loop: bool| {
        move || {
            let flag = Arc::new(AtomicBool::new(false));
            let (theirs, main) = (flag.clone(), thread::current());
            let other = thread::spawn(move || {
                theirs.store(true, Release);
                main.unpark();
            });
            if !flag.load(Acquire) {
                thread::park();
            }
            while is_loop && !flag.load(Acquire) {
                thread::park();
            }
            assert!(flag.load(Acquire));
            other.join().unwrap();
        }
    };
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
    count(parks(false));
    count(waits(false));
    let once = |builder: &mut Builder| builder.spurious = Some(1);
    assert!(fails_with(once, parks(false)));
    assert!(fails_with(once, waits(false)));
    for most in 0..3 {
        assert!(spurious(most, parks(true)) > most as u64);
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
fn a_second_read_waits_for_a_writer_that_waits_if_writers_come_first() {
    let run = |reads_twice: bool| {
        move || {
            let writes = |it: &RwLock<u32>| *it.write().unwrap() += 1;
            beside(RwLock::new(0), writes, |it| {
                let first = it.read().unwrap();
                if !reads_twice {
                    drop(first);
                    assert!(it.try_write().is_ok() || it.try_read().is_err() || true);
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
    // A set of which the order is random: a `HashMap` as well.
    let text = failure(|| {
        use std::collections::HashMap;
        let words = (0..8).map(|n| (n, Arc::new(AtomicUsize::new(n))));
        let words: HashMap<usize, Arc<AtomicUsize>> = words.collect();
        let theirs = words[&0].clone();
        let other = thread::spawn(move || theirs.store(1, Release));
        for word in words.values() {
            word.load(Acquire);
        }
        other.join().unwrap();
    });
    assert!(text.contains("does not do the same"), "{text}");
    assert!(text.contains("the order of a hash map"), "{text}");
    assert!(text.contains("surface.rs:"), "{text}");
}

/// Runs a model that hangs in a process of its own, until that says why.
#[test]
fn a_lock_of_std_that_is_held_over_a_step_is_said() {
    const IS_CHILD: &str = "JOINT_CHECK_TEST_HANGS";
    if env::var_os(IS_CHILD).is_some() {
        let model = || {
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
        };
        joint_check::model(model);
        return;
    }
    let name = "surface::a_lock_of_std_that_is_held_over_a_step_is_said";
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(IS_CHILD, "1")
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let said = lines
        .map_while(Result::ok)
        .any(|line| line.contains("no step for") && line.contains("a lock of std's over a step"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(said);
}
