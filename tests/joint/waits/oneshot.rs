//! The channel's promises, through its public API.

use joint::{
    block_on,
    oneshot::{RecvError, SendError, Sender, TryRecvError},
};

use crate::{
    common::{panics, poll_with},
    prelude::*,
};

#[test]
fn a_finished_receiver_neither_hangs_nor_panics() {
    let (tx, mut rx) = channel();
    tx.send(1).unwrap();
    assert_eq!(rx.try_recv(), Ok(1));
    assert!(rx.is_finished());
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    assert_eq!(
        poll_with(&mut rx, Waker::noop()),
        Poll::Ready(Err(RecvError))
    );
    let closed = Err(RecvTimeoutError::Closed);
    assert_eq!(rx.blocking_recv_timeout(Duration::MAX), closed);
    assert_eq!(rx.blocking_recv_deadline(Instant::now()), closed);
    rx.close();
    assert_eq!(rx.blocking_recv(), Err(RecvError));
}

#[cfg(feature = "futures-core")]
#[test]
fn receivers_and_handles_say_whether_they_have_answered() {
    use futures_core::FusedFuture;

    let (tx, mut rx) = channel();
    let (runnable, mut handle) = joint::task::spawn(async {}, |_| {});
    assert!(!rx.is_terminated() && !FusedFuture::is_terminated(&rx));
    assert!(!handle.is_terminated());
    tx.send(1).unwrap();
    runnable.run();
    assert!(poll_with(&mut rx, Waker::noop()).is_ready());
    assert!(poll_with(&mut handle, Waker::noop()).is_ready());
    assert!(FusedFuture::is_terminated(&rx) && handle.is_terminated());
}

#[test]
fn a_timeout_leaves_the_receiver_as_it_was() {
    let (tx, mut rx) = channel();
    let timeout = Err(RecvTimeoutError::Timeout);
    assert_eq!(rx.blocking_recv_timeout(Duration::ZERO), timeout);
    assert_eq!(rx.blocking_recv_timeout(Duration::from_micros(10)), timeout);
    assert_eq!(rx.blocking_recv_deadline(Instant::now()), timeout);
    assert!(!rx.is_finished() && !rx.is_closed() && !rx.has_message());
    let (wakes, waker) = counting();
    assert_eq!(poll_with(&mut rx, &waker), Poll::Pending);
    tx.send(1).unwrap();
    assert_eq!(wakes.count(), 1);
    assert!(rx.is_finished());
    assert_eq!(rx.blocking_recv_timeout(Duration::ZERO), Ok(1));
}

/// What a receiver has done before the sender ends, whether that closes the channel, how many of
/// each of two wakers it keeps, and how it is done.
type Before = (
    &'static str,
    bool,
    [usize; 2],
    fn(Receiver<Dropped>, &[Waker; 2]) -> Option<Receiver<Dropped>>,
);

const BEFORE: [Before; 8] = [
    ("nothing", false, [0, 0], |rx, _| Some(rx)),
    ("polls", false, [1, 0], |rx, [waker, _]| {
        Some(polled(rx, [waker; 2]))
    }),
    ("polls with both", false, [0, 1], |rx, [waker, other]| {
        Some(polled(rx, [waker, other]))
    }),
    ("polls, and moves", false, [1, 0], |rx, [waker, _]| {
        Some(through_raw(polled(rx, [waker; 2])))
    }),
    ("closes", true, [0, 0], |rx, _| Some(closed(rx))),
    ("polls, and closes", true, [0, 0], |rx, [waker, _]| {
        Some(closed(polled(rx, [waker; 2])))
    }),
    ("is dropped", true, [0, 0], |_, _| None),
    ("polls, and is dropped", true, [0, 0], |rx, [waker, _]| {
        drop(polled(rx, [waker; 2]));
        None
    }),
];

fn polled<T>(mut rx: Receiver<T>, wakers: [&Waker; 2]) -> Receiver<T> {
    for waker in wakers {
        assert!(poll_with(&mut rx, waker).is_pending());
    }
    rx
}

fn closed<T>(mut rx: Receiver<T>) -> Receiver<T> {
    rx.close();
    rx
}

type After = fn(Receiver<Dropped>) -> Option<Dropped>;

const AFTER: [(&str, After); 9] = [
    ("it blocks", |rx| rx.blocking_recv().ok()),
    ("it is awaited", |rx| block_on(rx).ok()),
    ("it tries", |mut rx| rx.try_recv().ok()),
    ("it blocks up to a limit", |mut rx| {
        rx.blocking_recv_timeout(Duration::MAX).ok()
    }),
    ("it closes, and blocks", |mut rx| {
        rx.close();
        rx.blocking_recv().ok()
    }),
    ("it moves as a pointer, and blocks", |rx| {
        through_raw(rx).blocking_recv().ok()
    }),
    ("it is a pointer, and is taken", taken_by_pointer),
    ("it is dropped", |_| None),
    ("it closes, and is dropped", |mut rx| {
        rx.close();
        None
    }),
];

fn through_raw<T>(rx: Receiver<T>) -> Receiver<T> {
    // SAFETY: the pointer of a receiver of the same type, used once, on the same thread.
    unsafe { Receiver::from_raw(rx.into_raw()) }
}

/// The value, and nothing in the receiver that the pointer is turned back into.
fn taken_by_pointer(rx: Receiver<Dropped>) -> Option<Dropped> {
    if rx.is_terminated() {
        return None;
    }
    let raw = rx.into_raw();
    let registration = &mut Registration::new();
    // SAFETY: the pointer of a receiver of the same type, which only this function has.
    let ended = unsafe { Receiver::<Dropped>::raw_poll(raw, Waker::noop(), registration) };
    let value = match ended {
        // SAFETY: as above, and there is a value.
        Poll::Ready(Ended::Done) => Some(unsafe { Receiver::<Dropped>::raw_take(raw) }),
        _ => None,
    };
    // SAFETY: as above, and it is not used after this.
    let mut rx = unsafe { Receiver::<Dropped>::from_raw(raw) };
    assert!(rx.is_closed() && !rx.is_terminated());
    assert!(poll_with(&mut rx, Waker::noop()).is_ready() && rx.is_terminated());
    value
}

/// One path through a channel, with all that it must and must not do.
fn walk(before: Before, sends: bool, takes: bool, after: After) {
    let (_, closes, registers, before) = before;
    let drops = Count::new();
    let pairs = [counting(), counting()];
    let wakers = pairs.each_ref().map(|(_, waker)| waker.clone());
    let (tx, rx) = channel::<Dropped>();
    // SAFETY: the pointer of a sender of the same type, used once, on the same thread.
    let tx = unsafe { Sender::<Dropped>::from_raw(tx.into_raw()) };

    let rx = before(rx, &wakers);
    assert_eq!(tx.is_closed(), closes);
    let is_connected = rx.as_ref().is_some_and(|rx| tx.is_connected_to(rx));
    assert_eq!(is_connected, !closes);
    assert!(!tx.is_connected_to(&channel().1));
    // One of the two that are here is the table's. It drops what it has not registered any more.
    let kept = pairs.each_ref().map(|(wakes, _)| wakes.wakers() - 2);
    assert_eq!(kept, registers);
    if sends {
        let came_back = tx.send(Dropped(drops.clone())).is_err();
        assert_eq!(came_back, closes);
    } else {
        drop(tx);
    }
    let woken = pairs.each_ref().map(|(wakes, _)| wakes.count());
    assert_eq!(woken, registers);

    let received = rx.and_then(|rx| {
        assert!(rx.is_finished());
        let has_message = sends && !closes;
        assert_eq!(
            (rx.has_message(), rx.is_empty()),
            (has_message, !has_message)
        );
        assert_eq!(rx.is_closed(), !has_message);
        after(rx)
    });
    assert_eq!(received.is_some(), sends && takes && !closes);
    drop(received);

    assert_eq!(drops.get(), usize::from(sends));
    drop(wakers);
    for (wakes, waker) in pairs {
        drop(waker);
        assert_eq!(Arc::strong_count(&wakes), 1, "a waker is kept");
    }
}

#[test]
fn every_path_drops_the_value_and_the_wakers_exactly_once() {
    for before in BEFORE {
        for sends in [false, true] {
            for (name, after) in AFTER {
                let takes = !name.ends_with("dropped");
                let path = catch_unwind(AssertUnwindSafe(|| walk(before, sends, takes, after)));
                assert!(path.is_ok(), "{}, sends: {sends}, {name}", before.0);
            }
        }
    }
}

#[test]
fn a_waker_whose_drop_panics_leaves_all_sound() {
    fn polled(panics_at: At) -> (Sender<u8>, Receiver<u8>) {
        let (tx, mut rx) = channel();
        let (hooks, bad) = hooked();
        assert_eq!(poll_with(&mut rx, &bad), Poll::Pending);
        drop(bad);
        hooks.panics_next(panics_at);
        (tx, rx)
    }
    let (tx, mut rx) = polled(At::Drop);
    let (wakes, waker) = counting();
    panics(|| poll_with(&mut rx, &waker));
    tx.send(1).unwrap();
    assert_eq!((wakes.count(), rx.try_recv()), (1, Ok(1)));

    let (tx, rx) = polled(At::Drop);
    panics(|| drop(rx));
    assert_eq!(tx.send(1), Err(SendError(1)));

    let (tx, mut rx) = polled(At::Drop);
    panics(|| rx.close());
    assert_eq!(tx.send(1), Err(SendError(1)));
    assert_eq!(rx.blocking_recv(), Err(RecvError));

    let (tx, rx) = polled(At::Wake);
    panics(|| tx.send(1));
    assert_eq!(rx.blocking_recv(), Ok(1));
}

/// A channel of whose receiver a waker is registered that drops the sender when it is dropped.
fn whose_waker_drops_the_sender() -> Receiver<u8> {
    let (tx, mut rx) = channel();
    let (hooks, waker) = hooked();
    assert_eq!(poll_with(&mut rx, &waker), Poll::Pending);
    drop(waker);
    hooks.next(At::Drop, move || drop(tx));
    rx
}

#[test]
fn folo_463_a_waker_whose_drop_drops_the_sender() {
    drop(whose_waker_drops_the_sender());

    let mut rx = whose_waker_drops_the_sender();
    rx.close();
    assert_eq!(rx.blocking_recv(), Err(RecvError));

    let mut rx = whose_waker_drops_the_sender();
    let (wakes, other) = counting();
    assert_eq!(poll_with(&mut rx, &other), Poll::Pending);
    assert_eq!(wakes.count(), 1);
    assert_eq!(poll_with(&mut rx, &other), Poll::Ready(Err(RecvError)));
}

#[test]
fn a_waker_whose_clone_drops_the_sender() {
    let (tx, mut rx) = channel::<u8>();
    let (hooks, waker) = hooked();
    hooks.next(At::Clone, move || drop(tx));
    assert_eq!(poll_with(&mut rx, &waker), Poll::Ready(Err(RecvError)));
}

#[test]
fn the_ends_go_where_their_value_may_go_and_take_little_room() {
    fn send<T: Send>() {}
    fn sync<T: Sync>() {}
    fn unpin<T: Unpin>() {}
    send::<Sender<Cell<u8>>>();
    sync::<Sender<Cell<u8>>>();
    send::<Receiver<Cell<u8>>>();
    sync::<Receiver<Cell<u8>>>();
    unpin::<Sender<std::marker::PhantomPinned>>();
    unpin::<Receiver<std::marker::PhantomPinned>>();
    assert_eq!(size_of::<Sender<u8>>(), size_of::<usize>());
    assert_eq!(size_of::<Receiver<u8>>(), 3 * size_of::<usize>());
}

#[test]
fn errors_and_ends_say_what_they_are() {
    struct Mute;
    let (tx, rx) = channel::<Mute>();
    assert_eq!(format!("{tx:?}"), "Sender { is_closed: false }");
    assert_eq!(format!("{rx:?}"), "Receiver { is_finished: false }");
    drop(rx);
    let error = tx.send(Mute).unwrap_err();
    assert_eq!(format!("{error:?}"), "SendError(..)");
    assert_eq!(error.to_string(), "sending on a closed channel");
    assert_eq!(RecvError.to_string(), "receiving on a closed channel");
    assert_eq!(TryRecvError::Closed.to_string(), RecvError.to_string());
    let timeout: &dyn std::error::Error = &RecvTimeoutError::Timeout;
    assert_eq!(timeout.to_string(), "timed out waiting on a channel");
    let _: (Sender<u8>, Receiver<u8>) = oneshot::channel();
}

const GOES: [fn(Receiver<u8>); 2] = [drop, |mut rx| {
    rx.close();
    assert!(rx.is_terminated());
}];

#[test]
fn a_sender_that_waits_is_woken_when_the_receiver_goes() {
    for go in GOES {
        let (mut tx, rx) = channel::<u8>();
        let [(old, old_waker), (wakes, waker)] = [counting(), counting()];
        let poll = |tx: &mut Sender<u8>, waker| tx.poll_closed(&mut Context::from_waker(waker));
        assert!(poll(&mut tx, &old_waker).is_pending());
        assert!(poll(&mut tx, &waker).is_pending());
        assert_eq!(old.wakers(), 1, "a later poll replaces the waker");
        go(rx);
        assert_eq!((old.count(), wakes.count(), wakes.wakers()), (0, 1, 1));
        assert!(poll(&mut tx, &waker).is_ready());
        assert!(poll(&mut tx, &waker).is_ready());
        assert!(tx.is_closed());
        assert_eq!(tx.send(1), Err(SendError(1)));
    }
}

/// It wakes nobody, and the channel does not keep it until the receiver goes.
#[test]
fn a_senders_waker_goes_with_the_sender() {
    for sends in [false, true] {
        let (mut tx, mut rx) = channel();
        let (wakes, waker) = counting();
        assert!(
            tx.poll_closed(&mut Context::from_waker(&waker))
                .is_pending()
        );
        assert_eq!(wakes.wakers(), 2);
        match sends {
            true => tx.send(1).unwrap(),
            false => drop(tx),
        }
        assert_eq!((wakes.count(), wakes.wakers()), (0, 1));
        assert_eq!(rx.try_recv().is_ok(), sends);
    }
}
