//! Many more waiters than the threads keep blocks for. This test has a program of its own, because
//! a test that counts allocations would find the blocks that it leaves.

#[path = "common/counting.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod counting;

use std::{
    cell::Cell,
    future::Future,
    pin::Pin,
    ptr,
    task::{Context, Poll, RawWaker, RawWakerVTable, Waker},
};

use counting::COUNT;
use joint::shared::{Sender, channel};

/// It stays on its thread, and does not outlive the slot.
fn waker_whose_clone_sends(slot: &Cell<Option<Sender<u32>>>) -> Waker {
    static TABLE: RawWakerVTable = RawWakerVTable::new(
        |data| {
            // SAFETY: the data is the slot, which the caller keeps alive, on the same thread.
            let slot = unsafe { &*data.cast::<Cell<Option<Sender<u32>>>>() };
            slot.take().into_iter().for_each(|tx| tx.send(1));
            RawWaker::new(data, &TABLE)
        },
        |_| {},
        |_| {},
        |_| {},
    );
    // SAFETY: the table does nothing but look at the slot, where the waker is cloned by the one who
    // made it.
    unsafe { Waker::new(ptr::from_ref(slot).cast(), &TABLE) }
}

#[test]
fn all_places_are_given_back_when_the_value_has_come_and_not_with_it() {
    // More than all threads keep.
    const WAITERS: usize = if cfg!(miri) { 100 } else { 200_000 };
    let (tx, shared) = channel();
    let before = COUNT.get().live;
    let wait = || {
        let mut wait = shared.wait();
        let mut cx = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut wait).poll(&mut cx).is_pending());
        wait
    };
    let mut waits: Vec<_> = (0..WAITERS).map(|_| wait()).collect();
    let waiting = COUNT.get().live - before;
    assert!(waiting >= 2 * WAITERS as isize, "a place and a waker each");
    // One more comes, and finds that the wait has ended while it came.
    let slot = Cell::new(Some(tx));
    let waker = waker_whose_clone_sends(&slot);
    let mut late = shared.wait();
    let poll = Pin::new(&mut late).poll(&mut Context::from_waker(&waker));
    assert_eq!(poll, Poll::Ready(Ok(&1)));
    for wait in &mut waits {
        let mut cx = Context::from_waker(Waker::noop());
        assert!(Pin::new(wait).poll(&mut cx).is_ready());
    }
    let kept = COUNT.get().live - before;
    // The vector, and what all threads keep of wakers of two words and places of three.
    let most = |words| 2048 * 1024 / (words * size_of::<usize>()) as isize;
    assert!(kept <= 1 + most(2) + most(3), "{kept} are kept");
    assert_eq!(shared.get(), Some(&1));
}
