//! [`Stage`]: one child, pinned in place, and its output in the same place after that.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;

pin_project! {
    #[project = StageProjected]
    #[project_replace = StageTaken]
    pub enum Stage<F, T> {
        Running { #[pin] future: F },
        Done { output: T },
        Gone,
    }
}

impl<F: Future<Output = T>, T> Stage<F, T> {
    pub(crate) fn new(future: impl IntoFuture<IntoFuture = F>) -> Self {
        Self::Running {
            future: future.into_future(),
        }
    }

    /// Polls the future, if it has not ended.
    fn poll_future(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match self.project() {
            StageProjected::Running { future } => future.poll(cx),
            _ => Poll::Pending,
        }
    }

    /// Polls the future, and keeps its output.
    pub(crate) fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let output = ready!(self.as_mut().poll_future(cx));
        self.set(Self::Done { output });
        Poll::Ready(())
    }

    /// Polls the future, and returns its output.
    pub(crate) fn poll_output(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let output = ready!(self.as_mut().poll_future(cx));
        self.set(Self::Gone);
        Poll::Ready(output)
    }

    /// Takes the output, if the child has ended.
    pub(crate) fn take(self: Pin<&mut Self>) -> Option<T> {
        if !matches!(*self, Self::Done { .. }) {
            return None;
        }
        match self.project_replace(Self::Gone) {
            StageTaken::Done { output } => Some(output),
            _ => None,
        }
    }

    /// Takes the output of a child that has ended.
    pub(crate) fn output(self: Pin<&mut Self>) -> T {
        self.take().expect("the child has ended")
    }

    pub(crate) fn done(&self) -> Option<&T> {
        match self {
            Self::Done { output } => Some(output),
            _ => None,
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self, Self::Running { .. })
    }
}

impl<F: Future<Output = Result<T, E>>, T, E> Stage<F, Result<T, E>> {
    /// Takes the error, if the child has ended with one.
    pub(crate) fn error(self: Pin<&mut Self>) -> Option<E> {
        match self.done() {
            Some(Err(_)) => self.output().err(),
            _ => None,
        }
    }

    /// Takes the value of a child that has ended without an error.
    pub(crate) fn value(self: Pin<&mut Self>) -> T {
        match self.output() {
            Ok(value) => value,
            Err(_) => unreachable!("the child has ended without an error"),
        }
    }
}

impl<F, T> fmt::Debug for Stage<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running { .. } => "Running",
            Self::Done { .. } => "Done",
            Self::Gone => "Gone",
        })
    }
}
