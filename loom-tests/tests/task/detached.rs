//! Tasks that never had a handle: only the runner and the wakers agree on which one frees, and on
//! the orphan.

use super::{
    race::{
        Act::{DropRunnable, DropWaker, Run, Tell, Wake},
        Ends::{AtOnce, Never},
        TOLD, race,
    },
    world::By,
};

races! {
    woken_by_reference_against_run:
        race(TOLD, &[Tell(1, By::Reference)], Run).without_handle().runs(1..=2);
    woken_by_value_against_run:
        race(TOLD, &[Tell(1, By::Value)], Run).without_handle().runs(1..=2);
    woken_against_last_waker_against_run:
        race(TOLD, &[Tell(1, By::Value), DropWaker], Run).without_handle().within(3).runs(1..=2);
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
