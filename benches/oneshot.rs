//! The channel beside its peers, on one thread.

use std::{
    task::Waker,
    time::{Duration, Instant},
};

#[macro_use]
mod pairs;

use joint_benches::{allocator::Allocator, table::NamedRun};
use pairs::{Pair, row, table, together};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Nobody receives the value.
fn complete<P: Pair>(_: &Waker, times: u64) -> Duration {
    let start = Instant::now();
    for _ in 0..times {
        let mut place = P::place();
        let (completer, waiter) = P::split(&mut place);
        P::complete(completer);
        drop(waiter);
    }
    start.elapsed()
}

/// The value is there at the only poll.
fn ready<P: Pair>(waker: &Waker, times: u64) -> Duration {
    let start = Instant::now();
    for _ in 0..times {
        let mut place = P::place();
        let (completer, mut waiter) = P::split(&mut place);
        P::complete(completer);
        assert!(P::poll(&mut waiter, waker));
    }
    start.elapsed()
}

fn rows<P: Pair>() -> [NamedRun; 3] {
    [
        row("create, complete, drop", 5_000, complete::<P>),
        row("ready", 5_000, ready::<P>),
        row("wait, Arc waker", 5_000, together::<P>),
    ]
}

fn main() {
    let table = with_channels!(table("oneshot, one thread"), rows);
    joint_benches::table::main("oneshot", &[table], |_, _| ());
}
