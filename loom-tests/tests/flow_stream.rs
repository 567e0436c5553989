//! Models of streams of promises: a producer in a thread of its own against the receiver.

use joint_flow::{
    Closed,
    stream::{self, Receiver, Sender, StreamExt},
};
use loom_tests::lab::thread;

use crate::prelude::*;

type Item = Option<Result<Value, Closed>>;

fn poll(receiver: &mut Receiver<Value, Closed>, wakes: &Arc<Wakes>) -> Poll<Item> {
    let next = pin!(receiver.next());
    next.poll(&mut Context::from_waker(&wakes.waker()))
}

/// The producer acts once, and the receiver polls at that moment.
fn against_poll(act: fn(Sender<Value, Closed>, &Drops), answer: fn(Item) -> bool) {
    model(move || {
        let drops = Drops::default();
        let (sender, mut receiver) = stream::channel();
        let producer = start(&drops, move |drops| act(sender, &drops));
        let (first, last) = (Wakes::new(), Wakes::new());
        let mut item = poll(&mut receiver, &first);
        let mut pending = usize::from(item.is_pending());
        if item.is_pending() {
            item = poll(&mut receiver, &last);
            pending += usize::from(item.is_pending());
        }
        if item.is_pending() {
            producer.join().unwrap();
            item = poll(&mut receiver, &last);
        } else {
            if let Poll::Ready(Some(Ok(value))) = &item {
                value.take();
            }
            producer.join().unwrap();
        }
        // Whoever was registered when the producer acted was woken.
        let woken = [(0, 0), (1, 0), (0, 1)][pending];
        assert_eq!((first.count(), last.count()), woken);
        match item {
            Poll::Ready(item) => assert!(answer(item)),
            Poll::Pending => panic!("a wake-up without an answer"),
        }
        assert_eq!((first.wakers(), last.wakers()), (0, 0));
    });
}

/// Cell: stream: an item reaches a receiver that polls at that moment, with what came before it.
#[test]
fn an_item_reaches_the_receiver() {
    against_poll(
        |sender, drops| sender.send(drops.value()).unwrap(),
        |item| matches!(item, Some(Ok(_))),
    );
}

/// Cell: stream: the end distinct from an error, for a receiver that polls at that moment.
#[test]
fn the_end_reaches_the_receiver() {
    against_poll(|sender, _| assert!(sender.end()), |item| item.is_none());
}

/// Cell: stream: dropped producer = broken promise, for a receiver that polls at that moment.
#[test]
fn a_broken_promise_reaches_the_receiver() {
    against_poll(
        |sender, _| drop(sender),
        |item| matches!(item, Some(Err(Closed))),
    );
}

/// Cell: stream: dropped producer = broken promise, also if the last two are dropped at once.
#[test]
fn the_last_of_two_producers_breaks_the_promise() {
    model(|| {
        let (sender, mut receiver) = stream::channel();
        let wakes = Wakes::new();
        assert!(poll(&mut receiver, &wakes).is_pending());
        let other = sender.clone();
        let producer = thread::spawn(move || drop(other));
        drop(sender);
        producer.join().unwrap();
        assert_eq!((wakes.count(), wakes.wakers()), (1, 0));
        let item = poll(&mut receiver, &wakes);
        assert!(matches!(item, Poll::Ready(Some(Err(Closed)))));
    });
}

/// Cell: stream: of two ends at once, one counts, and every item that was sent drains before it.
#[test]
fn an_item_against_the_end() {
    model_bounded(3, || {
        let drops = Drops::default();
        let (sender, mut receiver) = stream::channel();
        let producer = thread::spawn({
            let (sender, drops) = (sender.clone(), drops.clone());
            move || (sender.send(drops.value()).is_ok(), sender.end())
        });
        let has_ended = sender.end();
        let (was_sent, has_ended_too) = producer.join().unwrap();
        assert!(has_ended != has_ended_too);
        let wakes = Wakes::new();
        if was_sent {
            assert!(matches!(
                poll(&mut receiver, &wakes),
                Poll::Ready(Some(Ok(_)))
            ));
        }
        assert!(matches!(poll(&mut receiver, &wakes), Poll::Ready(None)));
        drops.assert_all_of(1);
    });
}

/// Cell: stream: an item that is sent while the receiver is dropped comes back or is dropped.
#[test]
fn an_item_against_the_end_of_the_receiver() {
    model(|| {
        let drops = Drops::default();
        let (sender, mut receiver) = stream::channel();
        let wakes = Wakes::new();
        assert!(poll(&mut receiver, &wakes).is_pending());
        let producer = start(&drops, move |drops| {
            let _ = sender.send(drops.value());
            sender
        });
        drop(receiver);
        let sender = producer.join().unwrap();
        // Not kept for as long as the sender lives.
        drops.assert_all_of(1);
        assert!(sender.is_closed() && wakes.count() <= 1);
        assert_eq!(wakes.wakers(), 0);
    });
}
