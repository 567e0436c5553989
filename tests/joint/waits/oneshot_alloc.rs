//! The allocations of a channel, and that it gives everything back.

use crate::{common::each_row, prelude::*};

/// How many blocks `f` allocates. It must give all of them back, but for the parker that the thread
/// keeps for its waits: the first run does not count.
#[track_caller]
fn allocations(f: impl Fn()) -> usize {
    f();
    let before = COUNT.get();
    f();
    let after = COUNT.get();
    assert_eq!(after.live, before.live, "blocks are leaked, or freed twice");
    after.allocated - before.allocated
}

/// How many blocks `f` allocates on a thread that has waited for nothing yet.
fn allocations_at_first(f: impl FnOnce() + Send) -> usize {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let before = COUNT.get().allocated;
            f();
            COUNT.get().allocated - before
        });
        thread.join().unwrap()
    })
}

#[test]
fn a_wait_whose_deadline_has_passed_does_not_allocate() {
    let (_tx, mut rx) = channel::<Large>();
    let receive = || {
        let timeout = Err(RecvTimeoutError::Timeout);
        assert_eq!(rx.blocking_recv_deadline(Instant::now()), timeout);
        assert_eq!(rx.blocking_recv_timeout(Duration::ZERO), timeout);
    };
    assert_eq!(allocations_at_first(receive), 0);
    let mut completion = Completion::new();
    let (_completer, mut waiter) = completion.split();
    let wait = || {
        assert!(!waiter.blocking_wait_deadline(Instant::now()));
        assert!(!waiter.blocking_wait_timeout(Duration::ZERO));
    };
    assert_eq!(allocations_at_first(wait), 0);
}

fn poll<T>(receiver: &mut Receiver<T>, waker: &Waker) -> bool {
    let mut cx = Context::from_waker(waker);
    matches!(Pin::new(receiver).poll(&mut cx), Poll::Ready(_))
}

/// A large value, which is in the channel's own block too.
type Large = [u64; 1024];
const LARGE: Large = [7; 1024];

#[test]
fn a_channel_is_one_allocation_whichever_side_is_dropped_last() {
    let paths: [(&str, fn()); 6] = [
        ("received", || {
            let (tx, mut rx) = channel();
            tx.send(LARGE).unwrap();
            assert_eq!(rx.try_recv(), Ok(LARGE));
        }),
        ("of nothing", || {
            let (tx, mut rx) = channel();
            tx.send(()).unwrap();
            assert_eq!(rx.try_recv(), Ok(()));
        }),
        ("not received", || {
            let (tx, rx) = channel();
            tx.send(LARGE).unwrap();
            drop(rx);
        }),
        ("not sent", || {
            let (tx, rx) = channel::<Large>();
            drop(tx);
            drop(rx);
        }),
        ("given back", || {
            let (tx, rx) = channel();
            drop(rx);
            assert!(tx.send(LARGE).is_err());
        }),
        ("closed", || {
            let (tx, mut rx) = channel::<Large>();
            rx.close();
            drop(tx);
        }),
    ];
    each_row(paths, |path| assert_eq!(allocations(path), 1));
}

/// The stack of this thread has 2 MiB.
#[test]
fn a_channel_has_room_for_a_value_larger_than_the_stack() {
    type Larger = [u8; 8 << 20];
    assert_eq!(allocations(|| drop(channel::<Larger>())), 1);
}

/// Two wakers, each equal to its clones. Those that `Wake` makes need not be: their clones may have
/// a table at another address, as they do in Miri.
fn foreign() -> [Waker; 2] {
    static TABLE: RawWakerVTable =
        RawWakerVTable::new(|data| RawWaker::new(data, &TABLE), |_| (), |_| (), |_| ());
    // SAFETY: the functions use no data.
    [1, 2].map(|data| unsafe { Waker::new(std::ptr::without_provenance(data), &TABLE) })
}

#[test]
fn a_foreign_waker_takes_no_memory_and_a_second_one_a_box() {
    let wakers = foreign();
    let wait = || {
        let (tx, mut rx) = channel();
        assert!(!poll(&mut rx, &wakers[0]));
        assert!(!poll(&mut rx, &wakers[0]));
        tx.send(LARGE).unwrap();
        assert!(poll(&mut rx, &wakers[0]));
    };
    assert_eq!(allocations(wait), 1);
    let wait_with_another = || {
        let (tx, mut rx) = channel::<Large>();
        assert!(!poll(&mut rx, &wakers[0]));
        assert!(!poll(&mut rx, &wakers[1]));
        drop(rx);
        drop(tx);
    };
    assert_eq!(allocations(wait_with_another), 2);
}

#[test]
fn a_first_foreign_waker_in_a_slot_takes_no_memory() {
    let [waker, other] = foreign();
    let wait = |first: &Waker, last: &Waker| {
        let (mut completion, mut slot) = (Completion::new(), WakerSlot::new());
        let (completer, mut waiter) = completion.split_with(&mut slot);
        for waker in [first, last] {
            let mut cx = Context::from_waker(waker);
            assert!(Pin::new(&mut waiter).poll(&mut cx).is_pending());
        }
        completer.complete();
        assert!(waiter.is_finished());
    };
    assert_eq!(allocations(|| wait(&waker, &waker)), 0);
    assert_eq!(allocations(|| wait(&waker, &other)), 1);
}

#[test]
fn futures_2211_a_panicking_clone_leaves_the_receiver_as_it_was() {
    const TABLE: RawWakerVTable =
        RawWakerVTable::new(|_| panic!("no clone"), |_| (), |_| (), |_| ());
    // SAFETY: the functions use no data, and the waker is never cloned.
    let waker = unsafe { Waker::new(std::ptr::null(), &TABLE) };
    let [foreign, _] = foreign();
    let wait = || {
        let (tx, mut rx) = channel();
        let polled = catch_unwind(AssertUnwindSafe(|| poll(&mut rx, &waker)));
        assert!(polled.is_err());
        assert!(!poll(&mut rx, &foreign));
        let polled = catch_unwind(AssertUnwindSafe(|| poll(&mut rx, &waker)));
        assert!(polled.is_err());
        tx.send(LARGE).unwrap();
        // A poll that is ready does not clone it.
        assert!(poll(&mut rx, &waker));
    };
    allocations(wait);
}

#[test]
fn a_value_whose_drop_panics_leaks_nothing() {
    let dropped_by_the_receiver = || {
        let (tx, rx) = channel();
        assert!(tx.send(Bomb(Box::new(1))).is_ok());
        assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    };
    allocations(dropped_by_the_receiver);
    let dropped_by_the_sender = || {
        let (tx, rx) = channel();
        drop(rx);
        let send = || drop(tx.send(Bomb(Box::new(1))));
        assert!(catch_unwind(AssertUnwindSafe(send)).is_err());
    };
    allocations(dropped_by_the_sender);
}
