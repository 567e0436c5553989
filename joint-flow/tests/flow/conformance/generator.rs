//! Generators, and what is made of them.

use std::{collections::VecDeque, pin::pin, time::Duration};

use joint_flow::{
    generator::{Stream, StreamExt, stream},
    time::delay,
};
use joint_sim::random;

use crate::common::check;

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
