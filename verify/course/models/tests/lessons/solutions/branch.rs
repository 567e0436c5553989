//! The solution of exercise 7, and repairs that are wrong.

use lessons::sync::atomic::fence;

use super::*;
use crate::exercise::refused;

fn receive_after_a_loop(channel: &Channel) -> Option<u32> {
    while !channel.flag.load(Ordering::Relaxed) {
        thread::yield_now();
    }
    fence(Ordering::Acquire);
    Some(channel.read())
}

fn load_once_more(channel: &Channel) -> Option<u32> {
    while !channel.flag.load(Ordering::Relaxed) {
        thread::yield_now();
    }
    channel.flag.load(Ordering::Acquire).then(|| channel.read())
}

#[test]
fn exercise_7_is_solved() {
    judge(receive_after_a_loop).unwrap();
    judge(load_once_more).unwrap();
}

fn nothing(_channel: &Channel) -> Option<u32> {
    None
}

fn do_not_wait(channel: &Channel) -> Option<u32> {
    receive(channel)
}

fn acquire_in_each_turn(channel: &Channel) -> Option<u32> {
    while !channel.flag.load(Ordering::Acquire) {
        thread::yield_now();
    }
    Some(channel.read())
}

fn strong_fence(channel: &Channel) -> Option<u32> {
    while !channel.flag.load(Ordering::Relaxed) {
        thread::yield_now();
    }
    fence(Ordering::SeqCst);
    Some(channel.read())
}

fn exchange(channel: &Channel) -> Option<u32> {
    while !channel.flag.load(Ordering::Relaxed) {
        thread::yield_now();
    }
    channel.flag.swap(true, Ordering::Acquire);
    Some(channel.read())
}

#[test]
fn wrong_repairs_of_exercise_7_are_refused() {
    refused(judge(nothing), "must return the message");
    refused(judge(do_not_wait), "must wait");
    refused(judge(acquire_in_each_turn), "in each turn");
    refused(judge(strong_fence), "stronger");
    refused(judge(exchange), "write nothing");
}
