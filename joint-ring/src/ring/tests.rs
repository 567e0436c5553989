//! How many system calls operations take, and how often the kernel rings for their answers.

use core::{pin::Pin, task::Context};
use std::{io::Read, os::fd::AsFd, sync::Arc};

use joint::budget;

use super::*;
use crate::{File, TcpStream, queues::tests::CALLS};

type Reads = Pin<Box<dyn Future<Output = ()>>>;

/// Returns how often the kernel has rung since the last call.
fn rung(own: &Own) -> u64 {
    let bell = own.link.queues.as_fd().try_clone_to_owned();
    let mut count = [0; 8];
    match std::fs::File::from(bell.unwrap()).read(&mut count) {
        Ok(read) => {
            assert_eq!(read, count.len());
            u64::from_ne_bytes(count)
        }
        Err(error) => {
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
            0
        }
    }
}

/// Polls all futures in turn until all are done, as an executor with one worker does.
fn in_turn(mut futures: Vec<Reads>) {
    while !futures.is_empty() {
        futures.retain_mut(|future| {
            budget::refill();
            let mut cx = Context::from_waker(Waker::noop());
            future.as_mut().poll(&mut cx).is_pending()
        });
    }
}

/// Files that are in memory are read by one call for all tasks, and nobody is woken.
#[test]
fn reads_that_are_answered_at_once_share_calls_and_ring_no_bell() {
    let Ok(own) = own() else {
        return println!("skipped: there is no io_uring");
    };
    const TURNS: usize = 100;
    let file = Arc::new(File::from(std::fs::File::open("Cargo.toml").unwrap()));
    let read = |_| {
        let file = file.clone();
        Box::pin(async move {
            for _ in 0..TURNS {
                assert_eq!(file.read_at(vec![0; 9], 0).await.0.unwrap(), 9);
            }
        }) as Reads
    };
    for (depth, most) in [(1, TURNS), (2, TURNS + ALONE), (64, TURNS + ALONE)] {
        let before = CALLS.get();
        in_turn((0..depth).map(read).collect());
        let calls = CALLS.get() - before;
        assert!(calls <= most, "{depth} tasks: {calls} calls");
        assert!(calls >= TURNS, "a task has one read at a time");
        assert_eq!(rung(&own), 0, "{depth} tasks");
    }
}

/// The bell rings for an answer that comes later, and not for others that this thread takes.
#[test]
fn the_bell_rings_for_what_is_waited_for() {
    let Ok(own) = own() else {
        return println!("skipped: there is no io_uring");
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let ours = joint_executor::block_on(TcpStream::connect(address)).unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    rung(&own);
    let mut cx = Context::from_waker(Waker::noop());
    let mut waits = Box::pin(ours.read(vec![0; 9]));
    assert!(waits.as_mut().poll(&mut cx).is_pending());
    for _ in 0..100 {
        budget::refill();
        joint_executor::block_on(ours.write_all("x")).0.unwrap();
        peer.read_exact(&mut [0]).unwrap();
    }
    assert_eq!(rung(&own), 0);
    io::Write::write_all(&mut peer, b"x").unwrap();
    while waits.as_mut().poll(&mut cx).is_pending() {
        thread::yield_now();
    }
    assert!(rung(&own) <= 1);
}
