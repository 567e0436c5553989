//! How dropping an `ActorCollection` cancels its children, also if they do something to it then.

use std::sync::{Arc, Mutex};

use joint::oneshot;
use joint_flow::{Collection, promise};
use joint_sim::random;

use crate::common::{Log, check, holding, on_drop, settled};

fn new_collection<E>(until_empty: bool) -> Collection<E> {
    match until_empty {
        true => Collection::until_empty(),
        false => Collection::new(),
    }
}

#[test]
fn test_cancel() {
    check(|| async {
        let log = Log::new();
        let collection = Collection::<()>::new();
        let children = 1 + random() % 100;
        for _ in 0..children {
            let (inside, held) = (log.clone(), log.on_drop("cancelled"));
            collection.add(async move {
                let _held = held;
                joint_executor::time::sleep(std::time::Duration::from_secs(1)).await;
                inside.add("not cancelled");
                Ok(())
            });
        }
        drop(collection);
        settled().await;
        assert_eq!(log.all(), vec!["cancelled"; children as usize]);
    });
}

/// The first child ends its sibling, with a value or with an error, while it is cancelled.
#[test]
fn test_cancel_reentrant_sibling_completion() {
    check(|| async {
        for until_empty in [false, true] {
            for outcome in [Ok(()), Err("failed")] {
                let log = Log::new();
                let collection = new_collection(until_empty);
                let (sender, sent) = promise::channel();
                let ends = on_drop(move || sender.send(outcome));
                collection.add(holding(ends));
                let (shared, held) = (sent.clone(), log.on_drop("sibling"));
                collection.add(async move {
                    let _held = held;
                    shared.await.unwrap()
                });
                settled().await;
                drop(collection);
                assert_eq!(sent.get(), Some(&outcome));
                settled().await;
                assert_eq!(log.all(), ["sibling"]);
            }
        }
    });
}

#[test]
fn test_cancel_reentrant_collection() {
    check(|| async {
        for until_empty in [false, true] {
            let log = Log::new();
            let collection = new_collection::<()>(until_empty);
            let (adder, inside, second) = (collection.adder(), log.clone(), log.on_drop("second"));
            let adds = on_drop(move || {
                inside.add("first");
                assert!(adder.is_closed());
                adder.add(holding(second));
                inside.add("added");
            });
            collection.add(holding(adds));
            settled().await;
            drop(collection);
            assert_eq!(log.all(), ["first", "second", "added"]);
        }
    });
}

/// A child drops its own collection, by a destructor that runs while it ends or is cancelled.
#[test]
fn test_cancel_reentrant_no_errors_collection() {
    use std::convert::Infallible;
    check(|| async {
        for ends in [true, false] {
            let log = Log::new();
            let owner = Arc::new(Mutex::new(None::<Collection<Infallible>>));
            let collection = Collection::until_empty();
            let (go, went) = oneshot::channel::<()>();
            let (own, inside) = (owner.clone(), log.clone());
            let drops_all = on_drop(move || {
                let collection = own.lock().unwrap().take();
                drop(collection);
                inside.add("first");
            });
            let first = joint_flow::spawn(async move {
                let _drops_all = drops_all;
                went.await.unwrap();
                Ok(())
            });
            collection.adder().add_task(first.clone());
            collection.add(holding(log.on_drop("second")));
            settled().await;
            *owner.lock().unwrap() = Some(collection);
            match ends {
                true => go.send(()).unwrap(),
                false => first.cancel(),
            }
            settled().await;
            assert_eq!(log.all(), ["second", "first"]);
            assert_eq!(first.await.is_ok(), ends);
        }
    });
}

/// Children that are added after the collection has failed are cancelled with it.
#[test]
fn test_cancel_promise_stream() {
    check(|| async {
        let log = Log::new();
        let mut collection = Collection::new();
        let children = (1 + random() % 20) as usize;
        let add = |collection: &Collection<_>, name: &str| {
            for _ in 0..children {
                collection.add(holding(log.on_drop(name)));
            }
        };
        add(&collection, "before");
        collection.add(async { Err("failed") });
        assert_eq!((&mut collection).await, Err("failed"));
        add(&collection, "after");
        settled().await;
        assert!(log.all().is_empty());
        drop(collection);
        let expected = [vec!["before"; children], vec!["after"; children]].concat();
        assert_eq!(log.all(), expected);
    });
}
