//! The solution of exercise 10, and repairs that are wrong.

use loom_tests::lab::sync::atomic::fence;

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

fn half(own: &AtomicBool, other: &AtomicBool) -> bool {
    own.store(true, Ordering::Release);
    fence(Ordering::AcqRel);
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

fn read_only(_own: &AtomicBool, other: &AtomicBool) -> bool {
    fence(Ordering::SeqCst);
    other.load(Ordering::Acquire)
}

#[test]
fn wrong_repairs_of_exercise_10_are_refused() {
    refused(judge(fenced, bare), "the waker");
    refused(judge(bare, fenced), "the sleeper");
    refused(judge(half, half), "both");
    refused(judge(fence_first, fence_last), "both");
    refused(judge(always, always), "was never there");
    refused(judge(wait, wait), "must not wait");
    refused(judge(read_only, fenced), "both");
}
