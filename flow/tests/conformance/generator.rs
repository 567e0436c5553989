//! Generators, and what is made of them.

use std::{collections::VecDeque, pin::pin, time::Duration};

use joint_flow::{
    generator::{Stream, StreamExt, blocking_iter, stream},
    time::delay,
};
use joint_sim::random;

use crate::common::check;

/// Flow: /flow/coro/generators.
///
/// A generator that does not wait is an iterator.
#[test]
fn generators_fibonacci() {
    fn fibonacci() -> impl Iterator<Item = u32> {
        blocking_iter(stream! {
            let (mut current, mut next) = (1, 1);
            loop {
                yield current;
                (current, next) = (next, current + next);
            }
        })
    }
    let divisible: Vec<_> = fibonacci().filter(|n| n % 3 == 0).take(4).collect();
    assert_eq!(divisible, [3, 21, 144, 987]);
}

/// Flow: /flow/coro/generators.
///
/// Differs: an empty generator ends with `None` at the first call. Flow's says that it has items,
/// and then fails with `end_of_stream`.
#[test]
fn generators_empty() {
    check(|| async {
        let empty = stream! {
            if false {
                yield 1;
            }
        };
        let mut empty = pin!(empty);
        assert_eq!(empty.next().await, None);
        assert_eq!(empty.next().await, None);
    });
}

/// Flow: /flow/coro/generators.
#[test]
fn generators_simple() {
    check(|| async {
        let numbers = stream! {
            for n in 0.. {
                delay(Duration::from_millis(10)).await;
                yield n;
            }
        };
        let mut numbers = pin!(numbers);
        for n in 0..100 {
            assert_eq!(numbers.next().await, Some(n));
        }
    });
}

/// A file whose reads wait, and how much of it was read.
fn blocks(file: Vec<u8>, size: usize) -> impl Stream<Item = Vec<u8>> {
    stream! {
        for block in file.chunks(size) {
            delay(Duration::from_millis(1)).await;
            yield block.to_vec();
        }
    }
}

/// The lines of a file, which may lie in several of its blocks.
fn lines(blocks: impl Stream<Item = Vec<u8>>) -> impl Stream<Item = String> {
    stream! {
        let mut blocks = pin!(blocks);
        let mut line = VecDeque::new();
        while let Some(block) = blocks.next().await {
            for byte in block {
                match byte {
                    b'\n' => yield String::from_utf8(line.drain(..).collect()).unwrap(),
                    byte => line.push_back(byte),
                }
            }
        }
        if !line.is_empty() {
            yield String::from_utf8(line.into()).unwrap();
        }
    }
}

/// Flow: /flow/coro/generators.
///
/// A generator that reads another one.
#[test]
fn generators_read_lines() {
    check(|| async {
        let letter = || char::from(b'a' + (random() % 26) as u8);
        let line = || (0..random() % 100).map(|_| letter()).collect::<String>();
        let expected: Vec<_> = (0..50).map(|_| line()).collect();
        let file = expected
            .iter()
            .flat_map(|line| [line, "\n"])
            .collect::<String>();
        let read: Vec<_> = lines(blocks(file.into_bytes(), 64)).collect().await;
        assert_eq!(read, expected);
    });
}

/// Flow: /flow/coro/generators.
#[test]
fn generators_walk_elements() {
    check(|| async {
        let elements: Vec<_> = (0..100 + random() % 100).map(|_| random()).collect();
        let walked = elements.clone();
        let walk = blocking_iter(stream! {
            for element in walked {
                yield element;
            }
        });
        assert!(walk.eq(elements));
    });
}

/// Flow: /flow/coro/long_loop.
#[test]
fn long_loop() {
    check(|| async {
        let mut sum = 0_u64;
        for n in 0..100_000 {
            sum += n;
            if n % 50_000 == 49_999 {
                delay(Duration::from_millis(100)).await;
            }
        }
        assert_eq!(sum, 100_000 * 99_999 / 2);
    });
}
