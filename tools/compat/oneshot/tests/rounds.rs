//! The programs of oneshot's known uses of freed memory, as many rounds as
//! `JOINT_ONESHOT_ROUNDS` says. They are of use under a sanitizer: `cargo xtask asan`.
#![cfg(feature = "async")]

use std::{
    env,
    hint::spin_loop,
    pin::Pin,
    sync::{
        Arc,
        atomic::{
            AtomicUsize,
            Ordering::{Acquire, Release},
        },
        mpsc,
    },
    task::{Context, Poll, Wake, Waker},
    thread,
};

use oneshot::{AsyncReceiver, Sender, async_channel};

/// The channels that the threads go through between two of their meetings.
const BATCH: usize = 1024;

fn rounds() -> usize {
    let rounds = env::var("JOINT_ONESHOT_ROUNDS").map(|rounds| rounds.parse().unwrap());
    rounds.unwrap_or(if cfg!(miri) { 64 } else { 100_000 })
}

/// A waker with memory of its own, which a copy of its pointer may outlive.
struct Nobody;

impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

/// Waits for a moment for the other thread to come to the same round. It may not be running.
fn meet(own: &AtomicUsize, other: &AtomicUsize, round: usize) {
    own.store(round, Release);
    for _ in 0..20 {
        if other.load(Acquire) >= round {
            return;
        }
        spin_loop();
    }
}

/// The receiver has been polled once, and ends by `receive` while the other thread does `send`.
fn race(send: fn(Sender<Box<usize>>, usize), receive: fn(AsyncReceiver<Box<usize>>, &Waker)) {
    let rounds = rounds();
    let (here, there) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (batches, senders) = mpsc::sync_channel::<(usize, Vec<Sender<_>>)>(1);
    thread::scope(|scope| {
        scope.spawn(|| {
            for (first, senders) in senders {
                for (round, sender) in (first..).zip(senders) {
                    meet(&there, &here, round);
                    send(sender, round);
                }
            }
        });
        let shared = Waker::from(Arc::new(Nobody));
        for first in (1..=rounds).step_by(BATCH) {
            let one = |round| {
                // Some have a waker of their own, whose memory is freed with it.
                let waker = match round % 4 {
                    0 => Waker::from(Arc::new(Nobody)),
                    _ => shared.clone(),
                };
                let (sender, mut receiver) = async_channel();
                let poll = Pin::new(&mut receiver).poll(&mut Context::from_waker(&waker));
                assert!(poll.is_pending());
                (sender, receiver)
            };
            let (of_batch, receivers): (Vec<_>, Vec<_>) = (first..)
                .take(BATCH)
                .take_while(|&round| round <= rounds)
                .map(one)
                .unzip();
            batches.send((first, of_batch)).unwrap();
            for (round, receiver) in (first..).zip(receivers) {
                meet(&here, &there, round);
                receive(receiver, &shared);
            }
        }
        drop(batches);
    });
    assert_eq!(there.into_inner(), rounds);
}

fn send_it(sender: Sender<Box<usize>>, round: usize) {
    // The error is dropped, and the value with it.
    let _ = sender.send(Box::new(round));
}

fn poll_and_drop(mut receiver: AsyncReceiver<Box<usize>>, waker: &Waker) {
    if let Poll::Ready(value) = Pin::new(&mut receiver).poll(&mut Context::from_waker(waker)) {
        value.unwrap();
    }
}

/// oneshot #87: a receiver that has been polled is dropped during a send. It freed the channel
/// when it saw the state that it had written itself, and the sender still read the waker there.
#[test]
fn oneshot_87_a_polled_receiver_is_dropped_against_a_send() {
    race(send_it, |receiver, _| drop(receiver));
}

/// RUSTSEC-2026-0005: a receiver that has been polled is dropped before its end. It dropped its
/// waker in the channel after it had let the sender free it, which a sender does that is dropped,
/// or whose value comes back.
#[test]
fn rustsec_2026_0005_a_polled_receiver_is_dropped() {
    race(
        |sender, round| match round % 2 {
            0 => drop(sender),
            _ => send_it(sender, round),
        },
        |receiver, _| drop(receiver),
    );
}

/// Both, with one more poll before the drop, by a waker that may be another one.
#[test]
fn a_polled_receiver_is_polled_again_and_dropped_against_a_send() {
    race(send_it, poll_and_drop);
}
