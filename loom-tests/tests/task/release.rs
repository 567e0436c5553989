//! Which side frees the task: the runner, the handle and the wakers, each against each other one,
//! in their last accesses.
//!
//! Also the orphan: if an idle task can no longer be reached, exactly one of those that let go of
//! it finds that out.

use loom_tests::lab::thread;

use super::{
    race::{
        Act::{Detach, DropWaker, Join, Run, Wake},
        Ends::{AtOnce, Never},
        race,
    },
    world::{By, Flag, Kept, Schedule, explore, poll_once, waker_of},
};
use crate::prelude::*;

/// A future and an output that are large, and have boxes of their own: the run frees the former,
/// and whoever takes or drops the output the latter. A waker is left.
pub(crate) fn handle_against_a_large_completion(how: Schedule) {
    const LARGE: usize = 1_000;
    for joins in [false, true] {
        explore(move |world| {
            let (value, large) = (world.value(), [7u8; LARGE]);
            let future = async move { (value, std::hint::black_box(large)) };
            let (runnable, mut handle) = world.spawn(how, future);
            let waker = waker_of(&runnable);
            let other = world.start(move || {
                let polled = joins.then(|| poll_once(&mut *handle));
                if let Some(Poll::Ready((value, large))) = polled {
                    value.look();
                    assert_eq!(large[LARGE - 1], 7);
                }
                handle.take().detach();
            });
            world.run_and_drain(runnable);
            other.join().unwrap();
            drop(waker);
        });
    }
}

/// The handle has taken the output, and is dropped at the same time as the last waker. It has kept
/// the memory until then.
fn handle_kept_after_the_output(how: Schedule, last: fn(Kept<Waker>)) {
    explore(move |world| {
        let (runnable, mut handle) = world.spawn(how, ready(world.value()));
        let waker = waker_of(&runnable);
        runnable.take().run();
        let Poll::Ready(output) = poll_once(&mut *handle) else {
            panic!("a task that has ended is ready")
        };
        let other = world.start(move || last(waker));
        assert!(handle.is_finished());
        drop(handle);
        other.join().unwrap();
        output.look();
        assert_eq!(world.runs(), 1);
    });
}

/// A queue that uses the link of a task whose runnable it has given away.
#[test]
fn a_look_at_a_link_races_with_the_free() {
    joint_mutants::leave_out();
    let failure = failure_of(None, || {
        let runnable = Kept::new(task::spawn_detached(ready(()), |_| {}));
        let (raw, has_looked) = (runnable.as_ptr(), Flag::new());
        let looks = has_looked.clone();
        let other = thread::spawn(move || {
            // SAFETY: the task has not been freed: it runs after the look, or after this thread.
            unsafe { Runnable::<()>::raw_link(raw) }.get(Relaxed);
            looks.raise();
        });
        if !has_looked.is_up() {
            other.join().unwrap();
        }
        runnable.take().run();
    });
    assert!(failure.is_some(), "nothing orders the look before the free");
}

scheduled! {
    last_waker_dropped_against_a_handle_kept_after_the_output: |how| handle_kept_after_the_output(how, drop);
    last_waker_woken_against_a_handle_kept_after_the_output: |how| handle_kept_after_the_output(how, |waker| waker.take().wake());
}

tests! {
    handle_against_a_large_completion
}

races! {
    /// The task is idle.
    last_waker_dropped_against_detach:
        race(Never, &[DropWaker], Detach).after(&[Run]).runs(1..=1);
    /// The task is idle and detached.
    two_last_wakers_dropped:
        race(Never, &[DropWaker], DropWaker).after(&[Detach, Run]).runs(1..=1);
    /// A detached task becomes idle: one of the two finds the orphan.
    last_waker_dropped_against_idle:
        race(Never, &[DropWaker], Run).after(&[Detach]).runs(1..=1);
    /// It must run once more before it is an orphan.
    last_waker_woken_against_idle:
        race(Never, &[Wake(By::Value)], Run).after(&[Detach]).runs(1..=2);
    detach_against_idle: race(Never, &[Detach], Run).runs(1..=1);
    detach_against_last_waker_against_idle:
        race(Never, &[DropWaker, Detach], Run).within(2).runs(1..=1);
    /// The runner or the handle drops the output, and the last of the two frees the memory.
    detach_against_completion: race(AtOnce, &[Detach], Run);
    last_waker_dropped_against_detached_completion:
        race(AtOnce, &[DropWaker], Run).after(&[Detach]);
    last_waker_woken_by_value_against_detached_completion:
        race(AtOnce, &[Wake(By::Value)], Run).after(&[Detach]).runs(1..=1);
    last_waker_woken_by_reference_against_detached_completion:
        race(AtOnce, &[Wake(By::Reference)], Run).after(&[Detach]).runs(1..=1);
    detach_against_last_waker_against_completion:
        race(AtOnce, &[DropWaker, Detach], Run).within(3);
    last_waker_dropped_against_join: race(AtOnce, &[DropWaker], Join).after(&[Run]);
    /// A task that has ended is not scheduled.
    last_waker_woken_against_join:
        race(AtOnce, &[Wake(By::Value)], Join).after(&[Run]).runs(1..=1);
    wake_of_an_ended_task_against_join:
        race(AtOnce, &[Wake(By::Reference)], Join).after(&[Run]).runs(1..=1);
}
