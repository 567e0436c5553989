//! Cancellation destroys the future and throws nothing into it: Flow's `NoThrowOnCancel`.

use joint::oneshot;
use joint_flow::{
    Closed, spawn,
    stream::{self, StreamExt},
};

use crate::common::{Log, check, settled};

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

#[test]
fn a_task_is_sent_to_and_ends_or_is_cancelled() {
    type Row = (usize, Result<(), &'static str>, &'static [&'static str]);
    const ROWS: [Row; 3] = [
        (1, Ok(()), &["start", "returned", "after", "destructor"]),
        (1, Err("disk"), &["start", "error", "after", "destructor"]),
        (2, Ok(()), &["start", "returned", "destructor"]),
    ];
    check(|| async {
        for (waits_for, sent, expected) in ROWS {
            let log = Log::new();
            let (senders, signals): (Vec<_>, _) =
                (0..waits_for).map(|_| oneshot::channel()).unzip();
            let task = spawn(waits(log.clone(), signals));
            settled().await;
            let mut senders = senders.into_iter();
            senders.next().unwrap().send(sent).unwrap();
            settled().await;
            let second = senders.next();
            let row = format!("{sent:?}, the first of {waits_for}");
            assert_eq!(task.is_finished(), second.is_none(), "{row}");
            assert!(
                second.as_ref().is_none_or(|second| !second.is_closed()),
                "{row}"
            );
            task.cancel();
            assert!(second.is_none_or(|second| second.is_closed()), "{row}");
            assert_eq!(log.all(), expected, "{row}");
            assert_eq!(task.await.ok(), (waits_for == 1).then_some(42), "{row}");
        }
    });
}

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
