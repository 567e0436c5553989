//! Generators. The macros and the methods of streams are of other crates: these tests hold what the
//! page promises of them.

use std::{cell::Cell, pin::pin, time::Duration};

use joint_executor::{spawn, yield_now};
use joint_flow::{
    Closed,
    generator::{Stream, StreamExt, blocking_iter, stream, try_stream},
    stream::channel,
    time::delay,
};

use crate::common::{Log, after, check};

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

/// An error of a stream of promises comes through, as the last item.
#[test]
fn a_stream_of_promises_is_a_generator() {
    fn doubled<S, E>(numbers: S) -> impl Stream<Item = Result<u32, E>>
    where
        S: Stream<Item = Result<u32, E>>,
    {
        try_stream! {
            for await n in numbers {
                yield 2 * n?;
            }
        }
    }

    check(|| async {
        let (sender, receiver) = channel::<_, Closed>();
        let consumer = spawn(doubled(receiver).collect::<Vec<_>>());
        for n in 1..=3 {
            sender.send(n).unwrap();
            yield_now().await;
        }
        drop(sender);
        assert_eq!(consumer.await, [Ok(2), Ok(4), Ok(6), Err(Closed)]);
    });
}

#[test]
fn a_generator_ends_with_none() {
    check(|| async {
        let mut numbers = pin!(stream! {
            yield 1;
            if after(1, true).await {
                return;
            }
            yield 2;
        });
        assert_eq!(numbers.next().await, Some(1));
        for _ in 0..3 {
            assert_eq!(numbers.next().await, None);
        }
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
