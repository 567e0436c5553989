//! Lesson 7: a branch orders nothing.

use std::sync::Arc;

use lessons::{
    cell::UnsafeCell,
    name_thread, spawn,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use crate::{
    exercise::{
        Verdict, Wrong, demand, exercise, none_is, only_reads, operations, operations_in_vain,
        require, the_model,
    },
    join::{fails, passes},
};

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
    spawn("sender", move || {
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

type Receive = fn(&Channel) -> Option<u32>;

fn new_channel(flag: bool) -> Arc<Channel> {
    Arc::new(Channel {
        message: UnsafeCell::new(9).named("message"),
        flag: AtomicBool::new(flag).named("flag"),
    })
}

/// Calls the receiver in a thread of its own.
fn receive_there(channel: &Arc<Channel>, receive: Receive) -> thread::JoinHandle<()> {
    let waits = channel.clone();
    spawn("waits", move || _ = receive(&waits))
}

/// What a receiver does that waits once.
fn operations_of(receive: Receive) -> Result<Vec<String>, Wrong> {
    operations("waits", move || {
        let channel = new_channel(false);
        let waits = receive_there(&channel, receive);
        channel.flag.store(true, Ordering::Release);
        waits.join().unwrap();
    })
}

/// What it does in the turns of its loop.
fn turns_of(receive: Receive) -> Vec<String> {
    operations_in_vain("waits", move || {
        receive_there(&new_channel(false), receive).join().unwrap();
    })
}

fn judge(receive: Receive) -> Verdict {
    demand("it must return the message that is there", move || {
        assert_eq!(receive(&new_channel(true)), Some(9));
    })?;
    demand("it must wait until the flag is up", move || {
        let channel = new_channel(false);
        let raises = channel.clone();
        thread::spawn(move || raises.flag.store(true, Ordering::Release));
        assert_eq!(receive(&channel), Some(9));
    })?;
    the_model(
        "the loop ends, and the message that it was to wait for does not have to be there yet",
        |failure| {
            let missing = failure.missing();
            missing.first().is_some_and(|(_, half)| *half == "acquire")
        },
        move || check(receive),
    )?;
    let operations = operations_of(receive)?;
    only_reads(&operations)?;
    let says = "it is right, but stronger than it has to be";
    none_is(&["SeqCst", "AcqRel"], &operations, says)?;
    let acquires = |operation: &&String| operation.contains("Acquire");
    let turns = turns_of(receive);
    let is_cheap = turns.iter().find(acquires).is_none();
    require(
        is_cheap && operations.iter().filter(acquires).count() == 1,
        || {
            format!(
                "it is right, but pays for an acquire in each turn: {}",
                turns.join(", ")
            )
        },
    )
}

#[test]
fn exercise_7() {
    exercise(7, || judge(receive_in_a_loop));
}

#[path = "solutions/branch.rs"]
mod solution;
