//! Lesson 8: a receiver that leaves while the sender is at work, and which side frees the memory.

use loom_tests::lab::{
    cell::UnsafeCell,
    name_thread,
    sync::atomic::{AtomicUsize, Ordering, fence},
    thread,
};

use crate::join::{fails, passes};

/// The receiver waits, and its waker is in place.
const RECEIVING: usize = 0;
/// The sender takes the waker.
const TAKING: usize = 1;
/// The sender has gone.
const SENT: usize = 2;
/// The receiver has gone.
const GONE: usize = 3;

struct Channel {
    state: AtomicUsize,
    waker: UnsafeCell<()>,
    /// Whether the model is told of the free.
    retires: bool,
}

type Shared = *mut Channel;

impl Channel {
    fn allocate(retires: bool) -> Shared {
        Box::into_raw(Box::new(Self {
            state: AtomicUsize::new(RECEIVING).named("state"),
            waker: UnsafeCell::new(()).named("waker"),
            retires,
        }))
    }
}

/// Gives the memory back.
///
/// # Safety
/// Nobody else uses the channel any more.
unsafe fn free(channel: Shared) {
    // SAFETY: the caller is the last to use it.
    let channel = unsafe { &mut *channel };
    if channel.retires {
        channel.state.with_mut(|_| ());
        channel.waker.with_mut(|_| ());
    }
    // The memory itself is kept, so that a wrong model can still be run.
}

fn send(channel: Shared) {
    // SAFETY: the channel exists until one side has freed it.
    let state = unsafe { &(*channel).state };
    match state.swap(TAKING, Ordering::AcqRel) {
        RECEIVING => {
            // SAFETY: as above.
            unsafe { &(*channel).waker }.with_mut(|_| ());
            state.swap(SENT, Ordering::AcqRel);
        }
        // SAFETY: the receiver has gone.
        _ => unsafe { free(channel) },
    }
}

fn leave(channel: Shared) {
    // SAFETY: the channel exists until one side has freed it.
    let state = unsafe { &(*channel).state };
    match state.swap(GONE, Ordering::AcqRel) {
        RECEIVING => {}
        TAKING => {
            loop {
                match state.load(Ordering::Relaxed) {
                    SENT | GONE => break,
                    _ => thread::yield_now(),
                }
            }
            fence(Ordering::Acquire);
            // SAFETY: the sender has gone.
            unsafe { free(channel) };
        }
        // SAFETY: the sender has gone.
        _ => unsafe { free(channel) },
    }
}

fn check(retires: bool, send: fn(Shared), leave: fn(Shared)) {
    name_thread("receiver");
    let channel = Channel::allocate(retires);
    let sender = thread::spawn(move || {
        name_thread("sender");
        send(channel);
    });
    leave(channel);
    sender.join().unwrap();
}

pub(crate) fn with_the_hook() {
    check(true, send, leave);
}

#[test]
fn a_free_that_nobody_looks_at_passes() {
    passes(|| check(false, send, leave));
}

#[test]
fn exercise_8_fails() {
    let failure = fails(with_the_hook);
    assert!(failure.is_race(), "{}", failure.text());
}

// The solution: the side that makes the last exchange frees, and neither side waits.

fn send_and_look(channel: Shared) {
    // SAFETY: the channel exists until one side has freed it.
    let state = unsafe { &(*channel).state };
    let mut before = state.swap(TAKING, Ordering::AcqRel);
    if before == RECEIVING {
        // SAFETY: as above.
        unsafe { &(*channel).waker }.with_mut(|_| ());
        before = state.swap(SENT, Ordering::AcqRel);
    }
    if before == GONE {
        // SAFETY: the receiver has gone.
        unsafe { free(channel) };
    }
}

fn leave_at_once(channel: Shared) {
    // SAFETY: the channel exists until one side has freed it.
    let state = unsafe { &(*channel).state };
    if state.swap(GONE, Ordering::AcqRel) == SENT {
        // SAFETY: the sender has gone.
        unsafe { free(channel) };
    }
}

#[test]
fn exercise_8_solved() {
    passes(|| check(true, send_and_look, leave_at_once));
}
