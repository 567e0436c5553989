//! What each path costs in atomic read-modify-writes, with a schedule function of size zero.

use std::{
    future::{Future, pending, poll_fn, ready},
    pin::Pin,
    task::{Context, Poll},
};

use joint::{JoinHandle, task::Runnable};
use loom_tests::{Wakes, rmws_of};

use crate::world::{
    Kept,
    Schedule::{Copied, ZeroSized},
    World, explore, poll_once, waker_of,
};

fn spawn<F>(world: &World, future: F) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future<Output: Send> + Send + 'static,
{
    let (runnable, handle) = world.spawn(ZeroSized, future);
    (runnable.take(), handle.take())
}

/// A task that has run once and waits forever.
fn idle(world: &World) -> JoinHandle<()> {
    let (runnable, handle) = spawn(world, pending());
    runnable.run();
    handle
}

#[test]
fn spawn_run_join_and_drop_take_one() {
    explore(|world| {
        let taken = rmws_of(|| {
            let (runnable, handle) = spawn(world, ready(7));
            runnable.run();
            assert_eq!(poll_once(handle), Poll::Ready(7));
        });
        assert_eq!(taken, 1);
    });
}

#[test]
fn a_run_that_is_pending_takes_one() {
    explore(|world| {
        let (runnable, handle) = spawn(world, pending::<()>());
        assert_eq!(rmws_of(|| runnable.run()), 1);
        drop(handle);
        world.drain();
    });
}

#[test]
fn a_wake_takes_one() {
    explore(|world| {
        let (runnable, handle) = spawn(world, pending::<()>());
        let waker = waker_of(&runnable);
        runnable.run();
        assert_eq!(rmws_of(|| waker.wake_by_ref()), 1, "idle");
        assert_eq!(rmws_of(|| waker.wake_by_ref()), 1, "scheduled already");
        let clone = Kept::new(waker.clone());
        assert_eq!(
            rmws_of(|| waker.take().wake()),
            1,
            "scheduled already, by value"
        );
        world.drain();
        assert_eq!(rmws_of(|| clone.take().wake()), 1, "idle, by value");
        world.drain();
        drop(handle);
        world.drain();
    });
}

#[test]
fn registering_takes_one_and_again_none_and_another_one() {
    explore(|world| {
        let (runnable, mut handle) = spawn(world, ready(7));
        // Wakers that are not the task's own: the cost of their clones and drops is not counted.
        let (first, second) = (Wakes::new().waker(), Wakes::new().waker());
        let mut poll = |waker| {
            rmws_of(|| {
                let poll = Pin::new(&mut handle).poll(&mut Context::from_waker(waker));
                assert!(poll.is_pending());
            })
        };
        assert_eq!(poll(&first), 1);
        assert_eq!(poll(&first), 0);
        assert_eq!(poll(&second), 1);
        assert_eq!(rmws_of(|| runnable.run()), 1);
        assert_eq!(rmws_of(|| poll_once(handle)), 0);
    });
}

#[test]
fn joining_a_task_that_has_ended_takes_none() {
    explore(|world| {
        let (runnable, handle) = spawn(world, ready(7));
        runnable.run();
        assert_eq!(rmws_of(|| poll_once(handle)), 0);
    });
}

#[test]
fn dropping_the_handle_of_a_task_that_has_ended_takes_none() {
    explore(|world| {
        let (runnable, handle) = spawn(world, ready(7));
        runnable.run();
        assert_eq!(rmws_of(|| drop(handle)), 0);
    });
}

#[test]
fn a_task_that_waits_for_a_task_takes_four() {
    explore(|world| {
        let (child, mut handle) = world.spawn(ZeroSized, ready(7));
        let future = poll_fn(move |cx| Pin::new(&mut *handle).poll(cx));
        let (parent, joined) = world.spawn_at::<1, _>(ZeroSized, future);
        // Becoming idle costs the parent one in any case.
        let registered = rmws_of(|| parent.take().run()) - 1;
        assert_eq!(registered, 2, "the waker's clone, and the registration");
        assert_eq!(
            rmws_of(|| child.take().run()),
            2,
            "the end, and the wake-up"
        );
        // The parent's own end.
        assert_eq!(rmws_of(|| world.drain()), 1);
        assert_eq!(poll_once(joined.take()), Poll::Ready(7));
    });
}

#[test]
fn detaching_takes_two_and_the_run_that_ends_and_frees_none() {
    explore(|world| {
        let (runnable, handle) = spawn(world, ready(7));
        assert_eq!(rmws_of(|| handle.detach()), 2);
        assert_eq!(rmws_of(|| runnable.run()), 0);
    });
}

#[test]
fn dropping_the_handle_of_an_idle_task_takes_two_and_its_last_run_none() {
    explore(|world| {
        let handle = idle(world);
        assert_eq!(rmws_of(|| drop(handle)), 2);
        assert_eq!(rmws_of(|| world.drain()), 0);
    });
}

#[test]
fn aborting_takes_one_and_again_none() {
    explore(|world| {
        let handle = idle(world);
        assert_eq!(rmws_of(|| handle.abort()), 1);
        assert_eq!(rmws_of(|| handle.abort()), 0);
        assert_eq!(rmws_of(|| world.drain()), 1, "the end");
        assert_eq!(rmws_of(|| handle.abort()), 0, "of a task that has ended");
    });
}

#[test]
fn a_detached_task_takes_none_to_spawn_run_and_free() {
    explore(|world| {
        let taken = rmws_of(|| world.spawn_detached(ZeroSized, ready(7)).take().run());
        assert_eq!(taken, 0);
    });
}

#[test]
fn a_wake_of_a_copied_schedule_function_takes_no_more_than_the_wake() {
    explore(|world| {
        let (runnable, handle) = world.spawn(Copied, pending::<()>());
        let waker = waker_of(&runnable);
        runnable.take().run();
        // The slot that the test pushes to is an atomic of loom itself, and is not counted.
        assert_eq!(rmws_of(|| waker.wake_by_ref()), 1);
        world.drain();
        assert_eq!(rmws_of(|| waker.take().wake()), 1);
        world.drain();
        assert_eq!(rmws_of(|| drop(handle)), 2);
        world.drain();
    });
}

#[test]
fn a_handle_that_was_joined_is_dropped_for_none() {
    explore(|world| {
        let (runnable, mut handle) = spawn(world, ready(7));
        runnable.run();
        assert_eq!(rmws_of(|| poll_once(&mut handle)), 0);
        assert_eq!(rmws_of(|| drop(handle)), 0);
    });
}

#[test]
fn a_task_that_is_cancelled_while_it_runs_takes_two_to_end() {
    explore(|world| {
        let place = std::sync::Arc::new(std::sync::Mutex::new(None::<JoinHandle<()>>));
        let own = place.clone();
        let future = poll_fn(move |_| {
            own.lock()
                .unwrap()
                .as_ref()
                .expect("put there below")
                .abort();
            Poll::Pending
        });
        let (runnable, handle) = spawn(world, future);
        *place.lock().unwrap() = Some(handle);
        // The abort, the consumption of the wake-ups, and the end in the join word.
        assert_eq!(rmws_of(|| runnable.run()), 1 + 2);
    });
}
