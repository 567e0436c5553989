//! The questions of a program to the simulation that it runs in, and the places where it lets
//! faults happen.

use core::{
    future::{Future, IntoFuture, poll_fn},
    task::Poll,
};
use std::{borrow::Cow, boxed::Box, panic::resume_unwind, string::String};

use super::{
    faults::{FAULT_PANIC, Fate, Fault},
    world,
};

/// Returns whether the calling code runs in a simulation.
///
/// # Example
/// ```
/// use joint_sim as sim;
///
/// assert!(!sim::is_simulated());
/// assert!(sim::run(1, async { sim::is_simulated() }));
/// ```
pub fn is_simulated() -> bool {
    world::with(|world| world.is_some())
}

/// Writes a text into the report and the [trace](super::Trace) of a run, as an event of the task
/// that runs. Outside of a simulation it does nothing.
///
/// It changes nothing in the run, nor its digest. Two runs that note different texts differ for the
/// [canary](super::Check::canary).
///
/// # Example
/// ```
/// use joint_sim::{self as sim, Builder};
///
/// let failure = Builder::new(1).run(async {
///     sim::note(format!("the term is {}", 7));
///     std::future::pending::<()>().await
/// });
/// assert!(failure.unwrap_err().to_string().contains("step 1, 0ns: main noted: the term is 7"));
/// ```
pub fn note(text: impl Into<String>) {
    world::if_inside(|world| world.note_text(text.into()));
}

/// Lets a simulation drop a future at any of its suspension points, by [`Faults::cancellations`].
/// The output is `None` then. It may also poll the future with [another waker] first. Elsewhere it
/// only awaits the future.
///
/// [`Faults::cancellations`]: super::Faults::cancellations
/// [another waker]: super::Faults::other_wakers
///
/// This tests that a future is safe to cancel, as a [`timeout`](joint_executor::time::timeout) or a
/// race cancels it: what it held is given back, and what it had received is not lost. The future is
/// dropped right after a poll in which it was pending, at some later time, or in place of the poll
/// that it was woken for.
///
/// # Panics
/// The returned future panics if it is polled again after it was ready.
///
/// # Cost
/// One allocation.
///
/// # Example
/// ```
/// use joint_sim::{self as sim, Builder, Faults};
///
/// assert_eq!(joint::block_on(sim::may_cancel(async { 7 })), Some(7));
/// let faults = Faults::none().cancellations(1.0);
/// let waits = sim::may_cancel(std::future::pending::<()>());
/// let outcome = Builder::new(1).faults(faults).run(waits);
/// assert_eq!(outcome.unwrap().output, None);
/// ```
pub fn may_cancel<F: IntoFuture>(future: F) -> impl Future<Output = Option<F::Output>> {
    let mut future = Some(Box::pin(future.into_future()));
    let mut fate = Fate::Open;
    poll_fn(move |cx| {
        let Some(pending) = &mut future else {
            panic!(
                "the future of `may_cancel` was polled after it was ready; do not poll it again"
            );
        };
        let has_come = match fate {
            Fate::Open => false,
            Fate::Now | Fate::AtNextPoll => true,
            Fate::At(time) => world::with(|world| world.is_none_or(|world| world.now() >= time)),
        };
        if !has_come {
            let polled = world::poll(pending.as_mut(), cx);
            if let Poll::Ready(output) = polled {
                future = None;
                return Poll::Ready(Some(output));
            }
            if fate == Fate::Open {
                fate = world::with(|world| world.map_or(Fate::Open, |world| world.fate(cx)));
            }
            if fate != Fate::Now {
                return Poll::Pending;
            }
        }
        world::if_inside(|world| world.note_fault(world.acting(), Fault::Cancelled));
        future = None;
        Poll::Ready(None)
    })
}

/// Lets a simulation panic in any poll of a future, by [`Faults::panics`]. It may also poll the
/// future with [another waker] first. Elsewhere it only awaits the future.
///
/// [`Faults::panics`]: super::Faults::panics
/// [another waker]: super::Faults::other_wakers
///
/// The panic comes in place of the poll, so the future is dropped while the thread unwinds. A task
/// that panics ends, and its waiter finds the panic: put this around what runs in a task whose
/// failure the rest of the program survives.
///
/// # Cost
/// One allocation.
///
/// # Example
/// ```
/// use joint_sim::{self as sim, Builder, Faults};
/// use joint_executor::spawn;
///
/// let faults = Faults::none().panics(1.0);
/// let outcome = Builder::new(1).faults(faults).run(async {
///     spawn(sim::may_panic(async { 7 })).result().await
/// });
/// assert!(outcome.unwrap().output.unwrap_err().is_panic());
/// ```
pub fn may_panic<F: IntoFuture>(future: F) -> impl Future<Output = F::Output> {
    let mut future = Box::pin(future.into_future());
    poll_fn(move |cx| {
        if world::strikes(Fault::Panicked) {
            // Without a message on the standard error: the simulation has asked for the panic.
            resume_unwind(Box::new(FAULT_PANIC));
        }
        world::poll(future.as_mut(), cx)
    })
}

/// Counts that a run has come to this place. [`Check::wants`](super::Check::wants) fails a check
/// none of whose runs has. Outside of a simulation it does nothing.
///
/// # Example
/// ```
/// use joint_sim::{self as sim, Check};
///
/// let checked = Check::new().seeds(100).wants("an even number").find(|| async {
///     if sim::random() % 2 == 0 {
///         sim::reached("an even number");
///     }
/// });
/// assert!((1..100).contains(&checked.unwrap().reached["an even number"]));
/// ```
pub fn reached(name: impl Into<Cow<'static, str>>) {
    world::if_inside(|world| world.reach(name.into()));
}
