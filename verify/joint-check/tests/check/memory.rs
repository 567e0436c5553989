//! Memory that a model frees.

use std::{
    alloc::{Layout, dealloc},
    mem::{ManuallyDrop, replace},
    ptr::null_mut,
    sync::Arc,
};

use joint_check::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::*},
    thread,
};

use crate::{Shared, assert_fails, count};

struct Node {
    waits: AtomicBool,
    next: AtomicPtr<Node>,
}

/// The lock of Mellor-Crummey and Scott. Each thread that holds it or waits has a node, and
/// compares its address with the last one.
struct Lock {
    last: AtomicPtr<Node>,
    value: Shared,
}

impl Lock {
    fn add(&self) {
        let node = Box::into_raw(Box::new(Node {
            waits: AtomicBool::new(true),
            next: AtomicPtr::new(null_mut()),
        }));
        // SAFETY: the thread frees its node at the end.
        let own = unsafe { &*node };
        let before = self.last.swap(node, AcqRel);
        if !before.is_null() {
            // SAFETY: its thread waits for this one.
            unsafe { &*before }.next.store(node, Release);
            while own.waits.load(Acquire) {
                spin_loop();
            }
        }
        self.value.write(self.value.read() + 1);
        let is_last = || {
            self.last
                .compare_exchange(node, null_mut(), AcqRel, Acquire)
        };
        if own.next.load(Acquire).is_null() && is_last().is_err() {
            while own.next.load(Acquire).is_null() {
                spin_loop();
            }
        }
        let next = own.next.load(Acquire);
        if !next.is_null() {
            // SAFETY: its thread waits for this one.
            unsafe { &*next }.waits.store(false, Release);
        }
        // SAFETY: the node is in no list.
        drop(unsafe { Box::from_raw(node) });
    }
}

/// If the address of a node were given to another one, a comparison would find another result when
/// the execution is run again.
#[test]
fn an_address_is_not_given_out_again_in_an_execution() {
    let found = count(|| {
        let lock = Arc::new(Lock {
            last: AtomicPtr::new(null_mut()),
            value: Shared::new(),
        });
        let theirs = lock.clone();
        let other = thread::spawn(move || (0..2).for_each(|_| theirs.add()));
        (0..2).for_each(|_| lock.add());
        other.join().unwrap();
        assert_eq!(lock.value.read(), 4);
    });
    assert!(found.complete > 100, "{found:?}");
}

/// A word in memory that its owner frees by hand.
struct Owner {
    word: *mut AtomicUsize,
    free: fn(*mut AtomicUsize),
}

// SAFETY: the word is an atomic, and the last owner frees it.
unsafe impl Send for Owner {}
// SAFETY: as for `Send`.
unsafe impl Sync for Owner {}

impl Owner {
    fn new(free: fn(*mut AtomicUsize)) -> Self {
        let word = Box::into_raw(Box::new(AtomicUsize::new(0)));
        Self { word, free }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        (self.free)(self.word);
    }
}

impl AsRef<AtomicUsize> for Owner {
    fn as_ref(&self) -> &AtomicUsize {
        // SAFETY: it is freed by the drop.
        unsafe { &*self.word }
    }
}

/// A word that is never dropped, or is.
struct Word<const IS_DROPPED: bool>(ManuallyDrop<AtomicUsize>);

impl<const IS_DROPPED: bool> Word<IS_DROPPED> {
    fn new() -> Self {
        Self(ManuallyDrop::new(AtomicUsize::new(0)))
    }
}

impl<const IS_DROPPED: bool> AsRef<AtomicUsize> for Word<IS_DROPPED> {
    fn as_ref(&self) -> &AtomicUsize {
        &self.0
    }
}

impl<const IS_DROPPED: bool> Drop for Word<IS_DROPPED> {
    fn drop(&mut self) {
        if IS_DROPPED {
            // SAFETY: it is not used again.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

/// When a thread tells another one that it has used a value, by a flag that orders nothing.
#[derive(Clone, Copy)]
enum Tells {
    Never,
    BeforeItsDrop,
    AfterItsDrop,
    /// And the other one waits for that.
    IsWaitedFor,
}

/// Checks two threads that use a value and then end their handles. Only `Arc` orders anything. If a
/// thread uses the value after its handle, that is found.
fn share<T: AsRef<AtomicUsize> + 'static>(
    tells: Tells,
    make: impl Fn() -> Arc<T> + Copy + Send + Sync + 'static,
    end: impl Fn(Arc<T>) + Copy + Send + Sync + 'static,
) {
    let run = |is_late: bool| {
        move || {
            let value = make();
            let told = joint_check::sync::Arc::new(AtomicBool::new(false));
            let (theirs, flag) = (value.clone(), told.clone());
            let thread = thread::spawn(move || {
                let word = std::ptr::from_ref::<AtomicUsize>((*theirs).as_ref());
                // SAFETY: the thread has a handle.
                unsafe { (*word).swap(1, Relaxed) };
                flag.store(matches!(tells, Tells::BeforeItsDrop), Relaxed);
                drop(theirs);
                if is_late {
                    // SAFETY: that is the bug.
                    unsafe { (*word).store(2, Relaxed) };
                }
                flag.store(!matches!(tells, Tells::Never), Relaxed);
            });
            (*value).as_ref().load(Relaxed);
            while !told.load(Relaxed) && matches!(tells, Tells::IsWaitedFor) {
                thread::yield_now();
            }
            end(value);
            told.load(Relaxed);
            thread.join().unwrap();
        }
    };
    count(run(false));
    assert_fails("use after free: AtomicUsize#1", run(true));
}

#[test]
fn a_value_in_stds_arc_is_freed_late_enough() {
    // SAFETY: it was a box.
    let boxed = |word| drop(unsafe { Box::from_raw(word) });
    // SAFETY: as above.
    let raw =
        |word: *mut AtomicUsize| unsafe { dealloc(word.cast(), Layout::new::<AtomicUsize>()) };
    for tells in [
        Tells::Never,
        Tells::BeforeItsDrop,
        Tells::AfterItsDrop,
        Tells::IsWaitedFor,
    ] {
        share(tells, || Arc::new(Word::<true>::new()), drop);
        // Only its memory ends, in an optimized build by a call in place of that of `Arc`.
        share(tells, || Arc::new(Word::<false>::new()), drop);
        // Its memory is not that of the `Arc`.
        share(tells, move || Arc::new(Owner::new(boxed)), drop);
        share(tells, move || Arc::new(Owner::new(raw)), drop);
    }
}

#[test]
fn a_value_that_is_taken_out_of_stds_arc_is_freed_late_enough() {
    let make = || Arc::new(Word::<true>::new());
    let waits = Tells::IsWaitedFor;
    share(waits, make, |value| drop(Arc::try_unwrap(value)));
    share(waits, make, |value| drop(Arc::into_inner(value)));
    let take = |mut value| drop(Arc::get_mut(&mut value).map(|value| replace(value, Word::new())));
    share(waits, make, take);
}

#[test]
fn memory_that_a_weak_handle_of_std_keeps_is_freed_late_enough() {
    share(
        Tells::IsWaitedFor,
        || Arc::new(Word::<false>::new()),
        |value| {
            let weak = Arc::downgrade(&value);
            drop(value);
            drop(weak);
        },
    );
}
