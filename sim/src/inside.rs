//! The questions of a program to the simulation that it runs in, and the places where it lets
//! faults happen.

use core::{
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    task::{Context, Poll},
};
use std::{boxed::Box, panic::resume_unwind, string::String};

use super::{
    faults::{FAULT_PANIC, Fate},
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
    world::with(|world| {
        if let Some(world) = world {
            world.note_text(text.into());
        }
    });
}

/// Lets a simulation drop a future at any of its suspension points, by [`Faults::cancellations`].
/// The output is `None` then. Elsewhere it only awaits the future.
///
/// [`Faults::cancellations`]: super::Faults::cancellations
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
pub fn may_cancel<F: IntoFuture>(future: F) -> MayCancel<F::IntoFuture> {
    MayCancel {
        future: Some(Box::pin(future.into_future())),
        fate: Fate::Open,
    }
}

/// The future of [`may_cancel`].
#[must_use = "futures do nothing unless awaited"]
pub struct MayCancel<F> {
    /// `None` after the end.
    future: Option<Pin<Box<F>>>,
    fate: Fate,
}

impl<F: Future> Future for MayCancel<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(future) = &mut this.future else {
            panic!("a `MayCancel` was polled again after it was ready; do not poll it after that");
        };
        let has_come = match this.fate {
            Fate::Open => false,
            Fate::Now | Fate::AtNextPoll => true,
            Fate::At(time) => world::with(|world| world.is_none_or(|world| world.now() >= time)),
        };
        if !has_come {
            let polled = future.as_mut().poll(cx);
            if let Poll::Ready(output) = polled {
                this.future = None;
                return Poll::Ready(Some(output));
            }
            if this.fate == Fate::Open {
                this.fate = world::with(|world| world.map_or(Fate::Open, |world| world.fate(cx)));
            }
            if this.fate != Fate::Now {
                return Poll::Pending;
            }
        }
        world::with(|world| {
            if let Some(world) = world {
                world.note_cancelled();
            }
        });
        this.future = None;
        Poll::Ready(None)
    }
}

impl<F> fmt::Debug for MayCancel<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MayCancel")
            .field("has_ended", &self.future.is_none())
            .finish_non_exhaustive()
    }
}

/// Lets a simulation panic in any poll of a future, by [`Faults::panics`]. Elsewhere it only awaits
/// the future.
///
/// [`Faults::panics`]: super::Faults::panics
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
pub fn may_panic<F: IntoFuture>(future: F) -> MayPanic<F::IntoFuture> {
    MayPanic(Box::pin(future.into_future()))
}

/// The future of [`may_panic`].
#[must_use = "futures do nothing unless awaited"]
pub struct MayPanic<F>(Pin<Box<F>>);

impl<F: Future> Future for MayPanic<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if world::with(|world| world.is_some_and(|world| world.panics())) {
            // Without a message on the standard error: the simulation has asked for the panic.
            resume_unwind(Box::new(FAULT_PANIC));
        }
        self.0.as_mut().poll(cx)
    }
}

impl<F> fmt::Debug for MayPanic<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MayPanic").finish_non_exhaustive()
    }
}
