//! A poll that wakes its own task takes no read-modify-write, against everything that other threads
//! can do meanwhile. The slot that the runnable goes through is then the only edge from one run to
//! the next.

use std::sync::Mutex;

use super::{
    race::{
        Act::{Abort, Detach, DropHandle, DropWaker, Run, Tell, Wake},
        Ends::{NeverAfterAYield, Told},
        TOLD_AFTER_A_YIELD, has_output, race,
    },
    world::{By, Flag, Kept, Schedule, World, explore},
};
use crate::prelude::*;

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
                *place = Some(Alone(inner.start(wake)));
            }
            Poll::Pending
        });
        let (runnable, handle) = world.spawn(how, future);
        world.run_and_drain(runnable);
        let Alone(other) = other.lock().unwrap().take().expect("started");
        other.join().unwrap();
        assert!(has_output(&mut Kept::new(handle.take().result())));
        assert!(world.runs() <= 2);
    });
}

/// May be sent, because the threads of a model share one thread of the system.
struct Alone<T>(T);

// SAFETY: as above.
unsafe impl<T> Send for Alone<T> {}

impl Alone<World> {
    fn start(&self, f: impl FnOnce() + 'static) -> Thread<()> {
        self.0.start(f)
    }
}

tests! { a_waker_for_another_thread_against_the_poll }

races! {
    /// The wake-up of another thread is not lost in the one of its own.
    wake_by_reference_against_a_yield:
        race(TOLD_AFTER_A_YIELD, &[Tell(1, By::Reference)], Run).within(3).runs(2..=3);
    wake_against_two_yields:
        race(Told { yields: 2 }, &[Tell(1, By::Value)], Run).within(3).runs(3..=4);
    two_wakes_against_a_yield:
        race(TOLD_AFTER_A_YIELD, &[Tell(1, By::Reference), Tell(1, By::Value)], Run).within(2).runs(2..=4);
    /// The task that another thread has woken is run by that thread, or by the one whose run it
    /// was: both see all that the runs before have written.
    a_run_elsewhere_after_a_yield:
        race(TOLD_AFTER_A_YIELD, &[Run], Tell(1, By::Value)).within(3).runs(2..=3);
    abort_against_a_yield: race(NeverAfterAYield, &[Run], Abort).within(3).runs(0..=2);
    drop_of_the_handle_against_a_yield:
        race(NeverAfterAYield, &[DropHandle], Run).within(3).runs(0..=2);
    /// Nothing refers to the task any more, but it has its second run.
    detach_against_last_waker_against_a_yield:
        race(NeverAfterAYield, &[DropWaker, Detach], Run).within(2).runs(2..=2);
    last_waker_woken_against_a_detached_yield:
        race(NeverAfterAYield, &[Wake(By::Value)], Run).without_handle().runs(2..=3);
}
