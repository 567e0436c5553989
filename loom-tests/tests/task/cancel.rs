//! Cancelling a task, by dropping the handle or through it, against everything else that can
//! happen.

use std::sync::Mutex;

use joint::{JoinError, JoinHandle};

use super::{
    race::{
        Act::{DropHandle, DropWaker, Run, Wake},
        Ends::{AtOnce, Later, Never},
        race, second_time,
    },
    world::{By, Flag, Kept, Schedule, explore, explore_bounded, join_all, poll_once, waker_of},
};
use crate::prelude::*;

/// Pending forever. Its drop must see what the flag's thread did before it cancelled.
struct Watching {
    flag: Flag,
    seen: Flag,
}

impl Future for Watching {
    type Output = Value;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Value> {
        Poll::Pending
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if self.flag.is_up() {
            self.seen.raise();
        }
    }
}

/// The result of a task that must have ended. Returns true if there is an output, which is looked
/// at.
pub(crate) fn ended(mut result: Kept<JoinResult<Value>>) -> bool {
    match poll_once(&mut *result) {
        Poll::Ready(Ok(output)) => {
            output.look();
            true
        }
        Poll::Ready(Err(JoinError::Cancelled(_))) => false,
        Poll::Ready(Err(JoinError::Panicked(panic))) => panic.resume(),
        Poll::Pending => panic!("the task has not ended"),
    }
}

/// The drop of the future, which the abort causes, sees what happened before the abort.
pub(crate) fn abort_against_run(how: Schedule) {
    explore(move |world| {
        let (aborted, seen) = (Flag::new(), Flag::new());
        let future = Watching {
            flag: aborted.clone(),
            seen: seen.clone(),
        };
        let (runnable, handle) = world.spawn(how, future);
        let other = world.start_run(runnable);
        aborted.raise();
        handle.abort();
        world.drain();
        other.join().unwrap();
        assert!(seen.is_up());
        assert!(!ended(Kept::new(handle.take().result())));
    });
}

pub(crate) fn abort_against_completion(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, ready(world.value()));
        let other = world.start_run(runnable);
        handle.abort();
        let mut result = Kept::new(handle.take().result());
        let poll = poll_once(&mut *result);
        other.join().unwrap();
        world.drain();
        if poll.is_pending() {
            ended(result);
        }
        assert!(world.runs() <= 1);
    });
}

pub(crate) fn abort_against_abort(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, pending::<Value>());
        runnable.take().run();
        let handle = Arc::new(handle);
        let clone = handle.clone();
        let other = world.start(move || clone.abort());
        handle.abort();
        world.drain();
        other.join().unwrap();
        let handle = Arc::into_inner(handle).expect("the other thread has ended");
        assert!(!ended(Kept::new(handle.take().result())));
        assert_eq!(world.runs(), 1);
    });
}

pub(crate) fn abort_against_wake(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, second_time(world));
        let waker = waker_of(&runnable);
        runnable.take().run();
        let other = world.start(move || waker.take().wake());
        handle.abort();
        world.drain();
        other.join().unwrap();
        let output = ended(Kept::new(handle.take().result()));
        assert_eq!(world.runs(), if output { 2 } else { 1 });
    });
}

pub(crate) fn abort_and_drop_against_run(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, second_time(world));
        let other = world.start(move || {
            handle.abort();
            drop(handle);
        });
        world.run_and_drain(runnable);
        other.join().unwrap();
        assert!(world.runs() <= 1);
    });
}

/// `cancel` is awaited while the task runs: it is woken once if it had to wait, and the future has
/// been dropped by then.
pub(crate) fn awaited_cancel_against_run(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, second_time(world));
        let other = world.start_run(runnable);
        let wakes = Wakes::new();
        let mut cancel = Kept::new(handle.take().cancel());
        let poll = Pin::new(&mut *cancel).poll(&mut Context::from_waker(&wakes.waker()));
        world.drain();
        other.join().unwrap();
        assert_eq!(wakes.count(), usize::from(poll.is_pending()));
        assert_eq!(wakes.wakers(), 0);
        let end = match poll {
            Poll::Pending => poll_once(&mut *cancel),
            ready => ready,
        };
        assert!(matches!(end, Poll::Ready(None)));
        assert!(world.runs() <= 1);
    });
}

pub(crate) fn awaited_join_against_abort(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, pending::<Value>());
        runnable.take().run();
        let wakes = Wakes::new();
        let mut handle = handle;
        let cx = &mut Context::from_waker(&wakes.waker()).waker().clone();
        assert!(
            Pin::new(&mut *handle)
                .poll(&mut Context::from_waker(cx))
                .is_pending()
        );
        handle.abort();
        let other = world.start(|| ());
        world.drain();
        other.join().unwrap();
        assert_eq!(wakes.count(), 1);
        assert!(!ended(Kept::new(handle.take().result())));
    });
}

/// A task that cancels itself, by its own handle and while it is polled, ends in that run, whatever
/// other threads do with its wakers.
fn cancelled_in_its_own_poll(how: Schedule, abort: bool, other: fn(Kept<Waker>)) {
    explore(move |world| {
        let place = Arc::new(Mutex::new(None::<Kept<JoinHandle<Value>>>));
        let own = place.clone();
        let future = poll_fn(move |_| {
            let handle = own.lock().unwrap().take().expect("polled once");
            if abort {
                handle.abort();
                *own.lock().unwrap() = Some(handle);
            }
            Poll::Pending
        });
        let (runnable, handle) = world.spawn(how, future);
        let waker = waker_of(&runnable);
        *place.lock().unwrap() = Some(handle);
        let other = world.start(move || other(waker));
        assert!(!runnable.take().run(), "scheduled again");
        world.drain();
        other.join().unwrap();
        if let Some(handle) = place.lock().unwrap().take() {
            assert!(!ended(Kept::new(handle.take().result())));
        }
        assert_eq!(world.runs(), 1);
    });
}

pub(crate) fn abort_against_wake_against_run(how: Schedule) {
    explore_bounded(3, move |world| {
        let (runnable, handle) = world.spawn(how, pending::<Value>());
        let waker = waker_of(&runnable);
        let others = [
            world.start(move || waker.take().wake()),
            world.start_run(runnable),
        ];
        handle.abort();
        world.drain();
        join_all(others);
        assert!(!ended(Kept::new(handle.take().result())));
        assert!(world.runs() <= 2);
    });
}

scheduled! {
    drop_of_the_handle_in_its_own_poll_against_wake: |how| cancelled_in_its_own_poll(how, false, |waker| waker.take().wake());
    drop_of_the_handle_in_its_own_poll_against_last_waker: |how| cancelled_in_its_own_poll(how, false, drop);
    abort_in_its_own_poll_against_wake: |how| cancelled_in_its_own_poll(how, true, |waker| waker.take().wake());
    abort_in_its_own_poll_against_last_waker: |how| cancelled_in_its_own_poll(how, true, drop);
}

tests! {
    abort_against_run
    abort_against_completion
    abort_against_abort
    abort_against_wake
    abort_and_drop_against_run
    awaited_cancel_against_run
    awaited_join_against_abort
    abort_against_wake_against_run
}

races! {
    drop_of_the_handle_against_run: race(Never, &[DropHandle], Run).runs(0..=1);
    drop_of_the_handle_against_completion: race(AtOnce, &[DropHandle], Run).runs(0..=1);
    /// The two agree on one last run of the task, which is idle.
    drop_of_the_handle_against_last_waker:
        race(Never, &[DropWaker], DropHandle).after(&[Run]).runs(1..=1);
    /// The task is idle, and is woken and cancelled at once.
    drop_of_the_handle_against_wake_by_reference:
        race(Later, &[Wake(By::Reference)], DropHandle).after(&[Run]).within(4).runs(1..=2);
    drop_of_the_handle_against_wake_by_value:
        race(Later, &[Wake(By::Value)], DropHandle).after(&[Run]).within(4).runs(1..=2);
    drop_of_the_handle_against_wake_against_run:
        race(Later, &[Wake(By::Value), DropHandle], Run).within(3).runs(0..=2);
    drop_of_the_handle_against_last_waker_against_completion:
        race(AtOnce, &[DropWaker, DropHandle], Run).within(3);
}
