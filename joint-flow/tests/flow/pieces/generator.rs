//! Generators. The macros and the methods of streams are of other crates: these tests hold what the
//! page promises of them.

use std::ops::ControlFlow::{Break, Continue};

use futures_lite::future::poll_once;
use joint_executor::{spawn, yield_now};
use joint_flow::generator::{Lender, Slot, StreamExt, blocking_iter, stream};

use crate::{common::OnDrop, prelude::*};

#[test]
fn the_body_runs_only_while_a_value_is_asked_for() {
    check(|| async {
        let log = Log::new();
        let inner = log.clone();
        let mut numbers = Box::pin(stream! {
            let _held = inner.on_drop("dropped");
            for n in 0.. {
                inner.add(format!("make {n}"));
                yield after(1, n).await;
            }
        });
        assert!(log.all().is_empty());
        for n in 0..2 {
            assert_eq!(numbers.next().await, Some(n));
            log.add(format!("take {n}"));
            yield_now().await;
        }
        drop(numbers);
        let all = log.all();
        assert_eq!(all, ["make 0", "take 0", "make 1", "take 1", "dropped"]);
    });
}

#[test]
fn a_generator_is_an_iterator_that_blocks_if_the_body_awaits() {
    check(|| async {
        let iterates = joint_executor::spawn_blocking(|| {
            let made = &Cell::new(0);
            let mut numbers = blocking_iter(stream! {
                for n in 1..=3 {
                    made.set(n);
                    delay(Duration::from_millis(n)).await;
                    yield n;
                }
            });
            assert_eq!(made.get(), 0);
            assert_eq!((numbers.next(), made.get()), (Some(1), 1));
            assert_eq!(numbers.by_ref().collect::<Vec<_>>(), [2, 3]);
            assert_eq!((numbers.next(), numbers.next()), (None, None));
        });
        iterates.await;
    });
}

/// What a generator that lends does at each point, as the consumer sees it.
#[test]
fn a_generator_lends_one_item_again_and_returns_a_value() {
    async fn counts(mut lender: Lender<'_, (u32, OnDrop)>, log: Log) -> &'static str {
        log.add("begins");
        let mut item = (after(1, 1).await, log.on_drop("item"));
        while item.0 < 5 {
            item.0 += 1;
            item = lender.lend(item).await;
            yield_now().await;
        }
        // One that is given up is never seen.
        let given_up = (0, log.on_drop("given up"));
        let other = race((lender.lend(given_up), after(0, "returned"))).await;
        match other {
            OneOf2::A(_) => unreachable!("the consumer has not seen it"),
            OneOf2::B(text) => text,
        }
    }

    check(|| async {
        let log = Log::new();
        let consumer = log.clone();
        // The generator is inside of a task, so it is `Send`.
        let consumes = spawn(async move {
            let mut slot = Slot::new();
            let mut numbers = pin!(slot.generate(|lender| counts(lender, consumer.clone())));
            assert!(consumer.all().is_empty(), "it is lazy");
            let Continue((number, _)) = numbers.as_mut().next().await else {
                panic!("it has an item");
            };
            assert_eq!(*number, 2);
            *number = 3;
            // A wait that is given up loses nothing.
            let mut given_up = Box::pin(numbers.as_mut().next());
            assert!(poll_once(&mut given_up).await.is_none());
            drop(given_up);
            assert!(matches!(numbers.as_mut().next().await, Continue((4, _))));
            assert!(matches!(numbers.as_mut().next().await, Continue((5, _))));
            assert!(matches!(numbers.as_mut().next().await, Break("returned")));
            let mut again = Box::pin(numbers.next());
            let again = AssertUnwindSafe(|| poll_with(&mut again, Waker::noop()).is_ready());
            assert!(catch_unwind(again).is_err(), "it has ended");
        });
        consumes.await;
        assert_eq!(log.all(), ["begins", "given up", "item"]);

        // Dropped while an item is out, and while one is made.
        for waits in [0, 1] {
            let log = Log::new();
            let mut slot = Slot::new();
            let mut numbers = Box::pin(slot.generate(|lender| counts(lender, log.clone())));
            assert!(numbers.as_mut().next().await.is_continue());
            for _ in 0..waits {
                assert!(poll_once(numbers.as_mut().next()).await.is_none());
            }
            drop(numbers);
            assert_eq!(log.all(), ["begins", "item"]);
        }
    });
}
