//! The solution of exercise 6, and repairs that are wrong or use `SeqCst`.

use lessons::{
    model,
    sync::atomic::{Ordering::*, fence},
};

use super::*;
use crate::exercise::refused;

fn take_one_flag(flags: &Flags, _me: usize) -> bool {
    !flags[0].swap(true, atomic::Ordering::AcqRel)
}

#[test]
fn exercise_6_is_solved() {
    judge_repair(take_one_flag).unwrap();
}

fn seq_cst(flags: &Flags, me: usize) -> bool {
    flags[me].store(true, SeqCst);
    !flags[1 - me].load(SeqCst)
}

fn fenced(flags: &Flags, me: usize) -> bool {
    flags[me].store(true, Relaxed);
    fence(SeqCst);
    !flags[1 - me].load(Relaxed)
}

/// Right, although the exercise asks for something else.
#[test]
fn two_flags_in_one_order_are_never_both_missed() {
    model(|| check(seq_cst));
    model(|| check(fenced));
}

fn the_first_thread(flags: &Flags, me: usize) -> bool {
    me == 0 && !flags[0].swap(true, AcqRel)
}

fn look_then_store(flags: &Flags, _me: usize) -> bool {
    let taken = flags[0].load(Acquire);
    flags[0].store(true, Release);
    !taken
}

#[test]
fn wrong_repairs_of_exercise_6_are_refused() {
    refused(judge_repair(seq_cst), "without SeqCst");
    refused(judge_repair(fenced), "without SeqCst");
    refused(judge_repair(the_first_thread), "comes alone");
    refused(judge_repair(look_then_store), "both threads");
}
