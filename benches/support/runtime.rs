//! [`Runtime`]: what a row needs of a contestant, so that each row is written once.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

/// A runtime that lasts as long as the program: each method is what its documentation recommends for the purpose.
pub(crate) trait Runtime: Sync + Sized + 'static {
    type Handle<T: Send + 'static>: Send;

    /// From inside of a task.
    fn spawn<T, F>(&'static self, future: F) -> Self::Handle<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static;

    /// From a thread that is none of the runtime's.
    fn spawn_outside<T, F>(&'static self, future: F) -> Self::Handle<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.spawn(future)
    }

    /// From inside of a task, one that nobody joins.
    fn spawn_detached<F>(&'static self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::detach(self.spawn(future));
    }

    /// From outside, one that nobody joins.
    fn spawn_outside_detached<F>(&'static self, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::detach(self.spawn_outside(future));
    }

    fn join<T: Send + 'static>(handle: Self::Handle<T>) -> impl Future<Output = T> + Send;

    fn detach<T: Send + 'static>(handle: Self::Handle<T>);

    /// Without waiting for it.
    fn cancel<T: Send + 'static>(handle: Self::Handle<T>);

    fn yield_now() -> impl Future<Output = ()> + Send {
        Yield::default()
    }

    /// Runs a task, and lets this thread wait for it.
    fn run<T, F>(&'static self, future: F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        joint::block_on(Self::join(self.spawn_outside(future)))
    }
}

/// A runtime with threads of its own.
pub(crate) trait Pool: Runtime {
    fn start(workers: usize) -> &'static Self;
}

/// Lets a value live as long as the program.
pub(crate) fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// For runtimes that have no `yield_now` of their own.
#[derive(Default)]
pub(crate) struct Yield(bool);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
