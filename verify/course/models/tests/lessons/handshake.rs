//! Lesson 10: each side writes one place and reads the other's.

use std::sync::Arc;

use lessons::{
    name_thread, spawn,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use crate::exercise::{Verdict, Wrong, demand, exercise, operations, the_model};

/// Writes its own place, then reads the other's. Returns what it has read.
trait Meet: Fn(&AtomicBool, &AtomicBool) -> bool + Copy + Send + Sync + 'static {}

impl<M: Fn(&AtomicBool, &AtomicBool) -> bool + Copy + Send + Sync + 'static> Meet for M {}

fn fall_asleep(sleeping: &AtomicBool, work: &AtomicBool) -> bool {
    sleeping.store(true, Ordering::Release);
    work.load(Ordering::Acquire)
}

fn push(work: &AtomicBool, sleeping: &AtomicBool) -> bool {
    work.store(true, Ordering::Release);
    sleeping.load(Ordering::Acquire)
}

fn check(sleeper: impl Meet, waker: impl Meet) {
    name_thread("sleeper");
    let sleeping = Arc::new(AtomicBool::new(false).named("sleeping"));
    let work = Arc::new(AtomicBool::new(false).named("work"));
    let (seen, made) = (sleeping.clone(), work.clone());
    let waker = spawn("waker", move || waker(&made, &seen));
    let found = sleeper(&sleeping, &work);
    let woken = waker.join().unwrap();
    assert!(found || woken, "the sleeper sleeps, and there is work");
}

pub(crate) fn without_fences() {
    check(fall_asleep, push);
}

/// Demands that a side does not wait, and does not say that it has seen what was never there.
fn is_honest(name: &str, meet: impl Meet) -> Verdict {
    demand(
        &format!(
            "the {name} says that it has seen what was never there, or waits: it must not wait"
        ),
        move || {
            let [own, other] = [false, false].map(AtomicBool::new);
            assert!(!meet(&own, &other));
        },
    )
}

/// Whether a side makes a `SeqCst` fence, or all its accesses are `SeqCst`.
fn is_ordered(meet: impl Meet) -> Result<bool, Wrong> {
    let operations = operations("meets", move || {
        let [own, other] = [false, false].map(AtomicBool::new);
        let meets = spawn("meets", move || meet(&own, &other));
        meets.join().unwrap();
    })?;
    let mut all = operations.iter();
    Ok(
        operations.iter().any(|one| one == "fence(SeqCst)")
            || all.all(|one| one.contains("SeqCst")),
    )
}

fn judge(sleeper: impl Meet, waker: impl Meet) -> Verdict {
    is_honest("sleeper", sleeper)?;
    is_honest("waker", waker)?;
    let says = match (is_ordered(sleeper)?, is_ordered(waker)?) {
        (true, false) => "in the waker, SeqCst does not order the load after the store",
        (false, true) => "in the sleeper, SeqCst does not order the load after the store",
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
pub(crate) use solution::both_miss;
