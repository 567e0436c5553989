//! Protocols of published crates that have a fault, as models of what their source says.

use std::sync::Arc;

use joint_check::{
    hint::spin_loop,
    sync::atomic::{AtomicU8, Ordering::*, fence},
    thread,
};

use crate::{Shared, assert_fails, count};

const EMPTY: u8 = 0b011;
const MESSAGE: u8 = 0b100;
const RECEIVING: u8 = 0b000;
const AWAKING: u8 = 0b001;
const DISCONNECTED: u8 = 0b010;

/// The channel of mea 0.4.0 to 0.6.3 (`src/oneshot/mod.rs`), a copy of oneshot's, whose receiver
/// has been polled once. The waker stands for the memory of the channel: freeing it is a write. The
/// orderings are mea's or stronger, because they are not the fault.
struct Channel {
    state: AtomicU8,
    waker: Shared,
}

impl Channel {
    fn polled() -> Arc<Self> {
        let waker = Shared::new();
        let state = AtomicU8::new(RECEIVING);
        Arc::new(Self { state, waker })
    }

    fn free(&self) {
        self.waker.write(0);
    }

    fn send(&self) {
        match self.state.fetch_add(1, Release) {
            EMPTY => {}
            RECEIVING => {
                fence(Acquire);
                self.waker.read();
                self.state.swap(MESSAGE, AcqRel);
            }
            // The error has the channel, and frees it.
            DISCONNECTED => {
                fence(Acquire);
                self.free();
            }
            state => panic!("unexpected channel state: {state}"),
        }
    }

    fn wait_for_the_sender(&self) {
        while self.state.load(Relaxed) == AWAKING {
            spin_loop();
        }
        fence(Acquire);
        self.free();
    }

    /// `Recv::drop`.
    fn drop_receiver(&self) {
        match self.state.swap(DISCONNECTED, AcqRel) {
            EMPTY => {}
            MESSAGE | DISCONNECTED => self.free(),
            // The waker is dropped after the sender may free it: RUSTSEC-2026-0005.
            RECEIVING => self.waker.write(0),
            // The loop sees what the exchange has just written: oneshot #87.
            AWAKING => self.wait_for_the_sender(),
            state => panic!("unexpected channel state: {state}"),
        }
    }

    /// The drop that has neither fault: the receiver takes its waker back before it leaves, and
    /// leaves to a sender that is awaking it the state in which it does that.
    fn drop_receiver_repaired(&self) {
        let back = self
            .state
            .compare_exchange(RECEIVING, EMPTY, AcqRel, Acquire);
        match back {
            Ok(_) => self.waker.write(0),
            Err(AWAKING) => return self.wait_for_the_sender(),
            Err(_) => {}
        }
        match self.state.swap(DISCONNECTED, AcqRel) {
            EMPTY => {}
            _ => self.free(),
        }
    }
}

fn against_a_send(drop_receiver: fn(&Channel)) {
    let channel = Channel::polled();
    let sender = channel.clone();
    let sender = thread::spawn(move || sender.send());
    drop_receiver(&channel);
    sender.join().unwrap();
}

#[test]
fn mea_0_6_3_frees_a_channel_that_a_send_uses() {
    assert_fails("data race", || against_a_send(Channel::drop_receiver));
    // Each of the two faults by itself.
    assert_fails("data race", || {
        against_a_send(|channel| match channel.state.swap(DISCONNECTED, AcqRel) {
            AWAKING => channel.wait_for_the_sender(),
            RECEIVING => {}
            _ => channel.free(),
        });
    });
    assert_fails("data race", || {
        against_a_send(|channel| match channel.state.swap(DISCONNECTED, AcqRel) {
            AWAKING => {}
            RECEIVING => channel.waker.write(0),
            _ => channel.free(),
        });
    });
    assert!(count(|| against_a_send(Channel::drop_receiver_repaired)).complete > 1);
}
