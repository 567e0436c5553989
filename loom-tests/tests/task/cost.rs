//! The atomic read-modify-writes of each path, with a schedule function of size zero.

use joint::{JoinHandle, task::Polled};

use super::world::{Kept, Schedule::ZeroSized, World, explore, poll_once, waker_of};
use crate::prelude::*;

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
fn the_handle_of_a_task_that_has_ended_takes_none() {
    explore(|world| {
        let ended = || {
            let (runnable, handle) = spawn(world, ready(7));
            runnable.run();
            handle
        };
        let (mut joined, dropped) = (ended(), ended());
        assert_eq!(rmws_of(|| poll_once(&mut joined)), 0);
        assert_eq!(rmws_of(|| drop((joined, dropped))), 0);
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

/// Wakes its task by reference in its first `times` polls, and is then ready.
fn wakes_itself(mut times: usize) -> impl Future<Output = ()> + Send {
    poll_fn(move |cx| {
        if times == 0 {
            return Poll::Ready(());
        }
        times -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
}

fn polled_again(runnable: Runnable) -> Runnable {
    match runnable.poll() {
        Polled::Woken(runnable) => runnable,
        polled => panic!("it has woken itself: {polled:?}"),
    }
}

#[test]
fn a_poll_that_wakes_its_own_task_takes_none() {
    explore(|world| {
        let mut runnable = world.spawn_detached(ZeroSized, wakes_itself(2)).take();
        for _ in 0..2 {
            let mut again = None;
            assert_eq!(rmws_of(|| again = Some(polled_again(runnable))), 0);
            runnable = again.expect("polled");
        }
        assert_eq!(rmws_of(|| runnable.run()), 0, "the end");
    });
}

#[test]
fn a_run_that_wakes_its_own_task_takes_none() {
    explore(|world| {
        let (runnable, handle) = spawn(world, wakes_itself(1));
        // The slot that the schedule function pushes to is an atomic of loom itself, and is not
        // counted.
        assert_eq!(rmws_of(|| assert!(runnable.run())), 0);
        assert_eq!(rmws_of(|| world.drain()), 1, "the end");
        assert_eq!(poll_once(handle), Poll::Ready(()));
    });
}

#[test]
fn a_poll_that_wakes_itself_by_value_costs_what_the_waker_does() {
    explore(|world| {
        let future = poll_fn(|cx: &mut Context<'_>| {
            let waker = cx.waker().clone();
            waker.wake();
            Poll::<()>::Pending
        });
        let runnable = world.spawn_detached(ZeroSized, future).take();
        let mut again = None;
        assert_eq!(rmws_of(|| again = Some(polled_again(runnable))), 2);
    });
}

/// The wake-ups from before a poll are consumed at its end, so the counter does not grow.
#[test]
fn a_poll_that_wakes_itself_after_another_wake_up_costs_one() {
    explore(|world| {
        let runnable = world.spawn_detached(ZeroSized, wakes_itself(9)).take();
        let waker = waker_of(&runnable);
        let mut runnable = runnable;
        for wakes in [1, 2, 0, 3, 0, 0] {
            (0..wakes).for_each(|_| waker.wake_by_ref());
            let mut again = None;
            let taken = rmws_of(|| again = Some(polled_again(runnable)));
            assert_eq!(taken, usize::from(wakes > 0));
            runnable = again.expect("polled");
        }
    });
}

/// A poll inside of a poll: each task wakes itself for nothing, and the inner one's code wakes the
/// outer task as any other code does.
#[test]
fn a_poll_inside_of_a_poll_leaves_the_outer_one_as_it_was() {
    explore(|world| {
        let mut inner = Some(world.spawn_detached(ZeroSized, wakes_itself(1)).take());
        let future = poll_fn(move |cx: &mut Context<'_>| {
            if let Some(inner) = inner.take() {
                assert_eq!(rmws_of(|| drop(polled_again(inner))), 0);
                assert_eq!(rmws_of(|| cx.waker().wake_by_ref()), 0);
                return Poll::Pending;
            }
            Poll::Ready(())
        });
        let outer = world.spawn_detached(ZeroSized, future).take();
        let outer = polled_again(outer);
        let waker = waker_of(&outer);
        let from_inside = poll_fn(move |_: &mut Context<'_>| {
            assert_eq!(rmws_of(|| waker.wake_by_ref()), 1, "not its own task");
            Poll::Ready(())
        });
        let (inside, handle) = world.spawn_at::<1, _>(ZeroSized, from_inside);
        inside.take().run();
        drop(handle);
        outer.run();
    });
}
