//! The wake counter at its limit, which the models lower: no wake-up is lost, and none makes a
//! second runnable.

use joint::JoinHandle;
use joint_switch::model::{set_ref_limit, set_wake_limit};
use loom_tests::fails_with;

use super::{
    race::{
        Act::{Abort, DropHandle, Run, Tell},
        Ends::Never,
        TOLD, WAKE_LIMIT, race,
    },
    world::{By, Kept, Schedule, World, explore, waker_of},
};
use crate::prelude::*;

/// Explores with the limit lowered.
fn at_limit(f: impl Fn(&World) + Send + Sync + 'static) {
    set_wake_limit(Some(WAKE_LIMIT));
    explore(f);
    set_wake_limit(None);
}

/// A task that has ended is woken again and again: the counter must not overflow, and nothing is
/// scheduled.
pub(crate) fn wakes_of_an_ended_task(how: Schedule) {
    at_limit(move |world| {
        let (runnable, handle) = world.spawn(how, std::future::ready(world.value()));
        let waker = waker_of(&runnable);
        runnable.take().run();
        for _ in 0..20 {
            waker.wake_by_ref();
            Kept::new(waker.clone()).take().wake();
        }
        drop((handle, waker));
        assert_eq!(world.runs(), 1);
    });
}

/// A task that wakes itself very often in one poll consumes the wake-ups over several runs, and
/// then becomes idle.
pub(crate) fn many_self_wakes_in_one_poll(how: Schedule) {
    at_limit(move |world| {
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

/// How many wake-ups of a task are not consumed yet.
fn waiting(handle: &JoinHandle<()>) -> u64 {
    let text = format!("{handle:?}");
    let (_, count) = text.split_once("wakes: ").expect("shown by `Debug`");
    let end = count
        .find(|c: char| !c.is_ascii_digit())
        .expect("more follows");
    count[..end].parse().expect("digits")
}

/// However a task is woken, the count stays at the limit, apart from the wake-up of an abort.
pub(crate) fn the_count_stays_at_the_limit(how: Schedule) {
    at_limit(move |world| {
        let (runnable, handle) = world.spawn(how, std::future::pending::<()>());
        let waker = waker_of(&runnable);
        let mut wakes = 1;
        for by in [By::Reference, By::Value].into_iter().cycle().take(20) {
            by.wake(Kept::new(waker.clone()));
            wakes = u64::min(wakes + 1, 4);
            let waiting = waiting(&handle);
            assert!(
                (wakes..=wakes + 1).contains(&waiting),
                "{waiting} for {wakes}"
            );
        }
        handle.abort();
        assert!((4..=6).contains(&waiting(&handle)));
        drop(waker);
        world.run_and_drain(runnable);
        assert_eq!(world.runs(), 0);
        drop(handle);
    });
}

/// A run consumes some of the wake-ups that it has found. Once few are left, the task becomes idle.
pub(crate) fn a_full_count_is_worked_off(how: Schedule) {
    at_limit(move |world| {
        let (runnable, handle) = world.spawn(how, std::future::pending::<()>());
        let waker = waker_of(&runnable);
        for _ in 0..20 {
            waker.wake_by_ref();
        }
        world.run_and_drain(runnable);
        assert!((3..=5).contains(&world.runs()));
        assert_eq!(waiting(&handle), 0);
        drop(waker);
        drop(handle);
        world.drain();
    });
}

/// Half of the range is reserved for wakers that are made while the program is being ended: nothing
/// can catch that and go on.
#[test]
fn too_many_wakers_end_the_program() {
    const TEXTS: [&str; 3] = [
        "the count of wakers is at its limit",
        "more wakers than can be counted",
        "waits for that many things at once",
    ];
    let test = "task::limit::too_many_wakers_end_the_program";
    fails_with(test, &TEXTS, || {
        set_ref_limit(Some(4));
        explore(|world| {
            let (runnable, handle) = world.spawn(Schedule::ZeroSized, std::future::pending::<()>());
            let mut wakers: Vec<_> = (0..4).map(|_| waker_of(&runnable)).collect();
            eprintln!("{}", TEXTS[0]);
            wakers.push(waker_of(&runnable));
            drop((wakers, handle));
            world.run_and_drain(runnable);
        });
    });
}

tests! {
    wakes_of_an_ended_task
    many_self_wakes_in_one_poll
    the_count_stays_at_the_limit
    a_full_count_is_worked_off
}

races! {
    /// More wake-ups than the counter can hold, while the task runs, becomes idle and runs again.
    many_wakes_by_reference_against_run:
        race(TOLD, &[Tell(6, By::Reference)], Run).at_limit().within(3).runs(1..=7);
    many_wakes_by_value_against_run:
        race(TOLD, &[Tell(6, By::Value)], Run).at_limit().within(3).runs(1..=7);
    many_wakes_of_two_threads_against_run:
        race(TOLD, &[Tell(3, By::Reference); 2], Run).at_limit().within(2).runs(1..=7);
    many_wakes_against_cancel:
        race(Never, &[Tell(5, By::Reference)], DropHandle).at_limit().after(&[Run]).within(3);
    /// Aborted while the counter is full and the task runs: the task ends, and does not run twice
    /// at once.
    many_wakes_against_abort_against_run:
        race(Never, &[Tell(6, By::Reference), Run], Abort).at_limit().within(2);
    many_wakes_against_drop_of_the_handle_against_run:
        race(Never, &[Tell(5, By::Value), DropHandle], Run).at_limit().within(2);
}
