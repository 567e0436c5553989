//! Tasks that never had a handle: only the runner and the wakers agree on which one frees, and on
//! the orphan.

use super::{
    race::{
        Act::{DropRunnable, DropWaker, Run, Wake},
        Ends::{AtOnce, Never},
        race,
    },
    world::{By, Flag, Schedule, all_up, explore, explore_bounded, join_all, waker_of},
};

/// The run that the wake-up causes sees what happened before the wake-up, and so the task ends.
fn woken_against_run(how: Schedule, by: By) {
    explore(move |world| {
        let arrived = Flag::new();
        let ended = Flag::new();
        let (future, end) = (all_up(world, [&arrived]), ended.clone());
        let future = async move {
            future.await;
            end.raise();
        };
        let runnable = world.spawn_detached(how, future);
        let waker = waker_of(&runnable);
        let other = world.start(move || {
            arrived.raise();
            by.wake(waker);
        });
        world.run_and_drain(runnable);
        other.join().unwrap();
        assert!(ended.is_up(), "a wake-up was lost");
        assert!(world.runs() <= 2);
    });
}

pub(crate) fn woken_against_last_waker_against_run(how: Schedule) {
    explore_bounded(3, move |world| {
        let arrived = Flag::new();
        let runnable = world.spawn_detached(how, all_up(world, [&arrived]));
        let (waker, clone) = (waker_of(&runnable), waker_of(&runnable));
        let others = [
            world.start(move || {
                arrived.raise();
                waker.take().wake();
            }),
            world.start(move || drop(clone)),
        ];
        world.run_and_drain(runnable);
        join_all(others);
        assert!(world.runs() <= 2);
    });
}

scheduled! {
    woken_by_reference_against_run: |how| woken_against_run(how, By::Reference);
    woken_by_value_against_run: |how| woken_against_run(how, By::Value);
}

tests! {
    woken_against_last_waker_against_run
}

races! {
    last_waker_dropped_against_the_end:
        race(AtOnce, &[DropWaker], Run).without_handle().runs(1..=1);
    /// One of the two finds the orphan.
    last_waker_dropped_against_an_idle_run:
        race(Never, &[DropWaker], Run).without_handle().runs(1..=1);
    two_last_wakers_dropped_while_idle:
        race(Never, &[DropWaker], DropWaker).without_handle().after(&[Run]).runs(1..=1);
    drop_of_the_runnable_against_wake:
        race(AtOnce, &[Wake(By::Value)], DropRunnable).without_handle().runs(0..=0);
}
