//! Streams of promises.

use std::{
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, Wake, Waker},
};

use joint::oneshot;
use joint_executor::{LocalExecutor, spawn, yield_now};
use joint_flow::{
    Closed,
    stream::{self, Receiver, SendError, Stream, StreamExt},
};
use joint_sim::may_cancel;

use crate::common::{check, counting, join};

#[derive(Debug, PartialEq, Eq)]
enum Failure {
    Broken,
    Full,
}

impl From<Closed> for Failure {
    fn from(_: Closed) -> Self {
        Self::Broken
    }
}

async fn rest<T>(mut receiver: Receiver<T, Failure>) -> Vec<Option<Result<T, Failure>>> {
    let mut all = Vec::new();
    loop {
        let item = receiver.next().await;
        all.push(item);
        // Once more after the end, which stays the end.
        if let [.., None, None] = all[..] {
            return all;
        }
    }
}

#[test]
fn sending_never_waits() {
    check(|| async {
        let (sender, receiver) = stream::channel::<_, Failure>();
        for n in 0..1000 {
            sender.send(n).unwrap();
        }
        assert_eq!((sender.len(), receiver.len()), (1000, 1000));
        let sum = spawn(async move {
            let mut first = receiver.take(1000);
            first.try_fold(0, |sum, n| Ok(sum + n)).await
        });
        assert_eq!(sum.await, Ok(1000 * 999 / 2));
        drop(sender);
    });
}

#[test]
fn items_drain_before_the_error() {
    check(|| async {
        let (sender, receiver) = stream::channel();
        let consumer = spawn(rest(receiver));
        let producer = spawn(async move {
            for n in 0..3 {
                sender.send(n).unwrap();
                yield_now().await;
            }
            sender.fail(Failure::Full).unwrap();
            assert_eq!(sender.send(9), Err(SendError(9)));
            assert_eq!(sender.fail(Failure::Full), Err(SendError(Failure::Full)));
            assert!(!sender.end() && sender.is_closed());
        });
        producer.await;
        let expected = [
            Some(Ok(0)),
            Some(Ok(1)),
            Some(Ok(2)),
            Some(Err(Failure::Full)),
        ];
        let got = consumer.await;
        assert_eq!(got[..4], expected);
        assert_eq!(got[4..], [None, None]);
    });
}

#[test]
fn a_stream_is_broken_when_the_last_producer_is_dropped() {
    check(|| async {
        let (sender, receiver) = stream::channel();
        let consumer = spawn(rest(receiver));
        let producers = [1, 2].map(|n| {
            let sender = sender.clone();
            spawn(async move {
                yield_now().await;
                sender.send(n).unwrap();
            })
        });
        drop(sender);
        join(producers).await;
        let got = consumer.await;
        assert!(got[0].as_ref().unwrap().is_ok() && got[1].as_ref().unwrap().is_ok());
        assert_eq!(got[2..], [Some(Err(Failure::Broken)), None, None]);
    });
}

#[test]
fn the_end_is_no_error() {
    check(|| async {
        let (sender, receiver) = stream::channel();
        let consumer = spawn(rest(receiver));
        spawn(async move {
            sender.send(1).unwrap();
            assert!(sender.end());
            assert!(!sender.end());
            assert_eq!(sender.send(2), Err(SendError(2)));
            assert!(sender.fail(Failure::Full).is_err());
        })
        .await;
        assert_eq!(consumer.await, [Some(Ok(1)), None, None]);
    });
}

#[test]
fn an_item_is_received_or_its_send_fails() {
    check(|| async {
        let (sender, receiver) = stream::channel::<_, Failure>();
        let consumer = spawn(rest(receiver));
        let producers = [0, 1, 2].map(|n| {
            let sender = sender.clone();
            spawn(async move {
                let mut sent = 0;
                for _ in 0..4 {
                    sent += usize::from(sender.send(n).is_ok());
                    yield_now().await;
                }
                if n == 1 {
                    sender.end();
                }
                sent
            })
        });
        let mut sent = 0;
        for producer in producers {
            sent += producer.await;
        }
        assert_eq!(consumer.await.len(), sent + 2);
    });
}

/// That is a property of the type: `next` borrows it mutably, and it is not `Clone`.
#[test]
fn a_receiver_is_not_clone() {
    trait IfClone {
        const IS_CLONE: bool = false;
    }
    impl<T> IfClone for Is<T> {}
    struct Is<T>(std::marker::PhantomData<T>);
    #[allow(dead_code, reason = "the one that is not found")]
    impl<T: Clone> Is<T> {
        const IS_CLONE: bool = true;
    }
    const { assert!(!Is::<Receiver<u32, Failure>>::IS_CLONE) };
    const { assert!(Is::<stream::Sender<u32, Failure>>::IS_CLONE) };
}

#[test]
fn items_are_moved() {
    #[derive(Debug)]
    struct Moved(Arc<AtomicUsize>);
    impl Drop for Moved {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    check(|| async {
        let drops = Arc::new(AtomicUsize::new(0));
        let (sender, mut receiver) = stream::channel::<_, Failure>();
        for _ in 0..3 {
            sender.send(Moved(drops.clone())).unwrap();
        }
        let first = receiver.next().await.unwrap().unwrap();
        assert_eq!(drops.load(Relaxed), 0);
        drop(first);
        assert_eq!(drops.load(Relaxed), 1);
        drop(receiver);
        assert_eq!(drops.load(Relaxed), 3);
        assert!(sender.send(Moved(drops.clone())).is_err());
        assert_eq!(drops.load(Relaxed), 4);
    });
}

#[test]
fn dropping_the_receiver_drops_what_waits_for_an_answer() {
    check(|| async {
        let (sender, receiver) = stream::channel::<oneshot::Sender<u32>, Failure>();
        let (answer, answered) = oneshot::channel();
        sender.send(answer).unwrap();
        drop(receiver);
        // The sender is still alive, but the answer will not come.
        assert!(answered.await.is_err());
        assert!(sender.is_closed() && !sender.end());
    });
}

#[test]
fn a_cancelled_wait_loses_nothing() {
    check(|| async {
        let (sender, mut receiver) = stream::channel::<_, Failure>();
        let producer = spawn(async move {
            for n in 0..5 {
                sender.send(n).unwrap();
                yield_now().await;
            }
            sender.end();
        });
        let mut got = Vec::new();
        loop {
            match may_cancel(receiver.next()).await {
                None => {}
                Some(None) => break,
                Some(Some(item)) => got.push(item.unwrap()),
            }
        }
        producer.await;
        assert_eq!(got, [0, 1, 2, 3, 4]);
    });
}

#[test]
fn the_last_waker_is_woken() {
    type Act = fn(stream::Sender<u32, Failure>) -> bool;
    let acts: [Act; 4] = [
        |sender| sender.send(1).is_ok(),
        |sender| sender.end(),
        |sender| sender.fail(Failure::Full).is_ok(),
        |sender| {
            drop(sender);
            true
        },
    ];
    for act in acts {
        let (sender, receiver) = stream::channel();
        let mut receiver = pin!(receiver);
        let (wakes, waker) = counting();
        let noop = &mut Context::from_waker(Waker::noop());
        assert!(receiver.as_mut().poll_next(noop).is_pending());
        let mut cx = Context::from_waker(&waker);
        assert_eq!(receiver.as_mut().poll_next(&mut cx), Poll::Pending);
        assert!(act(sender));
        assert_eq!(wakes.count(), 1);
        assert!(receiver.as_mut().poll_next(&mut cx).is_ready());
    }
}

#[test]
fn a_waker_may_use_the_stream() {
    type Items = stream::Receiver<u32, Failure>;
    struct Polls(
        Mutex<Option<Items>>,
        Mutex<Vec<Option<Result<u32, Failure>>>>,
    );
    impl Polls {
        fn poll(self: &Arc<Self>) {
            let waker = Waker::from(self.clone());
            let mut receiver = self.0.lock().unwrap().take().unwrap();
            let polled = pin!(&mut receiver).poll_next(&mut Context::from_waker(&waker));
            if let Poll::Ready(item) = polled {
                self.1.lock().unwrap().push(item);
            }
            *self.0.lock().unwrap() = Some(receiver);
        }
    }
    impl Wake for Polls {
        fn wake(self: Arc<Self>) {
            self.poll();
            if !self.1.lock().unwrap().is_empty() {
                self.poll();
            }
        }
    }

    let (sender, receiver) = stream::channel();
    let polls = Arc::new(Polls(Mutex::new(Some(receiver)), Mutex::default()));
    polls.poll();
    sender.send(1).unwrap();
    sender.fail(Failure::Full).unwrap();
    let got = polls.1.lock().unwrap().drain(..).collect::<Vec<_>>();
    assert_eq!(got, [Some(Ok(1)), Some(Err(Failure::Full)), None]);
    drop(polls.0.lock().unwrap().take());
}

/// A receiver whose stream is never empty lets others run.
#[test]
fn a_full_stream_starves_nobody() {
    let executor = LocalExecutor::new();
    let (sender, mut receiver) = stream::channel::<usize, Closed>();
    (0..1000).for_each(|n| sender.send(n).unwrap());
    let received = Arc::new(AtomicUsize::new(0));
    let task = executor.spawn({
        let received = received.clone();
        async move {
            for n in 0..1000 {
                assert_eq!(receiver.next().await, Some(Ok(n)));
                received.fetch_add(1, Relaxed);
            }
        }
    });
    let most = executor.block_on(async {
        let (mut before, mut most) = (0, 0);
        while before < 1000 {
            yield_now().await;
            let now = received.load(Relaxed);
            most = most.max(now - before);
            before = now;
        }
        most
    });
    executor.block_on(task);
    assert!(most < 1000, "one poll received everything");
}
