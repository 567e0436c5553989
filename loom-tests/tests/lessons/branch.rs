//! Lesson 7: a branch orders nothing.

use std::sync::Arc;

use loom_tests::lab::{
    cell::UnsafeCell,
    name_thread,
    sync::atomic::{AtomicBool, Ordering, fence},
    thread,
};

use crate::join::{fails, passes};

pub(crate) struct Channel {
    message: UnsafeCell<u32>,
    flag: AtomicBool,
}

// SAFETY: the flag is to say who may use the message. The model shows whether it does.
unsafe impl Send for Channel {}
// SAFETY: as for `Send`.
unsafe impl Sync for Channel {}

impl Channel {
    fn read(&self) -> u32 {
        // SAFETY: the flag is up.
        self.message.with(|message| unsafe { *message })
    }
}

fn check(receive: fn(&Channel) -> Option<u32>) {
    name_thread("receiver");
    let channel = Arc::new(Channel {
        message: UnsafeCell::new(0).named("message"),
        flag: AtomicBool::new(false).named("flag"),
    });
    let senders = channel.clone();
    thread::spawn(move || {
        name_thread("sender");
        // SAFETY: the flag is not up yet.
        senders.message.with_mut(|message| unsafe { *message = 7 });
        senders.flag.store(true, Ordering::Release);
    });
    if let Some(message) = receive(&channel) {
        assert_eq!(message, 7);
    }
}

fn receive_by_branch(channel: &Channel) -> Option<u32> {
    if channel.flag.load(Ordering::Relaxed) {
        Some(channel.read())
    } else {
        None
    }
}

fn receive(channel: &Channel) -> Option<u32> {
    if channel.flag.load(Ordering::Acquire) {
        Some(channel.read())
    } else {
        None
    }
}

pub(crate) fn the_branch() {
    check(receive_by_branch);
}

#[test]
fn a_branch_is_no_barrier() {
    let failure = fails(the_branch);
    assert!(failure.is_race());
    assert_eq!(failure.missing()[0].1, "acquire");
    passes(|| check(receive));
}

// The exercise.

fn receive_in_a_loop(channel: &Channel) -> Option<u32> {
    while !channel.flag.load(Ordering::Relaxed) {
        thread::yield_now();
    }
    Some(channel.read())
}

#[test]
fn exercise_7_fails() {
    let failure = fails(|| check(receive_in_a_loop));
    assert_eq!(failure.missing()[0].1, "acquire");
}

fn receive_after_a_loop(channel: &Channel) -> Option<u32> {
    while !channel.flag.load(Ordering::Relaxed) {
        thread::yield_now();
    }
    fence(Ordering::Acquire);
    Some(channel.read())
}

#[test]
fn exercise_7_solved() {
    passes(|| check(receive_after_a_loop));
}
