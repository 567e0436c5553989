//! How the children of an `ActorCollection` end it.

use std::future::pending;

use joint_flow::{
    Closed, Collection,
    stream::{self, StreamExt},
};

use crate::common::{Log, check, holding, settled};

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
