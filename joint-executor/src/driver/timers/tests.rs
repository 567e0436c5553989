//! Timers with misbehaving wakers.

use alloc::sync::Arc;
use core::{
    panic::AssertUnwindSafe,
    task::{RawWaker, RawWakerVTable},
};
use std::panic::catch_unwind;

use super::*;
use crate::wakes::waker_that;

fn fire_all(timers: &Timers, now: u64) -> Vec<Waker> {
    let mut woken = Vec::new();
    while timers.fire(now, &mut woken) == Fired::OneBatch {}
    woken
}

#[test]
fn the_earliest_deadline_is_known() {
    let timers = Timers::new();
    let waker = || Waker::noop().clone();
    assert_eq!(timers.earliest(), NEVER);
    let (late, earliest) = timers.insert(20, waker()).unwrap();
    assert_eq!(earliest, Earliest::Sooner);
    let (early, earliest) = timers.insert(10, waker()).unwrap();
    assert_eq!(earliest, Earliest::Sooner);
    let (tie, earliest) = timers.insert(10, waker()).unwrap();
    assert_eq!(earliest, Earliest::NotSooner);
    assert_eq!(timers.earliest(), 10);
    assert!(timers.remove(&early).is_some());
    assert_eq!(timers.earliest(), 10);
    assert_eq!(fire_all(&timers, 10).len(), 1);
    assert_eq!(timers.earliest(), 20);
    assert_eq!(timers.poll(&tie, Waker::noop()), Ok(Poll::Ready(())));
    assert!(timers.remove(&late).is_some());
    assert_eq!(timers.earliest(), NEVER);
}

#[test]
fn a_fired_timer_gives_its_place_back_when_it_is_polled() {
    let timers = Timers::new();
    let insert = || timers.insert(5, Waker::noop().clone()).unwrap().0;
    let fired = insert();
    assert_eq!(fire_all(&timers, 5).len(), 1);
    assert_ne!(insert(), fired);
    assert_eq!(timers.poll(&fired, Waker::noop()), Ok(Poll::Ready(())));
    assert_eq!(insert(), fired);
}

/// The clone of a foreign waker may use the timers.
#[test]
fn a_waker_is_cloned_without_the_lock() {
    const TABLE: RawWakerVTable = RawWakerVTable::new(clone, |_| {}, |_| {}, |_| {});
    fn clone(timers: *const ()) -> RawWaker {
        // SAFETY: the address is that of the timers of the test, which outlive their wakers.
        let unlocked = unsafe { &*timers.cast::<Timers>() };
        assert!(unlocked.queue.try_lock().is_ok());
        RawWaker::new(timers, &TABLE)
    }
    let timers = Timers::new();
    // SAFETY: the functions of the table are those of a waker that holds nothing.
    let waker = unsafe { Waker::from_raw(RawWaker::new((&raw const timers).cast(), &TABLE)) };
    let (key, _) = timers.insert(5, Waker::noop().clone()).unwrap();
    assert_eq!(timers.poll(&key, &waker), Ok(Poll::Pending));
    assert_eq!(fire_all(&timers, 5).len(), 1);
}

/// Removes another timer from the queue when it is dropped, as a waker's drop may, and then panics.
struct Removes(Arc<Timers>, Option<Key>);

impl Drop for Removes {
    fn drop(&mut self) {
        if let Some(other) = self.1.take() {
            assert!(self.0.remove(&other).is_some());
            panic!("a waker's drop panics");
        }
    }
}

#[test]
fn the_timers_are_unlocked_while_a_waker_is_dropped() {
    type Drops = fn(&Timers, Key);
    let ways: [Drops; 4] = [
        |timers, key| drop(timers.remove(&key)),
        |timers, key| _ = timers.poll(&key, Waker::noop()),
        |timers, _| drop(fire_all(timers, 1)),
        |timers, _| drop(timers.close()),
    ];
    for (way, drops) in ways.into_iter().enumerate() {
        let timers = Arc::new(Timers::new());
        // The closed queue has no other timers to remove.
        let other = (way < 3).then(|| timers.insert(8, Waker::noop().clone()).unwrap().0);
        let is_closed = other.is_none();
        let removes = Removes(timers.clone(), other);
        let waker = waker_that(move || drop(removes));
        let (key, _) = timers.insert(1, waker).unwrap();
        let dropped = catch_unwind(AssertUnwindSafe(|| drops(&timers, key)));
        assert_eq!(dropped.is_err(), !is_closed, "way {way}");
        // No lock is held, and nothing is broken.
        assert_eq!(timers.insert(3, Waker::noop().clone()).is_err(), is_closed);
    }
}
