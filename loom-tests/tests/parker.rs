//! Models of the parker alone: references that are cloned on one thread and dropped on the other,
//! while the parker ends, and wake-ups of both against the looks and parks of the thread.
//! `local_executor` and `oneshot` model what is built on it.

use joint::park::{Parker, park_until};
use joint_switch::model::observe::{Operation, Step};
use loom_tests::lab::{
    sync::{Mutex, atomic::AtomicUsize},
    thread,
};

use crate::prelude::*;

/// A place in which one thread leaves a waker for the other. The other side looks only once.
type Slot = Arc<Mutex<Option<Waker>>>;

/// Another thread with a waker that was cloned at home. It clones it, leaves the clone for the home
/// thread, wakes, and drops. No thread is joined, because loom mistakes a wake-up of a joining
/// thread for the end of the thread that it joins.
fn start_other(parker: &Parker) -> Slot {
    let slot = Slot::new(Mutex::new(None));
    let (left, waker) = (slot.clone(), parker.waker().clone());
    thread::spawn(move || {
        let clone = waker.clone();
        *left.lock().unwrap() = Some(clone);
        waker.wake();
    });
    slot
}

#[test]
fn references_may_cross_before_the_end() {
    model(|| {
        let parker = Parker::new();
        let slot = start_other(&parker);
        parker.waker().wake_by_ref();
        assert!(parker.take_wake());
        let clone = slot.lock().unwrap().take();
        if let Some(clone) = &clone {
            clone.wake_by_ref();
            assert!(parker.is_woken());
        }
        drop(clone);
        drop(parker);
    });
}

/// The clone comes home after the parker's end, and is cloned and used there once more.
#[test]
fn references_may_cross_after_the_end() {
    model(|| {
        let parker = Parker::new();
        let slot = start_other(&parker);
        let kept = parker.waker().clone();
        drop(parker);
        let clone = slot.lock().unwrap().take();
        drop(kept);
        if let Some(clone) = clone {
            let again = clone.clone();
            again.wake();
        }
    });
}

#[test]
fn a_wake_up_of_each_side_is_seen() {
    model(|| {
        let parker = Parker::new();
        let done = Arc::new(AtomicUsize::new(0));
        let (written, waker) = (done.clone(), parker.waker().clone());
        thread::spawn(move || {
            written.store(1, Relaxed);
            waker.wake();
        });
        parker.waker().wake_by_ref();
        while done.load(Acquire) == 0 {
            parker.park();
        }
    });
}

#[test]
fn writes_before_a_merged_wake_up_are_visible_to_the_parker() {
    model(|| {
        let parker = Parker::new();
        let raised = Arc::new(AtomicUsize::new(0));
        let ended = Arc::new(AtomicUsize::new(0));
        let (flag, end, waker) = (raised.clone(), ended.clone(), parker.waker().clone());
        thread::spawn(move || {
            waker.wake_by_ref();
            flag.store(1, Relaxed);
            waker.wake_by_ref();
            end.store(1, Relaxed);
        });
        let ended = ended.load(Relaxed);
        if parker.take_wake() && ended == 1 {
            assert_eq!(raised.load(Relaxed), 1);
        }
    });
}

/// What a thread did before it gave a clone up is visible once the clone is not counted any more.
/// It does not wake, because loom's unpark would make that edge.
#[test]
fn writes_before_the_drop_of_a_clone_are_visible_to_a_count() {
    model(|| {
        let parker = Parker::new();
        let written = Arc::new(AtomicUsize::new(0));
        let (flag, waker) = (written.clone(), parker.waker().clone());
        thread::spawn(move || {
            flag.store(1, Relaxed);
            drop(waker);
        });
        if parker.clones() == 0 {
            assert_eq!(written.load(Relaxed), 1);
        }
    });
}

/// A wake-up of the home thread between its look and its park, as a signal handler may make it,
/// while another thread wakes too.
#[test]
fn a_wake_up_between_the_look_and_the_park_ends_the_park() {
    model(|| {
        let parker = Parker::new();
        let waker = parker.waker().clone();
        thread::spawn(move || waker.wake());
        for _ in 0..2 {
            park_until(None, || {
                let woken = parker.take_wake();
                parker.waker().wake_by_ref();
                woken
            });
        }
    });
}

thread_local! {
    /// The waker that a signal handler will wake.
    static SIGNALLED: RefCell<Option<Waker>> = const { RefCell::new(None) };
    /// The number of operations before the handler.
    static LEFT: Cell<usize> = const { Cell::new(0) };
    /// Whether the handler has run.
    static ARRIVED: Cell<bool> = const { Cell::new(false) };
    /// Whether the thread was about to park when the handler ran.
    static AT_PARK: Cell<bool> = const { Cell::new(false) };
}

/// Runs the signal handler before an operation, if this is the one.
fn interrupt(operation: Operation) {
    let parks = matches!(operation.step, Step::Park);
    if ARRIVED.get() || LEFT.get() > 0 && !parks {
        return LEFT.set(LEFT.get().saturating_sub(1));
    }
    ARRIVED.set(true);
    AT_PARK.set(parks);
    SIGNALLED.with_borrow(|waker| waker.as_ref().unwrap().wake_by_ref());
}

/// A handler on the parker's own thread, before each operation of the wait up to the park.
/// The thread may have woken itself before, and it may have looked before that.
#[test]
fn a_wake_up_in_a_signal_handler_is_not_lost() {
    for (looks, wakes) in [(false, false), (false, true), (true, false), (true, true)] {
        AT_PARK.set(false);
        let mut operations = 0;
        while !AT_PARK.get() {
            model(move || {
                let parker = Parker::new();
                let _woken = looks && parker.take_wake();
                if wakes {
                    parker.waker().wake_by_ref();
                }
                ARRIVED.set(false);
                SIGNALLED.set(Some(parker.waker().clone()));
                LEFT.set(operations);
                set_observer(Some(interrupt));
                while !ARRIVED.get() {
                    parker.park();
                }
                set_observer(None);
                drop(SIGNALLED.take());
            });
            operations += 1;
        }
        assert!(operations > 1);
    }
}

/// The thread's own wakers and wake-ups. A look that finds nothing takes one.
#[test]
fn a_thread_that_wakes_itself_takes_no_read_modify_write() {
    model(|| {
        let parker = Parker::new();
        let taken = rmws_of(|| {
            parker.waker().wake_by_ref();
            assert!(parker.is_woken());
            assert!(parker.take_wake());
        });
        assert_eq!(taken, 0);
        assert_eq!(rmws_of(|| assert!(!parker.take_wake())), 1);
    });
}
