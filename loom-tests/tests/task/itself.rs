//! A poll that wakes its own task takes no read-modify-write, against everything that other threads
//! can do meanwhile. The slot that the runnable goes through is then the only edge from one run to
//! the next.

use std::sync::Mutex;

use joint::JoinHandle;

use super::{
    cancel::ended,
    race::{
        Act::{Detach, DropHandle, DropWaker, Run, Wake},
        Ends::NeverAfterAYield,
        race,
    },
    world::{
        By, Flag, Kept, Schedule, World, explore, explore_bounded, join_all, join_now, waker_of,
    },
};
use crate::prelude::*;

/// Wakes its task in its first `times` polls. From then on it is ready as soon as the flag is up.
/// Its drop raises `seen` if it sees the flag.
struct Yields {
    times: usize,
    flag: Flag,
    seen: Flag,
    value: Option<Value>,
}

impl Yields {
    fn new(world: &World, times: usize, flag: &Flag) -> Self {
        Self {
            times,
            flag: flag.clone(),
            seen: Flag::new(),
            value: Some(world.value()),
        }
    }
}

impl Future for Yields {
    type Output = Value;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Value> {
        if self.times > 0 {
            self.times -= 1;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        match self.flag.is_up() {
            true => Poll::Ready(self.value.take().expect("polled after it was ready")),
            false => Poll::Pending,
        }
    }
}

impl Drop for Yields {
    fn drop(&mut self) {
        if self.flag.is_up() {
            self.seen.raise();
        }
    }
}

/// The wake-up of another thread is not lost in the one of its own.
fn wake(how: Schedule, times: usize, by: By) {
    explore_bounded(3, move |world| {
        let arrived = Flag::new();
        let (runnable, handle) = world.spawn(how, Yields::new(world, times, &arrived));
        let waker = waker_of(&runnable);
        let other = world.start(move || {
            arrived.raise();
            by.wake(waker);
        });
        world.run_and_drain(runnable);
        other.join().unwrap();
        join_now(handle);
        assert!((times + 1..=times + 2).contains(&world.runs()));
    });
}

pub(crate) fn two_wakes_against_a_yield(how: Schedule) {
    explore_bounded(2, move |world| {
        let arrived = Flag::new();
        let (runnable, handle) = world.spawn(how, Yields::new(world, 1, &arrived));
        let others = [By::Reference, By::Value].map(|by| {
            let (waker, arrived) = (waker_of(&runnable), arrived.clone());
            world.start(move || {
                arrived.raise();
                by.wake(waker);
            })
        });
        world.run_and_drain(runnable);
        join_all(others);
        join_now(handle);
        assert!((2..=4).contains(&world.runs()));
    });
}

/// The task that another thread has woken is run by that thread, or by the one whose run it was:
/// both see all that the runs before have written.
pub(crate) fn a_run_elsewhere_after_a_yield(how: Schedule) {
    explore_bounded(3, move |world| {
        let arrived = Flag::new();
        let (runnable, handle) = world.spawn(how, Yields::new(world, 1, &arrived));
        let waker = waker_of(&runnable);
        let first = world.start_run(runnable);
        world.drain();
        arrived.raise();
        waker.take().wake();
        world.drain();
        first.join().unwrap();
        join_now(handle);
    });
}

/// The drop of the future, which the abort causes, sees what happened before the abort.
pub(crate) fn abort_against_a_yield(how: Schedule) {
    explore_bounded(3, move |world| {
        let (aborted, never) = (Flag::new(), Flag::new());
        let mut future = Yields::new(world, 1, &never);
        future.flag = aborted.clone();
        let seen = future.seen.clone();
        let (runnable, handle) = world.spawn(how, future);
        let other = world.start_run(runnable);
        aborted.raise();
        handle.abort();
        world.drain();
        other.join().unwrap();
        assert!(seen.is_up());
        ended(Kept::new(handle.take().result()));
        assert!(world.runs() <= 2);
    });
}

/// An abort from inside of the poll is found at the end of the poll, although the task has woken
/// itself too.
pub(crate) fn abort_and_yield_in_one_poll_against_wake(how: Schedule) {
    explore(move |world| {
        let place = Arc::new(Mutex::new(None::<Kept<JoinHandle<Value>>>));
        let own = place.clone();
        let future = poll_fn(move |cx: &mut Context<'_>| {
            cx.waker().wake_by_ref();
            own.lock().unwrap().as_ref().expect("put there").abort();
            Poll::Pending
        });
        let (runnable, handle) = world.spawn(how, future);
        let waker = waker_of(&runnable);
        *place.lock().unwrap() = Some(handle);
        let other = world.start(move || waker.take().wake());
        assert!(!runnable.take().run(), "scheduled again");
        world.drain();
        other.join().unwrap();
        let handle = place.lock().unwrap().take().expect("put there");
        assert!(!ended(Kept::new(handle.take().result())));
        assert_eq!(world.runs(), 1);
    });
}

/// A poll makes a waker for another thread, whose wake-up is not one of the poll's own.
pub(crate) fn a_waker_for_another_thread_against_the_poll(how: Schedule) {
    explore(move |world| {
        let arrived = Flag::new();
        let (flag, mut value) = (arrived.clone(), Some(world.value()));
        let other = Arc::new(Mutex::new(None));
        let (place, inner) = (other.clone(), Alone(world.clone()));
        let future = poll_fn(move |cx| {
            if flag.is_up() {
                return Poll::Ready(value.take().expect("polled after it was ready"));
            }
            let mut place = place.lock().unwrap();
            if place.is_none() {
                let (flag, waker) = (flag.clone(), Kept::new(cx.waker().clone()));
                let wake = move || {
                    flag.raise();
                    waker.take().wake();
                };
                *place = Some(Alone(inner.get().start(wake)));
            }
            Poll::Pending
        });
        let (runnable, handle) = world.spawn(how, future);
        world.run_and_drain(runnable);
        let Alone(other) = other.lock().unwrap().take().expect("started");
        other.join().unwrap();
        join_now(handle);
        assert!(world.runs() <= 2);
    });
}

/// May be sent, because the threads of a model share one thread of the system.
struct Alone<T>(T);

// SAFETY: as above.
unsafe impl<T> Send for Alone<T> {}

impl<T> Alone<T> {
    fn get(&self) -> &T {
        &self.0
    }
}

scheduled! {
    wake_by_reference_against_a_yield: |how| wake(how, 1, By::Reference);
    wake_by_value_against_a_yield: |how| wake(how, 1, By::Value);
    wake_against_two_yields: |how| wake(how, 2, By::Value);
}

tests! {
    two_wakes_against_a_yield
    a_run_elsewhere_after_a_yield
    abort_against_a_yield
    abort_and_yield_in_one_poll_against_wake
    a_waker_for_another_thread_against_the_poll
}

races! {
    drop_of_the_handle_against_a_yield:
        race(NeverAfterAYield, &[DropHandle], Run).within(3).runs(0..=2);
    /// Nothing refers to the task any more, but it has its second run.
    detach_against_last_waker_against_a_yield:
        race(NeverAfterAYield, &[DropWaker, Detach], Run).within(2).runs(2..=2);
    last_waker_woken_against_a_detached_yield:
        race(NeverAfterAYield, &[Wake(By::Value)], Run).without_handle().runs(2..=3);
}
