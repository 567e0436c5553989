//! Streams of promises.

use joint_executor::{spawn, yield_now};
use joint_flow::{
    Closed,
    stream::{self, Receiver, Stream, StreamExt},
};

use crate::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Failure {
    Broken,
    Full,
}

impl From<Closed> for Failure {
    fn from(_: Closed) -> Self {
        Self::Broken
    }
}

#[test]
fn sending_never_waits() {
    let (sender, receiver) = stream::channel::<_, Failure>();
    (0..1000).for_each(|n| sender.send(n).unwrap());
    assert_eq!((sender.len(), receiver.len()), (1000, 1000));
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

/// A waker that uses the stream finds no lock held, and the end with its reason.
#[test]
fn a_waker_may_use_the_stream() {
    struct Polls {
        receiver: Mutex<Option<Receiver<u32, Failure>>>,
        got: Mutex<Vec<Option<Result<u32, Failure>>>>,
    }
    impl Polls {
        fn poll(self: &Arc<Self>) {
            let waker = Waker::from(self.clone());
            let mut receiver = self.receiver.lock().unwrap().take().unwrap();
            let polled = Pin::new(&mut receiver).poll_next(&mut Context::from_waker(&waker));
            if let Poll::Ready(item) = polled {
                self.got.lock().unwrap().push(item);
            }
            *self.receiver.lock().unwrap() = Some(receiver);
        }
    }
    impl Wake for Polls {
        fn wake(self: Arc<Self>) {
            self.poll();
            if !self.got.lock().unwrap().is_empty() {
                self.poll();
            }
        }
    }

    let (sender, receiver) = stream::channel();
    let polls = Arc::new(Polls {
        receiver: Mutex::new(Some(receiver)),
        got: Mutex::default(),
    });
    polls.poll();
    sender.send(1).unwrap();
    sender.fail(Failure::Full).unwrap();
    let got = polls.got.lock().unwrap().drain(..).collect::<Vec<_>>();
    assert_eq!(got, [Some(Ok(1)), Some(Err(Failure::Full)), None]);
    drop(polls.receiver.lock().unwrap().take());
}
