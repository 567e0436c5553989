//! The solution of exercise 10, and repairs that are wrong.

use axioms::{Model, explore, language::parse};
use lessons::sync::atomic::fence;

use super::*;
use crate::{exercise::refused, join::fails};

fn fenced(own: &AtomicBool, other: &AtomicBool) -> bool {
    own.store(true, Ordering::Release);
    fence(Ordering::SeqCst);
    other.load(Ordering::Acquire)
}

#[test]
fn exercise_10_is_solved() {
    judge(fenced, fenced).unwrap();
}

/// A side by the orderings of its store, its fence and its load.
pub(crate) type Side = (Ordering, Option<Ordering>, Ordering);

fn side((store, fenced, load): Side) -> impl Meet {
    move |own: &AtomicBool, other: &AtomicBool| {
        own.store(true, store);
        if let Some(fenced) = fenced {
            fence(fenced);
        }
        other.load(load)
    }
}

/// Whether both sides can miss each other, according to the axioms.
pub(crate) fn both_miss(sides: [Side; 2]) -> bool {
    let [sleeper, waker] = sides.map(|(store, fenced, load)| {
        let fenced = fenced.map_or_else(String::new, |fenced| format!("fence({fenced:?})"));
        (
            format!("store(1, {store:?}) {fenced}"),
            format!("load({load:?})"),
        )
    });
    let text = format!(
        "atomic sleeping, work
        thread sleeper {{ sleeping.{} found = work.{} }}
        thread waker {{ work.{} seen = sleeping.{} }}
        never found == 0 && seen == 0",
        sleeper.0, sleeper.1, waker.0, waker.1
    );
    let handshake = parse(&text).unwrap();
    let executions = explore(&handshake.program, Model::Rc11);
    executions
        .iter()
        .any(|end| handshake.never[0].is_broken_by(end))
}

/// Each pair of forms is solved exactly if the axioms forbid that both sides miss each other: with
/// fences, with `SeqCst` accesses, and with a mixture.
#[test]
fn exercise_10_is_solved_by_all_that_is_right() {
    let mut sides: Vec<Side> = Vec::new();
    for fenced in [None, Some(Ordering::AcqRel), Some(Ordering::SeqCst)] {
        for store in [Ordering::Relaxed, Ordering::Release, Ordering::SeqCst] {
            let loads = [Ordering::Relaxed, Ordering::Acquire, Ordering::SeqCst];
            sides.extend(loads.map(|load| (store, fenced, load)));
        }
    }
    let mut right = 0;
    for (n, &one) in sides.iter().enumerate() {
        for &other in &sides[n..] {
            let is_right = !both_miss([one, other]);
            assert_eq!(
                judge(side(one), side(other)).is_ok(),
                is_right,
                "{one:?} {other:?}"
            );
            right += usize::from(is_right);
        }
    }
    // Those with a `SeqCst` fence, or with `SeqCst` for both accesses.
    let ordered = 9 + 2;
    assert_eq!(right, ordered * (ordered + 1) / 2);
}

#[test]
fn one_fence_does_not_make_a_handshake() {
    for f in [|| check(fenced, bare), || check(bare, fenced)] {
        let failure = fails(f);
        assert_eq!(failure.missing().len(), 1);
    }
}

fn bare(own: &AtomicBool, other: &AtomicBool) -> bool {
    own.store(true, Ordering::Release);
    other.load(Ordering::Acquire)
}

fn fence_first(own: &AtomicBool, other: &AtomicBool) -> bool {
    fence(Ordering::SeqCst);
    bare(own, other)
}

fn fence_last(own: &AtomicBool, other: &AtomicBool) -> bool {
    let seen = bare(own, other);
    fence(Ordering::SeqCst);
    seen
}

fn always(own: &AtomicBool, _other: &AtomicBool) -> bool {
    own.store(true, Ordering::Release);
    true
}

fn wait(own: &AtomicBool, other: &AtomicBool) -> bool {
    own.store(true, Ordering::Release);
    while !other.load(Ordering::Acquire) {
        thread::yield_now();
    }
    true
}

#[test]
fn wrong_repairs_of_exercise_10_are_refused() {
    refused(judge(fenced, bare), "the waker");
    refused(judge(bare, fenced), "the sleeper");
    refused(judge(fence_first, fence_last), "both");
    refused(judge(always, always), "was never there");
    refused(judge(wait, wait), "must not wait");
}
