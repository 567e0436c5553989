//! Lesson 8: a receiver that leaves while the sender is at work, and which side frees the memory.

use std::cell::Cell;

use lessons::{
    Counterexample,
    cell::UnsafeCell,
    name_thread, spawn,
    sync::atomic::{AtomicUsize, Ordering, fence},
    thread,
};

use crate::{
    exercise::{Verdict, demand, exercise, the_model},
    join::passes,
};

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
    frees: Cell<usize>,
}

type Shared = *mut Channel;

impl Channel {
    fn allocate(retires: bool) -> Shared {
        Box::into_raw(Box::new(Self {
            state: AtomicUsize::new(RECEIVING).named("state"),
            waker: UnsafeCell::new(()).named("waker"),
            retires,
            frees: Cell::new(0),
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
    channel.frees.set(channel.frees.get() + 1);
    if channel.retires {
        channel.state.with_mut(|_| ());
        channel.waker.with_mut(|_| ());
    }
    // The memory itself is kept, so that a wrong model can still be run.
}

/// The channel exists until one side has freed it.
fn state<'a>(channel: Shared) -> &'a AtomicUsize {
    // SAFETY: the memory itself is kept.
    unsafe { &(*channel).state }
}

fn send(channel: Shared) {
    let state = state(channel);
    match state.swap(TAKING, Ordering::AcqRel) {
        RECEIVING => {
            // SAFETY: the channel exists until one side has freed it.
            unsafe { &(*channel).waker }.with_mut(|_| ());
            state.swap(SENT, Ordering::AcqRel);
        }
        // SAFETY: the receiver has gone.
        _ => unsafe { free(channel) },
    }
}

fn leave(channel: Shared) {
    let state = state(channel);
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

/// Returns how often the channel was freed.
fn check(retires: bool, send: fn(Shared), leave: fn(Shared)) -> usize {
    name_thread("receiver");
    let channel = Channel::allocate(retires);
    let sender = spawn("sender", move || send(channel));
    leave(channel);
    sender.join().unwrap();
    // SAFETY: both sides have ended, and the memory is kept.
    unsafe { &*channel }.frees.get()
}

pub(crate) fn with_the_hook() {
    check(true, send, leave);
}

#[test]
fn a_free_that_nobody_looks_at_passes() {
    passes(|| {
        check(false, send, leave);
    });
}

type Side = fn(Shared);

/// Runs one side alone, with the state that the other side has left.
fn alone(state: usize, side: Side) {
    let channel = Channel::allocate(true);
    self::state(channel).store(state, Ordering::Release);
    side(channel);
}

fn judge(send: Side, leave: Side) -> Verdict {
    the_model(
        "the receiver frees the channel while the sender still uses it",
        Counterexample::is_race,
        move || {
            check(true, send, leave);
        },
    )?;
    demand(
        "in one of the orders nobody frees the channel, or both sides do",
        move || assert_eq!(check(true, send, leave), 1),
    )?;
    demand(
        "the receiver must not wait for a sender that comes later",
        move || {
            alone(RECEIVING, leave);
        },
    )?;
    demand("the sender must not wait for the receiver", move || {
        alone(RECEIVING, send);
    })?;
    demand(
        "the first part is done: the receiver really waits. \
         Now make a version in which it does not wait for a sender that takes the waker",
        move || alone(TAKING, leave),
    )
}

#[test]
fn exercise_8() {
    exercise(8, || judge(send, leave));
}

#[path = "solutions/leaving.rs"]
mod solution;
