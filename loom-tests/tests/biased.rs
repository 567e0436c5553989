//! Models of the biased lock (`executor/src/biased.rs`). The cell under it reports two threads
//! that are inside at once.
#![cfg(joint_loom)]

use std::sync::{
    Arc,
    atomic::Ordering::{AcqRel, Relaxed},
};

use joint_executor::model::Biased;
use joint_switch::model::sites_seen;
use loom_tests::lab::thread;
use loom_tests::{assert_killed, model, model_bounded, rmws_of};

/// The owner adds to the value twice, and each other thread once. Preemption bound 3.
fn owner_against_others(others: usize) {
    model_bounded(3, move || {
        let value = Arc::new(Biased::new(0));
        let threads: Vec<_> = (0..others)
            .map(|_| {
                let value = value.clone();
                thread::spawn(move || value.with_lock(|value| *value += 1))
            })
            .collect();
        for _ in 0..2 {
            // SAFETY: this thread is the owner.
            unsafe { value.enter(|value| *value += 1) };
        }
        for thread in threads {
            thread.join().unwrap();
        }
        value.with_lock(|value| assert_eq!(*value, 2 + others));
    });
}

/// Preemption bound 3.
#[test]
fn the_owner_and_another_are_inside_by_turns() {
    owner_against_others(1);
}

/// Preemption bound 3.
#[test]
fn the_owner_and_two_others_are_inside_by_turns() {
    owner_against_others(2);
}

#[test]
fn a_biased_owner_makes_no_read_modify_write() {
    model(|| {
        let value = Biased::new(0);
        // SAFETY: this thread is the owner.
        let enter = || unsafe { value.enter(|value| *value += 1) };
        assert_eq!(rmws_of(enter), 0);
    });
}

#[test]
fn entering_is_seq_cst() {
    assert_killed("executor::biased::enter_fence", AcqRel, || {
        owner_against_others(1);
    });
}

#[test]
fn revoking_is_seq_cst() {
    assert_killed("executor::biased::revoke_fence", AcqRel, || {
        owner_against_others(1);
    });
}

#[test]
fn stepping_out_releases() {
    assert_killed("executor::biased::step_out", Relaxed, || {
        owner_against_others(1);
    });
}

#[test]
fn waiting_for_the_owner_acquires() {
    assert_killed("executor::biased::wait_for_owner", Relaxed, || {
        owner_against_others(1);
    });
}

/// Each site that a model reaches either asks for `Relaxed` or is weakened above.
#[test]
fn no_site_is_left_out() {
    owner_against_others(1);
    let weakened = ["enter_fence", "revoke_fence", "step_out", "wait_for_owner"];
    for (site, asked) in sites_seen() {
        let listed = asked == Relaxed || weakened.iter().any(|name| site.ends_with(name));
        assert!(
            listed || !site.starts_with("executor::biased"),
            "no model kills `{site}`"
        );
    }
}
