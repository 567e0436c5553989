//! Helpers for the test programs: those of `joint`, and executors.
#![allow(
    dead_code,
    unused_imports,
    reason = "each test program uses its part of it"
)]

#[path = "../../../tests/common/mod.rs"]
mod base;
mod guards;

use std::{future::pending, net::UdpSocket, sync::mpsc, thread, time::Duration};

use joint_executor::{Builder, Executor, JoinError, JoinHandle, TaskBuilder, block_on};

pub(crate) use self::{
    base::*,
    guards::{Guard, Guards},
};

pub(crate) const MILLI: Duration = Duration::from_millis(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// An executor with that many workers. Under Miri it has one, because thieves use code of another
/// crate that Miri refuses.
pub(crate) fn executor(workers: usize) -> Executor {
    let workers = if cfg!(miri) { 1 } else { workers };
    let executor = Executor::builder().workers(workers).build();
    executor.expect("the threads can be started")
}

/// An executor with that many workers, and what else `set` asks for.
pub(crate) fn built(workers: usize, set: impl FnOnce(Builder) -> Builder) -> Executor {
    let executor = set(Executor::builder().workers(workers)).build();
    executor.expect("the threads can be started")
}

/// Runs a test's function in a process of its own, which runs that test alone.
pub(crate) fn alone<F: FnOnce()>(function: F) {
    in_process(|_| {}, function);
}

/// A task in a poll that blocks its worker until it is released.
pub(crate) struct Busy(mpsc::Sender<()>, pub(crate) JoinHandle<()>);

impl Busy {
    pub(crate) fn spawn(task: TaskBuilder<'_>) -> Self {
        let (begin, begun) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let task = task.spawn(async move {
            begin.send(()).unwrap();
            let _ = ended.recv();
        });
        begun.recv().unwrap();
        Self(end, task)
    }

    pub(crate) fn release(self) -> Result<(), JoinError> {
        drop(self.0);
        block_on(self.1.result())
    }
}

/// Holds a value forever.
pub(crate) async fn hold<T>(_held: T) {
    pending().await
}

#[track_caller]
pub(crate) fn assert_cancelled<T>(task: JoinHandle<T>) {
    let error = block_on(task.result()).err();
    assert!(error.is_some_and(|error| error.is_cancelled()));
}

#[track_caller]
pub(crate) fn assert_contains(text: impl ToString, part: &str) {
    let text = text.to_string();
    assert!(text.contains(part), "{text:?} lacks {part:?}");
}

/// A socket, and a function that sends it a datagram.
#[cfg(feature = "io")]
pub(crate) fn socket() -> (UdpSocket, impl FnOnce() + Send + 'static) {
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = receiver.local_addr().unwrap();
    let send = move || {
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.send_to(b"x", address).unwrap();
    };
    (receiver, send)
}

/// Waits for a datagram. Another thread calls the function that sends it, after the first attempt.
#[cfg(feature = "io")]
pub(crate) async fn receive(socket: UdpSocket, send: impl FnOnce() + Send + 'static) {
    let socket = joint_executor::io::AsyncFd::new(socket).unwrap();
    let mut send = Some(send);
    let received = socket.read_with(|socket| {
        let received = socket.recv(&mut [0; 8]);
        send.take().map(thread::spawn);
        received
    });
    assert_eq!(received.await.unwrap(), 1);
}

#[cfg(feature = "io")]
pub(crate) async fn datagram() {
    let (socket, send) = socket();
    receive(socket, send).await;
}
