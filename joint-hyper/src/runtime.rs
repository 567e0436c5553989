//! hyper's traits of executors and timers.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use hyper::rt::{Executor, Sleep, Timer};
use joint_executor::time;

/// Spawns hyper's futures as [`joint_executor::spawn_detached`] does.
///
/// They run on the executor of the task that calls hyper, and on other threads on the global one.
/// HTTP/2 spawns a task for each request that a server answers. Such a task ends with its
/// connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct JointExecutor;

/// Spawns hyper's futures as [`joint_executor::spawn_local`] does, so that they need not be `Send`.
///
/// # Panics
/// hyper panics where it spawns a future on a thread that is neither a worker nor in a
/// [`LocalExecutor`](joint_executor::LocalExecutor).
#[derive(Clone, Copy, Debug, Default)]
pub struct JointLocalExecutor;

/// The timers of `joint-executor`, for hyper: [`time::sleep`], [`time::sleep_until`] and
/// [`time::now`].
///
/// A timer is one allocation, and is moved to another deadline in place. In a simulated world it
/// fires at a virtual time.
#[derive(Clone, Copy, Debug, Default)]
pub struct JointTimer;

#[derive(Debug)]
struct JointSleep(time::Sleep);

impl<F> Executor<F> for JointExecutor
where
    F: Future + Send + 'static,
{
    #[track_caller]
    fn execute(&self, future: F) {
        joint_executor::spawn_detached(future);
    }
}

impl<F> Executor<F> for JointLocalExecutor
where
    F: Future + 'static,
{
    #[track_caller]
    fn execute(&self, future: F) {
        joint_executor::spawn_local(future).detach();
    }
}

impl Timer for JointTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(JointSleep(time::sleep(duration)))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(JointSleep(time::sleep_until(deadline)))
    }

    fn now(&self) -> Instant {
        time::now()
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<JointSleep>() {
            Some(mut ours) => ours.0.reset(deadline),
            None => *sleep = self.sleep_until(deadline),
        }
    }
}

impl Sleep for JointSleep {}

impl Future for JointSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx)
    }
}
