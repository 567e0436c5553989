//! Which side frees the task: the runner, the handle and the wakers, each against each other one,
//! in their last accesses.
//!
//! Also the orphan: if an idle task can no longer be reached, exactly one of those that let go of
//! it finds that out.

use std::{
    future::{Future, pending, ready},
    sync::atomic::Ordering::Relaxed,
    task::{Poll, Waker},
};

use joint::task::{self, Runnable};
use loom_tests::{
    Value,
    lab::{failure_of, thread},
};

use super::world::{
    By, Flag, Kept, Schedule, World, explore, explore_bounded, join_all, join_now, poll_once,
    waker_of,
};

/// Pending forever.
fn never() -> impl Future<Output = Value> {
    pending()
}

/// Ready at once.
fn at_once(world: &World) -> impl Future<Output = Value> + use<> {
    ready(world.value())
}

/// The task is idle, and its last waker and its handle are dropped at once.
pub(crate) fn last_waker_dropped_against_detach(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, never());
        let waker = waker_of(&runnable);
        runnable.take().run();
        let other = world.start(move || drop(waker));
        handle.take().detach();
        world.drain();
        other.join().unwrap();
        assert_eq!(world.runs(), 1);
    });
}

/// Both wakers of an idle detached task are dropped at once.
pub(crate) fn two_last_wakers_dropped(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, never());
        let (waker, clone) = (waker_of(&runnable), waker_of(&runnable));
        handle.take().detach();
        runnable.take().run();
        let other = world.start(move || drop(waker));
        drop(clone);
        world.drain();
        other.join().unwrap();
        assert_eq!(world.runs(), 1);
    });
}

/// A detached task becomes idle while its last waker is dropped: one of the two finds the orphan.
pub(crate) fn last_waker_dropped_against_idle(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, never());
        let waker = waker_of(&runnable);
        handle.take().detach();
        let other = world.start(move || drop(waker));
        world.run_and_drain(runnable);
        other.join().unwrap();
        assert_eq!(world.runs(), 1);
    });
}

/// A detached task becomes idle while its last waker wakes it by value: it must run once more
/// before it is an orphan.
pub(crate) fn last_waker_woken_against_idle(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, never());
        let waker = waker_of(&runnable);
        handle.take().detach();
        let other = world.start(move || waker.take().wake());
        world.run_and_drain(runnable);
        other.join().unwrap();
        assert!((1..=2).contains(&world.runs()));
    });
}

/// A task without wakers becomes idle while its handle detaches.
pub(crate) fn detach_against_idle(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, never());
        let other = world.start(move || handle.take().detach());
        world.run_and_drain(runnable);
        other.join().unwrap();
        assert_eq!(world.runs(), 1);
    });
}

/// The handle detaches, and the last waker is dropped, while the task becomes idle. At most two
/// preemptions.
pub(crate) fn detach_against_last_waker_against_idle(how: Schedule) {
    explore_bounded(2, move |world| {
        let (runnable, handle) = world.spawn(how, never());
        let waker = waker_of(&runnable);
        let others = [
            world.start(move || drop(waker)),
            world.start(move || handle.take().detach()),
        ];
        world.run_and_drain(runnable);
        join_all(others);
        assert_eq!(world.runs(), 1);
    });
}

/// The runner or the handle drops the output, and the last of the two frees the memory.
pub(crate) fn detach_against_completion(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, at_once(world));
        let other = world.start(move || handle.take().detach());
        world.run_and_drain(runnable);
        other.join().unwrap();
    });
}

/// As above, with a future and an output that are large, and have blocks of their own: the run
/// frees the former, and whoever takes or drops the output the latter. A waker is left.
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

/// A detached task completes while its last waker is dropped.
pub(crate) fn last_waker_dropped_against_detached_completion(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, at_once(world));
        let waker = waker_of(&runnable);
        handle.take().detach();
        let other = world.start(move || drop(waker));
        world.run_and_drain(runnable);
        other.join().unwrap();
    });
}

/// A detached task completes while its last waker wakes it.
fn woken_against_detached_completion(how: Schedule, by: By) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, at_once(world));
        let waker = waker_of(&runnable);
        handle.take().detach();
        let other = world.start(move || by.wake(waker));
        world.run_and_drain(runnable);
        other.join().unwrap();
        assert_eq!(world.runs(), 1);
    });
}

pub(crate) fn last_waker_woken_by_value_against_detached_completion(how: Schedule) {
    woken_against_detached_completion(how, By::Value);
}

pub(crate) fn last_waker_woken_by_reference_against_detached_completion(how: Schedule) {
    woken_against_detached_completion(how, By::Reference);
}

/// The runner, the handle and the last waker all leave at once. At most three preemptions.
pub(crate) fn detach_against_last_waker_against_completion(how: Schedule) {
    explore_bounded(3, move |world| {
        let (runnable, handle) = world.spawn(how, at_once(world));
        let waker = waker_of(&runnable);
        let others = [
            world.start(move || drop(waker)),
            world.start(move || handle.take().detach()),
        ];
        world.run_and_drain(runnable);
        join_all(others);
    });
}

/// The handle takes the output of a task that has ended while its last waker is dropped.
pub(crate) fn last_waker_dropped_against_join(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, at_once(world));
        let waker = waker_of(&runnable);
        runnable.take().run();
        let other = world.start(move || drop(waker));
        join_now(handle);
        other.join().unwrap();
    });
}

/// As above, with a wake-up by value, which does not schedule a task that has ended.
pub(crate) fn last_waker_woken_against_join(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, at_once(world));
        let waker = waker_of(&runnable);
        runnable.take().run();
        let other = world.start(move || waker.take().wake());
        join_now(handle);
        other.join().unwrap();
        world.drain();
        assert_eq!(world.runs(), 1);
    });
}

/// As above, by reference.
pub(crate) fn wake_of_an_ended_task_against_join(how: Schedule) {
    explore(move |world| {
        let (runnable, handle) = world.spawn(how, at_once(world));
        let waker = waker_of(&runnable);
        runnable.take().run();
        let other = world.start(move || By::Reference.wake(waker));
        join_now(handle);
        other.join().unwrap();
        world.drain();
        assert_eq!(world.runs(), 1);
    });
}

/// The task ends in one thread, the handle looks for the output in another, and the last waker is
/// dropped in a third. At most three preemptions.
pub(crate) fn last_waker_dropped_against_join_against_completion(how: Schedule) {
    explore_bounded(3, move |world| {
        let (runnable, handle) = world.spawn(how, at_once(world));
        let waker = waker_of(&runnable);
        let others = [
            world.start(move || drop(waker)),
            world.start(move || {
                runnable.take().run();
            }),
        ];
        let mut handle = Kept::new(handle.take().result());
        if let Poll::Ready(output) = poll_once(&mut *handle) {
            output.expect("neither cancelled nor panicked").look();
        }
        drop(handle);
        world.drain();
        join_all(others);
    });
}

/// The handle has taken the output, and is dropped at the same time as the last waker. It has kept
/// the memory until then.
fn handle_kept_after_the_output(how: Schedule, last: fn(Kept<Waker>)) {
    explore(move |world| {
        let (runnable, mut handle) = world.spawn(how, at_once(world));
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

pub(crate) fn last_waker_dropped_against_a_handle_kept_after_the_output(how: Schedule) {
    handle_kept_after_the_output(how, drop);
}

pub(crate) fn last_waker_woken_against_a_handle_kept_after_the_output(how: Schedule) {
    handle_kept_after_the_output(how, |waker| waker.take().wake());
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

tests! {
    last_waker_dropped_against_detach
    two_last_wakers_dropped
    last_waker_dropped_against_idle
    last_waker_woken_against_idle
    detach_against_idle
    detach_against_last_waker_against_idle
    detach_against_completion
    handle_against_a_large_completion
    last_waker_dropped_against_detached_completion
    last_waker_woken_by_value_against_detached_completion
    last_waker_woken_by_reference_against_detached_completion
    detach_against_last_waker_against_completion
    last_waker_dropped_against_join
    last_waker_woken_against_join
    wake_of_an_ended_task_against_join
    last_waker_dropped_against_join_against_completion
    last_waker_dropped_against_a_handle_kept_after_the_output
    last_waker_woken_against_a_handle_kept_after_the_output
}
