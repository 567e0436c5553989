//! Models of a worker's queues (`joint-executor/src/deques`), used by their owner and by one or two
//! thieves.
//!
//! The tasks are values that the model watches. A task that is taken before it has reached the
//! thief is a race, and so is a slot that two threads use at once. A task that is lost or taken
//! twice is a wrong count.

use std::iter;

use loom_tests::{join_all, lab::thread};

use crate::prelude::*;

fn start_thief(stealer: Stealer<Value>) -> thread::JoinHandle<()> {
    thread::spawn(move || take(stealer.steal(usize::MAX)))
}

fn take(tasks: impl IntoIterator<Item = Value>) {
    tasks.into_iter().for_each(|task| task.take());
}

#[derive(Clone, Copy)]
struct Kind {
    push: fn(&Deques<Value>, Value),
    pop: fn(&Deques<Value>) -> Option<Value>,
}

const SPAWNED: Kind = Kind {
    push: Deques::push_spawned,
    pop: Deques::pop_newest_spawned,
};
const OLDEST: Kind = Kind {
    push: Deques::push_spawned,
    pop: Deques::pop_oldest_spawned,
};
const WOKEN: Kind = Kind {
    push: Deques::push_woken,
    pop: Deques::pop_woken,
};
const HIGH: Kind = Kind {
    push: Deques::push_high,
    pop: Deques::pop_high,
};

fn owner_against(kind: Kind, thieves: usize, before: usize, after: usize) {
    let (deques, drops) = (Deques::new(), Drops::default());
    let push = |count| (0..count).for_each(|_| (kind.push)(&deques, drops.value()));
    push(before);
    let thieves: Vec<_> = (0..thieves)
        .map(|_| start_thief(deques.stealer()))
        .collect();
    take((kind.pop)(&deques));
    push(after);
    while let Some(task) = (kind.pop)(&deques) {
        task.take();
    }
    join_all(thieves);
    assert!(deques.stealer().is_empty());
    drops.assert_all_of(before + after);
}

fn one_thief(kind: Kind, before: usize, after: usize) {
    model_bounded(3, move || owner_against(kind, 1, before, after));
}

/// There is room for two at first. The third task takes the slot of one that was stolen, or needs
/// more slots. Either side begins, because the model remembers only the last access of each
/// location.
#[test]
fn a_slot_is_used_again_only_once_its_task_has_been_read() {
    for thief_begins in [true, false] {
        model_bounded(3, move || {
            let (deques, drops) = (Deques::new(), Drops::default());
            (0..2).for_each(|_| deques.push_spawned(drops.value()));
            let (stealer, third) = (deques.stealer(), drops.value());
            let own = move || {
                deques.push_spawned(third);
                while let Some(task) = deques.pop_newest_spawned() {
                    task.take();
                }
                deques
            };
            let steal = move || take(stealer.steal(usize::MAX));
            if thief_begins {
                let owner = thread::spawn(own);
                steal();
                drop(owner.join().unwrap());
            } else {
                let thief = thread::spawn(steal);
                let _deques = own();
                thief.join().unwrap();
            }
            drops.assert_all_of(3);
        });
    }
}

const RING: &str = "executor::ring";

#[test]
fn nobody_waits_for_a_thief_that_has_stopped() {
    let steps = [
        "thief_head",
        "thief_tail",
        "thief_slots",
        "thief_slot",
        "take",
    ];
    stopping(RING, &steps, |stop| {
        let (deques, drops) = (Deques::new(), Drops::default());
        let push = || deques.push_spawned(drops.value());
        (0..2).for_each(|_| push());
        let stealer = deques.stealer();
        let thief = stop.start(move || take(stealer.steal(usize::MAX)));
        let stealer = deques.stealer();
        // Takes from both ends, grows, and uses each slot again.
        for pop in [SPAWNED.pop, OLDEST.pop] {
            push();
            take(pop(&deques));
        }
        take(stealer.steal(1));
        take(iter::from_fn(|| deques.pop_newest_spawned()));
        thief.join();
        assert!(stealer.is_empty());
        drops.assert_all_of(4);
    });
}

fn stopped_owner(steps: &[&str], before: usize) {
    stopping(RING, steps, move |stop| {
        let (deques, drops) = (Deques::new(), Drops::default());
        (0..before).for_each(|_| deques.push_spawned(drops.value()));
        let (stealer, values) = (deques.stealer(), drops.clone());
        let owner = stop.start(move || {
            (before..3).for_each(|_| deques.push_spawned(values.value()));
            while let Some(task) = deques.pop_newest_spawned() {
                task.take();
            }
        });
        while !stealer.is_empty() {
            take(stealer.steal(usize::MAX));
        }
        owner.join();
        drops.assert_all_of(3);
    });
}

#[test]
fn nobody_waits_for_an_owner_that_has_stopped_in_a_push() {
    let steps = [
        "own_tail",
        "room_seen",
        "own_slots",
        "room_head",
        "room_saw",
        "copy",
        "write",
        "slots",
        "push",
    ];
    stopped_owner(&steps, 0);
}

#[test]
fn nobody_waits_for_an_owner_that_has_stopped_in_a_take() {
    let steps = [
        "pop_tail", "pop_seen", "newest", "advance", "pop_saw", "own_slot", "empty",
    ];
    stopped_owner(&steps, 3);
}

#[test]
fn a_take_is_one_read_modify_write_and_a_push_none() {
    for kind in [SPAWNED, OLDEST, WOKEN, HIGH] {
        model(move || {
            let (deques, drops) = (Deques::new(), Drops::default());
            // More than there is room for at first.
            let push = || (0..5).for_each(|_| (kind.push)(&deques, drops.value()));
            assert_eq!(rmws_of(push), 0);
            assert_eq!(rmws_of(|| take((kind.pop)(&deques))), 1);
            let steal = || assert_eq!(deques.stealer().steal(usize::MAX).len(), 2);
            assert_eq!(rmws_of(steal), 1);
            assert_eq!(
                rmws_of(|| (0..3).for_each(|_| take((kind.pop)(&deques)))),
                2
            );
            drops.assert_all_of(5);
        });
    }
}

models! {
    each_spawned_task_is_taken_once: one_thief(SPAWNED, 2, 0);
    each_spawned_task_is_taken_once_if_more_are_pushed: one_thief(SPAWNED, 1, 1);
    each_spawned_task_is_taken_once_if_all_are_pushed_late: one_thief(SPAWNED, 0, 2);
    each_woken_task_is_taken_once: one_thief(WOKEN, 2, 0);
    each_woken_task_is_taken_once_if_more_are_pushed: one_thief(WOKEN, 1, 1);
    the_oldest_spawned_task_is_taken_once: one_thief(OLDEST, 2, 0);
    each_task_of_high_priority_is_taken_once: one_thief(HIGH, 1, 1);
    two_thieves_and_the_owner_take_each_task_once: model_bounded(2, || owner_against(WOKEN, 2, 2, 0));
    /// The first task makes the slots.
    two_thieves_look_only_at_slots_that_are_there: model_bounded(2, || owner_against(SPAWNED, 2, 0, 1));
}
