//! The other types of a model, whose operations belong to the checker.

use core::{fmt, time::Duration};
use real::sync::{
    atomic::Ordering,
    mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError},
};

use joint_check::sync as checked;

use crate::memory::checker;

pub use checked::BarrierWaitResult;

#[track_caller]
pub fn fence(order: Ordering) {
    let _side = checker();
    checked::atomic::fence(order);
}

#[track_caller]
pub fn spin_loop() {
    let _side = checker();
    joint_check::hint::spin_loop();
}

#[derive(Debug)]
pub struct Barrier(checked::Barrier);

impl Barrier {
    #[track_caller]
    pub fn new(threads: usize) -> Self {
        let _side = checker();
        Self(checked::Barrier::new(threads))
    }

    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let _side = checker();
        self.0.wait()
    }
}

pub struct Sender<T>(Option<checked::mpsc::Sender<T>>);

pub struct Receiver<T>(Option<checked::mpsc::Receiver<T>>);

#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let _side = checker();
    let (sender, receiver) = checked::mpsc::channel();
    (Sender(Some(sender)), Receiver(Some(receiver)))
}

impl<T> Sender<T> {
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let _side = checker();
        self.0.as_ref().expect("it is not dropped").send(value)
    }
}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let _side = checker();
        Self(self.0.clone())
    }
}

impl<T> Receiver<T> {
    fn model(&self) -> &checked::mpsc::Receiver<T> {
        self.0.as_ref().expect("it is not dropped")
    }

    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let _side = checker();
        self.model().recv()
    }

    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let _side = checker();
        self.model().try_recv()
    }

    /// Waits, or gives up at once. Both are tried, and the time counts as passed.
    ///
    /// # Errors
    /// If there is no value.
    #[track_caller]
    pub fn recv_timeout(&self, time: Duration) -> Result<T, RecvTimeoutError> {
        let _side = checker();
        crate::clock::pass(time);
        self.model().recv_timeout(time)
    }

    pub fn iter(&self) -> impl Iterator<Item = T> {
        core::iter::from_fn(|| self.recv().ok())
    }

    pub fn try_iter(&self) -> impl Iterator<Item = T> {
        core::iter::from_fn(|| self.try_recv().ok())
    }
}

macro_rules! end {
    ($($name:ident)+) => {$(
        impl<T> Drop for $name<T> {
            #[track_caller]
            fn drop(&mut self) {
                let _side = checker();
                self.0 = None;
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )+};
}

end! { Sender Receiver }
