//! Models of the collection of running tasks on its real source: children end in threads of their
//! own, against a collection that waits, gets another child, or is dropped.

use joint_flow::collection::{Adder, Collection};
use loom_tests::{
    join_all,
    lab::thread::{self, JoinHandle},
};

use crate::prelude::*;

/// A child that holds a value, is pending once if it `waits`, and then ends.
async fn child(held: Value, waits: bool, result: Result<(), u32>) -> Result<(), u32> {
    let mut left = usize::from(waits);
    poll_fn(|_| {
        held.take();
        left = left.wrapping_sub(1);
        if left == 0 {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
    .await;
    result
}

fn poll_once(future: impl Future<Output = ()>) {
    let waker = Wakes::new().waker();
    let _ = pin!(future).poll(&mut Context::from_waker(&waker));
}

/// Adds a child, and polls it in a thread of its own until it is ready, or once if it `waits`.
fn run(
    adder: &Adder<u32>,
    child: impl Future<Output = Result<(), u32>> + Send + 'static,
) -> JoinHandle<()> {
    let driver = adder.enter(child);
    thread::spawn(move || {
        if let Some(driver) = driver {
            poll_once(driver);
        }
    })
}

/// Cell: collection: errors surface at once.
#[test]
fn an_error_against_a_poll() {
    model(|| {
        let drops = Drops::default();
        let mut collection = Collection::new();
        let thread = run(&collection.adder(), child(drops.value(), false, Err(1)));
        let wakes = Wakes::new();
        let polled = poll(&mut collection, &wakes);
        thread.join().unwrap();
        match polled {
            Poll::Ready(result) => assert_eq!((result, wakes.count()), (Err(1), 0)),
            Poll::Pending => {
                assert_eq!(wakes.count(), 1);
                assert_eq!(poll(&mut collection, &wakes), Poll::Ready(Err(1)));
            }
        }
        assert_eq!(wakes.wakers(), 0);
        drops.assert_all_of(1);
    });
}

/// Cell: collection: a mode that returns when it has become empty.
#[test]
fn the_last_two_ends_against_a_poll() {
    model_bounded(3, || {
        let drops = Drops::default();
        let mut collection = Collection::until_empty();
        let adder = collection.adder();
        // Both are added before one of them ends.
        let drivers = [(); 2].map(|()| adder.enter(child(drops.value(), false, Ok(()))).unwrap());
        let threads = drivers.map(|driver| thread::spawn(move || poll_once(driver)));
        let wakes = Wakes::new();
        let polled = poll(&mut collection, &wakes);
        join_all(threads);
        if polled.is_pending() {
            assert_eq!(wakes.count(), 1, "woken once, by the last");
            assert_eq!(poll(&mut collection, &wakes), Poll::Ready(Ok(())));
        }
        drops.assert_all_of(2);
    });
}

/// Cell: collection: children cancelled in order of insertion on drop.
#[test]
fn the_drop_against_polls_and_ends() {
    for waits in [false, true] {
        model(move || {
            let drops = Drops::default();
            let collection = Collection::new();
            let driver = collection
                .adder()
                .enter(child(drops.value(), waits, Err(1)))
                .unwrap();
            let thread = thread::spawn(move || {
                let waker = Wakes::new().waker();
                let mut driver = Box::pin(driver);
                let _ = driver.as_mut().poll(&mut Context::from_waker(&waker));
                driver
            });
            drop(collection);
            let driver = thread.join().unwrap();
            drops.assert_all_of(1);
            drop(driver);
        });
    }
}

/// Cell: collection: adds and completions from inside.
#[test]
fn an_addition_against_the_drop() {
    model(|| {
        let drops = Drops::default();
        let collection = Collection::new();
        let adder = collection.adder();
        let value = drops.value();
        let thread = thread::spawn(move || adder.enter(child(value, true, Ok(()))));
        drop(collection);
        let driver = thread.join().unwrap();
        // Whichever came first, the future is gone although its driver is not.
        drops.assert_all_of(1);
        drop(driver);
    });
}
