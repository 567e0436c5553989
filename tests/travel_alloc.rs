//! Blocks that one thread allocates and another frees come back without the allocator. This test
//! has a program of its own, so that the blocks of no other test can take their place.
#![cfg(not(miri))]

#[path = "common/counting.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod counting;

use std::{
    sync::{Barrier, Mutex},
    thread,
};

use counting::COUNT;
use joint::oneshot::{self, Receiver, Sender};

type Channel = (Sender<u64>, Receiver<u64>);

#[test]
fn blocks_that_travel_come_back_without_the_allocator() {
    const CHANNELS: usize = 10_000;
    /// Until the other thread keeps no more.
    const FIRST: usize = 10;
    const ROUNDS: usize = 20;
    let sent: Mutex<Vec<Channel>> = Mutex::new(Vec::with_capacity(CHANNELS));
    let turn = Barrier::new(2);
    let (first, then) = thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..FIRST + ROUNDS {
                turn.wait();
                sent.lock().unwrap().clear();
                turn.wait();
            }
        });
        let rounds = |rounds| {
            let before = COUNT.get().allocated;
            for _ in 0..rounds {
                let channels = (0..CHANNELS).map(|_| oneshot::channel());
                sent.lock().unwrap().extend(channels);
                turn.wait();
                turn.wait();
            }
            COUNT.get().allocated - before
        };
        (rounds(FIRST), rounds(ROUNDS))
    });
    assert!(first >= CHANNELS, "{first} are allocated at first");
    // A batch can be late by a round.
    assert!(then <= CHANNELS / 10, "{then} are allocated");
}
