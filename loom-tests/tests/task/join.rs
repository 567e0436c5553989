//! The handle against the run that ends the task: the output arrives whole, and a waiter is woken
//! at most once.

use joint::{JoinError, JoinHandle};

use super::{
    race::{
        Act::{Detach, DropHandle, DropRunnable},
        Ends::AtOnce,
        race,
    },
    world::{
        Flag, Kept, Schedule, World, all_up, explore, explore_bounded, join_all, join_now,
        poll_once, waker_of,
    },
};
use crate::prelude::*;

fn poll_with(handle: &mut Kept<JoinHandle<Value>>, wakes: &Arc<Wakes>) -> bool {
    let poll = Pin::new(&mut **handle).poll(&mut Context::from_waker(&wakes.waker()));
    match poll {
        Poll::Ready(output) => {
            output.look();
            true
        }
        Poll::Pending => false,
    }
}

pub(crate) fn poll_against_run(how: Schedule) {
    explore(move |world| {
        let (runnable, mut handle) = world.spawn(how, ready(world.value()));
        let other = world.start_run(runnable);
        let wakes = Wakes::new();
        let ready = poll_with(&mut handle, &wakes);
        other.join().unwrap();
        assert_eq!(wakes.count(), usize::from(!ready));
        assert_eq!(wakes.wakers(), 0);
        if !ready {
            join_now(handle);
        }
    });
}

pub(crate) fn poll_with_another_waker_against_run(how: Schedule) {
    explore(move |world| {
        let (runnable, mut handle) = world.spawn(how, ready(world.value()));
        let other = world.start_run(runnable);
        let (first, second) = (Wakes::new(), Wakes::new());
        let ready = poll_with(&mut handle, &first) || poll_with(&mut handle, &second);
        other.join().unwrap();
        if ready {
            // Ready at the second poll: the first waker may have been woken in between.
            assert!(first.count() <= 1);
            assert_eq!(second.count(), 0);
        } else {
            assert_eq!((first.count(), second.count()), (0, 1));
            join_now(handle);
        }
        assert_eq!((first.wakers(), second.wakers()), (0, 0));
    });
}

/// Polling again with the same waker costs nothing, and loses no wake-up.
pub(crate) fn poll_with_the_same_waker_against_run(how: Schedule) {
    explore(move |world| {
        let (runnable, mut handle) = world.spawn(how, ready(world.value()));
        let other = world.start_run(runnable);
        let wakes = Wakes::new();
        let ready = poll_with(&mut handle, &wakes) || poll_with(&mut handle, &wakes);
        other.join().unwrap();
        assert!(ready || wakes.count() == 1);
        assert!(wakes.count() <= 1);
        assert_eq!(wakes.wakers(), 0);
        if !ready {
            join_now(handle);
        }
    });
}

/// A handle that only looks whether the task has ended, and takes the output when it has.
pub(crate) fn look_against_run(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, ready(world.value()));
        let other = world.start_run(runnable);
        if handle.is_finished() {
            join_now(handle);
        } else {
            drop(handle);
        }
        world.drain();
        other.join().unwrap();
    });
}

/// The handle goes while its registered waker is being taken: the waker is woken or dropped, but
/// not both.
fn registered_handle_against_completion(how: Schedule, go: fn(Kept<JoinHandle<Value>>)) {
    explore(move |world| {
        let (runnable, mut handle) = world.spawn(how, ready(world.value()));
        let wakes = Wakes::new();
        assert!(!poll_with(&mut handle, &wakes));
        let other = world.start_run(runnable);
        go(handle);
        world.drain();
        other.join().unwrap();
        assert!(wakes.count() <= 1);
        assert_eq!(wakes.wakers(), 0);
    });
}

/// Awaits the handle, looks at the output, and passes it on.
fn passing_on(handle: JoinHandle<Value>) -> impl Future<Output = Value> {
    let mut handle = Kept::new(handle);
    poll_fn(move |cx| {
        Pin::new(&mut *handle).poll(cx).map(|output| {
            output.look();
            output
        })
    })
}

/// The waiter is itself a task, and the waker that it registers is its own header.
pub(crate) fn a_task_awaits_a_task(how: Schedule) {
    explore(move |world| {
        let (child, handle) = world.spawn(how, ready(world.value()));
        let (parent, joined) = world.spawn_at::<1, _>(how, passing_on(handle.take()));
        let other = world.start_run(child);
        world.run_and_drain(parent);
        other.join().unwrap();
        join_now(joined);
    });
}

/// As above, but the handle of the waiting task is dropped meanwhile: both tasks are freed.
pub(crate) fn a_task_that_awaits_a_task_is_dropped(how: Schedule) {
    explore_bounded(2, move |world| {
        let (child, handle) = world.spawn(how, ready(world.value()));
        let (parent, joined) = world.spawn_at::<1, _>(how, passing_on(handle.take()));
        let other = world.start_run(child);
        let third = world.start(move || drop(joined));
        world.run_and_drain(parent);
        other.join().unwrap();
        third.join().unwrap();
    });
}

/// A runnable that is dropped cancels its task, and a handle that is polled meanwhile learns of
/// that.
pub(crate) fn drop_of_the_runnable_against_poll(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, ready(world.value()));
        let other = world.start(move || drop(runnable));
        let wakes = Wakes::new();
        let mut result = Kept::new(handle.take().result());
        let poll = Pin::new(&mut *result).poll(&mut Context::from_waker(&wakes.waker()));
        let ready = poll.map(is_cancelled) == Poll::Ready(true);
        other.join().unwrap();
        assert_eq!(wakes.count(), usize::from(!ready));
        assert_eq!(wakes.wakers(), 0);
        if !ready {
            demand_cancelled(result);
        }
        assert_eq!(world.runs(), 0);
    });
}

fn is_cancelled(result: Result<Value, JoinError>) -> bool {
    matches!(result, Err(JoinError::Cancelled(_)))
}

fn demand_cancelled(mut result: Kept<JoinResult<Value>>) {
    assert_eq!(poll_once(&mut *result).map(is_cancelled), Poll::Ready(true));
}

/// The runnable is dropped while the task is woken and its last waker is dropped.
pub(crate) fn drop_of_the_runnable_against_wake(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, ready(world.value()));
        let waker = waker_of(&runnable);
        let other = world.start(move || waker.take().wake());
        drop(runnable);
        demand_cancelled(Kept::new(handle.take().result()));
        other.join().unwrap();
        world.drain();
    });
}

pub(crate) fn poll_against_wake_against_run(how: Schedule) {
    explore_bounded(3, move |world: &World| {
        let arrived = Flag::new();
        let (runnable, mut handle) = world.spawn(how, all_up(world, [&arrived]));
        let waker = waker_of(&runnable);
        let others = [
            world.start(move || {
                arrived.raise();
                waker.take().wake();
            }),
            world.start_run(runnable),
        ];
        let wakes = Wakes::new();
        let ready = poll_with(&mut handle, &wakes);
        join_all(others);
        assert_eq!(wakes.count(), usize::from(!ready));
        assert_eq!(wakes.wakers(), 0);
        if !ready {
            join_now(handle);
        }
    });
}

scheduled! {
    drop_of_a_registered_handle_against_completion: |how| registered_handle_against_completion(how, drop);
    detach_of_a_registered_handle_against_completion:
        |how| registered_handle_against_completion(how, |handle| handle.take().detach());
}

tests! {
    poll_against_run
    poll_with_another_waker_against_run
    poll_with_the_same_waker_against_run
    look_against_run
    a_task_awaits_a_task
    a_task_that_awaits_a_task_is_dropped
    drop_of_the_runnable_against_poll
    drop_of_the_runnable_against_wake
    poll_against_wake_against_run
}

races! {
    drop_of_the_runnable_against_drop_of_the_handle:
        race(AtOnce, &[DropRunnable], DropHandle).runs(0..=0);
    drop_of_the_runnable_against_detach: race(AtOnce, &[DropRunnable], Detach).runs(0..=0);
}
