//! What a future borrows, against the run that ends its task. Whoever has learned of the end, and
//! has taken or dropped the output, has the borrowed value for itself again, while another thread
//! still uses a waker or an abort handle of the task.

use joint::JoinHandle;

use super::world::{
    Kept, Schedule, World, explore, explore_bounded, join_all, poll_once, waker_of,
};
use crate::prelude::*;

/// Looks at what it borrows when it is polled and dropped. Its output does so as well.
struct Borrowing(&'static Value);

impl Future for Borrowing {
    type Output = Self;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self> {
        self.0.look();
        Poll::Ready(Self(self.0))
    }
}

impl Drop for Borrowing {
    fn drop(&mut self) {
        self.0.look();
    }
}

/// Calls `f` with a value that is lent until `f` takes it back.
fn lend(world: &World, f: impl FnOnce(&'static Value)) {
    let lent = Box::into_raw(Box::new(world.value()));
    // SAFETY: it is freed below, after all threads have ended. If the model fails, it is leaked.
    f(unsafe { &*lent });
    // SAFETY: made by `into_raw` above.
    drop(unsafe { Box::from_raw(lent) });
}

type Handle = Kept<JoinResult<Borrowing>>;

/// What the other thread does.
type Uses = fn(&Runnable, &JoinHandle<Borrowing>) -> Box<dyn FnOnce()>;

fn wakes(runnable: &Runnable, _: &JoinHandle<Borrowing>) -> Box<dyn FnOnce()> {
    let waker = waker_of(runnable);
    Box::new(move || waker.take().wake())
}

fn aborts(_: &Runnable, handle: &JoinHandle<Borrowing>) -> Box<dyn FnOnce()> {
    let handle = Kept::new(handle.abort_handle());
    Box::new(move || handle.abort())
}

/// Whether the task has ended and the output is gone.
type Ended = fn(&mut Option<Handle>) -> bool;

fn output_taken(handle: &mut Option<Handle>) -> bool {
    poll_once(&mut **handle.as_mut().expect("it is here")).is_ready()
}

fn handle_dropped_at_the_end(handle: &mut Option<Handle>) -> bool {
    let has_ended = handle.as_ref().expect("it is here").handle().is_finished();
    has_ended && handle.take().is_some()
}

fn borrowed_against_the_end(how: Schedule, uses: Uses, ended: Ended) {
    explore_bounded(3, move |world| {
        lend(world, |lent| {
            let (runnable, handle) = world.spawn(how, Borrowing(lent));
            let uses = uses(&runnable, &handle);
            let others = [world.start(uses), world.start_run(runnable)];
            let mut handle = Some(Kept::new(handle.take().result()));
            let has_ended = ended(&mut handle);
            if has_ended {
                lent.take();
            }
            join_all(others);
            world.drain();
            assert!(has_ended || ended(&mut handle), "it was run");
            drop(handle);
            lent.take();
        });
    });
}

/// A handle that was dropped before the end says nothing: the future may be in a poll.
#[test]
fn a_cancelled_task_may_still_use_what_it_borrows() {
    joint_mutants::leave_out();
    let failure = failure_of(None, || {
        explore(|world| {
            lend(world, |lent| {
                let (runnable, handle) = world.spawn(Schedule::ZeroSized, Borrowing(lent));
                let other = world.start_run(runnable);
                drop(handle);
                lent.take();
                other.join().unwrap();
            });
        });
    });
    assert!(failure.is_some(), "nothing orders the poll before that");
}

scheduled! {
    output_taken_against_a_wake: |how| borrowed_against_the_end(how, wakes, output_taken);
    output_taken_against_an_abort: |how| borrowed_against_the_end(how, aborts, output_taken);
    handle_dropped_against_a_wake: |how| borrowed_against_the_end(how, wakes, handle_dropped_at_the_end);
    handle_dropped_against_an_abort: |how| borrowed_against_the_end(how, aborts, handle_dropped_at_the_end);
}
