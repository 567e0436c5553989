//! How the children of an `ActorCollection` end it.

use std::{
    future::{pending, poll_fn},
    pin::Pin,
    task::Poll,
};

use joint::oneshot;
use joint_flow::{
    Closed, Collection,
    stream::{self, StreamExt},
};

use crate::{
    common::{Log, check, settled},
    holding,
};

async fn is_ready<E>(collection: &mut Collection<E>) -> bool {
    poll_fn(|cx| Poll::Ready(Pin::new(&mut *collection).poll(cx).is_ready())).await
}

/// Flow: /flow/actorCollection/testReady.
#[test]
fn test_ready() {
    check(|| async {
        let collection = Collection::<()>::until_empty();
        collection.add(async { Ok(()) });
        assert_eq!(collection.await, Ok(()));
    });
}

/// Flow: /flow/actorCollection/testReadyWhilePending.
#[test]
fn test_ready_while_pending() {
    check(|| async {
        let mut collection = Collection::<()>::until_empty();
        let (sender, sent) = oneshot::channel();
        collection.add(async move { sent.await.map_err(drop) });
        collection.add(async { Ok(()) });
        settled().await;
        assert!(!is_ready(&mut collection).await);
        sender.send(()).unwrap();
        assert_eq!(collection.await, Ok(()));
    });
}

/// Flow: /flow/actorCollection/testReadyError.
#[test]
fn test_ready_error() {
    check(|| async {
        let collection = Collection::new();
        collection.add(async { Err("failed") });
        assert_eq!(collection.await, Err("failed"));
    });
}

/// Flow: /flow/actorCollection/testQueuedReadyWhilePending.
///
/// Differs: there is no queue of additions. An addition counts when it is made, so a child that is
/// ready at once leaves no gap before one that was added behind it.
#[test]
fn test_queued_ready_while_pending() {
    check(|| async {
        let mut collection = Collection::<()>::until_empty();
        let (sender, sent) = oneshot::channel();
        collection.add(async { Ok(()) });
        collection.add(async move { sent.await.map_err(drop) });
        assert_eq!(collection.len(), 2);
        settled().await;
        assert_eq!(collection.len(), 1);
        assert!(!is_ready(&mut collection).await);
        sender.send(()).unwrap();
        assert_eq!((&mut collection).await, Ok(()));
        assert_eq!(collection.len(), 0);
    });
}

#[derive(Debug, PartialEq)]
enum Failure {
    OfTheStream,
    Broken(Closed),
}

impl From<Closed> for Failure {
    fn from(broken: Closed) -> Self {
        Self::Broken(broken)
    }
}

/// Flow: /flow/actorCollection/testAddStreamError.
///
/// Differs: a collection has no stream of additions. A child can read one, and the error of that
/// stream is then the error of this child.
#[test]
fn test_add_stream_error() {
    check(|| async {
        let log = Log::new();
        let collection = Collection::new();
        let (to_add, mut additions) = stream::channel();
        let adder = collection.adder();
        collection.add(async move {
            while let Some(child) = additions.try_next().await? {
                adder.add(child);
            }
            pending().await
        });
        to_add.send(holding(log.on_drop("child"))).unwrap();
        settled().await;
        assert_eq!(collection.len(), 2);
        to_add.fail(Failure::OfTheStream).ok().unwrap();
        assert_eq!(collection.await, Err(Failure::OfTheStream));
        assert_eq!(log.all(), ["child"]);
    });
}

/// Flow: /flow/actorCollection/testPendingErrorCancels.
///
/// An error that comes later ends the collection, and dropping that cancels the sibling.
#[test]
fn test_pending_error_cancels() {
    check(|| async {
        let log = Log::new();
        let collection = Collection::new();
        let (sender, sent) = oneshot::channel();
        collection.add(holding(log.on_drop("sibling")));
        collection.add(async move { Err(sent.await.unwrap()) });
        settled().await;
        sender.send("failed").unwrap();
        assert_eq!(collection.await, Err("failed"));
        assert_eq!(log.all(), ["sibling"]);
    });
}
