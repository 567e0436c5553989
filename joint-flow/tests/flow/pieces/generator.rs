//! Generators.

use std::{cell::Cell, io, pin::pin, time::Duration};

use joint_executor::{spawn, yield_now};
use joint_flow::{
    Closed,
    generator::{Stream, StreamExt, blocking_iter, stream, try_stream},
    stream::channel,
    time::delay,
};

use crate::common::{Log, after, check};

#[test]
fn nothing_runs_before_the_first_value_is_asked_for() {
    check(|| async {
        let log = &Log::new();
        let mut numbers = pin!(stream! {
            log.add("begun");
            yield 1;
        });
        yield_now().await;
        assert!(log.all().is_empty());
        assert_eq!(numbers.next().await, Some(1));
        assert_eq!(log.all(), ["begun"]);
    });
}

#[test]
fn the_body_resumes_only_when_the_next_value_is_requested() {
    check(|| async {
        let log = &Log::new();
        let mut numbers = pin!(stream! {
            for n in 0.. {
                log.add(format!("make {n}"));
                yield n;
            }
        });
        for n in 0..3 {
            assert_eq!(numbers.next().await, Some(n));
            log.add(format!("take {n}"));
            yield_now().await;
        }
        let all = log.all();
        assert_eq!(
            all,
            ["make 0", "take 0", "make 1", "take 1", "make 2", "take 2"]
        );
    });
}

#[test]
fn a_generator_awaits_between_its_values() {
    check(|| async {
        let numbers = stream! {
            for n in 0..3 {
                delay(Duration::from_millis(n)).await;
                yield n;
                yield spawn(after(2, n)).await;
            }
        };
        let all = spawn(numbers.collect::<Vec<_>>()).await;
        assert_eq!(all, [0, 0, 1, 1, 2, 2]);
    });
}

#[test]
fn filters_and_takes_of_generators_are_lazy_too() {
    check(|| async {
        let made = &Cell::new(0);
        let numbers = stream! {
            for n in 0.. {
                made.set(made.get() + 1);
                yield after(1, n).await;
            }
        };
        let even = pin!(numbers.filter(|n| n % 2 == 0));
        let squares: Vec<_> = even.take(3).map(|n| n * n).collect().await;
        assert_eq!(squares, [0, 4, 16]);
        assert_eq!(made.get(), 5);
    });
}

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
fn an_error_is_the_last_item() {
    check(|| async {
        let mut lines = pin!(try_stream! {
            yield 1;
            let error = io::Error::from(io::ErrorKind::InvalidData);
            let two: u32 = after(1, Err(error)).await?;
            yield two;
        });
        assert_eq!(lines.next().await.unwrap().unwrap(), 1);
        let error: io::Error = lines.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(lines.next().await.is_none());
    });
}

#[test]
fn dropping_a_generator_cancels_it() {
    check(|| async {
        let log = Log::new();
        let inner = log.clone();
        let mut numbers = Box::pin(stream! {
            let _first = inner.on_drop("first");
            yield 1;
            let _second = inner.on_drop("second");
            yield 2;
        });
        assert_eq!(numbers.next().await, Some(1));
        drop(numbers);
        assert_eq!(log.all(), ["first"]);
    });
}

#[test]
fn a_generator_without_await_is_an_iterator() {
    let made = &Cell::new(0);
    let mut numbers = blocking_iter(stream! {
        for n in 1..=3 {
            made.set(n);
            yield n;
        }
    });
    assert_eq!(made.get(), 0);
    assert_eq!(numbers.next(), Some(1));
    assert_eq!(made.get(), 1);
    assert_eq!(numbers.by_ref().collect::<Vec<_>>(), [2, 3]);
    assert_eq!((numbers.next(), numbers.next()), (None, None));
}

#[test]
fn a_generator_with_await_is_an_iterator_that_blocks() {
    check(|| async {
        let sum = joint_executor::spawn_blocking(|| {
            let numbers = stream! {
                for n in 1..=3_u64 {
                    delay(Duration::from_millis(n)).await;
                    yield n;
                }
            };
            blocking_iter(numbers).sum::<u64>()
        });
        assert_eq!(sum.await, 6);
    });
}
