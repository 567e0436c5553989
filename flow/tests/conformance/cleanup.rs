//! Cancellation destroys the future and throws nothing into it: Flow's `NoThrowOnCancel`.

use std::sync::{Arc, Mutex};

use joint::oneshot;
use joint_flow::{
    Closed, Task, spawn,
    stream::{self, StreamExt},
};

use crate::{
    common::{Log, OnDrop, check, settled},
    suspended,
};

type Signal = oneshot::Receiver<Result<(), &'static str>>;

/// Waits for each signal in turn, and notes what happens.
async fn waits(log: Log, signals: Vec<Signal>) -> u32 {
    log.add("start");
    let _held = log.on_drop("destructor");
    for signal in signals {
        match signal.await.unwrap() {
            Ok(()) => log.add("returned"),
            Err(_) => log.add("error"),
        }
    }
    log.add("after");
    42
}

/// Flow: /flow/coro/noThrowOnCancel/normalCompletionVoid.
/// Flow: /flow/coro/noThrowOnCancel/normalCompletionValue.
#[test]
fn normal_completion() {
    check(|| async {
        let log = Log::new();
        let (sender, signal) = oneshot::channel();
        let task = spawn(waits(log.clone(), vec![signal]));
        settled().await;
        sender.send(Ok(())).unwrap();
        assert_eq!(task.await.unwrap(), 42);
        assert_eq!(log.all(), ["start", "returned", "after", "destructor"]);
    });
}

/// Flow: /flow/coro/noThrowOnCancel/awaitedFutureErrorRunsCatch.
#[test]
fn awaited_future_error_runs_catch() {
    check(|| async {
        let log = Log::new();
        let (sender, signal) = oneshot::channel();
        let task = spawn(waits(log.clone(), vec![signal]));
        settled().await;
        sender.send(Err("disk")).unwrap();
        assert_eq!(task.await.unwrap(), 42);
        assert_eq!(log.all(), ["start", "error", "after", "destructor"]);
    });
}

/// Flow: /flow/coro/noThrowOnCancel/reentrantCancelDuringCleanup.
#[test]
fn reentrant_cancel_during_cleanup() {
    struct CancelsAgain(Arc<Mutex<Option<Task<()>>>>, Option<OnDrop>);
    impl Drop for CancelsAgain {
        fn drop(&mut self) {
            let task = self.0.lock().unwrap().clone().unwrap();
            task.cancel();
            drop(self.1.take());
            task.cancel();
        }
    }
    check(|| async {
        let log = Log::new();
        let own = Arc::new(Mutex::new(None));
        let held = CancelsAgain(own.clone(), Some(log.on_drop("destructor")));
        let task = suspended(held).await;
        *own.lock().unwrap() = Some(task.clone());
        task.cancel();
        assert_eq!(log.all(), ["destructor"]);
        assert!(task.await.unwrap_err().is_cancelled());
        drop(own.lock().unwrap().take());
        assert_eq!(log.all(), ["destructor"]);
    });
}

/// Flow: /flow/coro/noThrowOnCancel/sequentialAwaitsCancelSecond.
#[test]
fn sequential_awaits_cancel_second() {
    check(|| async {
        let log = Log::new();
        let (first, first_signal) = oneshot::channel();
        let (second, second_signal) = oneshot::channel();
        let task = spawn(waits(log.clone(), vec![first_signal, second_signal]));
        settled().await;
        first.send(Ok(())).unwrap();
        settled().await;
        assert!(!task.is_finished());
        assert!(!second.is_closed());
        task.cancel();
        assert!(task.is_finished());
        assert!(second.is_closed());
        assert_eq!(log.all(), ["start", "returned", "destructor"]);
        assert!(task.await.unwrap_err().is_cancelled());
    });
}

/// Flow: /flow/coro/noThrowOnCancel/futureStreamCancel.
#[test]
fn future_stream_cancel() {
    check(|| async {
        let log = Log::new();
        let (sender, mut receiver) = stream::channel::<u32, Closed>();
        let (inside, held) = (log.clone(), log.on_drop("destructor"));
        let task = spawn(async move {
            let _held = held;
            let item = receiver.next().await;
            inside.add("returned");
            item
        });
        settled().await;
        assert!(!sender.is_closed());
        task.cancel();
        assert!(sender.is_closed());
        assert_eq!(log.all(), ["destructor"]);
        assert!(task.await.unwrap_err().is_cancelled());
    });
}
