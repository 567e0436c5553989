//! The solution of exercise 5, and repairs that are wrong.

use lessons::sync::atomic::fence;

use super::*;
use crate::exercise::refused;

fn look(word: &AtomicUsize) -> bool {
    word.load(Ordering::Acquire) == DONE
}

fn look_and_fence(word: &AtomicUsize) -> bool {
    let done = word.load(Ordering::Relaxed) == DONE;
    if done {
        fence(Ordering::Acquire);
    }
    done
}

#[test]
fn exercise_5_is_solved() {
    judge(look, look_and_fence).unwrap();
}

fn exchange(word: &AtomicUsize) -> bool {
    word.compare_exchange(DONE, DONE, Ordering::Acquire, Ordering::Acquire)
        .is_ok()
}

fn seq_cst(word: &AtomicUsize) -> bool {
    word.load(Ordering::SeqCst) == DONE
}

fn fence_first(word: &AtomicUsize) -> bool {
    fence(Ordering::Acquire);
    word.load(Ordering::Relaxed) == DONE
}

fn always_fence(word: &AtomicUsize) -> bool {
    let done = word.load(Ordering::Relaxed) == DONE;
    fence(Ordering::Acquire);
    done
}

#[test]
fn wrong_repairs_of_exercise_5_are_refused() {
    refused(
        judge(|_| false, look_and_fence),
        "whether the word says DONE",
    );
    refused(
        judge(|_| true, look_and_fence),
        "whether the word says DONE",
    );
    refused(judge(exchange, look_and_fence), "write nothing");
    refused(judge(seq_cst, look_and_fence), "stronger");
    refused(
        judge(fence_first, look_and_fence),
        "does not have to be there",
    );
    refused(judge(look_and_fence, look_and_fence), "one load");
    refused(judge(look, look), "stay relaxed");
    refused(judge(look, always_fence), "pays for the fence");
}
