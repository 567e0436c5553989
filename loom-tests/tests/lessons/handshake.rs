//! Lesson 10: each side writes one place and reads the other's.

use std::sync::Arc;

use loom_tests::lab::{
    name_thread,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use crate::exercise::{Verdict, Wrong, demand, exercise, operations, the_model};

/// Writes its own place, then reads the other's. Returns what it has read.
type Meet = fn(&AtomicBool, &AtomicBool) -> bool;

fn fall_asleep(sleeping: &AtomicBool, work: &AtomicBool) -> bool {
    sleeping.store(true, Ordering::Release);
    work.load(Ordering::Acquire)
}

fn push(work: &AtomicBool, sleeping: &AtomicBool) -> bool {
    work.store(true, Ordering::Release);
    sleeping.load(Ordering::Acquire)
}

fn check(sleeper: Meet, waker: Meet) {
    name_thread("sleeper");
    let sleeping = Arc::new(AtomicBool::new(false).named("sleeping"));
    let work = Arc::new(AtomicBool::new(false).named("work"));
    let (seen, made) = (sleeping.clone(), work.clone());
    let waker = thread::spawn(move || {
        name_thread("waker");
        waker(&made, &seen)
    });
    let found = sleeper(&sleeping, &work);
    let woken = waker.join().unwrap();
    assert!(found || woken, "the sleeper sleeps, and there is work");
}

pub(crate) fn without_fences() {
    check(fall_asleep, push);
}

/// Whether a side makes a `SeqCst` fence.
fn has_fence(meet: Meet) -> Result<bool, Wrong> {
    let operations = operations("meets", move || {
        let meets = thread::spawn(move || {
            name_thread("meets");
            let [own, other] = [false, false].map(AtomicBool::new);
            meet(&own, &other);
        });
        meets.join().unwrap();
    })?;
    Ok(operations
        .iter()
        .any(|operation| operation == "fence(SeqCst)"))
}

fn judge(sleeper: Meet, waker: Meet) -> Verdict {
    for (name, meet) in [("sleeper", sleeper), ("waker", waker)] {
        demand(
            &format!(
                "the {name} says that it has seen what was never there, or waits: it must not wait"
            ),
            move || {
                let [own, other] = [false, false].map(AtomicBool::new);
                assert!(!meet(&own, &other));
            },
        )?;
    }
    let says = match (has_fence(sleeper)?, has_fence(waker)?) {
        (true, false) => "the waker has no SeqCst fence, so both sides can miss each other",
        (false, true) => "the sleeper has no SeqCst fence, so both sides can miss each other",
        _ => "both sides miss each other: the sleeper sleeps, and there is work",
    };
    the_model(
        says,
        |failure| {
            let missing = failure.missing();
            missing.len() == 2 && missing.iter().all(|(_, what)| *what == "SeqCst fence")
        },
        move || check(sleeper, waker),
    )
}

#[test]
fn exercise_10() {
    exercise(10, || judge(fall_asleep, push));
}

#[path = "solutions/handshake.rs"]
mod solution;
