//! A word in place, and what is waited for on another thread, beside `AtomicWaker` and channels.
//!
//! The contestants take turns round by round, so each ratio compares runs at the same time on the
//! same machine. Each waits with the waker of an `Arc`, which is a foreign one to all of them. In
//! place, a `Completion` is split with a `WakerSlot` to keep such a waker, or else it boxes it.
//!
//! `cargo xtask bench completion`, or `cargo bench -p joint-benches --bench completion`; with
//! `-- --test` each row runs once.

use std::{
    hint::black_box,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    task::{Context, Poll, Wake, Waker},
    thread,
    time::{Duration, Instant},
};

use atomic_waker::AtomicWaker;
use joint::{Completion, completion::WakerSlot};
use joint_benches::{
    allocator::Allocator,
    options::Options,
    table::{Run, Table},
};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// One pair of a side that completes and a side that waits.
trait Pair: Send {
    /// The value that both sides borrow if nothing is allocated.
    type Place: Send + Sync;
    type Completer<'a>: Send;
    type Waiter<'a>;

    fn place() -> Self::Place;
    fn split(place: &mut Self::Place) -> (Self::Completer<'_>, Self::Waiter<'_>);
    fn complete(completer: Self::Completer<'_>);
    /// Polls, and returns whether the answer was there.
    fn poll(waiter: &mut Self::Waiter<'_>, waker: &Waker) -> bool;
}

fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> bool {
    match Pin::new(future).poll(&mut Context::from_waker(waker)) {
        Poll::Ready(output) => {
            black_box(output);
            true
        }
        Poll::Pending => false,
    }
}

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

macro_rules! channel {
    ($name:ident, $sender:ty, $receiver:ty, $($channel:tt)+) => {
        struct $name;

        impl Pair for $name {
            type Place = ();
            type Completer<'a> = $sender;
            type Waiter<'a> = <$receiver as IntoFuture>::IntoFuture;

            fn place() {}
            fn split((): &mut ()) -> (Self::Completer<'_>, Self::Waiter<'_>) {
                let (sender, receiver) = $($channel)+();
                (sender, receiver.into_future())
            }
            // Some channels send by value and some by reference.
            #[allow(unused_mut)]
            fn complete(mut sender: Self::Completer<'_>) {
                let _ = black_box(sender.send(black_box(1)));
            }
            fn poll(waiter: &mut Self::Waiter<'_>, waker: &Waker) -> bool {
                poll(waiter, waker)
            }
        }
    };
}

channel!(
    Joint,
    joint::oneshot::Sender<u64>,
    joint::oneshot::Receiver<u64>,
    joint::oneshot::channel
);
channel!(
    Oneshot,
    oneshot::Sender<u64>,
    oneshot::AsyncReceiver<u64>,
    oneshot::async_channel
);
channel!(
    Tokio,
    tokio::sync::oneshot::Sender<u64>,
    tokio::sync::oneshot::Receiver<u64>,
    tokio::sync::oneshot::channel
);
channel!(
    Futures,
    futures_channel::oneshot::Sender<u64>,
    futures_channel::oneshot::Receiver<u64>,
    futures_channel::oneshot::channel
);
channel!(
    AsyncOneshot,
    async_oneshot::Sender<u64>,
    async_oneshot::Receiver<u64>,
    async_oneshot::oneshot
);
/// Waits on one thread: poll, complete, poll again.
fn together<P: Pair>(waker: &Waker, times: u64) -> Duration {
    let start = Instant::now();
    for _ in 0..times {
        let mut place = P::place();
        let (completer, mut waiter) = P::split(&mut place);
        assert!(!P::poll(&mut waiter, waker));
        P::complete(completer);
        assert!(P::poll(&mut waiter, waker));
    }
    start.elapsed()
}

/// The same, with all completed by another thread after all have been polled. Counts what both
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

struct Counted;

impl Wake for Counted {
    fn wake(self: Arc<Self>) {}
}

/// Both ways to wait of one contestant.
fn rows<P: Pair>() -> [(&'static str, u64, Run); 2] {
    let times = Options::read().of(1_000, 1);
    let row = |title, way: fn(&Waker, u64) -> Duration| -> (&'static str, u64, Run) {
        let run = move || way(&Waker::from(Arc::new(Counted)), times);
        (title, times, Box::new(run))
    };
    [
        row("on one thread", together::<P>),
        row("across two threads", apart::<P>),
    ]
}

fn main() {
    let table = |title| Table::new(title, Duration::from_secs(1)).without_threads();
    let tables = [
        table("wait in place")
            .with_runs("joint, with a slot", rows::<WithSlot>())
            .with_runs("joint, one word", rows::<OneWord>())
            .with_runs("atomic-waker", rows::<Flag>()),
        table("wait for a channel")
            .with_runs("joint", rows::<Joint>())
            .with_runs("oneshot", rows::<Oneshot>())
            .with_runs("tokio", rows::<Tokio>())
            .with_runs("futures", rows::<Futures>())
            .with_runs("async-oneshot", rows::<AsyncOneshot>()),
    ];
    joint_benches::table::main("completion", &tables, |_, _| ());
}
