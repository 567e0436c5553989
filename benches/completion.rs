//! A word in place, and what is waited for on another thread, beside `AtomicWaker` and channels.
//!
//! Each contestant waits with the waker of an `Arc`, which is a foreign one to all of them. In
//! place, a `Completion` is split with a `WakerSlot` to keep such a waker, or else it boxes it.

use std::{
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    task::Waker,
    thread,
    time::{Duration, Instant},
};

#[macro_use]
mod pairs;

use atomic_waker::AtomicWaker;
use joint::{Completion, completion::WakerSlot};
use joint_benches::{allocator::Allocator, table::NamedRun};
use pairs::{Pair, poll, row, table, together};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

macro_rules! completion {
    ($name:ident, $place:ty, $split:expr) => {
        struct $name;

        impl Pair for $name {
            type Place = $place;
            type Completer<'a> = joint::Completer<'a>;
            type Waiter<'a> = joint::Waiter<'a>;

            fn place() -> Self::Place {
                Self::Place::default()
            }
            fn split(place: &mut Self::Place) -> (Self::Completer<'_>, Self::Waiter<'_>) {
                $split(place)
            }
            fn complete(completer: Self::Completer<'_>) {
                completer.complete();
            }
            fn poll(waiter: &mut Self::Waiter<'_>, waker: &Waker) -> bool {
                poll(waiter, waker)
            }
        }
    };
}

completion!(WithSlot, (Completion, WakerSlot), split_with_slot);
completion!(OneWord, Completion, Completion::split);

fn split_with_slot(
    (word, slot): &mut (Completion, WakerSlot),
) -> (joint::Completer<'_>, joint::Waiter<'_>) {
    word.split_with(slot)
}

/// `AtomicWaker` and a flag, as its documentation shows it.
struct Flag;

impl Pair for Flag {
    type Place = (AtomicWaker, AtomicBool);
    type Completer<'a> = &'a Self::Place;
    type Waiter<'a> = &'a Self::Place;

    fn place() -> Self::Place {
        (AtomicWaker::new(), AtomicBool::new(false))
    }
    fn split(place: &mut Self::Place) -> (Self::Completer<'_>, Self::Waiter<'_>) {
        *place = Self::place();
        (place, place)
    }
    fn complete((waker, flag): Self::Completer<'_>) {
        flag.store(true, Ordering::Release);
        waker.wake();
    }
    fn poll((own, flag): &mut Self::Waiter<'_>, waker: &Waker) -> bool {
        if flag.load(Ordering::Acquire) {
            return true;
        }
        own.register(waker);
        flag.load(Ordering::Acquire)
    }
}

/// As `together`, with all completed by another thread after all have been polled. Counts what both
/// threads do, without their waits for each other.
fn apart<P: Pair>(waker: &Waker, times: u64) -> Duration {
    let mut places: Vec<_> = (0..times).map(|_| P::place()).collect();
    let (to_other, polled) = mpsc::sync_channel(1);
    let (to_here, completed) = mpsc::sync_channel(1);
    thread::scope(|scope| {
        scope.spawn(move || {
            let completers: Vec<P::Completer<'_>> = polled.recv().expect("they are sent");
            let start = Instant::now();
            completers.into_iter().for_each(P::complete);
            let _ = to_here.send(start.elapsed());
        });
        let start = Instant::now();
        let (completers, mut waiters): (Vec<_>, Vec<_>) = places.iter_mut().map(P::split).unzip();
        assert!(!waiters.iter_mut().any(|waiter| P::poll(waiter, waker)));
        let mut time = start.elapsed();
        to_other.send(completers).expect("the thread waits");
        time += completed.recv().expect("the thread answers");
        let start = Instant::now();
        assert!(waiters.iter_mut().all(|waiter| P::poll(waiter, waker)));
        drop(waiters);
        time + start.elapsed()
    })
}

/// Both ways to wait of one contestant.
fn rows<P: Pair>() -> [NamedRun; 2] {
    [
        row("on one thread", 1_000, together::<P>),
        row("across two threads", 1_000, apart::<P>),
    ]
}

fn main() {
    let tables = [
        table("wait in place")
            .with_runs("joint, with a slot", rows::<WithSlot>())
            .with_runs("joint, one word", rows::<OneWord>())
            .with_runs("atomic-waker", rows::<Flag>()),
        with_channels!(table("wait for a channel"), rows),
    ];
    joint_benches::table::main("completion", &tables, |_, _| ());
}
