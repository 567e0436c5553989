//! Helpers for the test programs: those of `joint`, and executors.
#![allow(
    dead_code,
    unused_imports,
    reason = "each test program uses its part of it"
)]

#[path = "../../../tests/common/mod.rs"]
mod base;
mod guards;

use std::{
    future::{Future, pending, poll_fn},
    net::UdpSocket,
    pin::Pin,
    sync::mpsc,
    task::{Poll, Waker},
    thread,
    time::Duration,
};

use joint_executor::{
    Builder, Executor, JoinError, JoinHandle, TaskBuilder, block_on,
    hosted::{BoundWorker, HostedWorker, Step},
};

pub(crate) use self::{
    base::*,
    guards::{Guard, Guards},
};

/// A future of a task that any thread may run.
pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

pub(crate) const MILLI: Duration = Duration::from_millis(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// An executor with that many workers. Under Miri it has one, because thieves use code of another
/// crate that Miri refuses.
pub(crate) fn executor(workers: usize) -> Executor {
    let workers = if cfg!(miri) { 1 } else { workers };
    built(workers, |builder| builder)
}

/// An executor with that many workers, and what else `set` asks for.
pub(crate) fn built(workers: usize, set: impl FnOnce(Builder) -> Builder) -> Executor {
    let executor = set(Executor::builder().workers(workers)).build();
    executor.expect("the threads can be started")
}

/// An executor whose workers the test drives.
pub(crate) fn hosted(workers: usize) -> (Executor, Vec<HostedWorker>) {
    let built = Executor::builder().workers(workers).build_hosted();
    let (executor, workers) = built.expect("no thread is started");
    (executor, workers)
}

/// An executor with one worker, which is bound to this thread.
pub(crate) fn bound() -> (Executor, BoundWorker) {
    bound_with(|builder| builder)
}

/// The same, with what else `set` asks for.
pub(crate) fn bound_with(set: impl FnOnce(Builder) -> Builder) -> (Executor, BoundWorker) {
    let built = set(Executor::builder().workers(1)).build_hosted();
    let (executor, mut workers) = built.expect("no thread is started");
    (executor, workers.remove(0).bind())
}

/// An executor whose workers are all bound to this thread.
pub(crate) fn all_bound(workers: usize) -> (Executor, Vec<BoundWorker>) {
    let (executor, workers) = hosted(workers);
    let workers = workers.into_iter().map(HostedWorker::bind);
    (executor, workers.collect())
}

/// An executor of the current thread.
pub(crate) fn current_thread() -> (Executor, BoundWorker) {
    let built = Executor::builder().build_current_thread();
    let (executor, worker) = built.expect("no thread is started");
    (executor, worker)
}

/// Steps a worker until it has nothing to run.
pub(crate) fn exhaust(worker: &mut BoundWorker) -> Step {
    exhaust_with(worker, Waker::noop())
}

/// The same, with that waker.
pub(crate) fn exhaust_with(worker: &mut BoundWorker, waker: &Waker) -> Step {
    loop {
        match worker.step(64, waker) {
            Step::Ready => {}
            other => return other,
        }
    }
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

/// Gives its waker away at the first poll, and is ready at the second. Holds something meanwhile.
pub(crate) async fn give_waker<T>(to: impl FnOnce(Waker), _held: T) {
    let mut to = Some(to);
    poll_fn(|cx| match to.take() {
        Some(to) => {
            to(cx.waker().clone());
            Poll::Pending
        }
        None => Poll::Ready(()),
    })
    .await;
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
