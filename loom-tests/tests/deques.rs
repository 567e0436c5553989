//! Models of a worker's queues (`executor/src/deques`), used by their owner and by one or two
//! thieves.
//!
//! The tasks are values that the model watches. A task that is taken before it has reached the
//! thief is a race, and so is a slot that two threads use at once. A task that is lost or taken
//! twice is a wrong count.
#![cfg(joint_loom)]

use std::sync::atomic::Ordering::{self, AcqRel, Relaxed};

use joint_executor::model::{Deques, Stealer};
use joint_switch::model::sites_seen;
use loom_tests::lab::thread;
use loom_tests::{Drops, Value, assert_killed, model, model_bounded, rmws_of};

/// A thread that steals half of each kind, once.
fn start_thief(stealer: Stealer<Value>) -> thread::JoinHandle<()> {
    thread::spawn(move || take(stealer.steal(usize::MAX)))
}

fn take(tasks: impl IntoIterator<Item = Value>) {
    tasks.into_iter().for_each(|task| task.take());
}

/// What the owner does with one of the kinds of tasks.
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

/// The owner pushes `before` tasks, starts the thieves, pops one, pushes `after` tasks, and pops
/// all that is left.
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
    for thief in thieves {
        thief.join().unwrap();
    }
    assert!(deques.stealer().is_empty());
    drops.assert_all_of(before + after);
}

/// Preemption bound 3.
fn one_thief(kind: Kind, before: usize, after: usize) {
    model_bounded(3, move || owner_against(kind, 1, before, after));
}

#[test]
fn each_spawned_task_is_taken_once() {
    one_thief(SPAWNED, 2, 0);
}

#[test]
fn each_spawned_task_is_taken_once_if_more_are_pushed() {
    one_thief(SPAWNED, 1, 1);
}

#[test]
fn each_woken_task_is_taken_once() {
    one_thief(WOKEN, 2, 0);
}

#[test]
fn each_woken_task_is_taken_once_if_more_are_pushed() {
    one_thief(WOKEN, 1, 1);
}

#[test]
fn the_oldest_spawned_task_is_taken_once() {
    one_thief(OLDEST, 2, 0);
}

#[test]
fn each_task_of_high_priority_is_taken_once() {
    one_thief(HIGH, 1, 1);
}

/// There is room for two at first. The third task takes the slot of one that was stolen, or needs
/// more slots. The thief begins, because the model remembers only the last access of each location.
/// Preemption bound 3.
fn growing() {
    model_bounded(3, || {
        let (deques, drops) = (Deques::new(), Drops::default());
        (0..2).for_each(|_| deques.push_spawned(drops.value()));
        let (stealer, third) = (deques.stealer(), drops.value());
        let owner = thread::spawn(move || {
            deques.push_spawned(third);
            while let Some(task) = deques.pop_newest_spawned() {
                task.take();
            }
            deques
        });
        take(stealer.steal(usize::MAX));
        drop(owner.join().unwrap());
        drops.assert_all_of(3);
    });
}

#[test]
fn a_slot_is_used_again_once_its_task_has_been_read_and_else_there_are_more() {
    growing();
}

/// Preemption bound 2.
fn two_thieves() {
    model_bounded(2, || owner_against(WOKEN, 2, 2, 0));
}

#[test]
fn two_thieves_and_the_owner_take_each_task_once() {
    two_thieves();
}

/// The owner pops twice, so that a thief can come between: once without the bias, and then with it.
fn the_owner_regains_the_bias() {
    one_thief(WOKEN, 3, 0);
}

#[test]
fn the_owner_regains_the_bias_after_a_theft() {
    the_owner_regains_the_bias();
}

/// Each of two workers steals from the other while it has tasks of its own. Neither waits for the
/// other. The model does not see the count of the queues' owners, so the main thread has the last
/// of each. Preemption bound 2.
#[test]
fn two_workers_steal_from_each_other() {
    model_bounded(2, || {
        let (one, other, drops) = (Deques::new(), Deques::new(), Drops::default());
        one.push_spawned(drops.value());
        other.push_spawned(drops.value());
        let (of_one, of_other) = (one.stealer(), other.stealer());
        let work = |own: Deques<Value>, from: Stealer<Value>| {
            take(own.steal_and_pop(&from, usize::MAX));
            while let Some(task) = own.pop_newest_spawned() {
                task.take();
            }
            (own, from)
        };
        let thread = thread::spawn(move || work(one, of_other));
        let _owned = work(other, of_one);
        let _owned_there = thread.join().unwrap();
        drops.assert_all_of(2);
    });
}

#[test]
fn the_owner_makes_no_read_modify_write() {
    model(|| {
        let (deques, drops) = (Deques::new(), Drops::default());
        for kind in [SPAWNED, OLDEST, WOKEN, HIGH] {
            // More than there is room for at first.
            let all = || {
                (0..5).for_each(|_| (kind.push)(&deques, drops.value()));
                (0..6).for_each(|_| take((kind.pop)(&deques)));
            };
            assert_eq!(rmws_of(all), 0);
        }
        drops.assert_all_of(20);
    });
}

fn killed(site: &str, weaker: Ordering, model: impl FnOnce()) {
    assert_killed(&format!("executor::deques::{site}"), weaker, model);
}

#[test]
fn entering_is_seq_cst() {
    killed("bias::enter_fence", AcqRel, the_owner_regains_the_bias);
}

#[test]
fn suspending_the_bias_is_seq_cst() {
    killed("bias::suspend_fence", AcqRel, the_owner_regains_the_bias);
}

#[test]
fn the_owner_acquires_what_a_thief_did() {
    killed("bias::bias_look", Relaxed, the_owner_regains_the_bias);
}

#[test]
fn giving_the_bias_back_releases() {
    killed("bias::resume", Relaxed, the_owner_regains_the_bias);
}

#[test]
fn stepping_out_releases() {
    killed("bias::step_out", Relaxed, the_owner_regains_the_bias);
}

#[test]
fn looking_for_the_owner_acquires() {
    killed("bias::owner_look", Relaxed, the_owner_regains_the_bias);
}

#[test]
fn locking_acquires() {
    killed("bias::lock", Relaxed, the_owner_regains_the_bias);
}

#[test]
fn unlocking_releases() {
    killed("bias::unlock", Relaxed, the_owner_regains_the_bias);
}

#[test]
fn pushing_releases() {
    killed("ring::push", Relaxed, || one_thief(WOKEN, 1, 1));
}

#[test]
fn a_thief_acquires_what_was_pushed() {
    killed("ring::oldest_tail", Relaxed, || one_thief(WOKEN, 1, 1));
}

#[test]
fn taking_the_oldest_releases_its_slot() {
    killed("ring::oldest", Relaxed, growing);
}

#[test]
fn using_a_slot_again_acquires_it() {
    killed("ring::room_head", Relaxed, growing);
}

/// Each site that a model reaches either asks for `Relaxed` or is weakened above, but for
/// `step_back`: under the model, the fence before it releases.
#[test]
fn no_site_is_left_out() {
    the_owner_regains_the_bias();
    growing();
    let weakened = [
        "bias::enter_fence",
        "bias::suspend_fence",
        "bias::bias_look",
        "bias::resume",
        "bias::step_out",
        "bias::step_back",
        "bias::owner_look",
        "bias::lock",
        "bias::unlock",
        "ring::push",
        "ring::oldest_tail",
        "ring::oldest",
        "ring::room_head",
    ];
    for (site, asked) in sites_seen() {
        let name = site.strip_prefix("executor::deques::");
        let listed = asked == Relaxed || name.is_none_or(|name| weakened.contains(&name));
        assert!(listed, "no model kills `{site}`");
    }
}
