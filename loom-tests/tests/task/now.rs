//! A task that is polled on its spawner's stack. That poll hands its waker to another thread, which
//! wakes the task while the poll runs, while it ends, and while the spawner awaits, drops or
//! detaches the handle.

use std::sync::Mutex;

use joint::JoinHandle;

use super::world::{By, Flag, Kept, Schedule, explore_bounded, join_now, poll_once};
use crate::prelude::*;

type Handle = Kept<JoinHandle<Value>>;

/// `then`: what the spawner does with the handle, which it gives back if the task is to be joined.
fn start(how: Schedule, by: By, then: fn(Handle) -> Option<Handle>) {
    explore_bounded(2, move |world| {
        let (flag, other) = (Flag::new(), Arc::new(Mutex::new(None)));
        let (inside, is_up, started) = (world.clone(), flag.clone(), other.clone());
        let (mut is_first, mut value) = (true, Some(world.value()));
        let handle = world.spawn_now(
            how,
            poll_fn(move |cx| {
                if mem::take(&mut is_first) {
                    let (waker, flag) = (Kept::new(cx.waker().clone()), flag.clone());
                    let wakes = inside.start(move || {
                        flag.raise();
                        by.wake(waker);
                    });
                    *started.lock().unwrap() = Some(wakes);
                    return Poll::Pending;
                }
                match is_up.is_up() {
                    true => Poll::Ready(value.take().expect("polled after it was ready")),
                    false => Poll::Pending,
                }
            }),
        );
        let kept = then(handle);
        world.drain();
        let other = other
            .lock()
            .unwrap()
            .take()
            .expect("the first poll is over");
        other.join().unwrap();
        kept.into_iter().for_each(join_now);
    });
}

/// By a poll of the handle while the other thread wakes the task. The model's end joins it.
fn await_it(how: Schedule, by: By) {
    start(how, by, |mut handle| match poll_once(&mut *handle) {
        Poll::Pending => Some(handle),
        Poll::Ready(output) => {
            output.look();
            None
        }
    });
}

scheduled! {
    a_start_against_a_wake_up: |how| await_it(how, By::Reference);
    a_start_against_the_last_wake_up: |how| await_it(how, By::Value);
    a_start_that_is_cancelled: |how| start(how, By::Value, |handle| {
        drop(handle);
        None
    });
    a_start_that_is_detached: |how| start(how, By::Value, |handle| {
        handle.take().detach();
        None
    });
}
