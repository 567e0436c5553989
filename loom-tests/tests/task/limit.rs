//! The wake counter at its edge, which the models lower: no wake-up is lost, and none makes a second runnable.

use std::{future::poll_fn, task::Poll};

use joint::model::set_wake_limit;

use crate::world::{
    By, Flag, Kept, Schedule, World, explore, explore_bounded, join_all, join_now, waker_of,
};

/// Lowers the limit for as long as it lives.
struct Lowered(());

impl Lowered {
    fn new() -> Self {
        set_wake_limit(4);
        Self(())
    }
}

impl Drop for Lowered {
    fn drop(&mut self) {
        set_wake_limit(1 << 31);
    }
}

/// More wake-ups than the counter has room for, while the task runs, becomes idle and runs again.
fn many_wakes(world: &World, how: Schedule, wakes: usize, by: By) {
    let arrived = Flag::new();
    let flag = arrived.clone();
    let mut value = Some(world.value());
    let future = poll_fn(move |_| match flag.is_up() {
        true => Poll::Ready(value.take().expect("polled after it was ready")),
        false => Poll::Pending,
    });
    let (runnable, handle) = world.spawn(how, future);
    let waker = waker_of(&runnable);
    let other = world.start(move || {
        for _ in 1..wakes {
            match by {
                By::Reference => waker.wake_by_ref(),
                By::Value => Kept::new(waker.clone()).take().wake(),
            }
        }
        arrived.raise();
        waker.take().wake();
    });
    world.run_and_drain(runnable);
    other.join().unwrap();
    join_now(handle);
    assert!(world.runs() <= wakes + 1);
}

pub(crate) fn many_wakes_by_reference_against_run(how: Schedule) {
    let _limit = Lowered::new();
    explore_bounded(3, move |world| many_wakes(world, how, 6, By::Reference));
}

pub(crate) fn many_wakes_by_value_against_run(how: Schedule) {
    let _limit = Lowered::new();
    explore_bounded(3, move |world| many_wakes(world, how, 6, By::Value));
}

/// Two threads find the counter full at once. At most two preemptions.
pub(crate) fn many_wakes_of_two_threads_against_run(how: Schedule) {
    let _limit = Lowered::new();
    explore_bounded(2, move |world| {
        let flags = [Flag::new(), Flag::new()];
        let seen = flags.clone();
        let mut value = Some(world.value());
        let future = poll_fn(move |_| match seen.iter().all(Flag::is_up) {
            true => Poll::Ready(value.take().expect("polled after it was ready")),
            false => Poll::Pending,
        });
        let (runnable, handle) = world.spawn(how, future);
        let others = flags.map(|flag| {
            let waker = waker_of(&runnable);
            world.start(move || {
                waker.wake_by_ref();
                waker.wake_by_ref();
                flag.raise();
                waker.take().wake();
            })
        });
        world.run_and_drain(runnable);
        join_all(others);
        join_now(handle);
        assert!(world.runs() <= 7);
    });
}

/// A task that has ended is woken for ever: the counter must not run over, and nothing is scheduled.
pub(crate) fn wakes_of_an_ended_task(how: Schedule) {
    let _limit = Lowered::new();
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, std::future::ready(world.value()));
        let waker = waker_of(&runnable);
        runnable.take().run();
        for _ in 0..20 {
            waker.wake_by_ref();
            Kept::new(waker.clone()).take().wake();
        }
        join_now(handle);
        drop(waker);
        assert_eq!(world.runs(), 1);
    });
}

/// A task that wakes itself very often in one poll runs on by parts, and then rests.
pub(crate) fn many_wakes_of_oneself(how: Schedule) {
    let _limit = Lowered::new();
    explore(move |world| {
        let mut polls = 0;
        let future = poll_fn(move |cx| {
            polls += 1;
            if polls == 1 {
                for _ in 0..10 {
                    cx.waker().wake_by_ref();
                }
            }
            Poll::<()>::Pending
        });
        let (runnable, handle) = world.spawn(how, future);
        world.run_and_drain(runnable);
        assert!((2..=5).contains(&world.runs()));
        drop(handle);
        world.drain();
    });
}

/// Wake-ups that are taken back while the task is being parted from its handle and freed. At most three preemptions.
pub(crate) fn many_wakes_against_cancel(how: Schedule) {
    let _limit = Lowered::new();
    explore_bounded(3, move |world| {
        let (runnable, handle) = world.spawn(how, std::future::pending::<()>());
        let waker = waker_of(&runnable);
        let other = world.start(move || {
            for _ in 0..5 {
                waker.wake_by_ref();
            }
            drop(waker);
        });
        drop(handle);
        world.run_and_drain(runnable);
        other.join().unwrap();
        assert_eq!(world.runs(), 0);
    });
}

tests! {
    many_wakes_by_reference_against_run
    many_wakes_by_value_against_run
    many_wakes_of_two_threads_against_run
    wakes_of_an_ended_task
    many_wakes_of_oneself
    many_wakes_against_cancel
}
