//! [`Schedule`]: how a task reaches its executor.

use joint::task as base;
pub use joint::task::ScheduleInfo;

use crate::{Metadata, Runnable};

mod sealed {
    use super::{Runnable, ScheduleInfo, WithInfo};

    pub trait Sealed<M> {}

    impl<M, F: Fn(Runnable<M>)> Sealed<M> for F {}
    impl<M, F: Fn(Runnable<M>, ScheduleInfo)> Sealed<M> for WithInfo<F> {}
}

/// A function that takes the runnable of a task that has been woken: `Fn(Runnable<M>)`, or
/// [`WithInfo`] around a function that also takes the [`ScheduleInfo`]. No other type can implement
/// it.
pub trait Schedule<M = ()>: sealed::Sealed<M> {
    /// Takes the runnable, which is to be run or dropped.
    fn schedule(&self, runnable: Runnable<M>, info: ScheduleInfo);
}

impl<M, F: Fn(Runnable<M>)> Schedule<M> for F {
    fn schedule(&self, runnable: Runnable<M>, _: ScheduleInfo) {
        self(runnable);
    }
}

/// Makes a schedule function of a function that also takes the [`ScheduleInfo`].
///
/// ```
/// use async_task::{Runnable, ScheduleInfo, WithInfo};
///
/// let schedule = |_: Runnable, info: ScheduleInfo| assert!(!info.woken_while_running);
/// let (runnable, _task) = async_task::spawn(async {}, WithInfo(schedule));
/// runnable.schedule();
/// ```
#[derive(Debug)]
pub struct WithInfo<F>(pub F);

impl<F> From<F> for WithInfo<F> {
    fn from(schedule: F) -> Self {
        Self(schedule)
    }
}

impl<M, F: Fn(Runnable<M>, ScheduleInfo)> Schedule<M> for WithInfo<F> {
    fn schedule(&self, runnable: Runnable<M>, info: ScheduleInfo) {
        (self.0)(runnable, info);
    }
}

/// Makes a schedule function of this crate one of `joint`'s.
pub(crate) struct Adapter<S>(pub(crate) S);

impl<M, S: Schedule<M>> base::Schedule<Metadata<M>> for Adapter<S> {
    #[inline]
    fn schedule(&self, runnable: base::Runnable<Metadata<M>>, info: ScheduleInfo) {
        self.0.schedule(Runnable(runnable), info);
    }
}
