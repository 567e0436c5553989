//! The handle against the run that ends the task: the output arrives whole, and a waiter is woken
//! at most once.

use super::{
    race::{
        Act::{Detach, DropHandle, DropRunnable, Look, Poll as PollHandle, Run, Tell, Wake},
        Ends::AtOnce,
        TOLD, has_output, race,
    },
    world::{By, Kept, Schedule, explore},
};
use crate::prelude::*;

/// The waiter is itself a task, and the waker that it registers is its own header.
pub(crate) fn a_task_awaits_a_task(how: Schedule) {
    explore(move |world| {
        let (child, handle) = world.spawn(how, ready(world.value()));
        let mut handle = Kept::new(handle.take());
        let passes_on = poll_fn(move |cx| {
            Pin::new(&mut *handle).poll(cx).map(|output| {
                output.look();
                output
            })
        });
        let (parent, joined) = world.spawn_at::<1, _>(how, passes_on);
        let other = world.start_run(child);
        world.run_and_drain(parent);
        other.join().unwrap();
        assert!(has_output(&mut Kept::new(joined.take().result())));
    });
}

tests! { a_task_awaits_a_task }

races! {
    poll_against_run: race(AtOnce, &[Run], PollHandle(&[0])).runs(1..=1);
    poll_with_another_waker_against_run: race(AtOnce, &[Run], PollHandle(&[0, 1])).runs(1..=1);
    /// Polling again with the same waker costs nothing, and loses no wake-up.
    poll_with_the_same_waker_against_run: race(AtOnce, &[Run], PollHandle(&[0, 0])).runs(1..=1);
    poll_against_wake_against_run:
        race(TOLD, &[Tell(1, By::Value), Run], PollHandle(&[0])).within(3).runs(1..=2);
    look_against_run: race(AtOnce, &[Run], Look);
    /// The handle goes while its registered waker is being taken: the waker is woken or dropped,
    /// but not both.
    drop_of_a_registered_handle_against_completion:
        race(AtOnce, &[Run], DropHandle).after(&[PollHandle(&[0])]).runs(0..=1);
    detach_of_a_registered_handle_against_completion:
        race(AtOnce, &[Run], Detach).after(&[PollHandle(&[0])]).runs(1..=1);
    /// A runnable that is dropped cancels its task, and a handle that is polled meanwhile learns of
    /// that.
    drop_of_the_runnable_against_poll:
        race(AtOnce, &[DropRunnable], PollHandle(&[0])).runs(0..=0);
    /// While the task is woken and its last waker is dropped.
    drop_of_the_runnable_against_wake:
        race(AtOnce, &[Wake(By::Value)], DropRunnable).runs(0..=0);
    drop_of_the_runnable_against_drop_of_the_handle:
        race(AtOnce, &[DropRunnable], DropHandle).runs(0..=0);
    drop_of_the_runnable_against_detach: race(AtOnce, &[DropRunnable], Detach).runs(0..=0);
}
