//! What the names of std and of loom mean here: which operations race, how long an access lasts,
//! and when atomics, statics and thread-locals end.

use std::{alloc::Layout, cell::RefCell, sync::atomic::Ordering};

use joint_check::{
    cell::{MutPtr, UnsafeCell},
    model::{Builder, last_count},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::*, fence},
    },
    thread,
};

use crate::{Shared, assert_fails, beside, count, ends, fails_with, failure};

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
    // It writes, although what it writes is there already.
    assert_fails("data race", run(|it| it.swap(3, Relaxed)));
    let stores = |it: &AtomicUsize| {
        it.store(1, Relaxed);
        0
    };
    assert_fails("data race", run(stores));
}

/// It had hidden what its own thread had written before.
#[test]
fn a_plain_load_hides_no_write_of_its_thread() {
    count(|| {
        let all = [0; 2].map(AtomicUsize::new);
        let [data, flag] = &all;
        thread::scope(|scope| {
            scope.spawn(|| {
                if flag.load(Acquire) == 1 {
                    assert_eq!(data.load(Relaxed), 1);
                }
            });
            data.store(1, Relaxed);
            // SAFETY: no other thread writes there.
            assert_eq!(unsafe { data.unsync_load() }, 1);
            flag.store(1, Release);
        });
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
fn a_fence_and_a_relaxed_store_may_release_before_the_drop() {
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

/// An `Arc` by hand: the order of its drops, whether they have a fence, and what frees the memory.
struct Handle(*mut Inner, Ordering, bool, fn(*mut Inner));

// SAFETY: the model looks for what is wrong.
unsafe impl Send for Handle {}

impl Handle {
    fn read(&self) -> u32 {
        // SAFETY: the handle keeps the value.
        let inner = unsafe { &*self.0 };
        // SAFETY: the model fails if a write races.
        inner.value.with(|value| unsafe { *value })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let Self(inner, order, has_fence, free) = *self;
        // SAFETY: the handle keeps the value.
        if unsafe { (*inner).count.fetch_sub(1, order) } == 1 {
            if has_fence {
                fence(Acquire);
            }
            free(inner);
        }
    }
}

fn with_drops(inner: *mut Inner) {
    // SAFETY: it was a box, and the last handle frees it.
    drop(unsafe { Box::from_raw(inner) });
}

fn without_drops(inner: *mut Inner) {
    // SAFETY: as above.
    unsafe { std::alloc::dealloc(inner.cast(), Layout::new::<Inner>()) };
}

#[test]
fn a_free_is_ordered_after_all_accesses() {
    for free in [with_drops, without_drops] {
        let run = |order: Ordering, has_fence: bool| {
            move || {
                let inner = Inner {
                    count: AtomicUsize::new(2),
                    value: UnsafeCell::new(7),
                };
                let inner = Box::into_raw(Box::new(inner));
                let handle = || Handle(inner, order, has_fence, free);
                let [ours, theirs] = [handle(), handle()];
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
        assert!(failure(run(Release, false)).contains("use after free: "));
    }
}

/// The last access, or the memory, is of a thread that the free does not know of.
#[test]
fn a_use_after_free_is_found_without_a_drop_as_well() {
    let run = |uses: bool| {
        move || {
            let words = Box::into_raw(Box::new([0; 2].map(AtomicUsize::new)));
            let address = words.expose_provenance();
            let other = thread::spawn(move || {
                let words: *const [AtomicUsize; 2] = std::ptr::with_exposed_provenance(address);
                // SAFETY: that is the bug.
                let [first, second] = unsafe { &*words };
                first.store(1, Release);
                uses.then(|| second.load(Relaxed));
            });
            // SAFETY: nobody frees it before.
            while unsafe { (*words)[0].load(Acquire) } == 0 {
                thread::yield_now();
            }
            // SAFETY: it was a box.
            drop(unsafe { Box::from_raw(words.cast::<[std::mem::MaybeUninit<AtomicUsize>; 2]>()) });
            other.join().unwrap();
        }
    };
    count(run(false));
    assert_fails("use after free: AtomicUsize#2", run(true));
    // What has moved is used elsewhere.
    count(|| {
        let moved = *Box::new(AtomicUsize::new(1));
        moved.store(2, Relaxed);
        let mut all = vec![moved];
        beside(
            std::mem::take(&mut all),
            |all| all[0].load(Relaxed),
            |all| all[0].load(Relaxed),
        );
    });
}

#[test]
fn a_lock_is_dropped_after_all_that_others_did_with_it() {
    let run = |order: Ordering| {
        move || {
            let lock = Box::into_raw(Box::new((Mutex::new(()), AtomicBool::new(false))));
            let address = lock.expose_provenance();
            let other = thread::spawn(move || {
                let lock: *const (Mutex<()>, AtomicBool) =
                    std::ptr::with_exposed_provenance(address);
                // SAFETY: the flag says that it is not used any more.
                let (lock, is_done) = unsafe { &*lock };
                drop(lock.lock());
                is_done.store(true, order);
            });
            // SAFETY: nobody frees it before.
            while unsafe { !(*lock).1.load(Acquire) } {
                thread::yield_now();
            }
            // SAFETY: it was a box.
            drop(unsafe { Box::from_raw(lock) });
            other.join().unwrap();
        }
    };
    count(run(Release));
    assert_fails("use after free: Mutex#1", run(Relaxed));
}

/// The trial of a free knows the memory by where it was allocated: other memory of its size may be
/// freed at the same step.
#[test]
fn a_free_is_not_taken_for_that_of_other_memory() {
    type Kept = std::mem::ManuallyDrop<AtomicUsize>;
    count(|| {
        let value = std::sync::Arc::new(Kept::new(AtomicUsize::new(0)));
        let like_it = Layout::new::<(AtomicUsize, usize, usize)>();
        // SAFETY: it has a size.
        let other = std::hint::black_box(unsafe { std::alloc::alloc(like_it) });
        let told = Arc::new(AtomicBool::new(false));
        let (theirs, tells) = (value.clone(), told.clone());
        let thread = thread::spawn(move || {
            theirs.store(1, Relaxed);
            tells.store(true, Relaxed);
            drop(theirs);
        });
        told.load(Relaxed);
        // SAFETY: it was allocated above.
        unsafe { std::alloc::dealloc(other, like_it) };
        drop(value);
        told.load(Relaxed);
        thread.join().unwrap();
    });
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
        // The runs that find a static do not count.
        builder.max_permutations = Some(1);
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
