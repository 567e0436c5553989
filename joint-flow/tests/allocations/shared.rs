//! The allocations of a shared result, that many who come and go do not make it grow, and that it
//! gives everything back.

use std::{
    cell::Cell,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    ptr,
    sync::Barrier,
    task::{Context, Poll, RawWaker, RawWakerVTable, Waker},
    time::{Duration, Instant},
};

use crate::counting::{Bomb, COUNT};
use joint_flow::shared::{Sender, Shared, Wait, channel};

/// How many blocks `f` allocates on a thread that has waited for nothing yet. All of them, but for
/// the parker that the thread keeps for its waits, must have been given back when it ends.
fn allocations(f: impl Fn() + Sync) -> usize {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let before = COUNT.get();
            f();
            let first = COUNT.get();
            f();
            let second = COUNT.get();
            assert_eq!(second.live, first.live, "blocks are leaked, or freed twice");
            first.allocated - before.allocated
        });
        thread.join().unwrap()
    })
}

fn register<'a, T>(shared: &'a Shared<T>, waker: &Waker) -> Wait<'a, T> {
    let mut wait = shared.wait();
    let mut cx = Context::from_waker(waker);
    assert!(Pin::new(&mut wait).poll(&mut cx).is_pending());
    wait
}

/// A large value, which is in the channel's own block too.
type Large = [u64; 1024];
const LARGE: Large = [7; 1024];

/// The channel is one allocation, and each waiter's waker is foreign, so it is boxed.
fn places(allocations: usize, waiters: usize) -> usize {
    allocations - 1 - waiters
}

#[test]
fn a_shared_value_without_waiters_is_one_allocation() {
    let got = || {
        let (tx, shared) = channel();
        let clone = shared.clone();
        tx.send(LARGE);
        assert_eq!(shared.get(), Some(&LARGE));
        assert_eq!(clone.blocking_wait(), Ok(&LARGE));
    };
    assert_eq!(allocations(got), 1);
    let not_got = || {
        let (tx, shared) = channel();
        drop(shared);
        tx.send(LARGE);
    };
    assert_eq!(allocations(not_got), 1);
    let not_sent = || {
        let (tx, shared) = channel::<Large>();
        drop(tx);
        drop(shared);
    };
    assert_eq!(allocations(not_sent), 1);
}

#[test]
fn a_wait_whose_deadline_has_passed_does_not_allocate() {
    let (_tx, shared) = channel::<Large>();
    let wait = || {
        assert_eq!(shared.blocking_wait_deadline(Instant::now()), Ok(None));
        assert_eq!(shared.blocking_wait_timeout(Duration::ZERO), Ok(None));
    };
    assert_eq!(allocations(wait), 0);
}

#[test]
fn a_million_waiters_in_turn_take_two_places_for_each_at_once() {
    const AT_ONCE: usize = 8;
    let rounds = if cfg!(miri) { 100 } else { 1_000_000 };
    let come_and_go = || {
        let (tx, shared) = channel();
        let mut waits: [_; AT_ONCE] = std::array::from_fn(|_| None);
        for round in 0..rounds {
            // One that is there goes, not always the oldest or the newest, and another comes.
            let who = (round * 5 + round / 7) % AT_ONCE;
            waits[who] = None;
            waits[who] = Some(register(&shared, Waker::noop()));
        }
        tx.send(LARGE);
    };
    let places = places(allocations(come_and_go), rounds);
    assert!(places <= 2 * AT_ONCE, "{places} places");
}

#[test]
fn waiters_on_racing_threads_stay_within_the_bound_of_places() {
    const THREADS: usize = 4;
    let rounds = if cfg!(miri) { 20 } else { 50_000 };
    let (tx, shared) = channel::<Large>();
    let start = Barrier::new(THREADS);
    let allocated: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    let before = COUNT.get().allocated;
                    let mut stays = register(&shared, Waker::noop());
                    for _ in 0..rounds {
                        stays = register(&shared, Waker::noop());
                    }
                    drop(stays);
                    COUNT.get().allocated - before
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    tx.send(LARGE);
    // Two wait at a time in each thread. Each waiter's waker is boxed. A thread that came too late
    // with a place keeps it.
    let (places, boxes, late) = (2 * 2 * THREADS, (1 + rounds) * THREADS, THREADS);
    assert!(allocated <= places + boxes + late, "{allocated} blocks");
}

#[test]
fn a_blocking_wait_that_gives_up_takes_its_place_again() {
    let wait = || {
        let (tx, shared) = channel();
        for _ in 0..1000 {
            assert_eq!(
                shared.blocking_wait_timeout(Duration::from_nanos(1)),
                Ok(None)
            );
        }
        tx.send(LARGE);
        assert_eq!(shared.blocking_wait(), Ok(&LARGE));
    };
    // The block, two places, and the thread's parker, which is kept.
    assert!(allocations(wait) <= 1 + 2 + 1);
}

#[test]
fn a_value_whose_drop_panics_leaks_nothing() {
    let dropped_by_the_last = || {
        let (tx, shared) = channel();
        let wait = register(&shared, Waker::noop());
        tx.send(Bomb(Box::new(1)));
        drop(wait);
        assert!(catch_unwind(AssertUnwindSafe(|| drop(shared))).is_err());
    };
    allocations(dropped_by_the_last);
    let dropped_by_the_sender = || {
        let (tx, shared) = channel();
        drop(shared);
        let send = || tx.send(Bomb(Box::new(1)));
        assert!(catch_unwind(AssertUnwindSafe(send)).is_err());
    };
    allocations(dropped_by_the_sender);
}

#[test]
fn a_wait_that_is_forgotten_leaks_nothing() {
    let forgotten = || {
        let (tx, shared) = channel();
        std::mem::forget(register(&shared, Waker::noop()));
        tx.send(LARGE);
        drop(shared);
        let (tx, shared) = channel::<Large>();
        std::mem::forget(register(&shared, Waker::noop()));
        drop(shared);
        drop(tx);
    };
    allocations(forgotten);
}

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
fn all_places_are_given_back_once_the_value_has_come() {
    const WAITERS: usize = 100;
    let (tx, shared) = channel();
    let before = COUNT.get().live;
    let mut waits: Vec<_> = (0..WAITERS)
        .map(|_| register(&shared, Waker::noop()))
        .collect();
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
    assert_eq!(kept, 1, "the vector");
    assert_eq!(shared.get(), Some(&1));
}

/// The stack of this thread has 2 MiB.
#[test]
fn a_channel_has_room_for_a_value_larger_than_the_stack() {
    type Larger = [u8; 8 << 20];
    assert_eq!(allocations(|| drop(channel::<Larger>())), 1);
}
