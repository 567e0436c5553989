//! A collection of running tasks.

use joint_flow::{
    collection::{Adder, Collection},
    promise::channel,
    spawn,
};

use crate::prelude::*;

async fn is_pending<E>(collection: &mut Collection<E>) -> bool {
    poll_fn(|cx| Poll::Ready(Pin::new(&mut *collection).poll(cx).is_pending())).await
}

#[test]
fn a_destructor_that_panics_keeps_no_sibling_alive() {
    check(|| async {
        let log = Log::new();
        let collection = Collection::<()>::new();
        collection.add(holding(PanicsInDrop));
        collection.add(holding(log.on_drop("second")));
        settled().await;
        let drops = std::panic::AssertUnwindSafe(|| drop(collection));
        assert!(std::panic::catch_unwind(drops).is_err());
        assert_eq!(log.all(), ["second"]);
    });
}

#[test]
fn children_add_children() {
    check(|| async {
        fn tree(adder: Adder<()>, log: Log, depth: u32) {
            let inner = adder.clone();
            adder.add(async move {
                after((joint_sim::random() % 3) as usize, ()).await;
                if depth > 0 {
                    tree(inner.clone(), log.clone(), depth - 1);
                    tree(inner, log.clone(), depth - 1);
                }
                log.add("end");
                Ok(())
            });
        }
        let log = Log::new();
        let collection = Collection::until_empty();
        assert!(collection.is_empty());
        tree(collection.adder(), log.clone(), 3);
        assert_eq!(collection.await, Ok(()));
        assert_eq!(log.all().len(), 15);
    });
}

#[test]
fn a_cancelled_child_is_counted_on_and_says_nothing() {
    check(|| async {
        let mut collection = Collection::<()>::until_empty();
        let child = spawn(never());
        collection.adder().add_task(child.clone());
        collection.add(async { Ok(()) });
        child.cancel();
        settled().await;
        assert!(is_pending(&mut collection).await);
        assert_eq!(collection.len(), 1);
    });
}

#[test]
fn a_task_that_was_added_is_cancelled_with_its_last_handle() {
    check(|| async {
        let log = Log::new();
        let collection = Collection::<()>::new();
        let kept = spawn(holding(log.on_drop("kept")));
        collection
            .adder()
            .add_task(spawn(holding(log.on_drop("only here"))));
        collection.adder().add_task(kept.clone());
        settled().await;
        drop(collection);
        assert_eq!(log.all(), ["only here"]);
        drop(kept);
        assert_eq!(log.all(), ["only here", "kept"]);
    });
}

#[test]
fn many_children_end_in_any_order() {
    joint_sim::run(1, async {
        const CHILDREN: usize = 20_000;
        let collection = Collection::<()>::until_empty();
        let (ends, waits): (Vec<_>, Vec<_>) =
            (0..CHILDREN).map(|_| oneshot::channel::<()>()).unzip();
        for wait in waits {
            collection.add(async move { wait.await.map_err(|_| ()) });
        }
        settled().await;
        assert_eq!(collection.len(), CHILDREN);
        for end in ends.into_iter().rev() {
            end.send(()).unwrap();
        }
        assert_eq!(collection.await, Ok(()));
    });
}

fn of_mode<E>(until_empty: bool) -> Collection<E> {
    match until_empty {
        true => Collection::until_empty(),
        false => Collection::new(),
    }
}

/// The first child ends its sibling, with a value or with an error, while it is cancelled.
#[test]
fn a_child_that_ends_its_sibling_while_it_is_cancelled() {
    check(|| async {
        for until_empty in [false, true] {
            for outcome in [Ok(()), Err("failed")] {
                let log = Log::new();
                let collection = of_mode(until_empty);
                let (sender, sent) = channel();
                collection.add(holding(on_drop(move || sender.send(outcome))));
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
fn a_child_that_adds_another_while_it_is_cancelled() {
    check(|| async {
        for until_empty in [false, true] {
            let log = Log::new();
            let collection = of_mode::<()>(until_empty);
            let (adder, inside, second) = (collection.adder(), log.clone(), log.on_drop("second"));
            collection.add(holding(on_drop(move || {
                inside.add("first");
                assert!(adder.is_closed());
                adder.add(holding(second));
                inside.add("added");
            })));
            settled().await;
            drop(collection);
            assert_eq!(log.all(), ["first", "second", "added"]);
        }
    });
}

/// A destructor of a child drops the child's own collection, while it ends or is cancelled.
#[test]
fn a_child_whose_destructor_drops_the_collection() {
    check(|| async {
        for ends in [true, false] {
            let log = Log::new();
            let owner = Arc::new(Mutex::new(None));
            let collection = Collection::<()>::until_empty();
            let (go, went) = oneshot::channel::<()>();
            let (own, inside) = (owner.clone(), log.clone());
            let drops_all = on_drop(move || {
                let collection = own.lock().unwrap().take();
                drop(collection);
                inside.add("first");
            });
            let first = spawn(async move {
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

#[test]
fn children_added_after_the_failure_are_cancelled_last() {
    check(|| async {
        let log = Log::new();
        let mut collection = Collection::new();
        collection.add(holding(log.on_drop("before")));
        collection.add(async { Err("failed") });
        assert_eq!((&mut collection).await, Err("failed"));
        collection.add(holding(log.on_drop("after")));
        settled().await;
        assert!(log.all().is_empty());
        drop(collection);
        assert_eq!(log.all(), ["before", "after"]);
    });
}
