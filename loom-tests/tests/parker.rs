//! Models of the parker alone: references that are cloned on one thread and dropped on the other,
//! and wake-ups of both, while the parker ends. `local_executor` and `oneshot` model what is built
//! on it.
#![cfg(joint_loom)]

use std::{
    sync::{
        Arc,
        atomic::Ordering::{Acquire, Relaxed},
    },
    task::Waker,
};

use joint::waker::park::Parker;
use joint_switch::model::{set_ref_limit, sites_seen};
use loom_tests::lab::{
    sync::{Mutex, atomic::AtomicUsize},
    thread,
};
use loom_tests::{assert_killed, model};

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

/// The clone comes home before the parker's end.
fn references_cross_before_the_end() {
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
fn references_cross_after_the_end() {
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

/// More references come home than leave it, so the home thread's own count is below zero at the
/// end.
fn more_come_home_than_leave() {
    model(|| {
        let parker = Parker::new();
        let slots = [start_other(&parker), start_other(&parker)];
        let came = slots.map(|slot| slot.lock().unwrap().take());
        drop(came);
        drop(parker);
    });
}

/// Lowers how far the home thread's count may be from 0, for as long as it lives.
struct Lowered(());

impl Lowered {
    fn new() -> Self {
        set_ref_limit(1);
        Self(())
    }
}

impl Drop for Lowered {
    fn drop(&mut self) {
        set_ref_limit(1 << 27);
    }
}

/// The home thread moves its count over while the other thread clones and drops.
fn the_count_is_moved_over() {
    let _lowered = Lowered::new();
    model(|| {
        let parker = Parker::new();
        let slot = start_other(&parker);
        let kept = [(); 2].map(|()| parker.waker().clone());
        drop(kept);
        let clone = slot.lock().unwrap().take();
        drop(clone);
        drop(parker);
    });
}

#[test]
fn references_may_cross_before_the_end() {
    references_cross_before_the_end();
}

#[test]
fn references_may_cross_after_the_end() {
    references_cross_after_the_end();
}

#[test]
fn more_references_may_come_home_than_leave() {
    more_come_home_than_leave();
}

#[test]
fn the_home_threads_count_may_be_moved_over_at_any_time() {
    the_count_is_moved_over();
}

/// A wake-up of the home thread takes nothing from one that comes from elsewhere.
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

macro_rules! killed {
    ($($name:ident: $site:literal by $model:ident;)*) => {
        $(
            #[test]
            fn $name() {
                assert_killed($site, Relaxed, || $model());
            }
        )*

        /// Each site that a model reaches either asks for `Relaxed` or is in the list, or in that
        /// of `local_executor`, which has what passes on the wake-up.
        #[test]
        fn no_site_is_left_out() {
            let killed = [$($site,)* "waker::park::parker::notify", "waker::park::parker::take"];
            $($model();)*
            for (site, asked) in sites_seen() {
                assert!(asked == Relaxed || killed.contains(&&*site), "no model kills `{site}`");
            }
        }
    };
}

killed! {
    release_before_the_end: "waker::park::parker::release" by references_cross_before_the_end;
    release_after_the_end: "waker::park::parker::release" by references_cross_after_the_end;
    free_before_the_end: "waker::park::parker::free" by references_cross_before_the_end;
    free_after_the_end: "waker::park::parker::free" by references_cross_after_the_end;
    free_with_more_at_home: "waker::park::parker::free" by more_come_home_than_leave;
}
